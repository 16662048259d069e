# What `docker` is to scripts: podman, in the engine's namespaces. Read by engine.sh.

# Options before the verb; the engine is always the job's.
as_docker() {
    while [ $# -gt 0 ]; do
        case "$1" in
        --config)
            export DOCKER_CONFIG="$2"
            shift
            ;;
        --config=*) export DOCKER_CONFIG="${1#*=}" ;;
        -c | --context | -H | --host | -l | --log-level | --tlscacert | --tlscert | --tlskey) shift ;;
        -H?* | --context=* | --host=* | --log-level=* | --tls* | -D | --debug) ;;
        -v | --version)
            set -- version --format "Docker version {{.Client.Version}}, podman"
            break
            ;;
        *) break ;;
        esac
        shift
    done
    verb=$1
    if [ $# -gt 0 ]; then shift; fi
    case "$verb" in
    container | image)
        case "$verb $1" in
        'container run' | 'container create' | 'image build')
            verb=$1
            shift
            ;;
        esac
        ;;
    builder)
        verb=$1
        if [ "$verb" != build ]; then set -- buildx "$@" && verb=buildx && shift; fi
        if [ $# -gt 0 ]; then shift; fi
        if [ "$verb" = buildx ]; then set -- prune; fi
        ;;
    esac
    # Emulators are the machine's own.
    case "$verb" in
    pull | run | save | inspect | image)
        for word in "$@"; do
            case "$word" in
            *tonistiigi/binfmt* | *multiarch/qemu-user-static*) client emulators "$verb" "$@" ;;
            esac
        done
        ;;
    esac
    case "$verb" in
    load) client emulators "$verb" "$@" ;;
    swarm | stack | service | node | secret | config | plugin | trust | scout)
        refused "docker $verb is not given here: it is Docker's own, and containers here are podman's"
        ;;
    checkpoint) refused "docker checkpoint is not given here" ;;
    compose) compose "$@" ;;
    info | version | context | buildx | build) client "$verb" "$@" ;;
    login | logout) registry "$verb" "$@" ;;
    network) network "$@" ;;
    run | create) container "$verb" "$@" ;;
    '') here_inside podman ;;
    *) here_inside podman "$verb" "$@" ;;
    esac
}

refused() {
    echo "$1" >&2
    exit 64
}

# What podman knows in other words, or not at all, is said by client.py: it prints an answer, or
# runs podman in the engine's namespaces itself.
client() {
    ENGINE_PID=$(cat $here/pid)
    export ENGINE_PID
    exec python3 $here/client.py "$@"
}

# Credentials are where Docker has them: other programs read them there.
registry() {
    verb=$1
    shift
    folder=${DOCKER_CONFIG:-$HOME/.docker}
    mkdir -p "$folder"
    if ! [ -s "$folder/config.json" ]; then echo '{}' > "$folder/config.json"; fi
    chmod 600 "$folder/config.json"
    # Without a name it is Docker's own registry.
    named=
    skip=
    for word in "$@"; do
        if [ -n "$skip" ]; then
            skip=
            continue
        fi
        case "$word" in
        -u | --username | -p | --password) skip=1 ;;
        -*) ;;
        *) named=1 ;;
        esac
    done
    if [ -z "$named" ]; then set -- "$@" docker.io; fi
    here_inside podman "$verb" "--authfile=$folder/config.json" "$@"
}

# Networks are podman's; what it has no word for changes nothing here.
network() {
    for word in "$@"; do
        shift
        case "$word" in
        --attachable | --attachable=* | --scope=*) ;;
        *) set -- "$@" "$word" ;;
        esac
    done
    here_inside podman network "$@"
}

# Containers are in the network they name, else in the engine's own, where the job's services are
# known by their names. Words behind the image are the container's own.
container() {
    verb=$1
    shift
    at=option
    named=
    for word in "$@"; do
        shift
        case "$at:$word" in
        rest:*) ;;
        network:*)
            at=option
            if [ "$word" = orrery ]; then continue; fi
            named=1
            word=--network=$word
            ;;
        value:*) at=option ;;
        option:--net | option:--network)
            at=network
            continue
            ;;
        option:--net=* | option:--network=*)
            # The job's own network, as expressions have it.
            if [ "${word#*=}" = orrery ]; then continue; fi
            named=1
            ;;
        option:--*=* | option:--detach | option:--interactive | option:--tty | option:--rm) ;;
        option:--init | option:--read-only | option:--publish-all | option:--quiet) ;;
        option:--privileged | option:--no-healthcheck | option:--oom-kill-disable | option:--sig-proxy) ;;
        option:-[dPiqt]* | option:-[a-z]?*) ;;
        option:-*) at=value ;;
        option:*) at=rest ;;
        esac
        set -- "$@" "$word"
    done
    # The proxy does not lead to containers: those that have a network of their own are asked by
    # their names.
    if [ -z "$named" ]; then set -- --http-proxy "$@"; fi
    here_inside podman "$verb" "$@"
}

# podman-compose in the engine's namespaces, with podman as it knows it by ../keeper.py.
compose() {
    if ! command -v podman-compose > /dev/null; then
        refused "docker compose: the machine's image has no podman-compose, \`full\` has it (\`vm-manager image build full\`)"
    fi
    exec python3 $here/client.py compose "$@"
}
