#!/bin/sh
# Installs Orrery's programs for one person: downloads a release, compares it with its checksums, and puts the programs
# in place by an atomic rename, so that one that runs goes on as it was. Manuals and completions come with them, and a
# line for PATH where the folder is not in it. --uninstall takes away what was placed, and nothing else. Needs curl or
# GNU wget, tar, gzip, awk and sha256sum; nothing of it from the network with --from.
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
from=
path_line=yes
units=no
uninstall=no
share_dir=
receipt=
placed=
getter=curl
scratch=

usage() {
    cat <<'TEXT'
Installs Orrery's search server and its terminal client, with manuals and completions.

Usage: install.sh [OPTIONS]

Options:
  --install-dir DIR  Where the programs go [default: ~/.local/bin]
  --with-cli         Also install service-cli, the client for scripts
  --cli-only         Install service-cli alone
  --all              Install every program: runner, VM manager, orchestrator and their clients too
  --version VERSION  The release, such as v1.2.3 [default: latest]
  --from DIR         Take the release from a folder of this machine: what `cargo xtask dist` made, or
                     the downloaded archives with their SHA256SUMS. Nothing is fetched
  --units            Also place the units for systemd of what is installed (as root)
  --no-path          Leave the shell's start-up file as it is
  --uninstall        Remove what was installed into --install-dir; data are kept
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
            --from) value_of "$1" $#; from=$2; shift ;;
            --from=*) from=${1#*=} ;;
            --units) units=yes ;;
            --no-path) path_line=no ;;
            --uninstall) uninstall=yes ;;
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
    if [ "$units" = yes ] && [ "$(id -u)" != 0 ]; then
        wrong_usage "--units places them for the whole machine: run it as root, with --install-dir /usr/local/bin"
    fi
    # Beside …/bin is …/share, where shells and man look by themselves.
    case "$install_dir" in
        */bin) share_dir=${install_dir%/bin}/share ;;
        *) share_dir=${XDG_DATA_HOME:-${HOME:-$install_dir}/.local/share} ;;
    esac
    receipt=$share_dir/orrery-installed-$(printf '%s' "$install_dir" | cksum | cut -d ' ' -f 1)
}

need() {
    command -v "$1" >/dev/null 2>&1 || stop "$1 is needed; install it with your system's packages ($2)"
}

check_place() {
    if [ -n "$from" ]; then
        if [ ! -d "$from" ]; then stop "$from is no folder"; fi
        return
    fi
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
    fetch "$1/latest" "$scratch/page" quiet 2>/dev/null || return 1
    ! is_release "$(head -n 1 "$scratch/page" | tr -d ' \r')"
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

# fetch ADDRESS FILE [quiet]: the reason of a failure is the program's that fetches.
fetch() {
    tell "fetching $1"
    if [ -n "$from" ]; then
        cp -- "$1" "$2"
    elif [ "$getter" = wget ]; then
        follow "$1" >"$scratch/followed" && wget_quietly --output-document="$2" "$(cat "$scratch/followed")"
    else
        # A bar for people; the reason of a failure for everybody.
        bar=--silent
        if [ -t 2 ] && [ "${3:-}" != quiet ]; then bar=--progress-bar; fi
        allowed=$(protocols)
        curl --fail "$bar" --show-error --location --max-redirs 5 --proto "$allowed" --proto-redir "$allowed" \
            --connect-timeout 20 --retry 2 --output "$2" "$1"
    fi
}

# wget goes wherever it is redirected to. So redirects are followed here, where each address is looked at.
wget_quietly() {
    bar=--quiet
    if [ -t 2 ]; then bar='--quiet --show-progress'; fi
    # shellcheck disable=SC2086 # two words
    wget $bar --no-netrc --max-redirect=0 --timeout=20 --tries=3 "$@"
}

is_allowed() {
    case "$1" in
        https://*) return 0 ;;
        http://*) [ "$verify" = no ] ;;
        *) return 1 ;;
    esac
}

# Prints where an address leads to in the end.
follow() {
    address=$1
    for _ in 1 2 3 4 5 6; do
        if ! is_allowed "$address"; then
            printf 'install.sh: %s is not protected by TLS\n' "$address" >&2
            return 1
        fi
        LC_ALL=C wget --no-netrc --spider --server-response --max-redirect=0 --timeout=20 --tries=3 "$address" \
            >"$scratch/head" 2>&1 || true
        answer=$(awk '$1 ~ /^HTTP\// { code = $2 } END { print code }' "$scratch/head")
        case "$answer" in
            2??) printf '%s\n' "$address"; return 0 ;;
            301 | 302 | 303 | 307 | 308) ;;
            *) tail -n 2 "$scratch/head" >&2; return 1 ;;
        esac
        next=$(awk 'tolower($1) == "location:" { found = $2 } END { print found }' "$scratch/head" | tr -d '\r')
        case "$next" in
            *://*) address=$next ;;
            /*) address=$(printf '%s\n' "$address" | sed 's|^\([a-z]*://[^/]*\).*|\1|')$next ;;
            *) address=${address%/*}/$next ;;
        esac
    done
    printf 'install.sh: %s is redirected too often\n' "$1" >&2
    return 1
}

# Prints the address of the page that an address leads to.
final_address() {
    if [ "$getter" = wget ]; then
        follow "$1"
        return
    fi
    allowed=$(protocols)
    curl --fail --silent --show-error --location --max-redirs 5 --proto "$allowed" --proto-redir "$allowed" \
        --connect-timeout 20 --output /dev/null --write-out '%{url_effective}' "$1"
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
    if [ -n "$from" ]; then
        find_version_in_folder
        return
    fi
    case "$releases" in
        */releases/download)
            # Forges send the browser from here to the newest release's page.
            page=$(final_address "${releases%/download}/latest") ||
                stop "the newest release cannot be found at ${releases%/download}/latest; name one with --version"
            version=${page##*/}
            place=${releases%/download}/latest
            ;;
        *)
            fetch "$releases/latest" "$scratch/latest" quiet ||
                stop "the newest release cannot be found at $releases/latest; name one with --version"
            version=$(head -n 1 "$scratch/latest" | tr -d ' \r')
            place=$releases/latest
            ;;
    esac
    # What was found is nobody's wrong usage.
    is_release "$version" ||
        stop "$place leads to \"$(printf '%s' "$version" | cut -c 1-80)\", which is no release: name one with --version"
}

find_version_in_folder() {
    if [ -f "$from/latest" ]; then
        version=$(head -n 1 "$from/latest" | tr -d ' \r')
        is_release "$version" || stop "$from/latest names no release: name one with --version"
        return
    fi
    # Archives alone: all are of one release.
    found=
    for archive in "$from"/*-v*-"$target".tar.gz; do
        if [ ! -f "$archive" ]; then stop "$from has no archives for $target"; fi
        name=${archive##*/}
        of=v${name#*-v}
        of=${of%"-$target.tar.gz"}
        if [ -n "$found" ] && [ "$found" != "$of" ]; then
            stop "$from has archives of $found and $of: name one with --version"
        fi
        found=$of
    done
    version=$found
    is_release "$version" || stop "$from names no release: name one with --version"
}

# Where the files of the release are.
place_of_release() {
    if [ -z "$from" ]; then
        printf '%s\n' "$releases/$version"
    elif [ -d "$from/$version" ]; then
        printf '%s\n' "$from/$version"
    else
        printf '%s\n' "$from"
    fi
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
    source=$(place_of_release)
    if [ "$verify" = yes ]; then
        fetch "$source/SHA256SUMS" "$scratch/SHA256SUMS" quiet ||
            stop "the checksums of $version cannot be fetched from $source: nothing was installed"
    fi
    count=$(programs | wc -w | tr -d ' ')
    number=0
    for program in $(programs); do
        number=$((number + 1))
        if [ -t 1 ]; then say "($number/$count) $program $version"; fi
        archive=$program-$version-$target.tar.gz
        fetch "$source/$archive" "$scratch/$archive" ||
            stop "$archive cannot be fetched from $source: nothing was installed"
        verify_archive "$archive"
        mkdir "$scratch/$program"
        tar -xzf "$scratch/$archive" -C "$scratch/$program" "$program" ||
            stop "$archive does not hold $program: nothing was installed"
        if [ ! -f "$scratch/$program/$program" ] || [ -L "$scratch/$program/$program" ]; then
            stop "$program in $archive is no file: nothing was installed"
        fi
    done
    download_share
}

# Manuals, completions and units. A release before they were made has none, which is no fault.
download_share() {
    archive=orrery-share-$version.tar.gz
    mkdir "$scratch/beside"
    if [ "$verify" = yes ]; then
        awk -v name="$archive" '$2 == name || $2 == "*" name { found = 1 } END { exit !found }' "$scratch/SHA256SUMS" ||
            return 0
    fi
    fetch "$source/$archive" "$scratch/$archive" quiet 2>/dev/null || {
        if [ "$verify" = yes ]; then stop "$archive cannot be fetched from $source: nothing was installed"; fi
        return 0
    }
    verify_archive "$archive"
    # Plain names in plain folders: nothing else can be placed by it.
    tar -tzf "$scratch/$archive" | grep -Ev '^(share|systemd)/[A-Za-z0-9_./-]*$' | grep -q . &&
        stop "$archive holds what it should not: nothing was installed"
    tar -xzf "$scratch/$archive" -C "$scratch/beside" || stop "$archive cannot be unpacked: nothing was installed"
}

# All programs are in the folder before the first takes its name.
put_in_place() {
    make_folder "$install_dir" || stop "$install_dir cannot be made: choose another one with --install-dir"
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

# Makes a folder and those above it, and notes which of them were not there.
make_folder() {
    folder=$1
    made=
    while [ -n "$folder" ] && [ ! -d "$folder" ]; do
        made="${made}folder $folder
"
        folder=${folder%/*}
    done
    mkdir -p -- "$1" || return 1
    placed=$placed$made
}

# Notes a file of ours: its checksum tells later whether it still is.
note() {
    placed="$placed$(sha256sum -- "$1" | cut -c 1-64) $1
"
}

# place FILE PATH: puts a file beside its place first, then over it.
place() {
    if [ ! -f "$1" ] || [ -L "$1" ]; then return 0; fi
    if ! make_folder "${2%/*}" 2>/dev/null || ! cp -- "$1" "$2.new.$$" 2>/dev/null; then
        say "$2 cannot be written: left out"
        return 0
    fi
    chmod 644 -- "$2.new.$$"
    mv -f -- "$2.new.$$" "$2"
    note "$2"
    tell "installed $2"
}

place_beside() {
    for program in $(programs); do
        note "$install_dir/$program"
        for page in "$scratch/beside/share/man/man1/$program.1" "$scratch/beside/share/man/man1/$program"-*.1; do
            place "$page" "$share_dir/man/man1/${page##*/}"
        done
        place "$scratch/beside/share/bash-completion/completions/$program" \
            "$share_dir/bash-completion/completions/$program"
        place "$scratch/beside/share/zsh/vendor-completions/_$program" "$share_dir/zsh/site-functions/_$program"
        place "$scratch/beside/share/fish/vendor_completions.d/$program.fish" \
            "$share_dir/fish/vendor_completions.d/$program.fish"
    done
}

place_units() {
    if [ "$units" = no ]; then return; fi
    some=no
    for unit in "$scratch/beside/systemd/"*.service; do
        if [ ! -f "$unit" ]; then break; fi
        program=$(sed -n 's|^ExecStart=/usr/local/bin/\([a-z-]*\).*|\1|p' "$unit" | head -n 1)
        programs | tr ' ' '\n' | grep -qx -e "$program" || continue
        sed "s|/usr/local/bin/|$install_dir/|g" "$unit" >"$scratch/unit"
        place "$scratch/unit" "/etc/systemd/system/${unit##*/}"
        say "installed /etc/systemd/system/${unit##*/}; how it is started is at its top"
        some=yes
    done
    if [ "$some" = no ]; then say "this release has no units for what was installed"; fi
}

# The start-up file of the person's shell, and the line that it wants.
find_profile() {
    quoted=$(printf '%s\n' "$install_dir" | sed "s/'/'\\\\''/g")
    line="case \":\$PATH:\" in *:'$quoted':*) ;; *) export PATH='$quoted':\"\$PATH\" ;; esac"
    case "${SHELL##*/}" in
        bash) profile=$HOME/.bashrc ;;
        zsh)
            profile=${ZDOTDIR:-$HOME}/.zshrc
            quoted_share=$(printf '%s\n' "$share_dir" | sed "s/'/'\\\\''/g")
            line="$line
fpath+=('$quoted_share/zsh/site-functions')"
            ;;
        fish)
            profile=${XDG_CONFIG_HOME:-$HOME/.config}/fish/conf.d/orrery.fish
            line="fish_add_path --global --path '$(printf '%s\n' "$install_dir" | sed "s/[\\\\']/\\\\&/g")'"
            ;;
        *) profile= ;;
    esac
}

first_mark='# >>> orrery: the folder of its programs >>>'
last_mark='# <<< orrery <<<'

has_marks() {
    [ -f "$1" ] && grep -qxF -e "$first_mark" -- "$1"
}

write_line() {
    make_folder "${profile%/*}" || return 1
    if [ ! -e "$profile" ]; then placed="${placed}made $profile
"; fi
    printf '%s\n%s\n%s\n' "$first_mark" "$line" "$last_mark" >>"$profile"
}

add_path() {
    case ":${PATH:-}:" in
        *":$install_dir:"*) return ;;
    esac
    profile=
    if [ "$path_line" = yes ] && [ -n "${HOME:-}" ] && [ -n "${SHELL:-}" ]; then find_profile; fi
    if [ -z "$profile" ]; then
        say "$install_dir is not in your PATH: add it, or start the programs by their whole path"
        return
    fi
    if ! has_marks "$profile" && ! write_line 2>/dev/null; then
        say "$install_dir is not in your PATH, and $profile cannot be written: add it yourself"
        return
    fi
    placed="${placed}line $profile
"
    say "$install_dir is not in your PATH yet: $profile adds it in new terminals"
}

# What a former installation placed and this one did not stays noted.
write_receipt() {
    # Before the list is written, as it is on the list.
    make_folder "$share_dir" || true
    printf '%s' "$placed" >"$scratch/receipt"
    if [ -f "$receipt" ]; then
        while IFS= read -r entry; do
            # shellcheck disable=SC2016 # expressions of awk
            case "$entry" in
                folder\ * | made\ * | line\ *) key='$0 == entry' ;;
                *) key='substr($0, 1, 4) != "made" && substr($0, index($0, " ")) == substr(entry, index(entry, " "))' ;;
            esac
            entry=$entry awk "BEGIN { entry = ENVIRON[\"entry\"] } $key { found = 1 } END { exit !found }" \
                "$scratch/receipt" || printf '%s\n' "$entry" >>"$scratch/receipt"
        done <"$receipt"
    fi
    if ! cp -- "$scratch/receipt" "$receipt"; then
        say "$receipt cannot be written: --uninstall will not know what was installed"
    fi
}

take_away() {
    rm -f -- "$1" || say "$1 cannot be removed"
    tell "removed $1"
}

remove_line() {
    if ! has_marks "$1"; then return 0; fi
    awk -v first="$first_mark" -v last="$last_mark" \
        '$0 == first { ours = 1 } !ours { print } $0 == last { ours = 0 }' "$1" >"$scratch/profile"
    # Into the file as it is: it may be a link.
    cat "$scratch/profile" >"$1"
    say "took the line out of $1"
}

uninstall_all() {
    if [ ! -f "$receipt" ]; then
        stop "nothing was installed into $install_dir by this script: name the folder with --install-dir"
    fi
    kept=no
    cp -- "$receipt" "$scratch/receipt"
    while IFS= read -r entry; do
        path=${entry#* }
        case "$entry" in
            line\ *) remove_line "$path" ;;
            folder\ * | made\ *) ;;
            *)
                if [ ! -f "$path" ]; then continue; fi
                if [ "$(sha256sum -- "$path" | cut -c 1-64)" != "${entry%% *}" ]; then
                    say "$path was changed since, and is kept"
                    kept=yes
                    continue
                fi
                take_away "$path"
                ;;
        esac
    done <"$scratch/receipt"
    take_away "$receipt"
    sed -n 's/^made //p' "$scratch/receipt" | while IFS= read -r made; do
        if [ -f "$made" ] && [ ! -s "$made" ]; then take_away "$made"; fi
    done
    # The deepest first, and only those that were made for this and are empty now.
    sed -n 's/^folder //p' "$scratch/receipt" | LC_ALL=C sort -r | while IFS= read -r folder; do
        rmdir -- "$folder" 2>/dev/null || true
    done
    if [ "$kept" = no ]; then say "removed what was installed into $install_dir"; fi
    data=${XDG_DATA_HOME:-${HOME:-}/.local/share}/orrery
    for folder in "$data" /var/lib/orrery*; do
        if [ -d "$folder" ]; then say "data are kept in $folder"; fi
    done
}

main() {
    read_options "$@"
    scratch=$(mktemp -d)
    trap clean EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    need awk mawk
    need sha256sum coreutils
    if [ "$uninstall" = yes ]; then
        uninstall_all
        return
    fi
    if [ -z "$from" ] && ! command -v curl >/dev/null 2>&1; then
        case "$releases" in
            file://*) need curl "curl, or name the folder with --from" ;;
        esac
        command -v wget >/dev/null 2>&1 || need curl "curl or wget"
        getter=wget
    fi
    need tar tar
    need gzip gzip
    check_place
    find_target
    find_version
    tell "installing $(programs | tr '\n' ' ')of $version for $target"
    download
    put_in_place
    place_beside
    place_units
    add_path
    write_receipt
}

# Called at the end: a script that was cut off on its way does nothing.
main "$@"
