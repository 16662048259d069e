#!/bin/sh
# Replaces a running server by one that is built from the remote main branch, and takes it back where that one is not well:
#
#   1. a worktree of its own, at the remote branch: never the folder that agents work in, which has commits of theirs
#   2. the new program checks the configuration
#   3. it takes the place of the running one by an atomic rename; a copy fails with "Text file busy"
#   4. the service is restarted, and its health is asked for until it is well
#   5. the worktree is removed, however this ends
#
# Needs git, curl, and what the program is built with.
set -eu

repository=.
remote=origin
branch=main
program=orchestrator
install_dir=/usr/local/bin
build=
check=
restart=
health=
patience=120
worktree=
scratch=

usage() {
    cat <<'TEXT'
Builds a server from the remote main branch, checks it, puts it in place and restarts it.

Usage: upgrade.sh --check 'ARGUMENTS' --restart COMMAND --health URL [OPTIONS]

Options:
  --program NAME      What to build and replace [default: orchestrator]
  --check ARGUMENTS   With what the new program checks the configuration,
                      for example '--check /etc/orrery/orchestrator/orchestrator.toml'
  --restart COMMAND   What restarts the service and waits for it,
                      for example 'systemctl restart orrery-orchestrator'
  --health URL        What answers 200 when it is well, for example http://127.0.0.1:3200/readyz
  --repository DIR    A clone that no agent can write: its settings name the remote; its files and branches stay as they
                      are [default: .]
  --remote NAME       [default: origin]
  --branch NAME       [default: main]
  --build COMMAND     What builds it, in the worktree, and leaves it in target/release
                      [default: cargo build --release --locked -p PROGRAM]
  --install-dir DIR   Where the running program is [default: /usr/local/bin]
  --patience SECONDS  How long it may take to be well [default: 120]
  -h, --help          Print help

Exit codes: 0 the new program runs and is well, 1 nothing was changed, or the former one was put back, 2 wrong usage,
3 neither the new program nor the former one is well.
TEXT
}

say() {
    printf '%s\n' "$*"
}

stop() {
    printf 'upgrade.sh: %s\n' "$*" >&2
    exit 1
}

wrong_usage() {
    printf 'upgrade.sh: %s\nSee upgrade.sh --help.\n' "$*" >&2
    exit 2
}

# shellcheck disable=SC2317 # called by the trap
clean() {
    if [ -n "$worktree" ]; then
        git -C "$repository" worktree remove --force "$worktree" 2>/dev/null || true
        git -C "$repository" worktree prune 2>/dev/null || true
    fi
    if [ -n "$scratch" ]; then rm -rf -- "$scratch"; fi
    rm -f -- "$install_dir/.$program.new"
}

while [ $# -gt 0 ]; do
    case "$1" in
        -h | --help) usage; exit 0 ;;
        --program | --check | --restart | --health | --repository | --remote | --branch | --build | --install-dir | --patience)
            if [ $# -lt 2 ]; then wrong_usage "$1 needs a value"; fi
            case "$1" in
                --program) program=$2 ;;
                --check) check=$2 ;;
                --restart) restart=$2 ;;
                --health) health=$2 ;;
                --repository) repository=$2 ;;
                --remote) remote=$2 ;;
                --branch) branch=$2 ;;
                --build) build=$2 ;;
                --install-dir) install_dir=$2 ;;
                --patience) patience=$2 ;;
            esac
            shift
            ;;
        *) wrong_usage "there is no option $1" ;;
    esac
    shift
done

case "$program" in
    '' | *[!a-z-]*) wrong_usage "$program is no program's name" ;;
esac
case "$patience" in
    '' | *[!0-9]*) wrong_usage "--patience is a number of seconds, not $patience" ;;
esac
if [ -z "$check" ]; then wrong_usage "--check is needed: a program is not put in place before it has read the configuration"; fi
if [ -z "$restart" ]; then wrong_usage "--restart is needed: a new file alone changes nothing"; fi
if [ -z "$health" ]; then wrong_usage "--health is needed: it says whether the new program is well"; fi
if [ -z "$build" ]; then build="cargo build --release --locked -p $program"; fi
[ -f "$install_dir/$program" ] || stop "$install_dir/$program is not there: this replaces a program, it installs none"
[ -w "$install_dir" ] || stop "$install_dir cannot be written: run this as its owner"
git -C "$repository" rev-parse --git-dir >/dev/null 2>&1 || stop "$repository is no clone: name one with --repository"

scratch=$(mktemp -d)
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# 1. What the remote has, whatever is checked out here.
git -C "$repository" -c core.hooksPath=/dev/null fetch --quiet "$remote" "refs/heads/$branch" || stop "$remote has no branch $branch that can be fetched: nothing was changed"
commit=$(git -C "$repository" rev-parse FETCH_HEAD)
worktree=$scratch/worktree
git -C "$repository" -c core.hooksPath=/dev/null -c core.fsmonitor=false worktree add --quiet --detach "$worktree" "$commit" || stop "no worktree can be made: nothing was changed"
say "building $program of $commit"
(cd -- "$worktree" && CARGO_TARGET_DIR=$worktree/target sh -c "$build") || stop "it does not build: nothing was changed"
new=$worktree/target/release/$program
[ -x "$new" ] || stop "the build left no target/release/$program: nothing was changed"

# 2.
# shellcheck disable=SC2086  # arguments are words
"$new" $check || stop "the new program refuses the configuration: nothing was changed"

# 3. On the same file system first, so that the rename is one step; the former one is kept beside it.
cp -- "$new" "$install_dir/.$program.new"
chmod 755 -- "$install_dir/.$program.new"
ln -f -- "$install_dir/$program" "$install_dir/$program.former"
mv -f -- "$install_dir/.$program.new" "$install_dir/$program"

is_well() {
    left=$patience
    while :; do
        if curl --fail --silent --output /dev/null --max-time 5 "$health"; then return 0; fi
        if [ "$left" -le 0 ]; then return 1; fi
        left=$((left - 1))
        sleep 1
    done
}

# 4.
if sh -c "$restart" && is_well; then
    say "$program of $commit is in place and well; the former one is $install_dir/$program.former"
    exit 0
fi
say "the new program is not well after ${patience} s: the former one is put back" >&2
mv -f -- "$install_dir/$program.former" "$install_dir/$program"
if sh -c "$restart" && is_well; then stop "the former program runs again; the service's log says what was wrong"; fi
printf 'upgrade.sh: %s\n' "neither the new program nor the former one is well: look at the service's log" >&2
exit 3
