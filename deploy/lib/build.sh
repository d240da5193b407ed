# shellcheck shell=bash
# Builds executables that are older than their sources. Sourced, never run; needs output.sh.

# build CONFIGURATION PRODUCT…: builds one product after another, because the build tool accepts one at a time. Shared
# code is compiled once. A stamp file beside each executable records the build, so a second start is immediate.
build() {
    local configuration=$1 product begun count=0
    shift
    local -a stale=()
    for product in "$@"; do
        fresh "$configuration" "$product" || stale+=("$product")
    done
    if ((${#stale[@]} == 0)); then return 0; fi
    need_swift
    step "Building ${stale[*]} ($configuration; the first time takes some minutes)"
    # The stamps compare with Package.resolved, so it must be older than the first build.
    if [[ ! -e Package.resolved ]]; then swift package resolve </dev/null || fail "cannot resolve the packages; see above"; fi
    for product in "${stale[@]}"; do
        count=$((count + 1))
        note "$product ($count of ${#stale[@]})"
        # The stamp has the time before the build: a source that changes during the build causes another build.
        begun=$(mktemp)
        if ! swift build -c "$configuration" --product "$product" </dev/null; then
            rm -f "$begun"
            fail "cannot build $product; see above"
        fi
        touch -r "$begun" ".build/$configuration/.built-$product"
        rm -f "$begun"
    done
    done_ "built in .build/$configuration"
}

# fresh CONFIGURATION PRODUCT: whether the executable is newer than its sources.
fresh() {
    local stamp=.build/$1/.built-$2
    [[ -x .build/$1/$2 && -e $stamp ]] || return 1
    local -a sources=(Package.swift Services Shared)
    if [[ -e Package.resolved ]]; then sources+=(Package.resolved); fi
    # Folders count too: removing a file changes only its folder.
    [[ -z $(find "${sources[@]}" -newer "$stamp" -print -quit) ]]
}
