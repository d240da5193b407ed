# shellcheck shell=bash
# Builds the executables of the suite if a source is newer. Sourced, never run; needs output.sh.

# build CONFIGURATION PRODUCT…: builds all products with one call of the build tool, which compiles shared code once. A
# stamp file beside the executables records the build, so a second start is immediate.
build() {
    local configuration=$1 begun expected='10 to 20 minutes on 2 cores'
    # A release build is to run, not to debug. Without debug information it needs less time.
    local -a flags=(-debug-info-format none)
    # Package.swift then has only the targets that the products need.
    local -x DORMOUSE_BUILD=suite
    if fresh "$@"; then return 0; fi
    need_swift
    if [[ $configuration == debug ]]; then expected='some minutes' flags=(); fi
    step "Building the suite ($configuration; the first build takes $expected)"
    # The stamp compares with Package.resolved, so it must be older than the first build.
    if [[ ! -e Package.resolved ]]; then swift package resolve </dev/null || fail "cannot resolve the packages; see above"; fi
    # The stamp has the time before the build: a source that changes during the build causes another build.
    # File times have steps of a few milliseconds. After the pause, each change has a later time than the stamp.
    begun=$(mktemp)
    sleep 0.05
    if ! swift build -c "$configuration" "${flags[@]}" </dev/null 2>&1 | show_progress; then
        rm -f "$begun"
        fail "the build failed; see above"
    fi
    touch -r "$begun" ".build/$configuration/.built"
    rm -f "$begun"
    done_ "built in .build/$configuration"
}

# fresh CONFIGURATION PRODUCT…: whether all executables exist and are newer than their sources.
fresh() {
    local folder=.build/$1 product
    shift
    for product in "$@"; do [[ -x $folder/$product ]] || return 1; done
    [[ -e $folder/.built ]] || return 1
    local -a sources=(Package.swift Services Shared)
    if [[ -e Package.resolved ]]; then sources+=(Package.resolved); fi
    # Folders count too: removing a file changes only its folder.
    [[ -z $(find "${sources[@]}" -newer "$folder/.built" -print -quit) ]]
}

# percent_of STEP STEPS: prints how much of a build is done. A first build has hundreds of small files in C, and the large Swift
# modules at its end: the last 25 steps take 1.6 times as long as the others.
percent_of() {
    local large=25 weight=78 finished=$1 all=$2
    if ((all > 500)); then
        if (($1 > all - large)); then finished=$(($1 + (weight - 1) * ($1 - all + large))); fi
        all=$((all + (weight - 1) * large))
    fi
    printf '%s' $((100 * finished / all))
}

# Reads the output of the build tool. Shows its progress, "[7/9] Compiling …", as percent, time and task: in a terminal
# on one line that is rewritten, else on a new line every 15 s. Prints the other lines, such as errors, as they are.
show_progress() {
    local line='' part status percent='' task='' text clear='' columns begun=$SECONDS next=$SECONDS
    if [[ -t 1 && ${TERM:-dumb} != dumb ]]; then
        clear=$'\r\e[K'
        columns=$(tput cols 2>/dev/null) || columns=80
    fi
    while :; do
        # The status is 0 after a line, above 128 after a second without one, and 1 at the end.
        status=0
        IFS= read -r -t 1 part || status=$?
        line+=$part
        if ((status <= 128)); then
            if [[ $line =~ ^\[([0-9]+)/([1-9][0-9]*)\]\ (.*) ]]; then
                percent=$(percent_of "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}") task=${BASH_REMATCH[3]}
            elif ((status == 0)) || [[ -n $line ]]; then
                printf '%s%s\n' "$clear" "$line"
            fi
            line=''
        fi
        if ((status == 1)); then break; fi
        [[ -n $percent ]] || continue
        printf -v text '%3d %% %3d:%02d  %s' "$percent" $(((SECONDS - begun) / 60)) $(((SECONDS - begun) % 60)) "$task"
        if [[ -n $clear ]]; then
            printf '%s    %s' "$clear" "${text:0:columns-5}"
        elif ((SECONDS >= next)); then
            note "$text"
            next=$((SECONDS + 15))
        fi
    done
    printf '%s' "$clear"
}
