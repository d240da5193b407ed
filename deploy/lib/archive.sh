# shellcheck shell=bash
# The archive of the write-ahead log (WAL) of the private cluster, for restores to a moment. Sourced, never run; needs
# output.sh, process.sh and cluster.sh.
#
# `home/archive` has each segment of the WAL, and the history of each timeline, compressed. PostgreSQL runs the commands in
# its data folder, so their paths are relative.

# make_archive: lets PostgreSQL archive its WAL from its next start on.
make_archive() {
    give_folder "$home/archive"
    # PostgreSQL removes a segment when the command has succeeded, so it must be on the disk. It repeats one after a crash.
    # The time of a history is the begin of its timeline.
    write_as_owner "$home/archive-segment" <<-'SCRIPT'
		set -eu
		target=../archive/$2.gz
		if [ -e "$target" ]; then
		    # A restore may have added the last segment of a killed server.
		    case $2 in *.partial) exit ;; esac
		    gzip -dc "$target" | cmp -s - "$1"
		    exit
		fi
		gzip -1 -c "$1" >"$target.new"
		touch -r "$1" "$target.new"
		sync "$target.new"
		mv "$target.new" "$target"
		sync ../archive
	SCRIPT
}

# archive_settings: prints the settings of PostgreSQL for the archive, if there is one.
archive_settings() {
    if [[ ! -d $home/archive ]]; then return 0; fi
    cat <<-'CONFIGURATION'
		archive_mode = on
		archive_timeout = 60s
		archive_command = 'sh ../archive-segment "%p" "%f"'
	CONFIGURATION
}

# system_of_archive FOLDER: prints the system identifier of the cluster whose segments are in the folder; nothing without a
# segment.
system_of_archive() {
    local file name
    for file in "$1"/*.gz; do
        name=${file##*/}
        if [[ $name =~ ^[0-9A-F]{24}\.gz$ ]]; then
            # The header of the first page.
            gzip -dc "$file" 2>/dev/null | head -c 32 | od -An -tu8 -j 24 | tr -d ' \n'
            return 0
        fi
    done
}

# system_of_cluster FOLDER: prints the system identifier of a data folder of PostgreSQL.
system_of_cluster() {
    LC_ALL=C "$programs/pg_controldata" -D "$1" | sed -n 's/^Database system identifier: *//p'
}

# add_segments FOLDER TARGET: copies the segments and histories of an archive that neither the archive nor TARGET has.
add_segments() {
    local file name
    for file in "$1"/*.gz; do
        name=${file##*/}
        if [[ $name =~ ^[0-9A-F]{24}(\.partial)?\.gz$|^[0-9A-F]{8}\.history\.gz$ && ! -e $home/archive/$name && ! -e $2/$name ]]; then
            cp -p --reflink=auto "$file" "$2/$name" || fail "cannot copy $file"
            if ((EUID == 0)); then chown "$owner:" "$2/$name"; fi
        fi
    done
}

# add_unarchived FOLDER TARGET: adds the segments and histories of a `pg_wal` that the archive lacks. A killed server did not
# archive its last ones. Of these, the last segment may be incomplete, so it has the suffix that PostgreSQL gives to such segments.
add_unarchived() {
    local file name last='' address
    local -a found=()
    for file in "$1"/*; do
        name=${file##*/}
        # Without the history, PostgreSQL would use the number of its timeline again.
        if [[ $name =~ ^[0-9A-F]{8}\.history$ && ! -e $home/archive/$name.gz && ! -e $2/$name.gz ]]; then
            compress "$file" "$2/$name.gz"
        fi
        if [[ ! $name =~ ^[0-9A-F]{24}$ ]]; then continue; fi
        # PostgreSQL gives old segments the names of later ones. The header has the address of the first page.
        address=$(od -An -tu8 -j 8 -N 8 "$file" | tr -d ' \n')
        if ((address != ((16#${name:8:8}) * 256 + 16#${name:16:8}) << 24)); then continue; fi
        last=$name
        if [[ ! -e $home/archive/$name.gz ]]; then found+=("$name"); fi
    done
    for name in "${found[@]}"; do
        file=$2/$name.gz
        if [[ $name == "$last" ]]; then file=$2/$name.partial.gz; fi
        compress "$1/$name" "$file"
    done
}

# compress FILE TARGET: compresses a file for the archive, with its time.
compress() {
    gzip -1 -c "$1" >"$2" && touch -r "$1" "$2" || fail "cannot copy $1"
    if ((EUID == 0)); then chown "$owner:" "$2"; fi
}

# keep_segments FOLDER: moves segments and histories to the archive. A former last segment gives way to a later copy.
keep_segments() {
    local file
    for file in "$1"/*.gz; do
        if [[ ! -e $file ]]; then continue; fi
        if [[ $file == *.partial.gz || ! -e $home/archive/${file##*/} ]]; then mv -f "$file" "$home/archive/"; fi
    done
}

# check_archive: writes the command of an existing archive, and fails if its database is gone: another one would write other
# segments with the same names.
check_archive() {
    if [[ ! -d $home/archive ]]; then return 0; fi
    if [[ ! -e $home/data/PG_VERSION && -n $(ls -A "$home/archive") ]]; then
        fail "$home/archive belongs to an earlier database: restore a backup of it, or move the folder away"
    fi
    if ((EUID == 0)); then chown -R "$owner:" "$home/archive"; fi
    make_archive
}

# timeline_at SECONDS FOLDER…: prints the newest timeline of the archives that began before a Unix time; else "current", that
# of the backup. Each restore begins a timeline, and the former one ends.
timeline_at() {
    local seconds=$1 newest=current folder file number
    shift
    for folder in "$@"; do
        for file in "$folder"/*.history.gz; do
            if [[ ! -e $file ]] || (($(stat -c %Y "$file") > seconds)); then continue; fi
            number=${file##*/}
            number=$((16#${number%%.*}))
            if [[ $newest == current ]] || ((number > newest)); then newest=$number; fi
        done
    done
    printf '%s' "$newest"
}

# recover LINE…: starts the cluster in `home`, which is a restored copy, and waits until it has replayed the WAL in
# `../segments` and `../../archive` up to the recovery target in the LINEs. It then begins another timeline. Its segments are
# archived after the restore, when it has succeeded.
recover() {
    write_as_owner "$home/restore-segment" <<-'SCRIPT'
		for file in "$1.gz" "$1.partial.gz"; do
		    for folder in ../segments ../../archive; do
		        if [ -e "$folder/$file" ]; then exec gzip -dc "$folder/$file" >"$2"; fi
		    done
		done
		exit 1
	SCRIPT
    : | write_as_owner "$home/data/recovery.signal"
    recovery_settings=$(
        printf '%s\n' "$@" "restore_command = 'sh ../restore-segment \"%f\" \"%p\"'" "recovery_target_action = promote" \
            "archive_mode = on" "archive_command = ''" "hot_standby = off"
    )
    start_cluster 1
    recovery_settings=''
}

# wait_for_recovery: waits until the server has ended its recovery, and shows how far it is.
wait_for_recovery() {
    local next=$((SECONDS + 5)) answer
    until answer=$(administer postgres <<<'SELECT pg_is_in_recovery()' 2>&1) && [[ $answer == f ]]; do
        pid_of database >/dev/null || return 1
        if ((SECONDS >= next)); then
            note "replayed $(tail -c +$((${log_size:-0} + 1)) "$home/database.log" | grep -c 'restored log file') segments"
            next=$((SECONDS + 5))
        fi
        sleep 0.2
    done
}
