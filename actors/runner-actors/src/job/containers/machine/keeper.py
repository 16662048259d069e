"""What the container engine of a job needs beside podman: its socket, ports, health checks.

    step, container ── docker.sock ─▶ podman system service, started by the first who connects
    podman ▶ netavark ▶ iptables.sh ── ports.sock ─▶ socat of the machine and of the engine
    podman ── events ─▶ a thread for each container with a health check ─▶ podman, by its socket

It runs in the machine, outside of the engine's namespaces, and ends with the job's machine.
`keeper.py wait CONDITION NAME…` waits for containers, as a newer podman would.
"""

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

from common import CONTAINERS, HERE, SOCKET, Engine, engine_pid

PORTS = os.path.join(HERE, "ports.sock")
EVENTS = os.path.join(HERE, "events.log")
# Of what podman does not say, Docker's own: nanoseconds between two checks.
INTERVAL = 30_000_000_000
# The runner looks after containers with this label itself.
OF_RUNNER = "orrery.job"
# Containers that end before are not asked about, in seconds: it would start podman's service.
SHORT = 1
# How often the list of events is looked at, in seconds.
PAUSE = 0.25


def listen(path):
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    os.chmod(path, 0o660)
    listener.listen(128)
    return listener


def inside(namespace, *words):
    """The words of a command in the engine's namespaces: those of its network, or all of them."""
    kinds = {"net": ["--user", "--net"], "all": ["--user", "--mount", "--net"]}[namespace]
    return ["nsenter", "--target", engine_pid(), *kinds, "--preserve-credentials", "--", *words]


def serve(listener):
    """Starts podman's service when somebody connects, with the socket that they connected to."""
    while True:
        select.select([listener], [], [])
        # Descriptor 3 is the first that a service started like this looks at.
        script = 'exec 3<&"$1" && LISTEN_PID=$$ LISTEN_FDS=1 exec podman system service --time=0'
        words = inside("all", "sh", "-c", script, "sh", str(listener.fileno()))
        with open(os.path.join(HERE, "service.log"), "ab") as log:
            service = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[listener.fileno()], start_new_session=True,
            )
        service.wait()
        # One that ends at once would be started again and again.
        time.sleep(1)


def is_open(pid, kind, port):
    """Whether a port is bound where a process is."""
    try:
        with open(f"/proc/{pid}/net/{kind}", encoding="ascii") as sockets:
            return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] in ("0A", "07")
                       for line in sockets)
    except OSError:
        return False


def first_and_last(text):
    first, _, last = text.partition(":" if ":" in text else "-")
    return int(first), int(last or first)


class Ports:
    """Ports of the machine that lead to containers: one socat for each, in the machine and in the
    engine, where podman looks for registries."""

    def __init__(self):
        # By kind and port: whose it is, and its programs.
        self.relays = {}

    def open(self, kind, host, port, address, inner, container):
        """Opens a port or a range, `80:82` to `8080-8082/80`."""
        first, last = first_and_last(port)
        start, _ = first_and_last(inner.partition("/")[0])
        for at in range(first, last + 1):
            known = self.relays.get((kind, at))
            if known and known[0] == container:
                continue
            answer = "another container has it" if known else ""
            answer = answer or self.relay(kind, host, at, f"{address}:{start + at - first}", container)
            if answer:
                self.close(kind, f"{first}:{at}", container)
                return f"port {at} of the machine: {answer}"
        return "ok"

    def relay(self, kind, host, port, to, container):
        """What is wrong, if something is."""
        sort = socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM
        try:
            with socket.socket(socket.AF_INET, sort) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
                if kind == "tcp":
                    probe.listen()
        except OSError as error:
            return error.strerror
        words = ["socat", f"{kind.upper()}4-LISTEN:{port},bind={host},fork,reuseaddr",
                 f"{kind.upper()}4:{to}"]
        within = inside("net", *words[:1], words[1].replace(host, "127.0.0.1"), words[2])
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                 "stderr": subprocess.DEVNULL}
        relays = [subprocess.Popen(each, **quiet) for each in (words, within)]
        self.relays[(kind, port)] = (container, relays)
        while not is_open(relays[0].pid, kind, port):
            if relays[0].poll() is not None:
                return "socat ended"
            time.sleep(0.02)
        return ""

    def close(self, kind, port, container):
        first, last = first_and_last(port)
        for at in range(first, last + 1):
            owner, relays = self.relays.get((kind, at), (None, []))
            if owner == container:
                del self.relays[(kind, at)]
                for relay in relays:
                    relay.terminate()
                    relay.wait()
        return "ok"

    def serve(self):
        """One line for each: `open KIND HOST PORT ADDRESS PORT CONTAINER`, `close KIND PORT CONTAINER`."""
        listener = listen(PORTS)
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rw") as lines:
                verb, *words = lines.readline().split() or [""]
                verbs = {"open": self.open, "close": self.close}
                try:
                    answer = verbs[verb](*words)
                except (KeyError, TypeError, ValueError, OSError) as error:
                    answer = f"port: {error}"
                lines.write(answer + "\n")


class HealthCheck(threading.Thread):
    """Runs the check of one container as often as Docker would; podman leaves that to systemd."""

    def __init__(self, container):
        super().__init__(daemon=True)
        self.container = container
        self.ended = threading.Event()

    def run(self):
        if self.ended.wait(SHORT):
            return
        found = Engine.ask(CONTAINERS + self.container + "/json") or {}
        check = (found.get("Config") or {}).get("Healthcheck") or {}
        if not check.get("Test") or check["Test"][0] == "NONE":
            return
        pause = (check.get("Interval") or INTERVAL) / 1e9
        while not self.ended.wait(pause):
            Engine.ask(CONTAINERS + self.container + "/healthcheck")


def follow_events():
    """Checks begin and end with their containers."""
    checks = {}
    with open(EVENTS, "a+") as events:
        events.seek(0)
        rest = ""
        while True:
            rest += events.read()
            *lines, rest = rest.split("\n")
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if event.get("Type") != "container":
                    continue
                container, status = event.get("ID"), event.get("Status")
                own = OF_RUNNER in (event.get("Attributes") or {})
                if status in ("start", "restart") and container not in checks and not own:
                    checks[container] = HealthCheck(container)
                    checks[container].start()
                elif status in ("died", "remove") and container in checks:
                    checks.pop(container).ended.set()
            time.sleep(PAUSE)


def is_met(state, condition):
    health = (state.get("Health") or {}).get("Status")
    status = state.get("Status")
    if condition in ("healthy", "unhealthy"):
        return health == condition
    if condition in ("stopped", "exited"):
        return status in ("stopped", "exited")
    return status == condition


def wait(condition, names):
    """0 once all containers are in that condition, 1 as soon as one cannot get there any more."""
    for name in names:
        while True:
            found = Engine.ask(CONTAINERS + urllib.parse.quote(name) + "/json")
            state = (found or {}).get("State") or {}
            if found is None:
                print(f"there is no container {name}", file=sys.stderr)
                return 1
            if is_met(state, condition):
                break
            health = (state.get("Health") or {}).get("Status")
            ended = state.get("Status") in ("exited", "stopped")
            if condition in ("healthy", "running") and (ended or health == "unhealthy"):
                what = "has ended" if ended else "is unhealthy"
                print(f"the container {name} {what}, it will not be {condition}", file=sys.stderr)
                return 1
            time.sleep(4 * PAUSE)
    return 0


def main():
    if sys.argv[1:2] == ["wait"]:
        sys.exit(wait(sys.argv[2], sys.argv[3:]))
    listener = listen(SOCKET)
    for work in (lambda: serve(listener), Ports().serve, follow_events):
        threading.Thread(target=work, daemon=True).start()
    # The socket is there: whoever started this goes on.
    print("ready", flush=True)
    threading.Event().wait()


main()
