"""Here-documents and platforms of a Dockerfile, as BuildKit reads them, in words that podman's
builder has. `dockerfile.py WORDS… CONTEXT` is `podman build` in the namespaces that it runs in.

    RUN <<END … END           ─► RUN ["/bin/sh", "-c", "…"], by the shell that SHELL names
    RUN <<END with `#!`       ─► a file of the context `here-documents`, mounted and run
    COPY <<END /target … END  ─► COPY --from=here-documents END /target
    FROM --platform=$BUILDPLATFORM image ─► FROM the id of that image for this platform

https://docs.docker.com/reference/dockerfile/#here-documents
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import platforms

# A build context beside the build's own, with the documents as files.
CONTEXT = "orrery-here-documents"
MARK = re.compile(r"(?:^|(?<=\s))\d*<<(?P<dash>-?)(?P<quote>[\"']?)(?P<name>[A-Za-z_][\w.]*)(?P=quote)")
QUOTED = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
DIRECTIVE = re.compile(r"#\s*escape\s*=\s*(\S)\s*$", re.IGNORECASE)
VARIABLE = re.compile(r"\\?\$(?:(?P<name>\w+)|\{(?P<braced>\w+)(?::?(?P<sign>[-+])(?P<other>[^}]*))?\})")
SHELL = ["/bin/sh", "-c"]
# What Dockerfiles know of the machine that builds.
BUILDER = {"BUILDPLATFORM": platforms.OWN, "BUILDOS": "linux", "BUILDARCH": "amd64", "BUILDVARIANT": ""}
# Bytes that are not UTF-8 come through as they are.
BYTES = {"encoding": "utf-8", "errors": "surrogateescape"}


def marks(text):
    """Where documents are asked for: words outside of quotes."""
    quoted = [found.span() for found in QUOTED.finditer(text)]
    return [mark for mark in MARK.finditer(text)
            if not any(start < mark.start() < end for start, end in quoted)]


class Wrong(Exception):
    """What a Dockerfile says wrongly, in words."""


class Document:
    """A here-document: its name, its text, and whether variables in it are filled in."""

    def __init__(self, mark, lines):
        self.name = mark["name"]
        self.fills = not mark["quote"]
        if mark["dash"]:
            lines = [line.lstrip("\t") for line in lines]
        self.text = "".join(line + "\n" for line in lines)


class Stage:
    """What instructions of a stage have said so far; `env` is what its image got by this file."""

    def __init__(self, env=()):
        self.shell = SHELL
        self.env = dict(env)
        self.variables = dict(env)

    def note(self, verb, rest, given, before):
        """`given` are the values of `--build-arg`, `before` those of ARG before the first stage."""
        if verb == "SHELL":
            self.shell = shell_of(rest)
        elif verb == "ENV":
            pairs = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)', rest)
            # `ENV NAME the value` is the old form.
            pairs = pairs or [[*rest.split(None, 1), "", ""][:2]]
            self.env.update({name: self.known(value.strip('"')) for name, value in pairs})
            self.variables.update(self.env)
        elif verb == "ARG":
            for word in rest.split():
                name, equals, value = word.partition("=")
                if name in self.env:
                    continue
                if name in given:
                    self.variables[name] = given[name]
                elif equals:
                    self.variables[name] = self.known(value.strip("\"'"))
                else:
                    self.variables.setdefault(name, before.get(name, ""))

    def known(self, text):
        """What a variable is set to; nothing where that depends on the image's own. Only a document
        that asks for such a variable is wrong."""
        try:
            return self.fill(text)
        except Wrong:
            return None

    def fill(self, text):
        def value(match):
            if match[0].startswith("\\"):
                return match[0][1:]
            name = match["name"] or match["braced"]
            found = self.variables.get(name)
            if found is None and (name in self.variables or not match["sign"]):
                raise Wrong(f"a here-document has the variable {name}, which no ARG or ENV of its stage sets; "
                            "those of its image are not known here: quote the document's name")
            if match["sign"] == "-":
                return found or match["other"]
            if match["sign"] == "+":
                return match["other"] if found else ""
            return found
        return VARIABLE.sub(value, text)


def shell_of(rest):
    """The words that SHELL names."""
    try:
        words = json.loads(rest)
    except ValueError:
        words = None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise Wrong(f"SHELL {rest}: it takes a JSON list of words")
    return words


def instructions(text):
    """The instructions: verb, the rest, documents, the lines as they stand."""
    lines, escape = text.split("\n"), "\\"
    at = 0
    while at < len(lines) and lines[at].startswith("#"):
        found = DIRECTIVE.match(lines[at])
        escape = found[1] if found else escape
        at += 1
    at = 0
    while at < len(lines):
        first = at
        whole = lines[at].rstrip()
        at += 1
        if not whole.strip() or whole.lstrip().startswith("#"):
            yield "", "", [], lines[first:at]
            continue
        while whole.endswith(escape) and at < len(lines):
            line = lines[at]
            at += 1
            # Comments and empty lines within an instruction are none of it.
            if line.lstrip().startswith("#"):
                continue
            whole = whole[:-1] + line.rstrip()
        verb, rest = [*whole.split(None, 1), ""][:2]
        verb, documents = verb.upper(), []
        if verb in ("RUN", "COPY", "ADD"):
            for mark in marks(rest):
                body = []
                while True:
                    if at == len(lines):
                        raise Wrong(f"the here-document {mark['name']} has no end")
                    line = lines[at]
                    at += 1
                    if (line.lstrip("\t") if mark["dash"] else line).rstrip("\r") == mark["name"]:
                        break
                    body.append(line)
                documents.append(Document(mark, body))
        yield verb, rest.strip(), documents, lines[first:at]


def run(rest, documents, stage, put):
    """A command that is given documents, or is one."""
    options, command = re.match(r"((?:--\S+\s+)*)(.*)", rest, re.DOTALL).groups()
    asked = marks(command)
    alone = len(asked) == 1 and asked[0][0] == command.strip()
    text = documents[0].text
    if alone and text.startswith("#!"):
        name = put(documents[0].name, text)
        target = f"/run/{name}"
        mount = f"--mount=type=bind,from={CONTEXT},source=/{name},target={target}"
        return f"RUN {options}{mount} {json.dumps([target])}"
    if not alone:
        ends = "".join(f"{document.text}{document.name}\n" for document in documents)
        for mark in reversed(asked):
            # Its tabs are gone already.
            plain = mark[0].replace("<<-", "<<")
            command = command[:mark.start()] + plain + command[mark.end():]
        text = f"{command}\n{ends}"
    return f"RUN {options}{json.dumps([*stage.shell, text])}"


def copy(verb, rest, documents, stage, put):
    """Documents that become files; other sources of the same line keep theirs."""
    options, words = re.match(r"((?:--\S+\s+)*)(.*)", rest, re.DOTALL).groups()
    words = words.split()
    target, others = words[-1], [word for word in words[:-1] if not MARK.fullmatch(word)]
    names = [put(one.name, stage.fill(one.text) if one.fills else one.text) for one in documents]
    made = [f"COPY --from={CONTEXT} {options}{name} {target}{one.name if target.endswith('/') else ''}"
            for name, one in zip(names, documents)]
    if others:
        made.insert(0, f"{verb} {options}{' '.join(others)} {target}")
    return "\n".join(made)


def from_image(rest, first, stages, image_of):
    """FROM with the id of an image of the platform that it names; nothing where it is the build's."""
    wanted, image, name = re.match(r"(?:--platform=(\S+)\s+)?(\S*)(.*)", rest, re.DOTALL).groups()
    if wanted is None:
        return None
    arguments = Stage()
    arguments.variables = BUILDER | first.variables
    try:
        wanted, image = arguments.fill(wanted), arguments.fill(image)
    except Wrong:
        # What the target is called is the build's own platform.
        return None
    if image.lower() == "scratch" or image.lower() in stages:
        return None
    found = image_of(wanted, image)
    return found and f"FROM {found}{name}"


def rewritten(text, given, folder, image_of):
    """The Dockerfile without here-documents, whose texts are put into a folder, and with the images
    of other platforms that `image_of` knows; nothing where it stays as it is. `given` are the values
    of `--build-arg`."""
    found = list(instructions(text))
    if not any(documents or (verb == "FROM" and "--platform" in rest)
               for verb, rest, documents, _ in found):
        return None
    count = 0

    def put(name, content):
        nonlocal count
        count += 1
        file = f"{count}-{name}"
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, file), "w", newline="", **BYTES) as document:
            document.write(content)
        os.chmod(document.name, 0o755 if content.startswith("#!") else 0o644)
        return file

    made, first = [], Stage()
    stage, stages = first, {}
    for verb, rest, documents, lines in found:
        image = None
        if verb == "FROM":
            image = from_image(rest, first, stages, image_of)
            words = [word.lower() for word in rest.split() if not word.startswith("--")]
            stage = Stage(stages[words[0]].env if words and words[0] in stages else ())
            if words[1:2] == ["as"] and len(words) > 2:
                stages[words[2]] = stage
        elif verb:
            stage.note(verb, rest, given, {} if stage is first else first.variables)
        if image:
            made.append(image)
        elif not documents:
            made.extend(lines)
        elif verb == "RUN":
            made.append(run(rest, documents, stage, put))
        else:
            made.append(copy(verb, rest, documents, stage, put))
    return "\n".join(made)


def for_podman(words, context, folder, podman, targets):
    """The words of `podman build`, with a Dockerfile that this podman can read. `podman` runs it with
    words; `targets` are the platforms that are built, its own where there are none."""
    if not os.path.isdir(context):
        return words
    named = [word.removeprefix("--file=") for word in words if word.startswith("--file=")]
    there = named + [os.path.join(context, name) for name in named or ("Containerfile", "Dockerfile")]
    file = next((name for name in there if os.path.isfile(name)), None)
    if len(named) > 1 or file is None:
        return words
    with open(file, newline="", **BYTES) as source:
        text = source.read()
    given = [word.removeprefix("--build-arg=") for word in words if word.startswith("--build-arg=")]
    given = {name: value if equals else os.environ.get(name, "")
             for name, equals, value in (word.partition("=") for word in given)}
    documents = os.path.join(folder, "documents")

    def image_of(name, image):
        wanted = platforms.platform(name)
        is_target = [wanted] == (targets or [platforms.OWN])
        return None if is_target else platforms.image_of(podman, wanted, image)
    made = rewritten(text.replace("\r\n", "\n"), given, documents, image_of)
    if made is None:
        return words
    os.makedirs(documents, exist_ok=True)
    target = os.path.join(folder, "Dockerfile.plain")
    with open(target, "w", newline="", **BYTES) as plain:
        plain.write(made)
    for ignored in (".dockerignore", ".containerignore"):
        if os.path.isfile(file + ignored):
            shutil.copy(file + ignored, target + ignored)
    rest = [word for word in words if not word.startswith("--file=")]
    return [*rest, f"--file={target}", f"--build-context={CONTEXT}={documents}"]


def joined(words):
    """Options that are looked at here, with their values in one word."""
    long = {"-f": "--file", "--file": "--file", "--build-arg": "--build-arg",
            "--platform": "--platform"}
    words, made = list(words), []
    while words:
        word = words.pop(0)
        made.append(f"{long[word]}={words.pop(0)}" if word in long and words else word)
    return made


def podman(*words):
    return subprocess.run(["podman", *words], check=False, capture_output=True, text=True)


def main(words):
    *words, context = words
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        try:
            words = joined(words)
            named = [word.partition("=")[2] for word in words if word.startswith("--platform=")]
            targets = platforms.chosen(",".join(named))
            words = for_podman(words, context, folder, podman, targets)
        except (Wrong, platforms.Unable) as error:
            print(f"Dockerfile: {error}", file=sys.stderr)
            return 1
        return subprocess.run(["podman", "build", *words, context], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
