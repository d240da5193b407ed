# shellcheck shell=bash
# Backups: their manifest, their folders and their dumps. Sourced, never run; needs output.sh, packages.sh and suite.sh.
#
# A backup is a folder with `manifest`, `manifest.sha256`, `content`, `apns`, and the database: `database` is a copy of
# the cluster with the log that it needs, `database.dump` is a dump of a database that DATABASE_URL names.

# The format of the manifest.
backup_format=1

# misuse MESSAGE…: prints one line on stderr and exits with 2, because the command line is wrong.
misuse() {
    printf '%serror:%s %s\n' "$red" "$plain" "$*" >&2
    exit 2
}

# the_version: prints the version of the executables in `binaries`.
the_version() {
    local text
    text=$("$binaries/ops" --version) || fail "$binaries has no executable ops that runs"
    printf '%s' "${text##* }"
}

# newer_than A B: whether version A is newer than B.
newer_than() { [[ $1 != "$2" && $(printf '%s\n%s\n' "$1" "$2" | sort -V | tail -n 1) == "$1" ]]; }

# list_files FOLDER: prints a line "sha256  path" for each file of a backup except its manifest, sorted.
list_files() (
    cd "$1"
    find . -type f ! -path "./manifest*" -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum --
)

# write_manifest FOLDER LINE…: writes the manifest: the lines, an empty line, then a line for each file.
write_manifest() {
    local folder=$1
    shift
    {
        printf 'dormouse-backup %s\n' "$backup_format"
        printf '%s\n' "$@"
        printf 'bytes %s\n\n' "$(du -sb "$folder" | cut -f 1)"
        list_files "$folder"
    } >"$folder/manifest.new"
    # A folder without a manifest is no backup, so it comes last.
    mv "$folder/manifest.new" "$folder/manifest"
    (cd "$folder" && sha256sum manifest >manifest.sha256)
}

# manifest_value FOLDER NAME: prints the value of a line of the manifest.
manifest_value() { sed -n "/^\$/q; s/^$2 //p" "$1/manifest"; }

# check_backup FOLDER: fails unless the folder is a whole, undamaged backup.
check_backup() {
    local folder=$1 found
    [[ -d $folder ]] || fail "there is no folder $folder"
    [[ -f $folder/manifest && -f $folder/manifest.sha256 ]] ||
        fail "$folder is no backup, or its backup did not finish: it has no manifest"
    (cd "$folder" && sha256sum --check --status manifest.sha256) || fail "the backup is damaged: its manifest has changed"
    found=$(manifest_value "$folder" dormouse-backup)
    [[ $found == "$backup_format" ]] ||
        fail "the backup has the format ${found:-unknown}, and this version reads $backup_format: use the version that made it"
    found=$(diff <(sed '1,/^$/d' "$folder/manifest") <(list_files "$folder")) || {
        found=$(sed -n 's/^[<>] [0-9a-f]*  //p' <<<"$found" | LC_ALL=C sort -u | head -n 1)
        fail "the backup is damaged: $found has changed, is missing or is new; nothing was restored"
    }
}

# require_stopped: fails if a process of the suite runs in the data folder.
require_stopped() {
    local name
    for name in $(recorded); do
        if pid_of "$name" >/dev/null; then
            fail "the suite runs in $data: stop it with ./deploy/down$data_option, then run this again"
        fi
    done
}

# use_binaries FOLDER CONFIGURATION: sets `binaries` to a folder with executables, and builds them without a given one.
use_binaries() {
    if [[ -n $1 ]]; then
        binaries=$1
        [[ -x $binaries/ops ]] || misuse "$binaries has no executable ops"
    else
        build "$2" "${services[@]}"
        binaries=.build/$2
    fi
}

# use_database URL: sets `database_url` to the URL without its password, and exports the password: other users can read
# arguments, but not the environment.
use_database() {
    local rest=${1#*://} authority user
    authority=${rest%%[/?]*}
    database_url=$1
    [[ $authority == *@* ]] || return 0
    user=${authority%@*}
    [[ $user == *:* ]] || return 0
    database_url=postgresql://${user%%:*}@${authority##*@}${rest#"$authority"}
    user=${user#*:}
    printf -v PGPASSWORD '%b' "${user//%/\\x}"
    export PGPASSWORD
}

# database_id URL: prints a name of the database for the file `unfinished`. It has no password.
database_id() (
    use_database "$1"
    short_hash "$database_url"
)

# ask_database URL SQL: prints the answer of a database to a query of its own session. Needs `programs`.
ask_database() (
    use_database "$1"
    exec "$programs/psql" -d "$database_url" -XAtq -c "$2" 9>&-
)

# has_log URL: prints 1 if the database has a log, else 0.
has_log() { ask_database "$1" "SELECT count(*) FROM pg_namespace WHERE nspname = 'bus'"; }

# dump_sign: prints the comment that a restored schema has. It comes with the last statement of the restore.
dump_sign() { printf 'deploy/restore %s' "$(unfinished_value suffix)"; }

# has_dump URL: prints 1 if the database has the whole dump of the unfinished restore, else 0.
has_dump() {
    ask_database "$1" "SELECT count(*) FROM pg_namespace WHERE nspname = 'bus'
        AND obj_description(oid, 'pg_namespace') = '$(dump_sign)'"
}

# finish_dump URL: finishes the exchange of a killed restore of a dump into this database. Fails if the dump is not there.
finish_dump() {
    local found
    if [[ $(unfinished_value kind) != dump ]]; then return 0; fi
    programs=$(postgres_programs) || fail "no PostgreSQL $minimum_postgres or newer was found, whose psql is needed"
    found=$(has_dump "$1") || fail "cannot connect to the database that DATABASE_URL names"
    [[ $found == 1 ]] || fail "a restore was interrupted before it changed the database: repeat ./deploy/restore, or remove \
$unfinished to start with the database as it is"
    warn "a restore of a dump was interrupted, and is finished now"
    put_content_in_place
}
