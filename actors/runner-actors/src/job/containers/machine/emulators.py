"""What images that set up emulators (`tonistiigi/binfmt`, as `docker/setup-qemu-action` runs it, and
`multiarch/qemu-user-static`) do, without them: the machine has its emulators from the start.
"""

import json
import os
import subprocess
import sys
import tarfile

import platforms
from common import engine, fail, option, repository_of

# The one member of an archive that `docker save` makes of such an image.
MARK = "orrery-emulators"


def names():
    return [f"qemu-{name}" for name in platforms.EMULATORS.values()
            if name and os.path.exists(platforms.EMULATOR.format(name))]


def run(words):
    """The words behind the image's name."""
    if "--version" in words:
        print("the emulators of the machine's image")
    wanted, _ = option(words, "--install")
    if wanted and wanted != "all":
        try:
            platforms.chosen(",".join(name.removeprefix("qemu-") for name in wanted.split(",")))
        except platforms.Unable as error:
            fail(str(error).removeprefix("--platform "))
    if not words or wanted:
        print(json.dumps({"supported": platforms.supported(), "emulators": names()}, indent=2))


def save(words):
    target, _ = option(words, "-o", "--output")
    with tarfile.open(target or "/dev/stdout", "w") as archive:
        archive.addfile(tarfile.TarInfo(MARK))


def load(words):
    source, _ = option(words, "-i", "--input")
    try:
        with tarfile.open(source or "") as archive:
            if archive.getnames() == [MARK]:
                print("the machine has its emulators")
                return
    except (OSError, tarfile.TarError):
        pass
    sys.exit(subprocess.run(engine("podman", "load", *words), check=False).returncode)


def emulators(words):
    """`docker VERB …` of such an image; its name is the first word that is none of an option."""
    verb, *words = words
    if verb == "image":
        verb, *words = words
    if verb == "load":
        load(words)
    elif verb == "save":
        save(words)
    elif verb == "run":
        at = next(at for at, word in enumerate(words) if is_one(word))
        run(words[at + 1:])
    elif verb == "inspect":
        name = next(filter(is_one, words))
        print(json.dumps([{"RepoTags": [name], "Os": "linux", "Architecture": "amd64", "Size": 0}]))
    elif verb == "pull":
        print(next(filter(is_one, words)))


def is_one(word):
    return repository_of(word).removeprefix("docker.io/") in ("tonistiigi/binfmt", "multiarch/qemu-user-static", "docker/binfmt")
