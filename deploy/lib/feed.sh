# shellcheck shell=bash
# The event feed in a terminal. Sourced, never run; needs output.sh and sentences.sh.

# The seconds between two lines of totals.
feed_interval=10

# follow_feed URL KEY_FILE RAW: prints one sentence per event until it is stopped, and totals every ten seconds. With RAW
# true it prints the events as JSON, a line each. After a disconnection, it resumes.
follow_feed() {
    local url=$1 key_file=$2 raw=$3 line rest last='' status
    local -A totals=()
    local told_at=$SECONDS
    while :; do
        rest=''
        while :; do
            status=0
            # Without input, the totals come too. A line that is not complete yet stays in `rest`.
            IFS= read -r -t 1 line || status=$?
            if ((status > 128)); then
                rest+=$line
                tell_totals
                continue
            fi
            ((status == 0)) || break
            line=$rest${line%$'\r'} rest=''
            case $line in
                data:*) take_event "${line#data:}" ;;
                id:*) last=${line#id:} last=${last# } ;;
            esac
            tell_totals
        done < <(
            # A file descriptor hides the key; every user of the machine can read arguments.
            exec curl --silent --no-buffer --insecure --config <(
                printf 'header = "Authorization: Bearer %s"\n' "$(<"$key_file")"
                if [[ -n $last ]]; then printf 'header = "Last-Event-ID: %s"\n' "$last"; fi
            ) "$url/v1/events/stream"
        )
        sleep 1
    done
}

# take_event JSON: counts an event, and prints it unless it only repeats another one.
take_event() {
    local json=${1# } type='' subject='' time='' device app='' data=''
    # Events have sorted keys, so the last "type" is the event's own.
    [[ $json == *'"type":"'* ]] || return 0
    # Events may contain control characters, which must not reach the terminal.
    json=${json//[[:cntrl:]]/ }
    if $raw; then
        printf '%s\n' "$json"
        return
    fi
    type=${json##*\"type\":\"} type=${type%%\"*}
    count events
    if is_echo "$type"; then
        count echoes
        return
    fi
    if [[ $json == *'"subject":"'* ]]; then subject=${json##*\"subject\":\"} subject=${subject%%\"*}; fi
    if [[ $json == *'"time":"'* ]]; then time=${json##*\"time\":\"} time=${time%%\"*}; fi
    if [[ $json == *'"data":{'* ]]; then data="{${json#*\"data\":\{}" data=${data%,\"datacontenttype\":*}; fi
    subject=${subject#device:} device=${subject%%/*}
    if [[ $subject == */* ]]; then app=${subject#*/}; fi
    count_kind "$type" "$data"
    print_sentence "$time" "$device" "$app" "$type" "$data"
}

# print_sentence TIME DEVICE APP TYPE DATA: prints one line that fits the terminal.
print_sentence() {
    local sentence='' colour width=${feed_width:-100} room
    sentence_of "$4" "$5"
    colour_of "$4" "$5"
    # The time has 8 characters, the device 16 and the app 14, with a space after each.
    room=$((width > 61 ? width - 41 : 20))
    printf '%s%.8s%s %-16.16s %-14.14s %s%s%s\n' "$dim" "${1:11:8}" "$plain" "$2" "${3##*.}" "$colour" \
        "${sentence:0:room}" "$plain"
}

colour_of() {
    case $1 in
        lifecycle.app.terminated | *.expired | *.discarded | *.disconnected) colour=$red ;;
        *.refused | *.held | *.stored | *.replaced) colour=$yellow ;;
        transfer.task.completed) [[ $2 == *'"error":{'* ]] && colour=$red || colour=$blue ;;
        lifecycle.*) colour=$green ;;
        fetch.*) colour=$cyan ;;
        push.*) colour=$magenta ;;
        *) colour=$blue ;;
    esac
}

count() { totals[$1]=$((${totals[$1]:-0} + 1)); }

# count_kind TYPE DATA: counts an event for the line of totals.
count_kind() {
    case $1 in
        lifecycle.app.woken) count wakes ;;
        lifecycle.wake.refused) count refused ;;
        lifecycle.app.terminated) count ended ;;
        push.notification.received) count pushes ;;
        push.notification.stored | push.notification.held) count waiting ;;
        push.notification.discarded | push.notification.replaced) count lost ;;
        push.*) if [[ $2 == *'"arrived":true'* ]]; then count arrived; fi ;;
        fetch.refresh.recorded) count refreshes ;;
        transfer.task.completed) count transfers ;;
    esac
}

# tell_totals: prints what has happened in the last ten seconds, once in ten seconds; nothing if nothing has happened.
tell_totals() {
    if $raw || ((SECONDS - told_at < feed_interval)); then return 0; fi
    told_at=$SECONDS
    measure_terminal
    if ((${totals[events]:-0} == 0)); then return 0; fi
    local line
    printf -v line '%d s: %d events (%d echoes hidden), %d pushes sent, %d arrived, %d waiting, %d ended; %d wakes, %d refused; %d refreshes; %d transfers; %d apps ended' \
        "$feed_interval" "${totals[events]}" "${totals[echoes]:-0}" "${totals[pushes]:-0}" "${totals[arrived]:-0}" \
        "${totals[waiting]:-0}" "${totals[lost]:-0}" "${totals[wakes]:-0}" "${totals[refused]:-0}" \
        "${totals[refreshes]:-0}" "${totals[transfers]:-0}" "${totals[ended]:-0}"
    printf '%s%s%s\n' "$bold" "${line:0:${feed_width:-100}}" "$plain"
    totals=()
}

# measure_terminal: sets feed_width to the columns of the terminal, or to 200 for a file or a pipe.
measure_terminal() {
    local size
    feed_width=200
    if [[ -t 1 ]] && size=$(stty size <&1 2>/dev/null) && ((${size#* } > 0)); then feed_width=${size#* }; fi
}
