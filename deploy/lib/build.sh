# shellcheck shell=bash
# Builds the executables when their sources are newer than they are. Sourced, never run; needs output.sh.

# build CONFIGURATION PRODUCT…: one product after the other (the build tool takes one at a time; what they share is
# compiled once). A stamp beside each executable makes a second start immediate.
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
    # Written now, not during the first build: the stamps compare with it.
    if [[ ! -e Package.resolved ]]; then swift package resolve </dev/null || fail "the packages could not be resolved"; fi
    for product in "${stale[@]}"; do
        count=$((count + 1))
        note "$product ($count of ${#stale[@]})"
        # The moment before the build: a source that changes during it makes the next start build again.
        begun=$(mktemp)
        if ! swift build -c "$configuration" --product "$product" </dev/null; then
            rm -f "$begun"
            fail "building $product failed: see above"
        fi
        touch -r "$begun" ".build/$configuration/.built-$product"
        rm -f "$begun"
    done
    done_ "built in .build/$configuration"
}

# fresh CONFIGURATION PRODUCT: whether the executable is newer than everything that it is made from.
fresh() {
    local stamp=.build/$1/.built-$2
    [[ -x .build/$1/$2 && -e $stamp ]] || return 1
    local -a sources=(Package.swift Services Shared)
    if [[ -e Package.resolved ]]; then sources+=(Package.resolved); fi
    # Folders count too: removing a file changes only its folder.
    [[ -z $(find "${sources[@]}" -newer "$stamp" -print -quit) ]]
}
