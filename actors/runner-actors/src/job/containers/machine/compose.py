"""`docker compose`: podman-compose in the engine's namespaces, with what it lacks beside Docker's."""

import os
import sys

from common import HERE, engine, fail, option, podman

# Options of Docker's before the verb that change nothing here.
IDLE = ("--ansi", "--progress", "--parallel")
FLAGS = ("--compatibility", "--dry-run", "--all-resources")
# With a value, before the verb.
VALUES = ("-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory")
ABSENT = {
    "alpha", "attach", "bridge", "commit", "create", "events", "export", "ls", "publish", "scale",
    "top", "viz", "volumes", "watch",
}
# What Docker Compose says of itself is asked for by programs that want version 2.
VERSION = "2 (podman-compose)"
PROJECT = "com.docker.compose.project.working_dir"
SERVICE = "com.docker.compose.service"


def split(words):
    """The options before the verb, the verb, and what follows it."""
    before, words = [], list(words)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        name, equals, _ = word.partition("=")
        value = [] if equals or not words else words[:1]
        if name in IDLE:
            words = words[len(value):]
        elif name in FLAGS:
            continue
        elif name in VALUES:
            before += [word, *value]
            words = words[len(value):]
        else:
            before.append(word)
    return before, (words[0] if words else ""), words[1:]


def translate(words):
    """What podman-compose is called with; a text where it cannot be done."""
    before, verb, after = split(words)
    if verb in ABSENT:
        return f"docker compose {verb} is not given here"
    folder, before = option(before, "--project-directory")
    if folder:
        before = ["--env-file", os.path.join(folder, ".env"), *before]
    if verb == "convert":
        verb = "config"
    if verb == "up":
        _, after = option(after, "--menu", "--attach-dependencies")
        after = [word for word in after if word not in ("--quiet-pull", "--quiet-build", "-y")]
        if any(word == "--wait" for word in after) and "-d" not in after:
            after = ["-d", *after]
    if verb in ("exec", "run"):
        # No terminal stands behind a step.
        after = after if "-T" in after[:3] else ["-T", *after]
    if verb == "build":
        _, after = option(after, "--progress", "--builder")
        after = [word for word in after if word not in ("--quiet", "-q")]
    if verb == "ps":
        after = [word for word in after if word not in ("-a", "--all", "--no-trunc")]
    return [*before, *([verb] if verb else ["--help"]), *after]


def containers(service, *words):
    """Those of a service, or of all, of the project in this folder; `podman ps` with more words."""
    filters = [f"--filter=label={PROJECT}={os.getcwd()}"]
    if service:
        filters.append(f"--filter=label={SERVICE}={service}")
    return podman("ps", "--all", *filters, *words, capture_output=True, text=True).stdout.split()


def copy(words):
    """`docker compose cp SERVICE:PATH PATH`, and the other way."""
    _, words = option(words, "--index")
    places = []
    for word in words:
        service, colon, path = word.partition(":")
        if colon and service and "/" not in service:
            found = containers(service, "--format={{.Names}}")
            if not found:
                fail(f"docker compose cp: the service {service} has no container", 1)
            word = f"{found[0]}:{path}"
        places.append(word)
    sys.exit(podman("cp", *places).returncode)


def remove(words):
    """`docker compose rm`: containers that have ended, or all of them with `--stop`."""
    services = [word for word in words if not word.startswith("-")]
    flags = "".join(word.strip("-")[:1] for word in words if word.startswith("-"))
    force = ["--force"] if "s" in flags else []
    volumes = ["--volumes"] if "v" in flags else []
    for service in services or [""]:
        names = containers(service, "--format={{.Names}}", *([] if force else ["--filter=status=exited"]))
        if names:
            podman("rm", *force, *volumes, *names)
    sys.exit(0)


def compose(words):
    before, verb, after = split(words)
    if verb == "version" or "--version" in before or "-v" in before:
        print("2" if "--short" in after else f"Docker Compose version {VERSION}")
        return
    if verb == "cp":
        copy(after)
    if verb == "rm":
        remove(after)
    if verb == "ps" and "--services" in after:
        print("\n".join(dict.fromkeys(containers("", f'--format={{{{index .Labels "{SERVICE}"}}}}'))))
        return
    found = translate(words)
    if isinstance(found, str):
        fail(found)
    os.environ["PODMAN_COMPOSE_DOCKER_COMPOSE_COMPAT"] = "1"
    os.environ["PODMAN_COMPOSE_WARNING_LOGS"] = "false"
    command = engine("python3", os.path.join(HERE, "compose_names.py"), "--podman-path", os.path.join(HERE, "podman.sh"), *found)
    sys.stdout.flush()
    os.execvp(command[0], command)
