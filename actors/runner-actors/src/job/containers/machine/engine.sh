#!/bin/sh
# The container engine of a job, in a user namespace of its own: there it may do what containers
# need, and nothing to the machine that a step could not do.
#
#   machine: steps, keeper, relay ─ 172.18.0.1 ─┐ veth
#   engine:  br0 172.18.0.254 ──────────────────┴─ veth ─ each container that the runner starts
#            networks of podman, by netavark ─────── veth ─ each container that scripts start
#
# docker.sh is what `docker` is to scripts; keeper.py has the socket, ports and health checks.
set -e
here=/tmp/.runner/containers
net=172.18.0
proxy=3128
export PATH=$here/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export CONTAINERS_CONF=$here/containers.conf CONTAINERS_STORAGE_CONF=$here/storage.conf
export CONTAINERS_REGISTRIES_CONF=$here/registries.conf BUILDAH_ISOLATION=chroot
home=${HOME:-/root}
export DISABLE_HC_SYSTEMD=true TMPDIR=/var/tmp NETAVARK_FW=iptables HOME=/root

inside() {
    nsenter --target "$(cat $here/pid)" --user --mount --net --preserve-credentials -- "$@"
}

# Programs that are to go on when this script ends.
behind() {
    setsid "$@" > /dev/null 2>&1 < /dev/null &
}

# What podman reads.
configure() {
    cat > $here/containers.conf << END
[containers]
cgroups = "disabled"
netns = "bridge"
log_driver = "k8s-file"
pids_limit = 0
http_proxy = false
default_sysctls = []
base_hosts_file = "$here/hosts"
host_containers_internal_ip = "$net.1"
[network]
network_backend = "netavark"
network_config_dir = "$here/networks"
default_subnet = "10.88.0.0/16"
default_subnet_pools = [{"base" = "10.89.0.0/16", "size" = 24}, {"base" = "10.90.0.0/15", "size" = 24}]
[engine]
runtime = "crun"
events_logger = "file"
events_logfile_path = "$here/events.log"
enable_port_reservation = false
cgroup_manager = "cgroupfs"
[engine.runtimes]
crun = ["$here/crun.sh"]
END
    cat > $here/storage.conf << END
[storage]
driver = "overlay"
graphroot = "/var/lib/containers/storage"
runroot = "/run/containers/storage"
[storage.options]
additionalimagestores = ["/var/lib/orrery-images"]
END
    # As Docker has it: a registry of the machine itself needs no TLS.
    cat > $here/registries.conf << END
unqualified-search-registries = ["docker.io"]
[[registry]]
location = "localhost"
insecure = true
[[registry]]
location = "127.0.0.1"
insecure = true
END
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
    mkdir -p $here/bin $here/inspect $here/networks $here/ports /var/lib/orrery-images/overlay-images /var/lib/orrery-images/overlay-layers /var/lib/orrery-images/overlay /var/lib/orrery-home
    configure
    hosts
    # aardvark-dns of podman 5 does not start without; this is what a machine without it asks.
    [ -e /etc/resolv.conf ] || echo nameserver 127.0.0.1 > /etc/resolv.conf || true
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
    # Networks of scripts may be any of these.
    for private in 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16; do
        ip route add $private via $net.254
    done
    # The socket of the machine's proxy stays where it is.
    mkdir -p /run/orrery /var/lib/orrery-proxy
    inside sh -e -c "mount --bind /run/orrery /var/lib/orrery-proxy
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/netns /run/orrery
mount --bind /var/lib/orrery-proxy /run/orrery
ln -s $here/docker.sock /run/docker.sock
ip link set lo up
ip link add br0 type bridge
ip link set eth0 master br0 up
ip address add $net.254/16 dev br0
ip link set br0 up
echo 1 > /proc/sys/net/ipv4/ip_forward"
    # The machine's proxy, for containers.
    behind socat TCP4-LISTEN:$proxy,bind=$net.1,fork,reuseaddr TCP4:127.0.0.1:$proxy
    behind nsenter --target $pid --user --net --preserve-credentials -- socat TCP4-LISTEN:$proxy,bind=127.0.0.1,fork,reuseaddr TCP4:$net.1:$proxy
    keep
}

# The keeper, and with it the socket, where the image has what that needs.
keep() {
    if ! command -v python3 > /dev/null || ! [ -x /usr/lib/podman/netavark ]; then return; fi
    for name in iptables ip6tables; do ln -sf ../iptables.sh $here/bin/$name; done
    mkfifo $here/ready
    setsid python3 $here/keeper.py > $here/ready 2> $here/keeper.log < /dev/null &
    read -r line < $here/ready
    rm $here/ready
    # An image that has its own engine keeps it.
    if ! [ -e /run/docker.sock ]; then ln -s $here/docker.sock /run/docker.sock; fi
}

# NAME:ADDRESS…: what all containers know by name.
hosts() {
    echo "127.0.0.1 localhost
$net.1 host.docker.internal host.containers.internal" > $here/hosts.new
    for word in "$@"; do echo "${word#*:} ${word%%:*}" >> $here/hosts.new; done
    mv $here/hosts.new $here/hosts
}

# NAME NUMBER: a network namespace for a container.
join() {
    inside sh -e -c "ip netns add $1
ip link add v$2 type veth peer name eth0 netns $1
ip link set v$2 master br0 up
ip -n $1 address add $net.$2/16 dev eth0
ip -n $1 link set lo up
ip -n $1 link set eth0 up
ip -n $1 route add default via $net.254
setsid nsenter --net=/run/netns/$1 socat TCP4-LISTEN:$proxy,bind=127.0.0.1,fork,reuseaddr TCP4:$net.1:$proxy > /dev/null 2>&1 < /dev/null &"
}

# TCP|UDP PORT ADDRESS PORT: a port of the machine that leads to one of a container. podman has it
# as well: a registry may be behind it.
forward() {
    behind socat "$1"4-LISTEN:"$2",fork,reuseaddr "$1"4:"$3":"$4"
    behind nsenter --target "$(cat $here/pid)" --user --net --preserve-credentials -- socat "$1"4-LISTEN:"$2",fork,reuseaddr "$1"4:"$3":"$4"
}

# In the folder that the script is in, which another mount namespace does not keep.
here_inside() {
    inside sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" "$@"
}

command=$1
shift
case "$command" in
start) start ;;
hosts) hosts "$@" ;;
join) join "$@" ;;
forward) forward "$@" ;;
images)
    cd /var/lib/orrery-images
    sh unpack.sh sh $here/engine.sh run
    ;;
job)
    # The machine's Node, for actions, and the engine's socket, as on GitHub.
    for folder in /opt/node*; do
        if [ -d "$folder" ]; then set -- "--volume=$folder:$folder:ro" "$@"; fi
    done
    case "$*" in
    *docker.sock*) ;;
    *) if [ -S $here/docker.sock ]; then set -- "--volume=$here/docker.sock:/var/run/docker.sock" "$@"; fi ;;
    esac
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
build)
    # Of Dockerfiles with here-documents this podman needs another form.
    if command -v python3 > /dev/null; then
        inside python3 -B $here/dockerfile.py "$@"
    else
        inside podman build "$@"
    fi
    ;;
quiet) inside "$@" > /dev/null 2>&1 ;;
step)
    # podman run …, with the engine's socket as on GitHub, where the job has one.
    if [ -S $here/docker.sock ]; then
        shift 2
        set -- podman run "--volume=$here/docker.sock:/var/run/docker.sock" "$@"
    fi
    inside "$@"
    ;;
run) inside "$@" ;;
docker)
    # Credentials of a step are its own.
    HOME=$home
    . $here/docker.sh
    as_docker "$@"
    ;;
podman)
    # By itself it may not do in the machine what containers need, and has no images of the job.
    HOME=$home
    here_inside podman "$@"
    ;;
usable) command -v podman > /dev/null ;;
install)
    # An image that has its own keeps it.
    real=$(command -v podman) || exit 0
    # What the engine itself calls.
    mkdir -p $here/bin
    case "$real" in /usr/local/bin/* | $here/*) ;; *) ln -sf "$real" $here/bin/podman ;; esac
    for name in docker docker-compose podman; do
        words=$name
        if [ $name = docker-compose ]; then words="docker compose"; fi
        if [ "$(command -v $name)" = "" ] || [ $name = podman ] && [ -L $here/bin/podman ]; then
            # The engine is root's, whoever the steps are.
            as_root='[ "$(id -u)" = 0 ] || set -- sudo -n -E "$@"'
            printf '#!/bin/sh\nset -- sh %s %s "$@"\n%s\nexec "$@"\n' $here/engine.sh "$words" "$as_root" > /usr/local/bin/$name
            chmod 755 /usr/local/bin/$name
        fi
    done
    ;;
esac
