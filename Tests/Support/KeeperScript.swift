/// The shell process that holds a cluster. It is the parent of the postmaster and carries out one order per line. The
/// end of its input shows it that the test process is gone, however that ended.
///
/// An order is `NUMBER init PASSWORD`, `NUMBER copy URL`, `NUMBER clone FOLDER`, `NUMBER start` or `NUMBER stop MODE`. The
/// answer is `@NUMBER ok …` or `@NUMBER failed`. One process does everything in order, so the end can't overtake a start.
enum KeeperScript {
    static let text = #"""
        bin=$1 configuration=$2 port=$3 user=$4 place=$5
        cd /tmp && umask 077 && dir=$(mktemp -d "$place/dormouse-test-XXXXXX") && cd "$dir" || exit 1

        # Over the same pipe as the answer, and before it: on another one it might arrive too late to be shown.
        tell() { sed 's/^/| /' "$1"; }

        init() {
            printf '%s' "$1" >password &&
            "$bin/initdb" -D data -U "$user" --pwfile=password --auth-local=trust --auth-host=scram-sha-256 \
                --encoding=UTF8 --no-locale --no-sync >init.log 2>&1 &&
            printf '%s\n' "$configuration" >>data/postgresql.conf && rm password && echo "@$number ok $dir" && return
            tell init.log; echo "@$number failed"
        }

        # A streaming standby of the server at a URL.
        copy() {
            "$bin/pg_basebackup" -D data -d "$1" -R -X stream -c fast --no-sync >init.log 2>&1 &&
            printf '%s\n' "$configuration" >>data/postgresql.conf && echo "@$number ok $dir" && return
            tell init.log; echo "@$number failed"
        }

        # A copy of the data of a stopped server.
        clone() {
            cp -a --reflink=auto "$1" data 2>init.log &&
            printf '%s\n' "$configuration" >>data/postgresql.conf && echo "@$number ok $dir" && return
            tell init.log; echo "@$number failed"
        }

        running() { [ -n "$holder" ] && [ ! -e ended ]; }

        launch() {
            rm -f ended; : >start.log
            ( "$bin/postgres" -D data -p "$port" -k "$dir" 2>&1 | tee -a server.log >start.log; : >ended ) \
                </dev/null >/dev/null 2>&1 &
            holder=$!
            tries=600
            until "$bin/pg_isready" -q -h "$dir" -p "$port"; do
                running && [ $((tries -= 1)) -gt 0 ] || return 1
                sleep 0.05
            done
        }

        start() {
            running && echo "@$number ok" && return
            # Backends of a killed postmaster may need a moment to notice, and hold the memory until then.
            again=100
            until launch; do
                grep -q 'pre-existing shared memory' start.log && [ $((again -= 1)) -gt 0 ] && sleep 0.05 && continue
                end QUIT; tell start.log; echo "@$number failed"; return
            done
            echo "@$number ok"
        }

        end() {
            running && read -r postmaster <data/postmaster.pid && kill -"$1" "$postmaster" && kill -CONT "$postmaster"
            wait "$holder"
        } 2>/dev/null

        # Ends all processes at once, as when the machine loses power. A backend that outlives the postmaster may show a
        # commit that a synchronous standby does not have.
        crash() {
            running && read -r postmaster <data/postmaster.pid || return
            # Not quoted: a list of numbers.
            kill -KILL $(cat "/proc/$postmaster/task/$postmaster/children") "$postmaster"
            wait "$holder"
        } 2>/dev/null

        stop() {
            case $1 in smart) end TERM ;; fast) end INT ;; immediate) end QUIT ;; kill) crash ;; esac
            echo "@$number ok"
        }

        holder=
        while read -r number order argument; do "$order" "$argument"; done
        end QUIT
        cd /tmp && rm -rf "$dir"
        """#
}
