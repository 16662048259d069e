# What runs on the worker, in one SSH session; sent over standard input. POSIX sh, with git, flock and
# setsid. The client has put assignments in front: folder, slots, wait, prefix, id, and a function `build`.
#
# client                                worker
#   script ------------------------------>  takes a slot (a lock that ends with this process)
#        <------------------- "slot N" or "full"
#   git push, then "go COMMIT" ---------->  checks it out, runs it, gives its output and exit code
#   (end of input at any time) ---------->  ends everything, cleans up
set -u
umask 077
exec 3<&0 </dev/null
mkdir -p "$folder/slots" "$folder/work" || exit 125
cd "$folder" || exit 125
folder=$PWD
repository=$folder/objects.git
slot=
job=
watcher=

# Ends the processes of a build by their group, and of those that left it by their folder.
end_all() {
    [ -n "$1" ] && kill "-$2" -- "-$1" 2>/dev/null
    for process in /proc/[0-9]*; do
        case $(readlink "$process/cwd" 2>/dev/null) in
            "$folder/work/$slot" | "$folder/work/$slot/"* | "$folder/work/$slot (deleted)")
                kill "-$2" "${process#/proc/}" 2>/dev/null ;;
        esac
    done
}

clean_up() {
    trap '' HUP INT TERM
    [ -n "$watcher" ] && kill -KILL "$watcher" 2>/dev/null
    if [ -n "$slot" ]; then
        end_all "$job" KILL
        rm -rf "${folder:?}/work/$slot"
        git --git-dir="$repository" update-ref -d "refs/builds/$id" 2>/dev/null
    fi
}

stop() {
    if [ -n "$job" ]; then
        end_all "$job" TERM
        tries=0
        while [ "$tries" -lt 25 ] && kill -0 -- "-$job" 2>/dev/null; do
            sleep 0.2
            tries=$((tries + 1))
        done
    fi
    exit 143
}
trap clean_up EXIT
trap stop HUP INT TERM

# One slot that nobody holds, if there is one. The lock is on descriptor 9 of this shell only.
take_slot() {
    number=1
    while [ "$number" -le "$slots" ]; do
        exec 9>"slots/$number"
        if flock -n 9; then
            slot=$number
            return 0
        fi
        number=$((number + 1))
    done
    exec 9>&-
    return 1
}

[ -d "$repository" ] || git init -q --bare --template= "$repository" || exit 125
told=
until take_slot; do
    if [ "$wait" = 0 ]; then
        echo full
        exit 75
    fi
    [ -n "$told" ] || echo "build-dispatch: all $slots slots are taken; waiting" >&2
    told=1
    # The client says every moment that it is still there; one that has left closes the input.
    IFS= read -r line <&3 || exit 143
done
# Whatever a crash of this machine or session has left in the slot.
end_all "" KILL
rm -rf "${folder:?}/work/$slot"
# Files of clients that were ended while they sent them.
now=$(date +%s)
git --git-dir="$repository" for-each-ref --format='%(refname) %(committerdate:unix)' refs/builds | while read -r ref date; do
    [ $((now - date)) -lt 86400 ] || git --git-dir="$repository" update-ref -d "$ref"
done
echo "slot $slot"
word=
while [ -z "$word" ]; do
    IFS=' ' read -r word commit <&3 || exit 143
done
[ "$word" = go ] || exit 125

git init -q --template= "work/$slot" || exit 125
echo "$repository/objects" >"work/$slot/.git/objects/info/alternates"
git -C "work/$slot" -c advice.detachedHead=false -c core.hooksPath=/dev/null checkout -q --detach "$commit" || exit 125

( cat <&3; kill -TERM $$ ) >/dev/null 2>&1 9>&- &
watcher=$!
# This shell stays outside of the work folder: what is in there is ended with the build.
( cd "work/$slot/$prefix" && build ) 3<&- 9>&- &
job=$!
code=143
wait "$job"
code=$?
# 255 is how ssh says that it failed itself.
[ "$code" = 255 ] && code=254
exit "$code"
