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
export CONTAINERS_REGISTRIES_CONF=$here/registries.conf BUILDAH_ISOLATION=chroot
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
netns = "host"
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
    echo 'unqualified-search-registries = ["docker.io"]' > $here/registries.conf
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

# NAME NUMBER [ADDRESS]: a network namespace for a container.
join() {
    inside sh -e -c "ip netns add $1
ip link add v$2 type veth peer name eth0 netns $1
ip link set v$2 master br0 up
ip -n $1 address add ${3:-$net.$2}/16 dev eth0
ip -n $1 link set lo up
ip -n $1 link set eth0 up
ip -n $1 route add default via $net.1
setsid nsenter --net=/run/netns/$1 socat TCP4-LISTEN:$proxy,bind=127.0.0.1,fork,reuseaddr TCP4:$net.1:$proxy > /dev/null 2>&1 < /dev/null &"
}

# TCP|UDP PORT ADDRESS PORT: a port of the machine that leads to one of a container.
forward() {
    behind socat "$1"4-LISTEN:"$2",fork,reuseaddr "$1"4:"$3":"$4"
}

# ADDRESS, and the arguments of `docker run`: its ports are the machine's.
publish() {
    address=$1
    shift
    while [ $# -gt 0 ]; do
        port=
        case "$1" in
        -p | --publish) port=$2 ;;
        --publish=*) port=${1#*=} ;;
        -p?*) port=${1#-p} ;;
        esac
        kind=TCP
        case "$port" in */udp) kind=UDP ;; esac
        port=${port%/*}
        inner=${port##*:}
        outer=${port%:*}
        outer=${outer##*:}
        if [ -n "$inner" ] && [ "$port" != "$inner" ]; then forward $kind "$outer" "$address" "$inner"; fi
        shift
    done
}

# In the folder that the script is in, which another mount namespace does not keep.
here_inside() {
    inside sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" "$@"
}

# What `docker` is to scripts: podman, each container with an address in the job's network.
as_docker() {
    verb=$1
    case "$verb" in
    compose | network | swarm | stack | service | context)
        echo "docker $verb is not given here: name containers in \`services\`" >&2
        exit 64
        ;;
    run | create)
        shift
        number=1
        while ! mkdir "$here/docker-$number" 2> /dev/null; do number=$((number + 1)); done
        if [ $number -gt 250 ]; then
            echo "a job has at most 250 containers of scripts" >&2
            exit 69
        fi
        join "docker-$number" "d$number" "${net%.*}.1.$number"
        publish "${net%.*}.1.$number" "$@"
        # The rest of it is not to be had in a user namespace.
        for word in "$@"; do
            shift
            if [ "$word" = --privileged ]; then
                set -- "$@" --cap-add=ALL --security-opt=seccomp=unconfined
            else
                set -- "$@" "$word"
            fi
        done
        here_inside podman "$verb" "--network=ns:/run/netns/docker-$number" \
            "--add-host=host.docker.internal:$net.1" --http-proxy "$@"
        ;;
    *) here_inside podman "$@" ;;
    esac
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
inspect)
    inside podman inspect "$1" > "$here/inspect/$1.json"
    id=$(sed -n 's/^ *"Id": "\([0-9a-f]*\)".*/\1/p' "$here/inspect/$1.json" | head -n 1)
    cp "/var/lib/containers/storage/overlay-containers/$id/userdata/config.json" "$here/inspect/$1.runtime.json"
    ;;
alive) inside crun state "$1" 2> /dev/null | grep -q '"status": *"running"' ;;
quiet) inside "$@" > /dev/null 2>&1 ;;
run) inside "$@" ;;
docker) as_docker "$@" ;;
usable) command -v podman > /dev/null ;;
install)
    # An image that has its own keeps it.
    if ! command -v docker > /dev/null && command -v podman > /dev/null; then
        printf '#!/bin/sh\nexec sh %s docker "$@"\n' $here/engine.sh > /usr/local/bin/docker
        chmod 755 /usr/local/bin/docker
    fi
    ;;
esac
