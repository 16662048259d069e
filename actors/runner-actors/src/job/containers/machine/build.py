"""`docker build`: its options as podman's, and what becomes of the image."""

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import uuid

import dockerfile
import platforms
from common import fail, podman, repository_of, skopeo
from platforms import Unable

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


class Plan:
    """What a command asks for: podman's words, and what follows the build."""

    def __init__(self):
        self.words = []
        self.context = None
        self.tags = []
        self.notes = []
        self.platforms = []
        self.push = False
        self.load = False
        # What the image is called for other builds of the job.
        self.alias = None
        # Repositories that get the image by its digest alone: those of the tags where none is named.
        self.is_by_digest = False
        self.by_digest = []
        self.metadata = None
        self.iidfile = None
        # Folders and archives that files are written to: kind, path.
        self.trees = []
        # Files that the image is written to: format of podman, path.
        self.archives = []

    def option(self, name, value):
        if name in NOTED:
            if value not in ("false", "mode=min", "type=gha"):
                note = f"{name} has no effect: {NOTED[name]}"
                if note not in self.notes:
                    self.notes.append(note)
        elif name == "--platform":
            self.platforms = platforms.chosen(",".join([*self.platforms, value]))
        elif name == "--annotation":
            self.words.append("--annotation=" + re.sub(r"^[a-z,-]+:(?=[^=]*=)", "", value))
        elif name == "--metadata-file":
            self.metadata = value
        elif name == "--output":
            self.output(value)
        elif name in SAME:
            if name == "--tag":
                self.tags.append(value)
            elif name == "--iidfile":
                self.iidfile = value
            else:
                self.words.append(f"{name}={value}")

    def output(self, value):
        parts = dict(part.partition("=")[::2] for part in next(csv.reader([value])))
        kind, path = parts.get("type"), parts.get("dest")
        if "=" not in value:
            kind, path = ("tar" if value == "-" else "local"), value
        if kind in ("image", "registry"):
            names = list(filter(None, parts.get("name", "").split(",")))
            push = kind == "registry" or parts.get("push") == "true"
            if parts.get("push-by-digest") == "true":
                self.is_by_digest = self.is_by_digest or push
                self.by_digest += names
                return
            for name in names:
                self.option("--tag", name)
            self.push = self.push or push
        elif kind in ("docker", "oci"):
            if parts.get("name"):
                self.option("--tag", parts["name"])
            if path:
                self.archives.append((kind, path))
            else:
                self.load = self.load or kind == "docker"
        elif kind in ("local", "tar"):
            self.trees.append((kind, path))
        elif kind != "cacheonly":
            raise Unable(f"--output {value}: types here are docker, oci, image, registry, local, tar")

    def flag(self, name):
        if name == "--push":
            self.push = True
        elif name == "--load":
            self.load = True
        elif name == "--pull":
            # The store's images come from nowhere else.
            self.words.append("--pull=newer")
        elif name in ("--no-cache", "--quiet", "--force-rm", "--squash"):
            self.words.append(name)


    def finish(self):
        """What only all words together say."""
        if self.is_by_digest:
            self.by_digest = self.by_digest or self.tags
            self.tags = []
        if (self.push or self.is_by_digest) and not (self.tags or self.by_digest):
            raise Unable("--push needs a --tag")
        if self.load and len(self.platforms) > 1:
            raise Unable("--load takes an image of one platform; push one of several, or write it to a file"
                         " (`type=oci,dest=…`)")


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
    made.finish()
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


def run(made):
    """The exit code of a build."""
    for note in made.notes:
        print(f"docker build: {note}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        return carry_out(made, folder)


def build(words):
    try:
        made = plan(words)
    except Unable as error:
        fail(f"docker build: {error}")
    if made.context is None:
        fail("docker build needs a context, such as `.`", 1)
    sys.exit(run(made))


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


def context_of(made, folder):
    """The folder that is built in, or the address that podman fetches."""
    if made.context == "-" or "--file=-" in made.words:
        from_input(made, folder)
    if not re.match(r"(https?|git|ssh)://|git@", made.context):
        return made.context
    tree = os.path.join(folder, "context")
    os.mkdir(tree)
    context = checked_out(made.context, os.environ, tree) or made.context
    file = [word for word in made.words if word.startswith("--file=")]
    for word in file if os.path.isdir(context) else []:
        path = os.path.join(context, word.removeprefix("--file="))
        made.words[made.words.index(word)] = f"--file={path}"
    return context


class Failed(Exception):
    """A program that ended with this code, and said why."""


def done(ended):
    if ended.returncode != 0:
        raise Failed(ended.returncode)


def ask(*words):
    return podman(*words, capture_output=True, text=True)


def carry_out(made, folder):
    """Builds, and does with the image what is asked for; the exit code."""
    try:
        context = context_of(made, folder)
        made.words = dockerfile.for_podman(made.words, context, folder, ask, made.platforms)
        built = Built(made, context, folder)
        trees_apart = made.trees and len(made.platforms) > 1
        if trees_apart:
            built.each_tree()
        if not trees_apart or made.tags or made.by_digest or made.archives:
            built.image()
        built.keep()
    except (dockerfile.Wrong, Unable) as error:
        print(f"docker build: {error}", file=sys.stderr)
        return 1
    except Failed as error:
        return error.args[0]
    return 0


class Built:
    """A build of a plan, and the image of it: of one platform, or a list of several."""

    def __init__(self, made, context, folder):
        self.made, self.context, self.folder = made, context, folder
        self.is_list = len(made.platforms) > 1
        self.id = ""
        self.name = f"localhost/orrery-build:{uuid.uuid4().hex}"

    def at(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words):
        foreign = [one for one in self.made.platforms if one != platforms.OWN]
        # This podman would take a layer of another platform.
        apart = ["--layers=false"] if foreign and "--layers=false" not in self.made.words else []
        done(podman("build", *self.made.words, *apart, *words, self.context))

    def each_tree(self):
        """Files of several platforms: each in a folder, or in an archive, of its own."""
        for one in self.made.platforms:
            apart = one.replace("/", "_")
            for kind, path in self.made.trees:
                target = f"{path}/{apart}" if kind == "local" else f"{path}.{apart}"
                self.run(f"--platform={one}", f"--output=type={kind},dest={target}")

    def image(self):
        made = self.made
        if self.is_list:
            self.run(f"--platform={','.join(made.platforms)}", f"--manifest={self.name}")
            found = ask("image", "inspect", "--format", "{{.Id}}", self.name).stdout.strip()
            self.id = f"sha256:{found}"
        else:
            trees = [f"--output=type={kind},dest={path}" for kind, path in made.trees]
            trees += [f"--tag={name}" for name in made.tags]
            trees += [f"--platform={one}" for one in made.platforms if one != platforms.OWN]
            self.run(f"--iidfile={self.at('iid')}", *trees)
            self.id = read(self.at("iid"))
        if made.alias:
            done(podman("tag", self.name if self.is_list else self.id, made.alias))
        if made.iidfile:
            with open(made.iidfile, "w", encoding="ascii") as file:
                file.write(self.id)

    def keep(self):
        """Archives, registries, and what the caller is told of them."""
        made = self.made
        for form, path in made.archives:
            if self.is_list:
                done(podman("manifest", "push", "--all", self.name, f"{form}-archive:{path}"))
            else:
                names = made.tags or [self.id]
                done(podman("save", "--quiet", f"--format={form}-archive", f"--output={path}", *names))
        digest = self.id
        for tag in made.tags if made.push else []:
            digest = self.push(tag)
        for repository in made.by_digest:
            digest = self.push_by_digest(repository)
        if made.metadata:
            told = {"containerimage.digest": digest, "image.name": ",".join(made.tags or made.by_digest)}
            if not self.is_list:
                told["containerimage.config.digest"] = self.id
            with open(made.metadata, "w", encoding="utf-8") as file:
                json.dump(told, file, indent=2)

    def push(self, tag):
        digests = self.at("digest")
        source = ["manifest", "push", "--all"] if self.is_list else ["push"]
        target = [self.name, f"docker://{tag}"] if self.is_list else [tag]
        done(podman(*source, f"--digestfile={digests}", *target))
        return read(digests)

    def push_by_digest(self, repository):
        """An image that no tag of the registry names, for a list that another job makes."""
        layout = self.at("layout")
        source = ["manifest", "push", "--all"] if self.is_list else ["push"]
        done(podman(*source, self.name if self.is_list else self.id, f"dir:{layout}"))
        with open(os.path.join(layout, "manifest.json"), "rb") as file:
            digest = f"sha256:{hashlib.sha256(file.read()).hexdigest()}"
        target = f"docker://{repository_of(repository)}@{digest}"
        done(skopeo("copy", "--all", "--preserve-digests", f"dir:{layout}", target))
        return digest


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()
