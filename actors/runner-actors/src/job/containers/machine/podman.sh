#!/bin/sh
# podman as podman-compose calls it: waiting for containers as a newer one does it.
here=/tmp/.runner/containers
case "$1 $2" in
"--version "*) echo "podman version 4.6.0" ;;
"wait --condition="*)
    condition=${2#--condition=}
    shift 2
    if [ "$1" = --ignore ]; then shift; fi
    exec python3 $here/keeper.py wait "$condition" "$@"
    ;;
"build "*)
    # A layer of another build would be taken for one with other arguments.
    case " $* " in *" --build-arg"*) shift && set -- build --layers=false "$@" ;; esac
    shift
    exec python3 -B $here/dockerfile.py "$@"
    ;;
*) exec podman "$@" ;;
esac
