# shellcheck shell=bash
# The suite: its services, its folders, its shutdown, and the exchange of its data by a restore. Sourced, never run; needs
# output.sh, process.sh, cluster.sh, archive.sh and citus.sh.

# In the order of migrations. All but `ops` have replicas; one `ops` is enough, because it only reads.
export services=(lifecycle fetch push transfer ops)

# use_data DIR: sets the variables for the folders of an installation.
use_data() {
    data=$(absolute "$1")
    runs=$data/run logs=$data/log secrets=$data/secrets
    endpoints=$data/endpoints.json unfinished=$data/unfinished-restore
    export data runs logs secrets endpoints unfinished
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

# owner_url: prints the URL of the private database, for the role that owns it.
owner_url() { printf 'postgres://dormouse:%s@127.0.0.1:%s/dormouse' "$(<"$secrets/database-owner")" "$database_port"; }

# Restores. ./deploy/snapshot and ./deploy/restore make copies beside the data, write the file `unfinished`, and exchange
# the copies for the data. After a kill, the next command finishes the exchange. No service starts while the file exists,
# because the log has no other incarnation yet. The file has the lines:
#
#   kind       snapshot, cluster or dump
#   database   own, or the database_id of the one that DATABASE_URL names
#   suffix     the end of the names of former data

# mark_restore KIND DATABASE [SUFFIX]: writes the file `unfinished`.
mark_restore() {
    printf 'kind %s\ndatabase %s\nsuffix %s\n' "$1" "$2" "${3:-}" >"$unfinished.new" && sync "$unfinished.new" &&
        mv "$unfinished.new" "$unfinished" && sync "$data" || fail "cannot write $unfinished"
}

# unfinished_value NAME: prints a value of the unfinished restore; nothing without one.
unfinished_value() {
    if [[ -e $unfinished ]]; then sed -n "s/^$1 //p" "$unfinished"; fi
}

# refuse_other_restore DATABASE: fails if the unfinished restore is into another database.
refuse_other_restore() {
    local other
    other=$(unfinished_value database)
    if [[ -z $other || $other == "$1" ]]; then return 0; fi
    if [[ $other == own ]]; then
        fail "a restore into the database of $data was interrupted: run ./deploy/up$data_option once without DATABASE_URL"
    fi
    fail "a restore into a database of DATABASE_URL was interrupted: set the same DATABASE_URL to finish it, or drop that \
database and remove $unfinished"
}

# finish_restore: finishes the exchange of folders of a restore that was killed, and removes what a ./deploy/snapshot
# restore left that was killed before or after. Before the exchange, the former data has its name: it stays.
finish_restore() {
    local folder kind elsewhere
    rm -f "$unfinished.new"
    kind=$(unfinished_value kind) elsewhere=$(other_home)
    if [[ $kind == cluster ]]; then
        warn "a restore of a backup was interrupted, and is finished now"
        put_backup_in_place
        return
    fi
    for folder in "$data/database" "$elsewhere"; do
        if [[ -e $folder/data.new && -e $folder/data ]]; then
            # The log has not changed, so it needs no other incarnation.
            if [[ $kind == snapshot ]]; then rm -f "$unfinished"; fi
            # The content first: its copy alone would mean that only this one is left to exchange.
            rm -rf "$data/content.new"
            rm -rf "$folder/data.new"
        elif [[ -e $folder/data.new ]]; then
            warn "a restore of a snapshot was interrupted, and is finished now"
            mark_snapshot
            mv "$folder/data.new" "$folder/data" || fail "cannot move $folder/data.new to $folder/data"
        fi
        if [[ -e $folder/data && -e $folder/data.old ]]; then
            mark_snapshot
            rm -rf "$folder/data.old"
        fi
    done
    if [[ -e $data/content.new ]]; then
        mark_snapshot
        rm -rf "$data/content"
        mv "$data/content.new" "$data/content" || fail "cannot move $data/content.new to $data/content"
    fi
    if [[ -e $data/content ]]; then rm -rf "$data/content.old"; fi
}

# mark_snapshot: writes the file `unfinished` if a script of an earlier version has exchanged folders without it.
mark_snapshot() {
    if [[ ! -e $unfinished ]]; then mark_restore snapshot own; fi
}

# put_backup_in_place: exchanges the restored copies for the data. After a kill, it goes on where it was. The database
# comes first: `transfer` refuses to sweep files of another incarnation, and cannot see that files of its own are missing.
put_backup_in_place() {
    local home owner elsewhere
    elsewhere=$(other_home)
    for home in "$data/database" "$elsewhere"; do
        if [[ ! -d $home/restoring ]]; then continue; fi
        owner=$(stat -c %U "$home/restoring")
        if [[ -d $home/restoring/archive ]]; then put_in_place "$home/restoring/archive" "$home/archive"; fi
        # The next start of the database archives what the restore has written.
        if [[ -d $home/restoring/segments && -n $(ls -A "$home/restoring/segments") ]]; then
            if [[ ! -d $home/archive ]]; then make_archive; fi
            keep_segments "$home/restoring/segments"
        fi
        if [[ -d $home/restoring/data ]]; then put_in_place "$home/restoring/data" "$home/data"; fi
    done
    put_content_in_place
    for home in "$data/database" "$elsewhere"; do rm -rf "$home/restoring"; done
    rm -f "$unfinished"
}

# put_content_in_place: exchanges the restored content, if there is any. An existing authority stays: clients trust it.
put_content_in_place() {
    if [[ -d $data/content.restored ]]; then put_in_place "$data/content.restored" "$data/content"; fi
    if [[ -d $data/apns.restored && ! -d $data/apns ]]; then mv -T "$data/apns.restored" "$data/apns"; fi
    rm -rf "$data/apns.restored"
}

# put_in_place NEW PATH: moves existing data to a name with the suffix of the restore, and the restored data to its place.
put_in_place() {
    local former
    former=$2.$(unfinished_value suffix)
    if [[ -e $2 ]] && ! rmdir "$2" 2>/dev/null; then
        mv -T "$2" "$former" || fail "cannot move $2 aside"
        note "the earlier data is in $former"
    fi
    mv -T "$1" "$2" || fail "cannot move $1 to $2"
}

# begin_pending_incarnation URL: begins another incarnation of the log if a restore is unfinished, and ends the restore. URL
# has the role that owns the log. A snapshot has the files of its database, so they are accepted too.
begin_pending_incarnation() {
    if [[ ! -e $unfinished ]]; then return 0; fi
    MIGRATION_DATABASE_URL=$1 "$binaries/ops" begin-incarnation >/dev/null ||
        fail "the incarnation of the log could not be changed; see above"
    if [[ $(unfinished_value kind) == snapshot ]]; then
        DATABASE_URL=$1 DATA_DIRECTORY=$data/content "$binaries/transfer" accept-directory >/dev/null ||
            fail "the files were not accepted; see above"
    fi
    rm -f "$unfinished"
}
