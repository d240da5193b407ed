# shellcheck shell=bash
# The workers of a private cluster with Citus. Sourced, never run; needs cluster.sh and its variables.
#
# Each worker is a PostgreSQL cluster of its own in $home/workers/N. It listens only on a unix socket in a folder that no
# other user can enter, and trusts the coordinator, which connects there with the role of each session.

# The unix sockets of the workers have these numbers and the next ones.
first_worker_port=7001

# require_citus: fails unless the extension citus is installed for this PostgreSQL.
require_citus() {
    local version
    version=$(postgres_version "$programs")
    [[ -e $("$programs/pg_config" --sharedir)/extension/citus.control ]] || fail "the extension citus is not installed for \
PostgreSQL $version: install the package postgresql-$version-citus-13.0 of https://packages.citusdata.com, or build Citus \
13 with PG_CONFIG=$programs/pg_config; see deploy/citus.md"
}

# citus_settings CONNECTIONS: prints the settings of a node.
citus_settings() {
    cat <<-CONFIGURATION
		shared_preload_libraries = 'citus'
		citus.node_conninfo = 'sslmode=disable'
		citus.local_hostname = '${sockets//\'/\'\'}'
		wal_level = logical
		max_prepared_transactions = $1
	CONFIGURATION
}

# worker_count: prints the number of workers that the data folder has.
worker_count() {
    local folder count=0
    for folder in "$home"/workers/*/data; do
        if as_owner test -e "$folder/PG_VERSION"; then count=$((count + 1)); fi
    done
    printf '%s' "$count"
}

# start_workers COUNT CONNECTIONS: creates missing workers, and starts all of them.
start_workers() {
    local number
    give_folder "$home/workers"
    for ((number = 1; number <= $1; number++)); do start_worker "$number" "$2"; done
    done_ "$1 workers of Citus run in $home/workers"
}

start_worker() {
    local folder=$home/workers/$1 port=$((first_worker_port + $1 - 1)) output
    give_folder "$folder"
    clear_stale_cluster "$folder" "$port"
    if ! as_owner test -e "$folder/data/PG_VERSION"; then
        rm -rf "$folder/data"
        output=$(as_owner env LC_ALL=C "$programs/initdb" -D "$folder/data" -U postgres --data-checksums --encoding=UTF8 \
            --locale=C.UTF-8 --auth=trust 2>&1) || fail "initdb failed: $output"
        printf "include 'dormouse.conf'\n" | as_owner tee -a "$folder/data/postgresql.conf" >/dev/null
    fi
    {
        citus_settings "$2"
        cat <<-CONFIGURATION
			listen_addresses = ''
			port = $port
			unix_socket_directories = '${sockets//\'/\'\'}'
			unix_socket_permissions = 0700
			max_connections = $2
			max_wal_size = 2GB
			cluster_name = 'dormouse-worker-$1'
		CONFIGURATION
    } | write_as_owner "$folder/data/dormouse.conf"
    output=$(as_owner "$programs/pg_ctl" -D "$folder/data" -l "$folder/worker.log" -w -t 120 -s start 2>&1) ||
        fail "worker $1 of Citus did not start: $output; its log is $folder/worker.log"
    record "worker-$1" "$(as_owner head -n 1 "$folder/data/postmaster.pid")" || fail "worker $1 of Citus exited after its start"
}

# administer_node PORT DATABASE: runs the SQL on its standard input on a node, as superuser.
administer_node() {
    as_owner "$programs/psql" -X -q -v ON_ERROR_STOP=1 -h "$sockets" -p "$1" -U postgres -d "$2" -At >/dev/null
}

# join_workers COUNT: creates the role, the database and the extension on each worker, and adds it to the coordinator.
join_workers() {
    local number port
    for ((number = 1; number <= $1; number++)); do
        port=$((first_worker_port + number - 1))
        administer_node "$port" postgres <<-SQL
			SET client_min_messages = warning;
			SELECT 'CREATE ROLE dormouse' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'dormouse') \gexec
			ALTER ROLE dormouse LOGIN CREATEROLE;
			GRANT pg_read_all_stats, pg_signal_backend TO dormouse;
			SELECT 'CREATE DATABASE dormouse OWNER dormouse'
			 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'dormouse') \gexec
		SQL
        administer_node "$port" dormouse <<<'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS citus'
    done
    {
        printf "SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS citus;\n"
        printf "SELECT citus_set_coordinator_host('%s', %s);\n" "$sockets" "$database_port"
        for ((number = 1; number <= $1; number++)); do
            printf "SELECT citus_add_node('%s', %s);\n" "$sockets" $((first_worker_port + number - 1))
        done
    } | administer_node "$database_port" dormouse
}

# stop_workers: shuts down the recorded workers in fast mode; after a minute in immediate mode.
stop_workers() {
    local name pid deadline
    for name in $(recorded); do
        if [[ $name != worker-* ]]; then continue; fi
        deadline=$((SECONDS + 60))
        if pid=$(pid_of "$name"); then kill -INT "$pid" 2>/dev/null || true; fi
        while pid=$(pid_of "$name"); do
            if ((SECONDS >= deadline)); then
                warn "$name of Citus did not stop within 60 s: starting an immediate shutdown"
                kill -QUIT "$pid" 2>/dev/null || true
                deadline=$((SECONDS + 60))
            fi
            sleep 0.1
        done
        rm -f "$runs/$name.pid"
    done
}

# refuse_workers COMMAND: fails if the cluster has workers, whose data the command would leave as it is.
refuse_workers() {
    (($(worker_count) == 0)) || fail "$1 is for one PostgreSQL, and the data of this installation is also on workers of \
Citus: see the section about backups in deploy/citus.md"
}
