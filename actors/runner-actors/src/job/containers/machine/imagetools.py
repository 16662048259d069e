"""`docker buildx imagetools`: images of a registry, looked at and put together without being here."""

import hashlib
import json
import subprocess
import sys
import uuid

from common import fail, fill, option, podman, repository_of, skopeo

LISTS = ("application/vnd.docker.distribution.manifest.list.v2+json",
         "application/vnd.oci.image.index.v1+json")


def asked(*words):
    """What skopeo prints; ends with its words where it cannot."""
    ended = skopeo(*words, capture_output=True)
    if ended.returncode != 0:
        fail("docker buildx imagetools: " + ended.stderr.decode(errors="replace").strip(), 1)
    return ended.stdout


def all_of(words, *names):
    """The values of an option that may stand there several times, and the other words."""
    found, rest, words = [], [], list(words)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name in names:
            found.append(value if equals else (words.pop(0) if words else ""))
        else:
            rest.append(word)
    return found, rest


def sources_of(words, files, tags):
    """Images, each with its repository; a digest alone is one of the first repository that is named."""
    words = list(words)
    for file in files:
        with open(file, encoding="utf-8") as source:
            words.append(json.load(source)["digest"])
    named = next((word for word in [*words, *tags] if not word.startswith("sha256:")), None)
    if words and named is None:
        fail(f"imagetools create: {words[0]} names no repository", 1)
    return [f"{repository_of(named)}@{word}" if word.startswith("sha256:") else word for word in words]


def create(words):
    tags, words = all_of(words, "-t", "--tag")
    files, words = all_of(words, "-f", "--file")
    annotations, words = all_of(words, "--annotation")
    _, words = all_of(words, "--builder", "--progress", "--platform", "--metadata-file")
    flags = [word for word in words if word.startswith("-")]
    given = [word for word in words if not word.startswith("-")]
    sources = sources_of(given, files, tags)
    if "--append" in flags:
        sources = tags[:1] + sources
    if not sources or not tags:
        fail("docker buildx imagetools create needs sources, and --tag for what is made", 1)
    if "--dry-run" in flags:
        for source in sources:
            sys.stdout.buffer.write(asked("inspect", "--raw", f"docker://{source}") + b"\n")
        return
    if len(sources) == 1 and not annotations:
        for tag in tags:
            if skopeo("copy", "--all", "--quiet", f"docker://{sources[0]}", f"docker://{tag}").returncode:
                sys.exit(1)
        return
    together(tags, sources, annotations)


def together(tags, sources, annotations):
    """A list of what the sources hold, in each of the repositories."""
    name = f"localhost/orrery-list:{uuid.uuid4().hex}"
    quiet = {"stdout": subprocess.DEVNULL}
    marks = [f"--annotation={annotation.split(':', 1)[-1]}" for annotation in annotations]
    steps = [("manifest", "create", name)]
    steps += [("manifest", "add", "--all", *marks, name, f"docker://{source}") for source in sources]
    steps += [("manifest", "push", "--all", name, f"docker://{tag}") for tag in tags]
    for step in steps:
        if podman(*step, **quiet).returncode:
            sys.exit(1)
    podman("manifest", "rm", name, **quiet)


def inspect(words):
    form, words = option(words, "--format")
    _, words = option(words, "--builder")
    names = [word for word in words if not word.startswith("-")]
    if len(names) != 1:
        fail("docker buildx imagetools inspect takes one image", 1)
    raw = asked("inspect", "--raw", f"docker://{names[0]}")
    if "--raw" in words:
        sys.stdout.buffer.write(raw)
        return
    manifest = json.loads(raw)
    digest = f"sha256:{hashlib.sha256(raw).hexdigest()}"
    # A manifest that does not say what it is, is one of OCI.
    kind = manifest.get("mediaType") or (LISTS[1] if "manifests" in manifest else
                                         "application/vnd.oci.image.manifest.v1+json")
    if form:
        described = {"mediaType": kind, "digest": digest, "size": len(raw), **manifest}
        data = {"name": names[0], "manifest": Named(described)}
        if ".Image" in form or form == "{{json .}}":
            data["image"] = Named(json.loads(asked("inspect", "--config", f"docker://{names[0]}")))
        print(fill(form, Named(data)))
        return
    print(f"Name:      {names[0]}\nMediaType: {kind}\nDigest:    {digest}")
    if kind in LISTS:
        print("\nManifests: ")
        for entry in manifest["manifests"]:
            where = entry.get("platform", {})
            parts = [where.get(key) for key in ("os", "architecture", "variant")]
            print(f"  Name:      {repository_of(names[0])}@{entry['digest']}\n"
                  f"  MediaType: {entry['mediaType']}\n"
                  f"  Platform:  {'/'.join(filter(None, parts))}\n")


class Named(dict):
    """Fields that templates of Go have in capitals: `.Manifest.Digest` is `manifest.digest`."""

    def __contains__(self, name):
        return dict.__contains__(self, name) or dict.__contains__(self, name[:1].lower() + name[1:])

    def __getitem__(self, name):
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        return dict.__getitem__(self, name[:1].lower() + name[1:])


def imagetools(words):
    verb, words = (words[0], words[1:]) if words else ("", [])
    if verb == "create":
        create(words)
    elif verb == "inspect":
        inspect(words)
    else:
        fail(f"docker buildx imagetools {verb} is not given here: create, inspect")
