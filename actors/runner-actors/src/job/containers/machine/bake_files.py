"""The files of `docker buildx bake`: HCL, JSON and compose files become targets and groups.
https://docs.docker.com/build/bake/reference/
"""

import itertools
import json
import os
import re

import hcl
from bake_functions import FUNCTIONS
from hcl import Scope
from hcl_values import Wrong, number_of, text_of, truth_of

OWN_PLATFORM = "linux/amd64"
# What a target may have, by what a second file does with it: takes its place, is added, is laid over.
TEXTS = ("description", "context", "dockerfile", "dockerfile-inline", "target", "network", "shm-size", "call")
FLAGS = ("pull", "no-cache")
REPLACED = ("tags", "platforms", "output", "cache-to")
ADDED = ("inherits", "annotations", "attest", "secret", "ssh", "cache-from", "no-cache-filter", "ulimits",
         "entitlements")
MAPS = ("args", "contexts", "labels", "extra-hosts")
KNOWN = {*TEXTS, *FLAGS, *REPLACED, *ADDED, *MAPS}
# Other names of them, older or of `--set`.
OTHER_NAMES = {"secrets": "secret", "platform": "platforms", "outputs": "output"}
VARIABLE = re.compile(r"\$(?:\$|(\w+)|\{(\w+)(?:(:?[-?+])((?:[^{}]|\{[^{}]*\})*))?\})")


def normal(name, value):
    """An attribute's value as it is printed and merged."""
    if value is None:
        return None
    if name in TEXTS:
        return text_of(value)
    if name in FLAGS:
        return value in ("true", "1", "always", 1, True)
    if name in MAPS:
        pairs = value.items() if isinstance(value, dict) else (one.partition("=")[::2] for one in value)
        return {key: None if one is None else text_of(one) for key, one in pairs}
    values = value if isinstance(value, list) else [value]
    return [field_list(one) for one in values if one not in (None, "")]


def field_list(value):
    """`{type = "registry", ref = "x"}` is `type=registry,ref=x`."""
    if not isinstance(value, dict):
        return text_of(value)
    if set(value) <= {"id", "paths"} and "id" in value:
        paths = ",".join(value.get("paths") or [])
        return value["id"] + (f"={paths}" if paths else "")
    return ",".join(f"{key}={text_of(one)}" for key, one in value.items() if one is not None)


def merge(target, other):
    """Lays what another file or a parent says over a target."""
    for name, value in other.items():
        if value is None:
            continue
        if name in ADDED:
            target[name] = list(dict.fromkeys([*target.get(name, []), *value]))
        elif name in MAPS:
            own = target.setdefault(name, {})
            # Nothing leaves what the Dockerfile says.
            own.update({key: one for key, one in value.items() if one is not None or key not in own})
        else:
            target[name] = value


class Names:
    """Variables and attributes, evaluated when they are asked for."""

    def __init__(self, files, environ):
        self.files, self.environ, self.known, self.asked = files, environ, {}, []
        self.known["BAKE_LOCAL_PLATFORM"] = OWN_PLATFORM

    def __contains__(self, name):
        files = self.files
        return name in self.known or name in files.attributes or name in files.variables or name == "target"

    def __getitem__(self, name):
        if name not in self.known:
            if name in self.asked:
                raise ValueError(f"{name} is made of itself: {' → '.join([*self.asked, name])}")
            self.asked.append(name)
            self.known[name] = self.find(name)
            self.asked.pop()
        return self.known[name]

    def find(self, name):
        if name == "target":
            return Targets(self.files)
        given = self.environ.get(name) if name in self.files.variables else None
        default = self.files.attributes.get(name) or self.files.variables.get(name)
        if default is None:
            return given or ""
        value = default(self.files.scope)
        return value if given is None else typed(name, given, value)


def typed(name, given, default):
    """What the environment says, as the default's type has it."""
    if isinstance(default, bool):
        if given.lower() not in ("1", "t", "true", "0", "f", "false"):
            raise ValueError(f"the variable {name} is a boolean, and {given!r} is none")
        return given.lower() in ("1", "t", "true")
    if isinstance(default, (int, float)):
        return number_of(given)
    if isinstance(default, (list, dict)):
        try:
            return json.loads(given)
        except ValueError:
            if isinstance(default, list):
                return given.split(",")
            raise ValueError(f"the variable {name} is an object: give it as JSON") from None
    return given


class Targets:
    """`target.NAME.ATTRIBUTE` in expressions."""

    def __init__(self, files):
        self.files = files

    def __contains__(self, name):
        return any(block.labels == [name] for block in self.files.blocks)

    def __getitem__(self, name):
        made = {}
        for block in self.files.blocks:
            if block.kind == "target" and block.labels == [name]:
                made.update(block.body.attributes)
        return Attributes(made, self.files.scope)


class Attributes:
    def __init__(self, attributes, scope):
        self.attributes, self.scope = attributes, scope

    def __contains__(self, name):
        return name in self.attributes

    def __getitem__(self, name):
        return self.attributes[name](self.scope)


class Itself(dict):
    """The names of parameters: each is its own value."""

    def __contains__(self, name):
        return True

    def __getitem__(self, name):
        return name


class Files:
    """All files of a call."""

    def __init__(self, environ):
        self.environ = environ
        self.variables, self.attributes, self.blocks, self.checks = {}, {}, [], []
        self.descriptions = {}
        self.functions = dict(FUNCTIONS)
        self.names = Names(self, environ)
        self.scope = Scope(self.names, self.functions)
        self.targets, self.groups = {}, {}

    def add(self, name, text):
        """A file's text, by its ending or by what it looks like."""
        ending = os.path.splitext(name)[1].lower()
        if ending in (".yml", ".yaml") or (ending not in (".hcl", ".json") and re.search(r"^services:", text, re.M)):
            self.compose(name, text)
        elif ending == ".json" or text.lstrip().startswith("{"):
            try:
                self.body(body_of(name, json.loads(text)))
            except ValueError as error:
                raise Wrong(f"{name}: {error}") from None
        else:
            self.body(hcl.parse(name, text))

    def body(self, body):
        for name, value in body.attributes.items():
            self.attributes[name] = value
        for block in body.blocks:
            if len(block.labels) != 1:
                raise Wrong(f"{block.place}: {block.kind} takes one name")
            name, inner = block.labels[0], block.body
            if block.kind == "variable":
                self.variables[name] = inner.attributes.get("default")
                if "description" in inner.attributes:
                    self.descriptions[name] = text_of(inner.attributes["description"](self.scope))
                self.checks += [(name, check) for check in inner.blocks if check.kind == "validation"]
            elif block.kind == "function":
                self.functions[name] = self.function(inner)
            elif block.kind in ("target", "group"):
                self.blocks.append(block)
            else:
                raise Wrong(f"{block.place}: {block.kind} is not known: target, group, variable, function")

    def function(self, body):
        named = Scope(Itself(), {})
        parts = body.attributes
        names = parts["params"](named) if "params" in parts else []
        rest = parts["variadic_params"](named) if "variadic_params" in parts else None
        result = parts["result"]

        def run(*values):
            if len(values) < len(names) or (len(values) > len(names) and rest is None):
                raise ValueError(f"it takes {len(names)} values, not {len(values)}")
            given = dict(zip(names, values))
            if rest is not None:
                given[rest] = list(values[len(names):])
            return result(self.scope.inner(given))
        return run

    def evaluate(self):
        """Makes targets and groups of the blocks."""
        for name, check in self.checks:
            parts = check.body.attributes
            if "condition" in parts and not truth_of(parts["condition"](self.scope)):
                said = parts["error_message"](self.scope) if "error_message" in parts else ""
                raise Wrong(f"{check.place}: the value of the variable {name} is not right: {said}")
        for block in self.blocks:
            if block.kind == "group":
                inner = block.body.attributes
                self.groups[block.labels[0]] = inner["targets"](self.scope) if "targets" in inner else []
            else:
                self.target(block)

    def target(self, block):
        label, parts = block.labels[0], dict(block.body.attributes)
        matrix, named = parts.pop("matrix", None), parts.pop("name", None)
        if matrix is None:
            if named:
                raise Wrong(f"{block.place}: name requires matrix")
            self.put(label, parts, self.scope, block.place)
            return
        axes = matrix(self.scope)
        if not isinstance(axes, dict) or not all(isinstance(values, list) for values in axes.values()):
            raise Wrong(f"{block.place}: a matrix is an object of lists")
        made = []
        for values in itertools.product(*axes.values()):
            scope = self.scope.inner(dict(zip(axes, values)))
            name = text_of(named(scope)) if named else label
            if name in made:
                raise Wrong(f"{block.place}: two targets of the matrix are called {name}")
            made.append(name)
            self.put(name, parts, scope, block.place)
        if made != [label]:
            self.groups[label] = made

    def put(self, name, parts, scope, place):
        if not re.fullmatch(r"[\w-]+", name, re.ASCII):
            raise Wrong(f"{place}: a target is called with letters, digits, - and _, not {name!r}")
        made = {}
        for key, value in parts.items():
            key = OTHER_NAMES.get(key, key)
            if key in KNOWN:
                try:
                    made[key] = normal(key, value(scope))
                except (ValueError, AttributeError, TypeError) as error:
                    raise Wrong(f"{place}: {key} of {name}: {error}") from None
            elif key != "policy":
                raise Wrong(f"{place}: a target has no {key!r}")
        merge(self.targets.setdefault(name, {}), made)

    def compose(self, name, text):
        """The services of a compose file that are built."""
        import yaml
        try:
            data = yaml.safe_load(text) or {}
        except yaml.YAMLError as error:
            raise Wrong(f"{name}: {error}") from None
        data = filled(data, self.environ, name)
        for service, said in (data.get("services") or {}).items():
            build = said.get("build")
            if build is None:
                continue
            build = {"context": build} if isinstance(build, str) else dict(build)
            target = service.replace(".", "_")
            merge(self.targets.setdefault(target, {}), of_service(said, build, data, self.environ))
            members = self.groups.setdefault("default", [])
            if target not in members:
                members.append(target)


def of_service(said, build, data, environ):
    own = build.get("x-bake") or {}
    secrets = []
    for one in build.get("secrets") or []:
        key = one if isinstance(one, str) else one.get("source")
        source = (data.get("secrets") or {}).get(key) or {}
        where = f"env={source['environment']}" if "environment" in source else f"src={source.get('file', key)}"
        secrets.append(f"id={key},{where}")
    args = build.get("args") or {}
    if isinstance(args, list):
        args = {key: value if equals else environ.get(key)
                for key, equals, value in (one.partition("=") for one in args)}
    made = {
        "context": build.get("context", "."), "dockerfile": build.get("dockerfile"),
        "dockerfile-inline": build.get("dockerfile_inline"), "args": args or None,
        "labels": build.get("labels"), "target": build.get("target"), "cache-from": build.get("cache_from"),
        "cache-to": build.get("cache_to"), "platforms": build.get("platforms"),
        "network": build.get("network"), "ssh": build.get("ssh"), "no-cache": build.get("no_cache"),
        "pull": build.get("pull"), "shm-size": build.get("shm_size"), "secret": secrets or None,
        "contexts": build.get("additional_contexts"),
        "tags": [said["image"]] if said.get("image") else build.get("tags"),
    }
    made.update({OTHER_NAMES.get(key, key): value for key, value in own.items()})
    return {key: normal(key, value) for key, value in made.items() if value is not None and key in KNOWN}


def filled(value, environ, file):
    """Variables of a compose file."""
    if isinstance(value, dict):
        return {key: filled(one, environ, file) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, environ, file) for one in value]
    if not isinstance(value, str):
        return value

    def one(match):
        name, sign, other = match[1] or match[2], match[3] or "", match[4] or ""
        if name is None:
            return "$"
        found = environ.get(name)
        there = found is not None and (found != "" or not sign.startswith(":"))
        if sign.endswith("-"):
            return found if there else filled(other, environ, file)
        if sign.endswith("+"):
            return filled(other, environ, file) if there else ""
        if sign.endswith("?") and not there:
            raise Wrong(f"{file}: the variable {name} is missing: {other}")
        return found or ""
    return VARIABLE.sub(one, value)


def body_of(file, data):
    """A JSON file as a body: what stands in texts as `${…}` is an expression."""
    made = hcl.Body()
    for kind, value in data.items():
        if kind not in ("target", "group", "variable", "function") or not isinstance(value, dict):
            made.attributes[kind] = expression(file, value)
            continue
        for name, parts in value.items():
            inner = hcl.Body()
            inner.attributes = {key: expression(file, one) for key, one in (parts or {}).items()}
            made.blocks.append(hcl.Block(kind, [name], inner, file))
    return made


def expression(file, value):
    if isinstance(value, str):
        return hcl.parse_template(file, value)
    if isinstance(value, list):
        items = [expression(file, one) for one in value]
        return lambda scope: [item(scope) for item in items]
    if isinstance(value, dict):
        pairs = [(expression(file, key), expression(file, one)) for key, one in value.items()]
        return lambda scope: {text_of(key(scope)): one(scope) for key, one in pairs}
    return lambda scope: value
