"""Platforms of images: their names, which of them this machine runs, and images of one platform in
Dockerfiles. Programs of another processor are run by QEMU, which the machine's agent told the kernel of.
"""

import os

OWN = "linux/amd64"
# Processors as images name them, and the emulator of each; nothing where the processor does it.
EMULATORS = {
    "amd64": None, "386": None, "arm64": "aarch64", "arm": "arm", "ppc64le": "ppc64le",
    "riscv64": "riscv64", "s390x": "s390x",
}
OTHER_NAMES = {"x86_64": "amd64", "x86-64": "amd64", "i386": "386", "aarch64": "arm64",
               "armhf": "arm/v7", "armel": "arm/v6"}
# Variants that say no more than the processor.
PLAIN = {"amd64/v1": "amd64", "arm64/v8": "arm64"}
EMULATOR = "/usr/bin/qemu-{}-static"


class Unable(Exception):
    """What cannot be done here, in words."""


def platform(name):
    """The platform as images have it, of a name that a command has."""
    parts = name.strip().lower().split("/")
    if parts[0] in EMULATORS or parts[0] in OTHER_NAMES:
        parts.insert(0, "linux")
    if parts == ["linux"] or parts == ["local"]:
        return OWN
    system, processor = parts[0], "/".join(parts[1:])
    processor = OTHER_NAMES.get(processor, processor)
    processor = PLAIN.get(processor, processor)
    if system != "linux" or processor.split("/")[0] not in EMULATORS:
        raise Unable(f"--platform {name}: machines here run {', '.join(known())}")
    return f"linux/{processor}"


def known():
    return [f"linux/{processor}" for processor in EMULATORS]


def supported():
    """What this machine runs."""
    return [f"linux/{processor}" for processor, emulator in EMULATORS.items()
            if emulator is None or os.path.exists(EMULATOR.format(emulator))]


def chosen(names):
    """The platforms of an option's value, each once; all of them can be run."""
    found = []
    for name in filter(None, (name.strip() for name in names.replace("\n", ",").split(","))):
        one = platform(name)
        if one not in found:
            found.append(one)
    for one in found:
        if "/".join(one.split("/")[:2]) not in supported():
            raise Unable(f"--platform {one}: the machine's image has no emulator for it; `full` has those of "
                         "arm, arm64, ppc64le, riscv64 and s390x (`vm-manager image build full`)")
    return found


def image_of(run, wanted, reference):
    """The id of an image's variant for one platform. `run` calls podman with words; the variant that
    is there already is taken."""
    form = "{{.Id}} {{.Os}}/{{.Architecture}}"
    there = run("image", "inspect", "--format", form, reference)
    if there.returncode == 0:
        identity, _, found = there.stdout.strip().partition(" ")
        if found == wanted:
            return identity
    pulled = run("pull", "--quiet", f"--platform={wanted}", reference)
    if pulled.returncode != 0:
        raise Unable(f"there is no {reference} for {wanted}: {pulled.stderr.strip()}")
    return pulled.stdout.strip().splitlines()[-1]
