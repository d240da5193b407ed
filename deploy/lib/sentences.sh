# shellcheck shell=bash
# Events as plain sentences. Sourced, never run.

# is_echo TYPE: succeeds if an event only repeats for another service what lifecycle has told.
is_echo() {
    case $1 in
        lifecycle.*) return 1 ;;
        *.app.updated | *.app.removed | *.presence.changed | *.device.updated | *.device.removed | *.conditions.changed) return 0 ;;
    esac
    return 1
}

# member NAME DATA: sets `value` to a member that is a text or a number, or to nothing.
member() {
    value=''
    if [[ $2 =~ \"$1\":\"([^\"]*)\" || $2 =~ \"$1\":(-?[0-9.]+) ]]; then value=${BASH_REMATCH[1]}; fi
}

# plain_words NAME: sets `value` to the words of a name in camel case: lowPowerMode becomes low power mode.
plain_words() {
    local name=$1 letter
    value=''
    while [[ $name =~ ^([^A-Z]+)([A-Z])(.*)$ ]]; do
        letter=${BASH_REMATCH[2]}
        value+="${BASH_REMATCH[1]} ${letter,}"
        name=${BASH_REMATCH[3]}
    done
    value+=$name
}

# because NAME DATA: appends a member in plain words to `sentence`, after a colon.
because() {
    local value
    member "$1" "$2"
    if [[ -n $value ]]; then
        plain_words "$value"
        sentence+=": $value"
    fi
}

# sentence_of TYPE DATA: sets `sentence` to what happened and why.
sentence_of() {
    local type=$1 data=$2 value
    case $type in
        lifecycle.app.activated) sentence='App came to the screen' ;;
        lifecycle.app.backgrounded) sentence='App went to the background' ;;
        lifecycle.app.terminated)
            sentence='App ended' && because reason "$data"
            member code "$data"
            sentence+=${value:+ ($value)}
            ;;
        lifecycle.app.woken) sentence='App was woken for' && member reason "$data" && sentence+=" ${value:-an unknown reason}" ;;
        lifecycle.app.*) sentence="App was ${type##*.}" ;;
        lifecycle.wake.refused) sentence='Wake was refused' && because refusal "$data" ;;
        lifecycle.wake.completed) sentence='App finished its wake' ;;
        lifecycle.wake.expired) sentence='Time of the wake ran out' ;;
        lifecycle.device.slept) sentence='Device went to sleep' ;;
        lifecycle.device.awoke) sentence='Device awoke' ;;
        lifecycle.device.*) sentence="Device was ${type##*.}" ;;
        fetch.refresh.scheduled) scheduled "$data" ;;
        fetch.refresh.recorded) sentence='Refresh ended' && because result "$data" ;;
        push.device.disconnected) sentence='Device lost its push connection' && because cause "$data" ;;
        push.device.connected) sentence='Device connected to push' ;;
        push.notification.received) sentence='Provider sent a push' && because pushType "$data" ;;
        push.notification.replaced) sentence='Push was replaced by a newer one' ;;
        push.notification.acknowledged) [[ $data == *'"arrived":true'* ]] && sentence='Push arrived' || sentence='Device acknowledged the push' ;;
        push.notification.stored | push.notification.held) sentence="Push is ${type##*.}" && after_dash "$data" ;;
        push.notification.*) sentence="Push was ${type##*.}" && after_dash "$data" ;;
        push.wake.granted) sentence='Push woke the app' ;;
        push.wake.refused) sentence='Push did not wake the app' && because refusal "$data" ;;
        push.wake.completed) sentence='App handled the push' && because result "$data" ;;
        transfer.progress.made) moved Received Written "$data" ;;
        transfer.body.sent) moved Sent Sent "$data" ;;
        transfer.task.completed) completed "$data" ;;
        *) any_sentence "$type" "$data" ;;
    esac
}

scheduled() {
    if [[ $1 =~ \"blockers\":\[\"([^]]*)\"\] ]]; then
        plain_words "${BASH_REMATCH[1]//\",\"/, }"
        sentence="Refresh waits: $value"
    else
        member at "$1"
        sentence=${value:+Next refresh at ${value:11:8}}
        sentence=${sentence:-Refresh was planned}
    fi
}

# after_dash DATA: appends the reason in a status: Held – Silent Budget gives Silent Budget.
after_dash() {
    local value
    member status "$1"
    if [[ $value == *' – '* ]]; then sentence+=": ${value#* – }"; fi
}

# moved VERB MEMBER DATA: a number of bytes of the whole.
moved() {
    local value
    member "totalBytes$2" "$3"
    sentence="$1 ${value:-some} bytes"
    [[ $2 == Written ]] && member totalBytesExpectedToWrite "$3" || member totalBytesExpectedToSend "$3"
    if [[ $value == [1-9]* ]]; then sentence+=" of $value"; fi
}

completed() {
    if [[ $1 == *'"error":{'* ]]; then
        member code "$1"
        sentence="Transfer failed: error ${value:-unknown}"
    else
        sentence='Transfer completed'
    fi
}

# any_sentence TYPE DATA: the noun and the verb of the type, and the most telling member.
any_sentence() {
    local noun=${1#*.} name
    plain_words "${noun%.*}"
    sentence=${value^}
    plain_words "${noun##*.}"
    sentence+=" $value"
    for name in refusal reason status cause result; do
        member "$name" "$2"
        if [[ -n $value ]]; then
            because "$name" "$2"
            return
        fi
    done
}
