"""`docker build` and `docker buildx`: builds are podman's, builders are names only."""

import json
import os
import re
import subprocess
import sys
import tempfile

import dockerfile
from common import HERE, fail, option, podman, show

VERSION = "v0.12.1"
STATE = os.path.join(HERE, "buildx.json")
# Options of `docker build` with a value: those that podman has by the same name, those that say
# only how fast or how loud, and those that are read here.
SAME = {
    "--add-host", "--build-arg", "--build-context", "--cgroup-parent", "--file", "--iidfile",
    "--label", "--memory", "--network", "--secret", "--shm-size", "--ssh", "--tag", "--target",
    "--ulimit",
}
IDLE = {"--allow", "--builder", "--progress", "--cgroup-parent", "--debug", "--detach"}
NOTED = {
    "--attest": "there are no attestations here",
    "--cache-from": "what a build may use again are the layers of this job",
    "--cache-to": "no cache is kept beyond the job",
    "--no-cache-filter": "all stages may use the cache, or none by `--no-cache`",
    "--provenance": "there are no attestations here",
    "--sbom": "there are no attestations here",
}
READ = {"--annotation", "--metadata-file", "--output", "--platform"}
FLAGS = {"--load", "--no-cache", "--pull", "--push", "--quiet", "--rm", "--force-rm", "--squash"}
SHORT = {"-t": "--tag", "-f": "--file", "-o": "--output", "-q": "--quiet", "-D": "--debug"}
# Verbs that this has not, and what does the same.
OTHERS = {
    "bake": "name its targets by `docker buildx build`, or as services with `build` for"
            " `docker compose build`",
    "imagetools": "images are of linux/amd64 alone; `docker tag` and `docker push` name them",
}
MACHINE = {"linux/amd64", "linux", "amd64", "linux/x86_64", "linux/amd64/v1"}


class Unable(Exception):
    """What cannot be done here, in words."""


class Plan:
    """What a command asks for: podman's words, and what follows the build."""

    def __init__(self):
        self.words = []
        self.context = None
        self.tags = []
        self.notes = []
        self.push = False
        self.metadata = None
        self.iidfile = None
        # Files that the image is written to: format of podman, path.
        self.archives = []

    def option(self, name, value):
        if name in NOTED:
            if value not in ("false", "mode=min", "type=gha"):
                note = f"{name} has no effect: {NOTED[name]}"
                if note not in self.notes:
                    self.notes.append(note)
        elif name == "--platform":
            wrong = [word for word in value.split(",") if word.lower() not in MACHINE]
            if wrong:
                raise Unable(f"--platform {value}: only linux/amd64 can be built here; leave it out, or"
                             " build the others on a machine of theirs")
        elif name == "--annotation":
            self.words.append("--annotation=" + re.sub(r"^[a-z,-]+:(?=[^=]*=)", "", value))
        elif name == "--metadata-file":
            self.metadata = value
        elif name == "--output":
            self.output(value)
        elif name in SAME:
            if name == "--tag":
                self.tags.append(value)
            if name == "--iidfile":
                self.iidfile = value
            self.words.append(f"{name}={value}")

    def output(self, value):
        parts = dict(part.partition("=")[::2] for part in value.split(","))
        kind, path = parts.get("type"), parts.get("dest")
        if "=" not in value:
            kind, path = ("tar" if value == "-" else "local"), value
        if kind in ("image", "registry"):
            if parts.get("name"):
                self.option("--tag", parts["name"])
            self.push = self.push or kind == "registry" or parts.get("push") == "true"
            if parts.get("push-by-digest") == "true":
                raise Unable("--output: push-by-digest=true is not given here")
        elif kind in ("docker", "oci"):
            if parts.get("name"):
                self.option("--tag", parts["name"])
            if path:
                self.archives.append((f"{kind}-archive", path))
        elif kind in ("local", "tar"):
            self.words.append(f"--output=type={kind},dest={path}")
        elif kind != "cacheonly":
            raise Unable(f"--output {value}: types here are docker, oci, image, registry, local, tar")

    def flag(self, name):
        if name == "--push":
            self.push = True
        elif name == "--pull":
            # The store's images come from nowhere else.
            self.words.append("--pull=newer")
        elif name in ("--no-cache", "--quiet", "--force-rm", "--squash"):
            self.words.append(name)


def plan(words):
    """Reads the words behind `docker build`."""
    made, words = Plan(), list(words)
    while words:
        word = words.pop(0)
        if word == "-" or not word.startswith("-"):
            if made.context is not None:
                raise Unable(f"docker build takes one context, not {made.context} and {word}")
            made.context = word
            continue
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            name, value, equals = word[:2], word[2:].removeprefix("="), word[2:]
            name = SHORT.get(name, name)
        if name in FLAGS:
            if value != "false":
                made.flag(name)
        elif name in SAME | IDLE | NOTED.keys() | READ:
            if not equals and not words:
                raise Unable(f"{name} needs a value")
            made.option(name, value if equals else words.pop(0))
        else:
            raise Unable(f"docker build {name} is not given here")
    if any(word.startswith("--build-arg=") for word in made.words):
        # This podman would take a layer of another build for one with other arguments.
        made.words.append("--layers=false")
    if made.push and not made.tags:
        raise Unable("--push needs a --tag")
    return made


def commit_of(context, env):
    """The commit and folder that a context names, where it is one of the job's own repository."""
    address, _, rest = context.partition("#")
    reference, _, folder = rest.partition(":")
    server, repository = env.get("GITHUB_SERVER_URL"), env.get("GITHUB_REPOSITORY")
    if not server or address.removesuffix(".git") != f"{server}/{repository}":
        return None
    if reference in ("", env.get("GITHUB_REF"), env.get("GITHUB_REF_NAME")):
        reference = env.get("GITHUB_SHA", "")
    return reference, folder


def checked_out(context, env, folder):
    """The files of a context that is a commit of the workspace: no machine fetches what is there."""
    found = commit_of(context, env)
    workspace = env.get("GITHUB_WORKSPACE", ".")
    git = ["git", "-c", "safe.directory=*", "-C", workspace]
    if found is None:
        return None
    commit, inner = found
    known = subprocess.run([*git, "cat-file", "-e", commit + "^{commit}"], check=False,
                           stderr=subprocess.DEVNULL)
    if known.returncode != 0:
        return None
    archive = subprocess.Popen([*git, "archive", commit], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=True)
    archive.wait()
    return os.path.join(folder, inner)


def build(words):
    try:
        made = plan(words)
    except Unable as error:
        fail(f"docker build: {error}")
    if made.context is None:
        fail("docker build needs a context, such as `.`", 1)
    for note in made.notes:
        print(f"docker build: {note}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        sys.exit(carry_out(made, folder))


def from_input(made, folder):
    """A Dockerfile, or all files of a build, that a script gives by its standard input."""
    given = sys.stdin.buffer.read()
    file = os.path.join(folder, "Dockerfile")
    if made.context == "-":
        made.context = os.path.join(folder, "context")
        os.mkdir(made.context)
        is_archive = given[:2] == b"\x1f\x8b" or given[257:262] == b"ustar"
        if is_archive:
            subprocess.run(["tar", "-xf", "-", "-C", made.context], input=given, check=True)
            return
        file = os.path.join(made.context, "Dockerfile")
    with open(file, "wb") as target:
        target.write(given)
    made.words = [word for word in made.words if word != "--file=-"] + [f"--file={file}"]


def carry_out(made, folder):
    if made.context == "-" or "--file=-" in made.words:
        from_input(made, folder)
    context = made.context
    if re.match(r"(https?|git|ssh)://|git@", context):
        tree = os.path.join(folder, "context")
        os.mkdir(tree)
        context = checked_out(context, os.environ, tree) or context
        file = [word for word in made.words if word.startswith("--file=")]
        for word in file if os.path.isdir(context) else []:
            path = os.path.join(context, word.removeprefix("--file="))
            made.words[made.words.index(word)] = f"--file={path}"
    iidfile = made.iidfile or os.path.join(folder, "iid")
    if made.iidfile is None:
        made.words.append(f"--iidfile={iidfile}")
    try:
        made.words = dockerfile.without_documents(made.words, context, folder)
    except dockerfile.Wrong as error:
        fail(f"docker build: {error}", 1)
    ended = podman("build", *made.words, context)
    if ended.returncode != 0:
        return ended.returncode
    image = ""
    if os.path.exists(iidfile):
        with open(iidfile, encoding="ascii") as file:
            image = file.read().strip()
    for form, path in made.archives:
        names = made.tags or [image]
        ended = podman("save", "--quiet", f"--format={form}", f"--output={path}", *names)
        if ended.returncode != 0:
            return ended.returncode
    digest = image
    for tag in made.tags if made.push else []:
        digests = os.path.join(folder, "digest")
        ended = podman("push", f"--digestfile={digests}", tag)
        if ended.returncode != 0:
            return ended.returncode
        with open(digests, encoding="ascii") as file:
            digest = file.read().strip()
    if made.metadata:
        said = {"containerimage.config.digest": image, "containerimage.digest": digest,
                "image.name": ",".join(made.tags)}
        with open(made.metadata, "w", encoding="utf-8") as file:
            json.dump(said, file, indent=2)
    return 0


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
Platforms: linux/amd64""")


def ls(words):
    now = state()
    form, _ = option(words, "--format")
    if not form:
        print("NAME/NODE  DRIVER/ENDPOINT  STATUS  BUILDKIT  PLATFORMS")
    for name, driver in now["builders"].items():
        star = " *" if name == now["current"] else ""
        line = f"{name}{star}  {driver}\n  {name}0  unix:///var/run/docker.sock  running  {VERSION}  linux/amd64"
        node = {"Name": f"{name}0", "Endpoint": "unix:///var/run/docker.sock", "Status": "running"}
        entry = {"Name": name, "Driver": driver, "Current": bool(star), "Nodes": [node]}
        show(entry, form, line)


def buildx(words):
    """`docker buildx VERB`."""
    builder, words = option(words, "--builder") if words[:1] != ["build"] else (None, words)
    verb, words = (words[0], words[1:]) if words else ("", [])
    now = state()
    if verb in ("build", "b"):
        build(words)
    elif verb in ("", "help", "--help"):
        print("docker buildx build|create|du|inspect|install|ls|prune|rm|stop|use|version")
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
    elif verb in OTHERS:
        fail(f"docker buildx {verb} is not given here: {OTHERS[verb]}")
    else:
        fail(f"docker buildx {verb} is not given here; builds are podman's")
