"""What the programs of the engine in a job's machine share: podman's socket, its namespaces, and how
commands of `docker` are read and answered."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOCKET = os.path.join(HERE, "docker.sock")
CONTAINERS = "/v4.0.0/libpod/containers/"
# Exit code of what is not given here.
UNABLE = 64


class Engine(http.client.HTTPConnection):
    """podman by its socket."""

    def __init__(self, timeout=None):
        super().__init__("localhost", timeout=timeout)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(SOCKET)

    @classmethod
    def ask(cls, path):
        """The answer as data; nothing where podman says no."""
        engine = cls()
        try:
            engine.request("GET", path)
            answer = engine.getresponse()
            body = answer.read()
            return json.loads(body) if answer.status < 300 else None
        except (OSError, ValueError, http.client.HTTPException):
            return None
        finally:
            engine.close()


def engine_pid():
    with open(os.path.join(HERE, "pid"), encoding="ascii") as file:
        return file.read().strip()


def fail(text, code=UNABLE):
    print(text, file=sys.stderr)
    sys.exit(code)


def engine(*words):
    """The words of a command in the engine's namespaces, in the folder that the script is in."""
    start = 'cd "$1" && shift && exec "$@"'
    return ["nsenter", "--target", engine_pid(), "--user", "--mount", "--net",
            "--preserve-credentials", "--", "sh", "-c", start, "sh", os.getcwd(), *words]


def podman(*words, **options):
    return subprocess.run(engine("podman", *words), check=False, **options)


def skopeo(*words, **options):
    """Images between registries and folders, by the same settings as podman's."""
    settings = f"--registries-conf={os.path.join(HERE, 'registries.conf')}"
    return subprocess.run(engine("skopeo", settings, *words), check=False, **options)


def repository_of(name):
    """An image's name without its tag or digest."""
    folder, slash, last = name.rpartition("/")
    return folder + slash + last.split("@")[0].split(":")[0]


def option(words, *names):
    """Takes an option with a value out of the words; its last value."""
    found, rest, words = None, [], list(words)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name in names and name.startswith("-"):
            found = value if equals else (words.pop(0) if words else "")
        else:
            rest.append(word)
    return found, rest


def fill(template, data):
    """A template of Go, as far as scripts of workflows go: fields, `json`."""
    def value(match):
        words = match.group(1).split()
        as_json = words[0] == "json" and words.pop(0)
        if len(words) != 1 or not words[0].startswith("."):
            fail(f"this template is not known here: {match.group(0)}")
        found = data
        for name in filter(None, words[0].split(".")):
            if not isinstance(found, dict) or name not in found:
                fail(f"template: no field {words[0]}", 1)
            found = found[name]
        if as_json or isinstance(found, (dict, list)):
            return json.dumps(found)
        return str(found).lower() if isinstance(found, bool) else str(found)
    return re.sub(r"\{\{\s*(.*?)\s*\}\}", value, template)


def show(data, form, rest=None):
    if form in ("json", "{{json .}}"):
        print(json.dumps(data))
    elif form:
        print(fill(form, data))
    else:
        print(rest if rest is not None else json.dumps(data, indent=4))
