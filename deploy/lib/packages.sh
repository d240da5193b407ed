# shellcheck shell=bash
# Installs missing packages on Debian and Ubuntu, without questions and without changes to a PostgreSQL cluster of the
# system. Sourced, never run; needs output.sh.

minimum_postgres=15
cluster_policy=/etc/postgresql-common/createcluster.conf
start_policy=/usr/sbin/policy-rc.d
policy_mark='dormouse: no service starts while packages are being installed'

# as_root COMMAND…: runs the command as root.
as_root() {
    if ((EUID == 0)); then "$@"; else sudo -n -- "$@"; fi
}

# apt ARGUMENTS…: runs apt-get without questions, and waits for another apt-get.
apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Prints the folder of the newest PostgreSQL server programs of at least the minimum version.
postgres_programs() {
    local folder best='' best_version=0 version found
    local -a folders=(/usr/lib/postgresql/*/bin)
    for found in postgres initdb; do
        found=$(command -v "$found") && folders+=("$(dirname "$(readlink -f "$found")")")
    done
    found=$(command -v pg_config) && folders+=("$("$found" --bindir)")
    for folder in "${folders[@]}"; do
        [[ -x $folder/initdb && -x $folder/pg_ctl && -x $folder/postgres && -x $folder/psql ]] || continue
        version=$(postgres_version "$folder") || continue
        if ((version >= minimum_postgres && version > best_version)); then
            best=$folder best_version=$version
        fi
    done
    [[ -n $best ]] && printf '%s' "$best"
}

# postgres_version FOLDER: prints the major version of the server in FOLDER.
postgres_version() {
    local text
    text=$("$1/postgres" --version 2>/dev/null) || return 1
    [[ $text =~ \)\ ([0-9]+) ]] && printf '%s' "${BASH_REMATCH[1]}"
}

# need_packages WANT...: installs the missing ones of server, headers, curl, gateway, downloaders, packaging, cleanroot,
# python, faketime, promtool and browser.
need_packages() {
    local -a missing=()
    local server=false want
    for want in "$@"; do
        case $want in
            server) postgres_programs >/dev/null || server=true ;;
            headers)
                command -v pkg-config >/dev/null || missing+=(pkg-config)
                pkg-config --exists libpq 2>/dev/null || missing+=(libpq-dev)
                ;;
            curl) command -v curl >/dev/null || missing+=(curl ca-certificates) ;;
            gateway) [[ -x /usr/sbin/haproxy ]] || missing+=(haproxy) ;;
            downloaders)
                command -v wget >/dev/null || missing+=(wget)
                command -v aria2c >/dev/null || missing+=(aria2)
                ;;
            faketime) [[ -n $(compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1') ]] || missing+=(faketime) ;;
            promtool) command -v promtool >/dev/null || missing+=(prometheus) ;;
            packaging)
                command -v dpkg-shlibdeps >/dev/null || missing+=(dpkg-dev)
                command -v strip >/dev/null || missing+=(binutils)
                command -v python3 >/dev/null || missing+=(python3)
                ;;
            cleanroot)
                command -v unshare >/dev/null || missing+=(util-linux)
                command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
                command -v lintian >/dev/null || missing+=(lintian)
                ;;
            python)
                command -v python3 >/dev/null || missing+=(python3)
                # On Debian, venv is in a separate package.
                python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
                ;;
            browser)
                # On Ubuntu, Chromium is only a snap, so the tests of the dashboard do not run there.
                if ! command -v chromium >/dev/null && grep -qs '^ID=debian$' /etc/os-release; then missing+=(chromium); fi
                ;;
        esac
    done
    if ! $server && ((${#missing[@]} == 0)); then return 0; fi

    local names="${missing[*]}"
    $server && names="postgresql (server, $minimum_postgres or newer) $names"
    step "Installing missing packages: ${names% }"
    command -v apt-get >/dev/null ||
        fail "this machine has no apt-get: install ${names% } yourself, then run this again"
    if ((EUID != 0)) && ! sudo -n true 2>/dev/null; then
        fail "installing needs root: run 'sudo apt-get install postgresql libpq-dev pkg-config curl', then run this again"
    fi
    apt update >/dev/null || warn "apt-get update failed; continuing with the existing package lists"
    if ((${#missing[@]} > 0)); then
        apt install --no-install-recommends "${missing[@]}" || fail "apt-get could not install ${missing[*]}"
    fi
    if $server; then install_postgres; fi
}

# The Debian package creates and starts a cluster named main. Two settings prevent this during the installation, and are
# removed afterwards.
install_postgres() (
    trap undo_policies EXIT
    on_signals 'exit 130' INT TERM HUP
    # A policy that an interrupted installation left would prevent the start of every service of the machine.
    if grep -qsF "$policy_mark" "$start_policy"; then as_root rm -f "$start_policy"; fi
    if [[ ! -e $start_policy ]]; then
        printf '#!/bin/sh\n# %s\nexit 101\n' "$policy_mark" | as_root tee "$start_policy" >/dev/null
        as_root chmod 755 "$start_policy"
    fi
    apt install --no-install-recommends postgresql-common || fail "apt-get could not install postgresql-common"
    # The last line overrides earlier ones.
    printf 'create_main_cluster = false  # %s\n' "$policy_mark" | as_root tee -a "$cluster_policy" >/dev/null

    local version
    version=$(newest_postgres_package)
    if [[ -z $version ]]; then
        note "this release has no PostgreSQL $minimum_postgres; adding the repository of the PostgreSQL project"
        apt install --no-install-recommends ca-certificates gnupg
        as_root /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y </dev/null ||
            fail "could not add apt.postgresql.org: install PostgreSQL $minimum_postgres or newer, then run this again"
        version=$(newest_postgres_package)
    fi
    [[ -n $version ]] || fail "no package of PostgreSQL $minimum_postgres or newer was found"
    apt install --no-install-recommends "postgresql-$version" || fail "apt-get could not install postgresql-$version"
    postgres_programs >/dev/null || fail "postgresql-$version is installed, but its programs were not found"
)

undo_policies() {
    if grep -qsF "$policy_mark" "$start_policy"; then as_root rm -f "$start_policy"; fi
    if grep -qsF "$policy_mark" "$cluster_policy"; then as_root sed -i "/$policy_mark/d" "$cluster_policy"; fi
}

# Prints the newest version of at least the minimum that apt can install now, or nothing.
newest_postgres_package() {
    apt-cache search --names-only '^postgresql-[0-9]+$' | sed -E 's/^postgresql-([0-9]+) .*/\1/' |
        awk -v least="$minimum_postgres" '$1 >= least && $1 > best { best = $1 } END { if (best) print best }'
}

# Finds the Swift compiler, also in the folders of its installers that are not on PATH.
need_swift() {
    command -v swift >/dev/null && return 0
    local folder
    for folder in "$HOME/.local/share/swiftly/bin" "$HOME"/.swiftly/bin /opt/swift/usr/bin /usr/local/swift/usr/bin \
        /usr/libexec/swift/bin; do
        if [[ -x $folder/swift ]]; then
            export PATH="$folder:$PATH"
            return 0
        fi
    done
    fail "the Swift compiler is missing: install Swift 6.2 or newer (https://www.swift.org/install/linux), put 'swift' on PATH, then run this again"
}
