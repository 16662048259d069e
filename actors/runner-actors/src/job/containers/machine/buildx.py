"""`docker buildx`: builds are podman's, builders are names only."""

import json
import os

import bake
import build
import imagetools
import platforms
from common import HERE, fail, option, show

VERSION = "v0.12.1"
STATE = os.path.join(HERE, "buildx.json")


def state():
    try:
        with open(STATE, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {"builders": {"default": "docker"}, "current": "default"}


def keep(value):
    with open(STATE, "w", encoding="utf-8") as file:
        json.dump(value, file)


def create(words):
    now = state()
    name, words = option(words, "--name")
    driver, words = option(words, "--driver")
    for known in ("--buildkitd-flags", "--buildkitd-config", "--config", "--driver-opt", "--node",
                  "--platform"):
        _, words = option(words, known)
    if driver not in (None, "docker", "docker-container"):
        fail(f"docker buildx create: the driver {driver} is another machine's; a job builds itself")
    name = name or f"builder-{len(now['builders'])}"
    now["builders"][name] = driver or "docker-container"
    if "--use" in words:
        now["current"] = name
    keep(now)
    print(name)


def chosen(words, now):
    """The builder that a command names."""
    name, words = option(words, "--builder")
    words = [word for word in words if not word.startswith("-")]
    name = name or (words[0] if words else None) or os.environ.get("BUILDX_BUILDER")
    name = name or now["current"]
    if name not in now["builders"]:
        fail(f'ERROR: no builder "{name}" found', 1)
    return name


def inspect(words):
    now = state()
    name = chosen(words, now)
    print(f"""Name:          {name}
Driver:        {now["builders"][name]}
Last Activity: 2024-01-01 00:00:00 +0000 UTC

Nodes:
Name:      {name}0
Endpoint:  unix:///var/run/docker.sock
Status:    running
Buildkit:  {VERSION}
Platforms: {", ".join(platforms.supported())}""")


def ls(words):
    now = state()
    form, _ = option(words, "--format")
    if not form:
        print("NAME/NODE  DRIVER/ENDPOINT  STATUS  BUILDKIT  PLATFORMS")
    for name, driver in now["builders"].items():
        star = " *" if name == now["current"] else ""
        able = ",".join(platforms.supported())
        line = f"{name}{star}  {driver}\n  {name}0  unix:///var/run/docker.sock  running  {VERSION}  {able}"
        node = {"Name": f"{name}0", "Endpoint": "unix:///var/run/docker.sock", "Status": "running"}
        entry = {"Name": name, "Driver": driver, "Current": bool(star), "Nodes": [node]}
        show(entry, form, line)


def buildx(words):
    """`docker buildx VERB`."""
    builder, words = option(words, "--builder") if words[:1] != ["build"] else (None, words)
    verb, words = (words[0], words[1:]) if words else ("", [])
    now = state()
    if verb in ("build", "b"):
        build.build(words)
    elif verb in ("bake", "f"):
        bake.bake(words)
    elif verb == "imagetools":
        imagetools.imagetools(words)
    elif verb in ("", "help", "--help"):
        print("docker buildx bake|build|create|du|imagetools|inspect|install|ls|prune|rm|stop|use|version")
    elif verb == "version":
        print(f"github.com/docker/buildx {VERSION} podman")
    elif verb == "create":
        create(words)
    elif verb == "use":
        names = [word for word in words if not word.startswith("-")]
        keep(now | {"current": chosen(names, now)})
    elif verb == "inspect":
        inspect(words + ([f"--builder={builder}"] if builder else []))
    elif verb == "ls":
        ls(words)
    elif verb in ("rm", "stop"):
        names = [word for word in words if not word.startswith("-")]
        for name in names or [now["current"]]:
            if verb == "rm" and name != "default":
                now["builders"].pop(name, None)
        if now["current"] not in now["builders"]:
            now["current"] = "default"
        keep(now)
    elif verb in ("du", "prune"):
        print("Total:\t0B")
    elif verb == "install":
        pass
    else:
        fail(f"docker buildx {verb} is not given here; builds are podman's")
