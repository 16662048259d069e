#!/bin/sh
# crun as podman calls it. A privileged container wants a `/sys` that can be written, which nobody
# in a user namespace can mount: it stays as the machine has it.
before= bundle=
for word in "$@"; do
    case "$before" in -b | --bundle) bundle=$word ;; esac
    case "$word" in --bundle=*) bundle=${word#*=} ;; esac
    before=$word
done
if [ -n "$bundle" ]; then
    sed -i 's/\("source":"sysfs","options":\[[^]]*\)"rw"/\1"ro"/' "$bundle/config.json"
fi
exec /usr/bin/crun "$@"
