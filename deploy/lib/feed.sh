# shellcheck shell=bash
# The event feed in a terminal. Sourced, never run; needs output.sh.

# follow_feed URL KEY_FILE: prints one line per event until it is stopped. After a disconnection, it resumes.
follow_feed() {
    local url=$1 key_file=$2 line last='' field
    while :; do
        while IFS= read -r line; do
            line=${line%$'\r'}
            case $line in
                data:*) show_event "${line#data:}" ;;
                id:*)
                    field=${line#id:}
                    last=${field# }
                    ;;
            esac
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

# show_event JSON: prints time, type, subject and data. Events have sorted keys, so the last "type" is the event's own.
show_event() {
    local json=$1 type subject time content='' colour=$dim
    [[ $json == *'"type":"'* ]] || return 0
    type=${json##*\"type\":\"} type=${type%%\"*}
    subject='' time=''
    if [[ $json == *'"subject":"'* ]]; then subject=${json##*\"subject\":\"} subject=${subject%%\"*}; fi
    if [[ $json == *'"time":"'* ]]; then time=${json##*\"time\":\"} time=${time%%\"*}; fi
    if [[ $json == *'"data":{'* ]]; then content="{${json#*\"data\":\{}" content=${content%,\"datacontenttype\":*}; fi
    case $type in
        *killed* | *crashed* | *expired* | *failed* | *revoked*) colour=$red ;;
        *refused* | *skipped* | *held* | *denied* | *throttled*) colour=$yellow ;;
        lifecycle.*) colour=$green ;;
        fetch.*) colour=$cyan ;;
        push.*) colour=$magenta ;;
        transfer.*) colour=$blue ;;
    esac
    # Events may contain control characters, which must not reach the terminal.
    content=${content//[[:cntrl:]]/ }
    printf '%s%-12.12s%s %s%-36s%s %-24s %s%.100s%s\n' \
        "$dim" "${time:11:12}" "$plain" "$colour" "${type//[[:cntrl:]]/}" "$plain" "${subject//[[:cntrl:]]/}" \
        "$dim" "$content" "$plain"
}
