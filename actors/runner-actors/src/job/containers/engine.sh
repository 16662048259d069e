#!/bin/sh
# The container engine of a job, in a user namespace of its own: there it may do what containers
# need, and nothing to the machine that a step could not do.
#
#   machine: step, relay ── 172.18.0.1 ─┐ veth
#   engine:  bridge ────────────────────┴─ veth ── network namespace of each container
set -e
here=/tmp/.runner/containers
net=172.18.0
proxy=3128
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export CONTAINERS_CONF=$here/containers.conf CONTAINERS_STORAGE_CONF=$here/storage.conf
export DISABLE_HC_SYSTEMD=true TMPDIR=/var/tmp HOME=/root

inside() {
    nsenter --target "$(cat $here/pid)" --user --mount --net --preserve-credentials -- "$@"
}

# Programs that are to go on when this script ends.
behind() {
    setsid "$@" > /dev/null 2>&1 < /dev/null &
}

start() {
    missing=
    for program in podman crun ip socat nsenter unshare; do
        command -v $program > /dev/null || missing="$missing $program"
    done
    if [ -n "$missing" ]; then
        echo "the machine's image has no$missing" >&2
        exit 69
    fi
    mkdir -p $here/inspect /var/lib/orrery-images/overlay-images /var/lib/orrery-images/overlay-layers /var/lib/orrery-images/overlay /var/lib/orrery-home
    cat > $here/containers.conf << 'END'
[containers]
cgroups = "disabled"
log_driver = "k8s-file"
pids_limit = 0
http_proxy = false
default_sysctls = []
[engine]
runtime = "crun"
events_logger = "none"
cgroup_manager = "cgroupfs"
END
    cat > $here/storage.conf << 'END'
[storage]
driver = "overlay"
graphroot = "/var/lib/containers/storage"
runroot = "/run/containers/storage"
[storage.options]
additionalimagestores = ["/var/lib/orrery-images"]
END
    rm -f $here/go
    mkfifo $here/go
    unshare --user --mount --net sh -c "read -r line < $here/go; exec sleep infinity" \
        > /dev/null 2>&1 < /dev/null &
    pid=$!
    echo $pid > $here/pid
    # The other side opens it once it has its namespaces.
    exec 3> $here/go
    echo "0 0 1048576" > /proc/$pid/uid_map
    echo "0 0 1048576" > /proc/$pid/gid_map
    echo go >&3
    exec 3>&-
    if ! ip link add orrery0 type veth peer name eth0 netns $pid; then
        echo "the machine's kernel cannot make networks of containers: the modules veth and bridge are missing" >&2
        exit 69
    fi
    ip address add $net.1/16 dev orrery0
    ip link set orrery0 up
    inside sh -e -c 'mount -t tmpfs -o mode=755 run /run
mkdir -p /run/netns
ip link set lo up
ip link add br0 type bridge
ip link set eth0 master br0 up
ip link set br0 up'
    # The machine's proxy, for containers.
    behind socat TCP4-LISTEN:$proxy,bind=$net.1,fork,reuseaddr TCP4:127.0.0.1:$proxy
    behind nsenter --target $pid --user --net --preserve-credentials -- socat TCP4-LISTEN:$proxy,bind=127.0.0.1,fork,reuseaddr TCP4:$net.1:$proxy
    inside ip address add $net.254/16 dev br0
}

# NAME NUMBER: a network namespace for a container.
join() {
    inside sh -e -c "ip netns add $1
ip link add v$2 type veth peer name eth0 netns $1
ip link set v$2 master br0 up
ip -n $1 address add $net.$2/16 dev eth0
ip -n $1 link set lo up
ip -n $1 link set eth0 up
ip -n $1 route add default via $net.1
setsid nsenter --net=/run/netns/$1 socat TCP4-LISTEN:$proxy,bind=127.0.0.1,fork,reuseaddr TCP4:$net.1:$proxy > /dev/null 2>&1 < /dev/null &"
}

# TCP|UDP PORT ADDRESS PORT: a port of the machine that leads to one of a container.
forward() {
    behind socat "$1"4-LISTEN:"$2",fork,reuseaddr "$1"4:"$3":"$4"
}

command=$1
shift
case "$command" in
start) start ;;
join) join "$@" ;;
forward) forward "$@" ;;
images)
    cd /var/lib/orrery-images
    sh unpack.sh sh $here/engine.sh run
    ;;
job)
    # The machine's Node, for actions.
    for folder in /opt/node*; do
        if [ -d "$folder" ]; then set -- "--volume=$folder:$folder:ro" "$@"; fi
    done
    inside podman create "$@" > /dev/null
    ;;
create) inside podman create "$@" > /dev/null ;;
begin) inside podman start "$1" > /dev/null ;;
inspect) inside podman inspect "$1" > "$here/inspect/$1.json" ;;
alive) inside crun state "$1" 2> /dev/null | grep -q '"status": *"running"' ;;
quiet) inside "$@" > /dev/null 2>&1 ;;
run) inside "$@" ;;
esac
