# shellcheck shell=bash
# Records of started processes. The system reuses pids, so a record has the pid, its start time in the kernel, and the
# boot id. Sourced, never run; needs output.sh and the variables `runs` and `logs`.

# identity PID: prints the start time and the boot id, which distinguish the process from others with the same pid.
identity() {
    local stat
    { read -r stat </proc/"$1"/stat; } 2>/dev/null || return 1
    # The command name in field 2 may contain spaces and parentheses: count fields after the last ')'.
    local -a fields
    read -ra fields <<<"${stat##*) }"
    # A zombie has ended.
    [[ ${fields[0]} != [ZX] ]] || return 1
    printf '%s@%s' "${fields[19]}" "$(</proc/sys/kernel/random/boot_id)"
}

# record NAME PID: writes the record of a process.
record() {
    local who
    who=$(identity "$2") || return 1
    printf '%s %s\n' "$2" "$who" >"$runs/$1.pid"
}

# pid_of NAME: prints the pid if the recorded process is alive.
pid_of() {
    local pid who
    { read -r pid who <"$runs/$1.pid"; } 2>/dev/null || return 1
    [[ $pid =~ ^[0-9]+$ && $(identity "$pid") == "$who" ]] || return 1
    printf '%s' "$pid"
}

# recorded: prints the names of all records, sorted.
recorded() {
    local file
    for file in "$runs"/*.pid; do
        [[ -e $file ]] && basename "$file" .pid
    done
}

# launch NAME COMMAND…: starts the command in a new session, so that Ctrl-C reaches only the script, which then stops
# processes in order. The previous log is kept as NAME.log.1.
launch() {
    local name=$1
    shift
    if [[ -s $logs/$name.log ]]; then mv -f "$logs/$name.log" "$logs/$name.log.1"; fi
    # Closes the descriptor of the lock: a service that inherited it would hold the lock.
    setsid "$@" </dev/null >"$logs/$name.log" 2>&1 9>&- &
    record "$name" "$!" || true
    # The record shows its end; the shell must not report it too.
    disown "$!"
}

# show_end NAME: prints the last lines of a log on stderr.
show_end() {
    printf '%s' "$dim" >&2
    if [[ -s $logs/$1.log ]]; then tail -n 15 "$logs/$1.log" | sed "s/^/    $1: /" >&2; fi
    printf '%s' "$plain" >&2
    note "full log: $logs/$1.log" >&2
}

# wait_ready NAME ADDRESS: waits until /readyz answers 200; fails if the service exits before.
wait_ready() {
    local deadline=$((SECONDS + 60))
    # The certificate is not verified: the request goes to a process of this script on the loopback interface.
    until curl --silent --fail --insecure --max-time 2 --output /dev/null "$2/readyz"; do
        if ! pid_of "$1" >/dev/null; then
            show_end "$1"
            fail "$1 exited at its start; see above"
        fi
        if ((SECONDS >= deadline)); then
            show_end "$1"
            fail "$1 was not ready after 60 s ($2/readyz)"
        fi
        sleep 0.1
    done
    # Another program may answer on the port.
    pid_of "$1" >/dev/null || { show_end "$1" && fail "$1 exited at its start; see above"; }
    done_ "$1 is ready: $2"
}

# stop_all NAME…: sends SIGTERM to all, waits for 12 s (services finish within 10 s), then sends SIGKILL.
stop_all() {
    local name pid deadline
    local -a waiting=() left
    for name in "$@"; do
        if pid=$(pid_of "$name"); then
            kill -TERM "$pid" 2>/dev/null || true
            waiting+=("$name")
        else
            rm -f "$runs/$name.pid"
        fi
    done
    deadline=$((SECONDS + 12))
    while ((${#waiting[@]} > 0)); do
        left=()
        for name in "${waiting[@]}"; do
            if ! pid=$(pid_of "$name"); then
                rm -f "$runs/$name.pid"
                done_ "$name stopped"
            elif ((SECONDS >= deadline)); then
                warn "$name (pid $pid) did not stop within 12 s: killing it"
                kill -KILL "$pid" 2>/dev/null || true
                left+=("$name")
            else
                left+=("$name")
            fi
        done
        waiting=("${left[@]}")
        if ((${#waiting[@]} > 0)); then sleep 0.1; fi
    done
}

# listening PORT: whether a process listens on the TCP port, over IPv4 or IPv6.
listening() {
    local hex
    printf -v hex ':%04X' "$1"
    awk -v port="$hex" '$4 == "0A" && substr($2, length($2) - 4) == port { found = 1 } END { exit !found }' \
        /proc/net/tcp /proc/net/tcp6 2>/dev/null
}
