"""What `docker` knows and podman has in other words or not at all: info, version, contexts, buildx,
emulators, compose. Run by docker.sh in the machine; ENGINE_PID names the engine's namespaces.

Builders and contexts are names only: whatever a script makes and chooses, the job's engine builds.
"""

import json
import os
import sys

import build
import buildx
import compose
import emulators
from common import HERE, Engine, fail, option, podman, show

SOCKET = "unix:///var/run/docker.sock"
STATE = os.path.join(HERE, "client.json")


def state():
    try:
        with open(STATE, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {"contexts": {}, "context": "default", "builders": [], "builder": "default"}


def keep(value):
    with open(STATE, "w", encoding="utf-8") as file:
        json.dump(value, file)


def info(words):
    form, _ = option(words, "-f", "--format")
    if not form:
        sys.exit(podman("info").returncode)
    found = Engine.ask("/info")
    show(found, form)


def version(words):
    form, _ = option(words, "-f", "--format")
    if not form:
        sys.exit(podman("version").returncode)
    server = Engine.ask("/version")
    client = {name: server.get(name) for name in
              ("Version", "ApiVersion", "GitCommit", "GoVersion", "Os", "Arch", "BuildTime")}
    client |= {"APIVersion": server.get("ApiVersion"), "DefaultAPIVersion": server.get("ApiVersion"),
               "Context": "default"}
    server["APIVersion"] = server.get("ApiVersion")
    show({"Client": client, "Server": server}, form)


def context(words):
    verb, words = (words[0], words[1:]) if words else ("ls", [])
    now = state()
    form, words = option(words, "-f", "--format")
    known = {"default": SOCKET} | now["contexts"]
    if verb in ("ls", "list"):
        for name, host in known.items():
            current = name == now["context"]
            entry = {"Current": current, "Name": name, "DockerEndpoint": host, "Description": "",
                     "Error": ""}
            if "-q" in words or "--quiet" in words:
                print(name)
            else:
                show(entry, form, f"{name + (' *' if current else ''):20} {host}")
    elif verb == "show":
        print(now["context"])
    elif verb == "inspect":
        names = [word for word in words if not word.startswith("-")] or [now["context"]]
        entries = []
        for name in names:
            if name not in known:
                fail(f"context {name!r} does not exist", 1)
            entries.append({
                "Name": name, "Metadata": {}, "TLSMaterial": {}, "Storage": {},
                "Endpoints": {"docker": {"Host": known[name], "SkipTLSVerify": False}},
            })
        if form in (None, "json"):
            print(json.dumps(entries, indent=None if form else 4))
            return
        for entry in entries:
            show(entry, form)
    elif verb == "create":
        made, words = option(words, "--docker")
        _, words = option(words, "--description", "--from")
        host = dict(pair.split("=", 1) for pair in (made or "").split(",") if "=" in pair)
        name = next((word for word in words if not word.startswith("-")), "")
        now["contexts"][name] = host.get("host", SOCKET)
        keep(now)
        print(name)
    elif verb == "use":
        name = words[0] if words else ""
        if name not in known:
            fail(f"context {name!r} does not exist", 1)
        if known[name] not in (SOCKET, "unix:///run/docker.sock"):
            fail(f"docker context use: {known[name]} is another engine; a job has its own only")
        keep(now | {"context": name})
        print(name)
    elif verb in ("rm", "remove"):
        for name in words:
            now["contexts"].pop(name, None)
        keep(now)
    else:
        fail(f"docker context {verb} is not given here")


VERBS = {
    "info": info,
    "version": version,
    "context": context,
    "build": build.build,
    "buildx": buildx.buildx,
    "compose": compose.compose,
    "emulators": emulators.emulators,
}


if __name__ == "__main__":
    VERBS[sys.argv[1]](sys.argv[2:])
