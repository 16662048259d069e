#!/bin/sh
# Builds a container image of one of Orrery's servers, named orrery-PROGRAM:vMAJOR.MINOR.PATCH after the program's own version.
# Nothing is fetched from a registry: what the program needs is taken from this machine's libraries (--system libs), or from
# Debian's packages (--system debian, by mmdebstrap: with git, a shell and certificates, for the runner and for agents).
# Needs podman, buildah or docker.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
program=platform
programs=target/release
system=debian
base=
engine=
# Options of the engine that come before its command, such as those of its storage.
engine_options=${ORRERY_ENGINE_OPTIONS:-}
work=

usage() {
    cat <<'TEXT'
Builds a container image of one of Orrery's servers.

Usage: image.sh [OPTIONS]

Options:
  --program NAME   platform, search-server, workflow-runner, vm-manager or orchestrator [default: platform]
  --programs DIR   Where the built programs are [default: target/release]
  --system KIND    debian: packages by mmdebstrap; libs: this machine's libraries alone [default: debian]
  --base IMAGE     An image to stand on, which has what the program needs; nothing is added to it but the programs
  --engine NAME    podman, buildah or docker [default: the first that is there]
  -h, --help       Print help

Environment:
  ORRERY_ENGINE_OPTIONS  Options of the engine before its command, for example --storage-driver=vfs
TEXT
}

stop() {
    printf 'image.sh: %s\n' "$*" >&2
    exit 1
}

wrong_usage() {
    printf 'image.sh: %s\nSee image.sh --help.\n' "$*" >&2
    exit 2
}

clean() {
    if [ -n "$work" ]; then rm -rf -- "$work"; fi
}

while [ $# -gt 0 ]; do
    case "$1" in
        --program | --programs | --system | --base | --engine)
            if [ $# -lt 2 ]; then wrong_usage "$1 needs a value"; fi
            case "$1" in
                --program) program=$2 ;;
                --programs) programs=$2 ;;
                --system) system=$2 ;;
                --base) base=$2 ;;
                --engine) engine=$2 ;;
            esac
            shift
            ;;
        -h | --help) usage; exit 0 ;;
        *) wrong_usage "there is no option $1" ;;
    esac
    shift
done

case "$program" in
    platform | search-server | workflow-runner | vm-manager | orchestrator) ;;
    *) wrong_usage "there is no server $program" ;;
esac
case "$system" in
    debian | libs) ;;
    *) wrong_usage "--system is debian or libs, not $system" ;;
esac
if [ -z "$engine" ]; then
    for one in podman buildah docker; do
        if command -v "$one" >/dev/null 2>&1; then engine=$one; break; fi
    done
fi
command -v "${engine:-none}" >/dev/null 2>&1 || stop "podman, buildah or docker is needed; install one, or name it with --engine"
[ -x "$programs/$program" ] || stop "$programs/$program is not there: build it first (cargo build --release -p $program)"

version=$("$programs/$program" --version | awk '{ print $2 }')
printf '%s\n' "$version" | grep -Eq '^[0-9]+\.[0-9]+\.[0-9]+$' ||
    stop "$program calls its version \"$version\", which is not MAJOR.MINOR.PATCH"

work=$(mktemp -d)
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
umask 022
root=$work/rootfs
mkdir "$root" "$work/data"

# Copies the libraries that a program is loaded with, and the loader, to the places where it looks for them.
copy_libraries() {
    # A static program has none, and ldd says so by its exit code.
    ldd "$1" 2>/dev/null | awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^\//) print $i }' | while read -r library; do
        mkdir -p "$root$(dirname -- "$library")"
        cp -L -- "$library" "$root$library"
    done
}

if [ -z "$base" ]; then
    case "$system" in
        debian)
            command -v mmdebstrap >/dev/null 2>&1 || stop "mmdebstrap is needed for --system debian; install it, or take --system libs"
            packages=git,ca-certificates,openssh-client
            # Whoever gives VMs starts them by QEMU.
            case "$program" in
                platform | vm-manager) packages=$packages,qemu-system-x86,qemu-utils,bubblewrap ;;
                # Agents run apart by it.
                orchestrator) packages=$packages,bubblewrap ;;
            esac
            mmdebstrap --variant=minbase --include="$packages" --quiet \
                --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
                stable "$work/rootfs.tar"
            tar -xf "$work/rootfs.tar" -C "$root" --exclude='./dev/*'
            rm "$work/rootfs.tar"
            ;;
        libs)
            mkdir -p "$root/etc/ssl/certs" "$root/tmp"
            chmod 1777 "$root/tmp"
            copy_libraries "$programs/$program"
            printf 'root:x:0:0:root:/root:/sbin/nologin\norrery:x:10001:10001::/var/lib/orrery:/sbin/nologin\n' > "$root/etc/passwd"
            printf 'root:x:0:\norrery:x:10001:\n' > "$root/etc/group"
            if [ -r /etc/ssl/certs/ca-certificates.crt ]; then
                cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
            fi
            ;;
    esac
fi
mkdir -p "$root/usr/local/bin"
install_program() {
    cp -- "$1" "$root/usr/local/bin/"
    chmod 755 "$root/usr/local/bin/${1##*/}"
    if command -v strip >/dev/null 2>&1; then strip --strip-debug "$root/usr/local/bin/${1##*/}" 2>/dev/null || true; fi
}
install_program "$programs/$program"
# Operators ask the orchestrator from within: its admin port is the container's own.
if [ "$program" = orchestrator ] && [ -x "$programs/orchctl" ]; then install_program "$programs/orchctl"; fi
# The agent of VMs goes with whoever starts some. A program of its own, static: see README.
case "$program" in
    platform | vm-manager)
        guest=
        for one in "$programs/vm-guest" "$programs/../x86_64-unknown-linux-gnu/guest/vm-guest"; do
            if [ -x "$one" ] && ! ldd "$one" 2>/dev/null | grep -q "=>"; then guest=$one; break; fi
        done
        if [ -n "$guest" ]; then
            install_program "$guest"
        elif [ "$program" = vm-manager ]; then
            stop "there is no static vm-guest in $programs: build it first (README.md, \"A first session of workflows\")"
        fi
        ;;
esac
ln -s "$program" "$root/usr/local/bin/entrypoint"

image=orrery-$program:v$version
build="build"
if [ "$engine" = buildah ]; then build="build-using-dockerfile"; fi
# One layer: a folder of a storage that copies its layers is not copied ten times.
layers=
if [ "$engine" != docker ]; then layers="--layers=false --format=oci --isolation=chroot"; fi
# shellcheck disable=SC2086  # options are words
"$engine" $engine_options $build $layers --build-arg BASE="${base:-scratch}" --build-arg PROGRAM="$program" \
    --build-arg VERSION="v$version" -t "$image" -f "$here/Containerfile" "$work" >&2 ||
    stop "$engine could not build $image"
printf '%s\n' "$image"
