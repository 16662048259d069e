#!/bin/sh
# Installs Orrery's programs for one person: downloads a release, compares it with its checksums, and puts the programs
# in place by an atomic rename, so that one that runs goes on as it was. Needs curl, tar, gzip and sha256sum.
#
# Releases are where ORRERY_RELEASES says: a folder on a server (https) or on this machine (file) as `cargo xtask dist`
# makes it, or the `…/releases/download` address of a repository on GitHub, Gitea or Forgejo.
set -eu

# `cargo xtask dist --releases` writes the address here.
releases="${ORRERY_RELEASES:-}"

install_dir="${HOME:-}/.local/bin"
version=latest
search=yes
cli=no
all=no
verify=yes
verbose=no
scratch=

usage() {
    cat <<'TEXT'
Installs Orrery's search server and its terminal clients.

Usage: install.sh [OPTIONS]

Options:
  --install-dir DIR  Where the programs go [default: ~/.local/bin]
  --with-cli         Also install service-cli, the client for scripts
  --cli-only         Install service-cli alone
  --all              Install every program: runner, VM manager, orchestrator and their clients too
  --version VERSION  The release, such as v1.2.3 [default: latest]
  --skip-verify      Do not compare checksums, and allow addresses without TLS
  --verbose          Say what is done
  -h, --help         Print help

Environment:
  ORRERY_RELEASES    Where the releases are: https://… or file://…
TEXT
}

say() {
    printf '%s\n' "$*"
}

tell() {
    if [ "$verbose" = yes ]; then say "$*"; fi
}

# Says why and what to do, and ends. Nothing was changed.
stop() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

wrong_usage() {
    printf 'install.sh: %s\nSee install.sh --help.\n' "$*" >&2
    exit 2
}

clean() {
    if [ -n "$scratch" ]; then rm -rf -- "$scratch"; fi
}

value_of() {
    if [ "$2" -lt 2 ]; then wrong_usage "$1 needs a value"; fi
}

read_options() {
    while [ $# -gt 0 ]; do
        case "$1" in
            --install-dir) value_of "$1" $#; install_dir=$2; shift ;;
            --install-dir=*) install_dir=${1#*=} ;;
            --version) value_of "$1" $#; version=$2; shift ;;
            --version=*) version=${1#*=} ;;
            --with-cli) cli=yes ;;
            --cli-only) cli=yes; search=no ;;
            --all) all=yes ;;
            --skip-verify) verify=no ;;
            --verbose) verbose=yes ;;
            -h | --help) usage; exit 0 ;;
            *) wrong_usage "there is no option $1" ;;
        esac
        shift
    done
    if [ -z "$install_dir" ]; then wrong_usage "--install-dir needs a folder"; fi
    if [ "$install_dir" = /.local/bin ]; then
        wrong_usage "HOME is not set: name the folder with --install-dir"
    fi
    if [ "$search" = no ] && [ "$all" = yes ]; then
        wrong_usage "--cli-only and --all exclude each other"
    fi
}

need() {
    command -v "$1" >/dev/null 2>&1 || stop "$1 is needed; install it with your system's packages ($2)"
}

check_place() {
    case "$releases" in
        '') stop "where are the releases? Set ORRERY_RELEASES to their https:// address" ;;
        https://* | file://*) ;;
        http://*)
            if [ "$verify" = yes ]; then
                stop "$releases is not protected by TLS: use https://, or --skip-verify if you trust the network"
            fi
            ;;
        *) stop "ORRERY_RELEASES is to begin with https:// or file://, it is $releases" ;;
    esac
    releases=${releases%/}
    # The page of a forge's releases is what people copy.
    case "$releases" in
        */releases) if page_of_forge "$releases"; then releases=$releases/download; fi ;;
    esac
}

# Whether it is a forge's page of releases, rather than a folder of that name: a folder says which release is the latest.
page_of_forge() {
    allowed=$(protocols)
    found=$(curl --fail --silent --location --max-redirs 5 --proto "$allowed" --proto-redir "$allowed" \
        --connect-timeout 20 "$1/latest" 2>/dev/null) || return 1
    ! is_release "$(printf '%s\n' "$found" | head -n 1 | tr -d ' \r')"
}

# Protocols that addresses and redirects may use. Where anything may be changed on the way, checksums help no one.
protocols() {
    if [ "$verify" = no ]; then
        printf '=https,http,file'
    else
        case "$releases" in
            file://*) printf '=file' ;;
            *) printf '=https' ;;
        esac
    fi
}

# fetch ADDRESS FILE: the reason of a failure is curl's.
fetch() {
    tell "fetching $1"
    allowed=$(protocols)
    curl --fail --silent --show-error --location --max-redirs 5 --proto "$allowed" --proto-redir "$allowed" \
        --connect-timeout 20 --retry 2 --output "$2" "$1"
}

is_release() {
    printf '%s\n' "$1" | grep -Eq '^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$'
}

# A name of a release becomes part of addresses and file names: nothing but vMAJOR.MINOR.PATCH with a suffix may.
check_version() {
    case "$version" in
        v*) ;;
        *) version=v$version ;;
    esac
    is_release "$version" ||
        wrong_usage "$version is no release: they are named like v1.2.3"
}

find_version() {
    if [ "$version" != latest ]; then
        check_version
        return
    fi
    case "$releases" in
        */releases/download)
            # Forges send the browser from here to the newest release's page.
            allowed=$(protocols)
            page=$(curl --fail --silent --show-error --location --max-redirs 5 --proto "$allowed" \
                --proto-redir "$allowed" --connect-timeout 20 --output /dev/null --write-out '%{url_effective}' \
                "${releases%/download}/latest") ||
                stop "the newest release cannot be found at ${releases%/download}/latest; name one with --version"
            version=${page##*/}
            place=${releases%/download}/latest
            ;;
        *)
            fetch "$releases/latest" "$scratch/latest" ||
                stop "the newest release cannot be found at $releases/latest; name one with --version"
            version=$(head -n 1 "$scratch/latest" | tr -d ' \r')
            place=$releases/latest
            ;;
    esac
    # What was found is nobody's wrong usage.
    is_release "$version" ||
        stop "$place leads to \"$(printf '%s' "$version" | cut -c 1-80)\", which is no release: name one with --version"
}

find_target() {
    case "$(uname -s)-$(uname -m)" in
        Linux-x86_64 | Linux-amd64) target=x86_64-unknown-linux-gnu ;;
        Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-gnu ;;
        *) stop "there are no releases for $(uname -s) on $(uname -m): build it with cargo" ;;
    esac
}

programs() {
    if [ "$search" = yes ]; then say search-server service-agent; fi
    if [ "$cli" = yes ] || [ "$all" = yes ]; then say service-cli; fi
    if [ "$all" = yes ]; then
        say platform workflow-runner vm-manager vm-guest orchestrator orchctl build-dispatch
    fi
}

# Compares an archive with the line of the release's SHA256SUMS that names it.
verify_archive() {
    if [ "$verify" = no ]; then
        tell "$1 is not compared with its checksum"
        return
    fi
    expected=$(awk -v name="$1" '$2 == name || $2 == "*" name { print $1 }' "$scratch/SHA256SUMS")
    if [ -z "$expected" ]; then
        stop "SHA256SUMS of $version does not name $1: nothing was installed"
    fi
    found=$(sha256sum "$scratch/$1" | cut -d ' ' -f 1)
    if [ "$expected" != "$found" ]; then
        stop "$1 is not what was released (SHA-256 $found, expected $expected): nothing was installed"
    fi
    tell "$1 has the checksum of its release"
}

download() {
    if [ "$verify" = yes ]; then
        fetch "$releases/$version/SHA256SUMS" "$scratch/SHA256SUMS" ||
            stop "the checksums of $version cannot be fetched from $releases/$version: nothing was installed"
    fi
    for program in $(programs); do
        archive=$program-$version-$target.tar.gz
        fetch "$releases/$version/$archive" "$scratch/$archive" ||
            stop "$archive cannot be fetched from $releases/$version: nothing was installed"
        verify_archive "$archive"
        mkdir "$scratch/$program"
        tar -xzf "$scratch/$archive" -C "$scratch/$program" "$program" ||
            stop "$archive does not hold $program: nothing was installed"
        if [ ! -f "$scratch/$program/$program" ] || [ -L "$scratch/$program/$program" ]; then
            stop "$program in $archive is no file: nothing was installed"
        fi
    done
}

# All programs are in the folder before the first takes its name.
put_in_place() {
    mkdir -p -- "$install_dir" || stop "$install_dir cannot be made: choose another one with --install-dir"
    for program in $(programs); do
        cp -- "$scratch/$program/$program" "$install_dir/.$program.new.$$" ||
            { remove_new; stop "$install_dir cannot be written: choose another one with --install-dir"; }
        chmod 755 -- "$install_dir/.$program.new.$$"
    done
    for program in $(programs); do
        if [ -d "$install_dir/$program" ]; then
            remove_new
            stop "$install_dir/$program is a folder: move it away"
        fi
        mv -f -- "$install_dir/.$program.new.$$" "$install_dir/$program"
        say "installed $install_dir/$program ($version)"
    done
}

remove_new() {
    for program in $(programs); do rm -f -- "$install_dir/.$program.new.$$"; done
}

hint_path() {
    case ":${PATH:-}:" in
        *":$install_dir:"*) ;;
        *) say "$install_dir is not in your PATH: add it, or start the programs by their whole path" ;;
    esac
}

main() {
    read_options "$@"
    need curl curl
    need tar tar
    need gzip gzip
    need awk mawk
    if [ "$verify" = yes ]; then need sha256sum coreutils; fi
    check_place
    find_target
    scratch=$(mktemp -d)
    trap clean EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    find_version
    tell "installing $(programs | tr '\n' ' ')of $version for $target"
    download
    put_in_place
    hint_path
}

# Called at the end: a script that was cut off on its way does nothing.
main "$@"
