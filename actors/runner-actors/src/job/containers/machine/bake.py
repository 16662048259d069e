"""`docker buildx bake`: builds of many targets that files describe, one after the other."""

import fnmatch
import json
import os
import re
import sys
import tempfile

import bake_answers
import build
from bake_files import ADDED, KNOWN, MAPS, OTHER_NAMES, REPLACED, Files, merge, normal
from common import fail
from hcl_values import Wrong

# The files that are read where none is named, the later ones laid over the earlier ones.
DEFAULTS = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml", "docker-bake.json",
            "docker-bake.hcl", "docker-bake.override.json", "docker-bake.override.hcl")
VALUES = {"-f", "--file", "--set", "--metadata-file", "--progress", "--builder", "--provenance", "--sbom",
          "--allow", "--var", "--call", "--list"}
FLAGS = {"--print", "--push", "--load", "--no-cache", "--pull", "--debug", "-D", "--check", "--list-targets",
         "--list-variables"}
# In the order in which they are printed.
PRINTED = ("description", "annotations", "attest", "context", "contexts", "dockerfile", "dockerfile-inline",
           "args", "labels", "tags", "cache-from", "cache-to", "target", "secret", "ssh", "platforms", "output",
           "pull", "no-cache", "network", "no-cache-filter", "shm-size", "ulimits", "call", "entitlements")
REMOTE = re.compile(r"(https?|git|ssh)://|git@")


class Call:
    """What a command asks for."""

    def __init__(self, words):
        self.values = {name: [] for name in VALUES}
        self.flags, self.names, self.remote = set(), [], None
        words = list(words)
        while words:
            word = words.pop(0)
            name, equals, value = word.partition("=")
            if not word.startswith("-") or word == "-":
                if REMOTE.match(word) and not self.names and not self.remote:
                    self.remote = word
                else:
                    self.names.append(word)
            elif name in VALUES:
                if not equals and not words:
                    fail(f"docker buildx bake: {name} needs a value", 1)
                self.values[name].append(value if equals else words.pop(0))
            elif name in FLAGS:
                if value != "false":
                    self.flags.add(name)
            else:
                fail(f"docker buildx bake {name} is not given here")
        for flag, value in (("--check", "--call"), ("--list-targets", "--list"), ("--list-variables", "--list")):
            if flag in self.flags:
                self.values[value].append(flag.removeprefix("--").removeprefix("list-"))
        self.files = self.values["-f"] + self.values["--file"]

    def overrides(self):
        """`--set`, and the options that are words for it."""
        made = list(self.values["--set"])
        for flag, change in (("--push", "*.push=true"), ("--load", "*.load=true"), ("--pull", "*.pull=true"),
                             ("--no-cache", "*.no-cache=true")):
            if flag in self.flags:
                made.append(change)
        return made


def read(call, folder):
    """The files of a call, in `folder` where they are not named by `cwd://`."""
    environ = dict(os.environ)
    if os.path.isfile(".env"):
        with open(".env", encoding="utf-8") as file:
            for line in file:
                found = re.match(r"\s*([A-Za-z_]\w*)=(.*)", line)
                if found:
                    environ.setdefault(found[1], found[2].strip().strip("\"'"))
    for pair in call.values["--var"]:
        name, _, value = pair.partition("=")
        environ[name] = value
    files = Files(environ)
    files.names.known["BAKE_CMD_CONTEXT"] = call.remote and "cwd://" or ""
    names = call.files or [name for name in DEFAULTS if os.path.isfile(os.path.join(folder, name))]
    if not names:
        fail("docker buildx bake: couldn't find a bake definition", 1)
    texts = []
    for name in names:
        if name == "-":
            texts.append((name, sys.stdin.read()))
            continue
        path = name.removeprefix("cwd://") if name.startswith("cwd://") else os.path.join(folder, name)
        try:
            with open(path, encoding="utf-8") as file:
                texts.append((name, file.read()))
        except OSError as error:
            fail(f"docker buildx bake: {name}: {error.strerror}", 1)
    is_compose = [name for name, _ in texts if name.lower().endswith((".yml", ".yaml"))]
    for name, text in sorted(texts, key=lambda one: one[0] not in is_compose):
        files.add(name, text)
    files.evaluate()
    return files


def members(files, name, seen=()):
    """The targets of a group, each once; a target is its own."""
    if name not in files.groups or name in seen:
        return [name]
    made = []
    for inner in files.groups[name]:
        made += members(files, inner, (*seen, name))
    return list(dict.fromkeys(made))


def resolve(files, name, changes, seen=()):
    """A target with what it inherits, and with what `--set` says of it and of its parents."""
    if name not in files.targets:
        raise Wrong(f"failed to find target {name}")
    own, made = files.targets[name], {}
    for parent in own.get("inherits", []):
        if parent not in seen:
            merge(made, resolve(files, parent, changes, (*seen, name)))
    merge(made, own)
    made.pop("inherits", None)
    for key, values in changes.get(name, {}).items():
        change(made, key, values)
    made["contexts"] = {key: value for key, value in made.get("contexts", {}).items() if value}
    return made


def changes_of(files, settings):
    """`--set PATTERN.KEY=VALUE` by target and key."""
    made = {}
    for setting in settings:
        whole, equals, value = setting.partition("=")
        pattern, dot, key = whole.removesuffix("+").partition(".")
        kind = key.split(".")[0]
        if not dot or not (equals or kind == "args"):
            raise Wrong(f"--set {setting}: it takes target.key=value")
        if not equals:
            value = os.environ.get(key.partition(".")[2])
            if value is None:
                continue
        names = [name for name in files.targets if name == pattern or fnmatch.fnmatchcase(name, pattern)]
        if not names:
            raise Wrong(f"could not find any target matching '{pattern}'")
        for name in names:
            made.setdefault(name, {}).setdefault(key + whole[len(whole.removesuffix("+")):], []).append(value)
    return made


def change(target, key, values):
    key, adds = key.removesuffix("+"), key.endswith("+")
    kind, _, inner = key.partition(".")
    kind = OTHER_NAMES.get(kind, kind)
    outputs = target.get("output", [])
    if kind == "push":
        target["output"] = pushed(outputs) if values[-1] == "true" else not_pushed(outputs)
    elif kind == "load":
        if values[-1] == "true" and all(re.search(r"type=(image|registry|oci)", one) for one in outputs):
            target["output"] = [*outputs, "type=docker"]
    elif kind in MAPS:
        if not inner:
            raise Wrong(f"invalid key {key}, {kind} requires name")
        target.setdefault(kind, {})[inner] = values[-1]
    elif kind in REPLACED or kind in ADDED:
        values = normal(kind, values)
        target[kind] = [*target.get(kind, []), *values] if adds or kind in ("annotations", "attest") else values
    elif kind in KNOWN:
        target[kind] = normal(kind, values[-1])
    else:
        raise Wrong(f"unknown key: {kind}")


def pushed(outputs):
    made = [one if "push=true" in one or "type=image" not in one else one.replace(",push=false", "") + ",push=true"
            for one in outputs]
    return made if any("type=docker" not in one for one in made) else [*made, "type=image,push=true"]


def not_pushed(outputs):
    return [one.replace("push=true", "push=false") for one in outputs if "type=registry" not in one]


def chosen(files, names, changes):
    """The targets that are built, in their order, and the groups that they were named by."""
    targets, groups = {}, {}
    for name in names:
        for inner in members(files, name):
            targets[inner] = resolve(files, inner, changes)
        pending, seen = [name], set()
        while pending:
            group = pending.pop()
            if group in files.groups and group not in seen:
                seen.add(group)
                groups[group] = files.groups[group]
                pending += files.groups[group]
    for name in names:
        if name != "default":
            groups["default"] = [*groups.get("default", []), name] if "default" not in names else groups["default"]
    links(files, targets, changes)
    return targets, groups or {"default": list(targets)}


def links(files, targets, changes):
    """Adds targets that others build on by `target:NAME`."""
    pending = list(targets)
    while pending:
        name = pending.pop(0)
        for value in targets[name].get("contexts", {}).values():
            linked = value.removeprefix("target:")
            if linked == value or linked in targets:
                continue
            targets[linked] = {**resolve(files, linked, changes), "output": ["type=cacheonly"]}
            pending.append(linked)


def printed(targets, groups):
    """What `--print` shows."""
    def one(target):
        target = {"context": ".", "dockerfile": "Dockerfile", **target}
        made = {name: target[name] for name in PRINTED if target.get(name) not in (None, [], {}, "")}
        if "args" in made:
            made["args"] = {key: made["args"][key] for key in sorted(made["args"]) if made["args"][key] is not None}
        return made
    shown = {name: {"targets": list(groups[name])} for name in sorted(groups)}
    return json.dumps({"group": shown, "target": {name: one(targets[name]) for name in sorted(targets)}}, indent=2)


def place_of(folder):
    """Where a path of a target lies whose paths begin in `folder`."""
    def at(path):
        if path.startswith("cwd://"):
            return path.removeprefix("cwd://") or "."
        return path if REMOTE.match(path) or os.path.isabs(path) else os.path.normpath(os.path.join(folder, path))
    return at


def words_of(target, folder):
    """A target as the words of `docker build`. `folder` is where its paths begin."""
    words, at = [], place_of(folder)
    context = at(target.get("context", "."))
    dockerfile = target.get("dockerfile", "Dockerfile")
    for option, key in (("--build-arg", "args"), ("--label", "labels"), ("--add-host", "extra-hosts")):
        mark = ":" if key == "extra-hosts" else "="
        words += [f"{option}={inner}{mark}{value}" for inner, value in target.get(key, {}).items() if value is not None]
    for inner, value in target.get("contexts", {}).items():
        linked = value.removeprefix("target:")
        value = f"container-image://{linked_name(linked)}" if linked != value else value
        words.append(f"--build-context={inner}={value if '://' in value and 'cwd' not in value[:3] else at(value)}")
    for option, key in (("--tag", "tags"), ("--output", "output"), ("--secret", "secret"), ("--ssh", "ssh"),
                        ("--cache-from", "cache-from"), ("--cache-to", "cache-to"), ("--attest", "attest"),
                        ("--annotation", "annotations"), ("--ulimit", "ulimits"),
                        ("--no-cache-filter", "no-cache-filter")):
        words += [f"{option}={value}" for value in target.get(key, [])]
    for option, key in (("--target", "target"), ("--network", "network"), ("--shm-size", "shm-size")):
        words += [f"{option}={target[key]}"] if target.get(key) and target[key] != "default" else []
    words += [f"--{key}" for key in ("pull", "no-cache") if target.get(key)]
    if target.get("platforms"):
        words.append(f"--platform={','.join(target['platforms'])}")
    if target.get("dockerfile-inline") is None:
        local = not REMOTE.match(context) and not dockerfile.startswith("cwd://") and not os.path.isabs(dockerfile)
        words.append(f"--file={os.path.join(context, dockerfile) if local else dockerfile.removeprefix('cwd://')}")
    return [*words, context]


def is_linked(name, targets):
    return any(f"target:{name}" in target.get("contexts", {}).values() for target in targets.values())


def linked_name(name):
    return f"localhost/orrery-bake/{name.lower()}:latest"


def in_order(targets):
    """Targets after those that they build on."""
    made = []

    def visit(name, above):
        if name in above:
            raise Wrong(f"infinite loop from {name} to {name}")
        for value in targets[name].get("contexts", {}).values():
            if value.startswith("target:"):
                visit(value.removeprefix("target:"), (*above, name))
        if name not in made:
            made.append(name)
    for name in targets:
        visit(name, ())
    return made


def build_all(call, targets, folder):
    told = {}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as own:
        for name in in_order(targets):
            target = targets[name]
            print(f"#bake {name}", file=sys.stderr, flush=True)
            words = words_of(target, folder)
            if target.get("dockerfile-inline") is not None:
                file = os.path.join(own, f"{name}.Dockerfile")
                with open(file, "w", encoding="utf-8") as inline:
                    inline.write(target["dockerfile-inline"])
                words.insert(0, f"--file={file}")
            metadata = os.path.join(own, f"{name}.json")
            made = build.plan([f"--metadata-file={metadata}", *words])
            made.alias = linked_name(name) if is_linked(name, targets) else None
            code = build.run(made)
            if code != 0:
                return code
            with open(metadata, encoding="utf-8") as file:
                told[name] = json.load(file)
    for path in call.values["--metadata-file"][-1:]:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=2)
    return 0


def bake(words):
    call = Call(words)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as tree:
        try:
            folder = "."
            if call.remote:
                folder = build.checked_out(call.remote, os.environ, tree)
                if folder is None:
                    fail(f"docker buildx bake: {call.remote} is not in the workspace: check it out by a step, and"
                         " name files of the workspace (`source: .`)")
            files = read(call, folder)
            for text in call.values["--list"][-1:]:
                bake_answers.answer(files, text)
                return
            names = call.names or ["default"]
            targets, groups = chosen(files, names, changes_of(files, call.overrides()))
            if "--print" in call.flags:
                print(printed(targets, groups))
                return
            method = call.values["--call"][-1:]
            if method not in ([], ["build"], [""]):
                if method[0].split(",")[0] in ("check", "lint"):
                    print("docker buildx bake: checks of the file alone; not looked at are "
                          + ", ".join(bake_answers.NOT_LOOKED_AT), file=sys.stderr)
                sys.exit(bake_answers.call(method[0], targets, printed(targets, groups), place_of(folder)))
            sys.exit(build_all(call, targets, folder))
        except (Wrong, build.Unable, ValueError) as error:
            fail(f"docker buildx bake: ERROR: {error}", 1)
