# shellcheck shell=bash
# A private PostgreSQL cluster, separate from clusters of the system. Sourced, never run; needs output.sh,
# process.sh, packages.sh, archive.sh, suite.sh, and the variables `data`, `runs`, `logs` and `secrets`.

# find_cluster: sets `home` (the folder of the cluster), `owner` (its user) and `programs`.
# PostgreSQL refuses to run as root. For root, the user of the PostgreSQL package runs it.
find_cluster() {
    programs=$(postgres_programs) || fail "no PostgreSQL $minimum_postgres or newer was found"
    home=$data/database
    local elsewhere
    elsewhere=$(other_home)
    finish_restore
    if [[ ! -e $home/data/PG_VERSION && -e $elsewhere/data/PG_VERSION ]]; then home=$elsewhere; fi

    if [[ -e $home/data/PG_VERSION ]]; then
        owner=$(stat -c %U "$home/data")
        if ((EUID != 0)) && [[ $owner != "$(id -un)" ]]; then
            fail "the database in $home belongs to $owner: run as $owner or root, or choose another folder with --data"
        fi
        local version
        version=$(<"$home/data/PG_VERSION")
        if [[ $version != "$(postgres_version "$programs")" ]]; then
            programs=/usr/lib/postgresql/$version/bin
            [[ -x $programs/postgres ]] ||
                fail "the database in $home needs PostgreSQL $version: install postgresql-$version, or choose another folder with --data"
        fi
    elif ((EUID == 0)); then
        owner=postgres
        id -u "$owner" >/dev/null 2>&1 ||
            fail "PostgreSQL cannot run as root, and there is no user 'postgres': run this as an ordinary user"
        give_folder "$home"
        if ! as_owner test -w "$home" -a -x "$home"; then
            rmdir "$home"
            home=$elsewhere
            give_folder "$home"
            note "the user $owner cannot enter $data: the files of the database are in $home"
        fi
    else
        owner=$(id -un)
        give_folder "$home"
    fi

    # The path of a socket must be shorter than 108 bytes.
    sockets=$home/socket
    if ((${#sockets} > 85)); then sockets=/tmp/dormouse-$(short_hash "$data"); fi
}

# other_home: prints the folder of the cluster if its user cannot enter the data folder.
other_home() { printf '/var/lib/dormouse-%s' "$(short_hash "$data")"; }

# give_folder PATH: creates a folder that only the user of the cluster can enter.
give_folder() {
    mkdir -p "$1" && chmod 700 "$1" || fail "cannot create the folder $1"
    if ((EUID == 0)); then chown "$owner:" "$1"; fi
    # In a shared folder such as /tmp, another user may have created it.
    if [[ -L $1 || $(stat -c %U "$1") != "$owner" ]]; then fail "$1 does not belong to $owner: remove it, then run this again"; fi
}

# as_owner COMMAND…: runs the command as the user of the cluster, in /, which every user can enter.
as_owner() (
    cd /
    if ((EUID == 0)); then
        exec setpriv --reuid="$owner" --regid="$(id -g "$owner")" --init-groups -- "$@" 9>&-
    fi
    exec "$@" 9>&-
)

# administer DATABASE: runs the SQL on its standard input as the cluster's superuser.
administer() {
    as_owner "$programs/psql" -X -q -v ON_ERROR_STOP=1 \
        -h "$sockets" -p "$database_port" -U postgres -d "$1" -At
}

create_cluster() {
    step "Creating a private PostgreSQL cluster in $home"
    # An interrupted initdb leaves a folder without its version file.
    rm -rf "$home/data"
    local output
    output=$(as_owner env LC_ALL=C "$programs/initdb" -D "$home/data" -U postgres --data-checksums --encoding=UTF8 \
        --locale=C.UTF-8 --auth-local=peer --auth-host=scram-sha-256 2>&1) ||
        fail "initdb failed: $output"
    # Only the user of the cluster can connect as superuser, over the socket. All other roles need a password.
    write_as_owner "$home/data/pg_hba.conf" <<-'HBA'
		local  all  postgres                peer  map=superuser
		local  replication  postgres        peer  map=superuser
		local  all  all                     scram-sha-256
		host   all  all       127.0.0.1/32  scram-sha-256
		host   all  all       ::1/128       scram-sha-256
	HBA
    printf 'superuser "%s" postgres\n' "$owner" | write_as_owner "$home/data/pg_ident.conf"
    printf "include 'dormouse.conf'\n" | as_owner tee -a "$home/data/postgresql.conf" >/dev/null
}

write_as_owner() { as_owner tee "$1" >/dev/null; }

# start_cluster REPLICAS: creates the cluster if it is missing, starts it, and creates the database and its owner.
# Sets `database_port`.
start_cluster() {
    check_archive
    if [[ ! -e $home/data/PG_VERSION ]]; then create_cluster; fi
    step "Starting PostgreSQL $(postgres_version "$programs")"
    clear_stale_cluster
    give_folder "$sockets"
    : | as_owner tee -a "$home/database.log" >/dev/null
    ln -sfn "$home/database.log" "$logs/database.log"
    # Before the coordinator, whose background work connects to them.
    if ((${workers:-0} > 0)); then start_workers "$workers" $((100 + 100 * $1)); fi
    local output tries=0
    until launch_postgres "$1"; do
        # Another installation may have taken the port since it was chosen.
        if ! listening "$database_port" || ((++tries == 5)); then
            show_end database
            fail "PostgreSQL did not start: $output"
        fi
    done
    record database "$(head -n 1 "$home/data/postmaster.pid")" || fail "PostgreSQL exited after its start"
    if [[ -n ${recovery_settings:-} ]] && ! wait_for_recovery; then
        show_end database
        fail "PostgreSQL did not replay its log; see above"
    fi
    make_database || fail "cannot create the database"
    if ((${workers:-0} > 0)); then join_workers "$workers" || fail "cannot add the workers of Citus"; fi
    done_ "PostgreSQL listens on port $database_port (127.0.0.1) and in $sockets"
}

# launch_postgres REPLICAS: starts PostgreSQL on a free port. Sets `database_port` and `output`.
launch_postgres() {
    choose_database_port
    local connections=$((100 + 100 * $1))
    # A session that is idle in a transaction would block a partition, so it has a timeout.
    {
        if ((${workers:-0} > 0)); then citus_settings "$connections"; fi
        cat <<-CONFIGURATION
			listen_addresses = '127.0.0.1'
			port = $database_port
			unix_socket_directories = '${sockets//\'/\'\'}'
			unix_socket_permissions = 0700
			password_encryption = 'scram-sha-256'
			max_connections = $connections
			shared_buffers = 256MB
			max_wal_size = 2GB
			idle_in_transaction_session_timeout = 5s
			cluster_name = 'dormouse'
		CONFIGURATION
        archive_settings
        if [[ -n ${recovery_settings:-} ]]; then printf '%s\n' "$recovery_settings"; fi
    } | write_as_owner "$home/data/dormouse.conf"
    output=$(as_owner "$programs/pg_ctl" -D "$home/data" -l "$home/database.log" -w -t 120 -s start 2>&1)
}

# is_outdated NAME: whether an upgrade of the package has replaced the program of the running server. New sessions of this
# server load libraries of another version, and fail with SQLSTATE 58P01.
is_outdated() {
    local pid program
    pid=$(pid_of "$1") || return 1
    # Only the user of the server can read the link if root lacks rights.
    program=$(as_owner readlink "/proc/$pid/exe") || return 1
    [[ $program == *' (deleted)' ]]
}

# restart_outdated_cluster: restarts outdated servers with the installed programs. The services wait for them.
restart_outdated_cluster() {
    local folder
    for folder in "$home"/workers/*; do
        if [[ -d $folder ]]; then restart_outdated "worker-${folder##*/}" "$folder" "$folder/worker.log"; fi
    done
    restart_outdated database "$home" "$home/database.log"
}

# restart_outdated NAME FOLDER LOG: restarts the recorded server of the folder if it is outdated.
restart_outdated() {
    if ! is_outdated "$1"; then return 0; fi
    step "Restarting PostgreSQL ($1): its programs were replaced while it ran, for example by an upgrade"
    local output
    output=$(as_owner "$programs/pg_ctl" -D "$2/data" -l "$3" -w -t 120 -m fast -s restart 2>&1) ||
        fail "PostgreSQL did not restart: $output; its log is $3; run ./deploy/down, then ./deploy/up"
    record "$1" "$(as_owner head -n 1 "$2/data/postmaster.pid")" || fail "PostgreSQL exited after its restart; its log is $3"
    done_ "$("$programs/postgres" --version) runs"
}

# clear_stale_cluster [FOLDER PORT]: ends unrecorded servers of the folder, and removes what a killed one left. Without a
# folder it is `home`, whose start is before that of its workers. A postmaster.pid may outlive its server, and another
# program may have its pid. Only a process whose working directory is the data folder is its server.
clear_stale_cluster() {
    local folder=${1:-$home} deadline=$((SECONDS + 10)) pid
    while [[ -n $(cluster_processes "$folder") ]]; do
        # Children of a killed server end themselves. An unrecorded server gets a signal.
        for pid in $(cluster_processes "$folder"); do
            if ((SECONDS >= deadline + 10)); then
                kill -KILL "$pid" 2>/dev/null || true
            elif ((SECONDS >= deadline)) || [[ $pid == "$(head -n 1 "$folder/data/postmaster.pid" 2>/dev/null)" ]]; then
                kill -QUIT "$pid" 2>/dev/null || true
            fi
        done
        sleep 0.2
    done
    rm -f "$folder/data/postmaster.pid" "$sockets/.s.PGSQL.${2:-}"*
}

# cluster_processes FOLDER: prints the pids of the servers of the folder, with their children.
cluster_processes() {
    local folder pid
    for folder in /proc/[0-9]*; do
        pid=${folder#/proc/}
        if [[ $folder/cwd -ef $1/data && $(cat "$folder/comm" 2>/dev/null) == postgres* ]] &&
            identity "$pid" >/dev/null; then
            printf '%s\n' "$pid"
        fi
    done
}

# Reuses the last port if it is free, so that settings of SQL tools stay valid.
choose_database_port() {
    local port last=$runs/database.port
    database_port=''
    for port in $(cat "$last" 2>/dev/null) {15432..15531}; do
        if ! listening "$port"; then
            database_port=$port
            break
        fi
    done
    [[ -n $database_port ]] || fail "no free port for the database from 15432 to 15531"
    printf '%s\n' "$database_port" >"$last"
}

# The owner may create roles, because migrations create one for each service. It is not a superuser.
make_database() {
    administer postgres <<-'SQL' && set_password dormouse "$secrets/database-owner" &&
		SET client_min_messages = warning;
		SELECT 'CREATE ROLE dormouse' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'dormouse') \gexec
		ALTER ROLE dormouse LOGIN CREATEROLE;
		GRANT pg_read_all_stats, pg_signal_backend TO dormouse;
	SQL
        administer postgres <<-'SQL'
			SELECT 'CREATE DATABASE dormouse OWNER dormouse'
			 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'dormouse') \gexec
		SQL
}

# set_password ROLE FILE: gives a role the password in FILE. Without a terminal (setsid), psql reads the password twice
# from its standard input. It sends a SCRAM verifier to the server, so no log has the password. Every user of the
# machine can read arguments.
set_password() {
    local password answer
    password=$(<"$2")
    answer=$(printf '%s\n%s\n' "$password" "$password" |
        as_owner setsid -w "$programs/psql" -X -q -v ON_ERROR_STOP=1 \
            -h "$sockets" -p "$database_port" -U postgres -d postgres -c "\\password $1" 2>&1) || {
        printf '%s\n' "$answer" >&2
        return 1
    }
}

# allow_replication: lets the superuser copy the running cluster. Clusters of earlier versions have no such line.
allow_replication() {
    if as_owner grep -Eq '^local +replication +postgres ' "$home/data/pg_hba.conf"; then return 0; fi
    printf 'local  replication  postgres        peer  map=superuser\n' | as_owner tee -a "$home/data/pg_hba.conf" >/dev/null
    administer postgres <<<'SELECT pg_reload_conf()' >/dev/null
    # The server reads the file a moment later.
    sleep 1
}

# stop_cluster: shuts down the recorded server in fast mode; after a minute in immediate mode.
stop_cluster() {
    local pid deadline=$((SECONDS + 60))
    if pid=$(pid_of database); then
        kill -INT "$pid" 2>/dev/null || true
        while pid=$(pid_of database); do
            if ((SECONDS >= deadline)); then
                warn "PostgreSQL did not stop within 60 s: starting an immediate shutdown"
                kill -QUIT "$pid" 2>/dev/null || true
                deadline=$((SECONDS + 60))
            fi
            sleep 0.1
        done
        done_ "PostgreSQL stopped"
    fi
    rm -f "$runs/database.pid"
}
