#!/bin/sh
# What netavark calls for a packet filter. A machine has none and needs none: it is thrown away with
# its job, and has nothing to hide from itself. All rules are taken as given but two for each port:
# one says where it leads, the next one of which container and network it is, and the engine's
# keeper opens it by socat.
here=/tmp/.runner/containers
ports=$here/ports
case "$*" in
*--version*)
    echo "iptables v1.8.9 (legacy)"
    exit 0
    ;;
*" -S"*)
    cat $ports/chains 2> /dev/null
    exit 0
    ;;
*" -N "*)
    while [ "$1" != -N ]; do shift; done
    echo "-N $2" >> $ports/chains
    exit 0
    ;;
*"-j DNAT"* | *"dnat name: "*) ;;
*) exit 0 ;;
esac
verb= kind=tcp to= port= host=0.0.0.0 comment=
while [ $# -gt 0 ]; do
    case "$1" in
    -A | -C | -D) verb=$1 ;;
    -p) kind=$2 ;;
    -d) host=$2 ;;
    --to-destination) to=$2 ;;
    --destination-port | --dport) port=$2 ;;
    --comment) comment=$2 ;;
    esac
    shift
done
plan=$ports/plan-$kind-$port
if [ -z "$comment" ]; then
    # IPv6, and the port of names: neither is one of the machine.
    case "$to-$port" in
    '['* | *-53) exit 0 ;;
    esac
    case "$verb" in
    -C) exit 1 ;;
    -A) echo "$host ${to%:*} ${to##*:}" > "$plan" ;;
    esac
    exit 0
fi

ask() {
    said=$(echo "$*" | socat -t 30 - UNIX-CONNECT:$here/ports.sock)
    if [ "$said" != ok ]; then
        echo "$said" >&2
        exit 4
    fi
}

id=${comment##* id: }
network=${comment#dnat name: }
network=${network%% id: *}
own=$ports/$kind-$port-$id
case "$verb" in
-C)
    [ -e "$own-$network" ]
    exit
    ;;
-A)
    read -r host address inner < "$plan"
    ask open "$kind" "$host" "$port" "$address" "$inner" "$id"
    mv "$plan" "$own-$network"
    ;;
-D)
    rm -f "$own-$network"
    ask close "$kind" "$port" "$id"
    # In another network it is still there.
    for other in "$own"-*; do
        [ -e "$other" ] || continue
        read -r host address inner < "$other"
        ask open "$kind" "$host" "$port" "$address" "$inner" "$id"
        break
    done
    ;;
esac
