# shellcheck shell=bash
# Processes of the suite that end and start again as they were. Sourced, never run; needs output.sh, process.sh and the
# variables `runs` and `logs`.

# keep_command NAME PID: keeps the command and the environment of a process, which may contain credentials.
keep_command() (
    umask 077
    cat "/proc/$2/cmdline" >"$runs/$1.command"
    cat "/proc/$2/environ" >"$runs/$1.environment"
)

# move_port NAME FROM TO: changes the port of the private database in the kept environment of a process.
move_port() {
    sed -zEi "s#^((MIGRATION_|READ_)?DATABASE_URL=.*(@127\\.0\\.0\\.1:|[?&]port=))$2([/&]|\$)#\\1$3\\4#" "$runs/$1.environment"
}

# start_again NAME: starts an ended process with the kept command and environment.
start_again() {
    local variable
    local -a command environment
    mapfile -d '' -t command <"$runs/$1.command"
    mapfile -d '' -t environment <"$runs/$1.environment"
    (
        for variable in $(compgen -e); do unset "$variable" 2>/dev/null || true; done
        for variable in "${environment[@]}"; do
            if [[ $variable =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; then export "${variable?}"; fi
        done
        launch "$1" "${command[@]}"
    )
    rm -f "$runs/$1.command" "$runs/$1.environment"
}

# setting NAME VARIABLE: prints a variable in the environment of a running process.
setting() {
    local pid
    pid=$(pid_of "$1") || return 1
    tr '\0' '\n' <"/proc/$pid/environ" | sed -n "s/^$2=//p"
}

# ready_address NAME: prints the address of a process, by its environment.
ready_address() {
    local scheme=http
    if [[ -n $(setting "$1" TLS_CERTIFICATE) ]]; then scheme=https; fi
    printf '%s://127.0.0.1:%s' "$scheme" "$(setting "$1" PORT)"
}
