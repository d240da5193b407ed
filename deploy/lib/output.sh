# shellcheck shell=bash
# The output of the deploy scripts. Sourced, never run.

if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
    bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' yellow=$'\e[33m'
    blue=$'\e[34m' magenta=$'\e[35m' cyan=$'\e[36m' plain=$'\e[0m'
else
    bold='' dim='' red='' green='' yellow='' blue='' magenta='' cyan='' plain=''
fi
# The scripts that source this file use them.
export bold dim red green yellow blue magenta cyan plain

step() { printf '%s==>%s %s\n' "$bold$blue" "$plain" "$*"; }
note() { printf '    %s\n' "$*"; }
done_() { printf '    %s✓%s %s\n' "$green" "$plain" "$*"; }
warn() { printf '%swarning:%s %s\n' "$yellow" "$plain" "$*" >&2; }

# fail MESSAGE…: prints one line on stderr and exits; the exit trap of the caller cleans up.
fail() {
    printf '%serror:%s %s\n' "$red" "$plain" "$*" >&2
    exit 1
}

# usage SCRIPT: prints the leading comment of a script, which is its help.
usage() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$1"; }

# on_signals ACTION SIGNAL…: sets a trap whose action exits.
#
# bash 5.2 loses the signal if it comes just before a "$(…)": it reads the action as a part of the substitution, whose ")"
# is then missing. The second line has it. Otherwise bash never reads that line, because the first one exits.
on_signals() { trap "$1"$'\n)' "${@:2}"; }

# number OPTION VALUE LOW HIGH: fails unless VALUE is a whole number within the bounds.
number() {
    [[ $2 =~ ^[0-9]{1,6}$ ]] && ((10#$2 >= $3 && 10#$2 <= $4)) ||
        fail "$1 takes a number from $3 to $4, not '$2'"
}

# short_hash TEXT: prints twelve hexadecimal digits of the hash of TEXT.
short_hash() {
    local sum
    sum=$(printf '%s' "$1" | sha256sum)
    printf '%s' "${sum:0:12}"
}

# absolute PATH: prints PATH without symbolic links; it need not exist.
absolute() { realpath -m -- "$1"; }
