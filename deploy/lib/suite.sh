# shellcheck shell=bash
# The suite: its services, its folders and its shutdown. Sourced, never run; needs output.sh, process.sh, cluster.sh and
# citus.sh.

# In the order of migrations. All but `ops` have replicas; one `ops` is enough, because it only reads.
export services=(lifecycle fetch push transfer ops)

# use_data DIR: sets the variables for the folders of an installation.
use_data() {
    data=$(absolute "$1")
    runs=$data/run logs=$data/log secrets=$data/secrets
    endpoints=$data/endpoints.json
    export data runs logs secrets endpoints
}

make_folders() {
    # 0711: the user of the database can pass through to its folder, but cannot list files.
    mkdir -p "$data" && chmod 711 "$data" &&
        mkdir -p "$runs" "$logs" "$secrets" "$data/content" &&
        chmod 700 "$runs" "$logs" "$secrets" "$data/content" ||
        fail "cannot write in $data: choose another folder with --data"
    [[ -w $runs && -w $secrets ]] || fail "$data belongs to another user: choose another folder with --data"
}

# take_lock SECONDS: lets one script at a time start or stop processes in a data folder.
take_lock() {
    exec 9>>"$runs/lock"
    flock -w "$1" 9 || fail "another deploy/up or deploy/down is running in $data: wait for it, then run this again"
}

drop_lock() { exec 9>&-; }

# Prints a new secret: 256 random bits, safe in a URL and in JSON.
new_secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

make_secrets() {
    local name
    for name in operator-key database-owner database-dashboards "${services[@]/#/database-}"; do
        if [[ ! -s $secrets/$name ]]; then
            (umask 077 && new_secret >"$secrets/$name.new" && mv "$secrets/$name.new" "$secrets/$name")
        fi
    done
}

# The services have only digests of operator keys: one line "name scopes sha256" per key. The keys of others stay.
make_operator_keys() {
    local digest others=''
    digest=$(printf '%s' "$(<"$secrets/operator-key")" | sha256sum)
    if [[ -e $secrets/operator-keys ]]; then others=$(grep -v '^deploy ' "$secrets/operator-keys" || true); fi
    (
        umask 077
        printf 'deploy read,operate %s\n%s' "${digest%% *}" "${others:+$others$'\n'}" >"$secrets/operator-keys.new"
    )
    mv "$secrets/operator-keys.new" "$secrets/operator-keys"
}

# stop_suite: stops the fleet first, then the services, then the cluster.
stop_suite() {
    local name
    local -a first=() others=()
    for name in $(recorded); do
        case $name in
            fleet) first+=("$name") ;;
            database | worker-*) ;;
            *) others+=("$name") ;;
        esac
    done
    stop_all "${first[@]}"
    stop_all "${others[@]}"
    stop_cluster
    stop_workers
    # The remains of a service that ./deploy/fault killed.
    rm -f "$endpoints" "$runs"/*.command "$runs"/*.environment
}
