# shellcheck shell=bash
# Processes that we started, and only those. A pid alone is not enough: pids are recycled. So a record holds
# the pid, the start time that the kernel keeps for it, and the boot that both belong to. Sourced, never run;
# needs output.sh and the variables `runs` and `logs`.

# Prints what tells this process from every other one that ever had or will have its pid.
identity() {
    local stat
    { read -r stat </proc/"$1"/stat; } 2>/dev/null || return 1
    # The command name in field 2 may hold spaces and parentheses: count fields after the last ')'.
    local -a fields
    read -ra fields <<<"${stat##*) }"
    # A zombie has ended; only its parent has not looked yet.
    [[ ${fields[0]} != [ZX] ]] || return 1
    printf '%s@%s' "${fields[19]}" "$(</proc/sys/kernel/random/boot_id)"
}

# record NAME PID: remembers a process of ours.
record() {
    local who
    who=$(identity "$2") || return 1
    printf '%s %s\n' "$2" "$who" >"$runs/$1.pid"
}

# pid_of NAME: prints the pid when the recorded process is still that one, and alive.
pid_of() {
    local pid who
    { read -r pid who <"$runs/$1.pid"; } 2>/dev/null || return 1
    [[ $pid =~ ^[0-9]+$ && $(identity "$pid") == "$who" ]] || return 1
    printf '%s' "$pid"
}

# recorded: the names of everything that has a record, sorted.
recorded() {
    local file
    for file in "$runs"/*.pid; do
        [[ -e $file ]] && basename "$file" .pid
    done
}

# launch NAME COMMAND…: starts it in a session of its own, so that the terminal's Ctrl-C reaches only the script,
# which then stops things in order. A former log is kept as NAME.log.1.
launch() {
    local name=$1
    shift
    if [[ -s $logs/$name.log ]]; then mv -f "$logs/$name.log" "$logs/$name.log.1"; fi
    # The lock's descriptor stays here: a service that inherited it would hold the lock for good.
    setsid "$@" </dev/null >"$logs/$name.log" 2>&1 9>&- &
    record "$name" "$!" || true
    # We watch it by its record; the shell need not report its end as well.
    disown "$!"
}

# show_end NAME: the last lines of its log, on stderr.
show_end() {
    printf '%s' "$dim" >&2
    if [[ -s $logs/$1.log ]]; then tail -n 15 "$logs/$1.log" | sed "s/^/    $1: /" >&2; fi
    printf '%s' "$plain" >&2
    note "whole log: $logs/$1.log" >&2
}

# stop_all NAME…: asks all at once, waits for 12 s (services finish within 10 s), then insists.
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
                warn "$name (pid $pid) did not stop in time: killing it"
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

# listening PORT: whether anything listens on that TCP port, in any address family.
listening() {
    local hex
    printf -v hex ':%04X' "$1"
    awk -v port="$hex" '$4 == "0A" && substr($2, length($2) - 4) == port { found = 1 } END { exit !found }' \
        /proc/net/tcp /proc/net/tcp6 2>/dev/null
}
