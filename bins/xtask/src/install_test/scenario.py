"""What is done on the Debian machine of `cargo xtask test --only install`: root's work, step by step.

Run inside of the VM, in the folder with the packages of two versions (first/, second/) and the scripted forge.
Prints one line a step, `ok NAME SECONDS`, and figures as `figure NAME SECONDS`. Anything unexpected ends it.
"""

import hashlib
import hmac
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SECRET = "0123456789abcdef0123456789abcdef"
FORGE_TOKEN = "forge-token-of-the-test"
REPOSITORY = "acme/main"
UNITS = ["orrery-search", "orrery-vm-manager", "orrery-runner", "orrery-orchestrator"]
PORTS = {"orrery-search": 8000, "orrery-vm-manager": 3100, "orrery-runner": 3000, "orrery-orchestrator": 3200}
BEGUN = time.monotonic()
WORKFLOW = """name: Sample
on: [push]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: echo "the first step ran as $(id -un)"; sh work.sh
"""


def run(*words, check=True, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if check and done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def step(function):
    """Does a step, and says how long it took."""
    begun = time.monotonic()
    try:
        function()
    except BaseException:
        print(f"FAILED {function.__name__.replace('_', ' ')}", flush=True)
        for unit in UNITS + ["orrery"]:
            print(run("journalctl", "-u", unit, "-n", "25", "--no-pager", "-o", "cat", check=False)[-6000:])
        raise
    print(f"ok {function.__name__.replace('_', ' ')} {time.monotonic() - begun:.1f}", flush=True)


def figure(name):
    print(f"figure {name} {time.monotonic() - BEGUN:.1f}", flush=True)


def fetch(url, body=None, headers=None, method=None):
    """Status and JSON of an answer; 0 where nobody answers."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    headers = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read().decode()
            kind = answer.headers.get_content_type()
            return answer.status, json.loads(text) if kind == "application/json" else text
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, None


def until(what, probe, seconds=120):
    """Waits until the probe gives something; nothing tells this program of it."""
    end = time.monotonic() + seconds
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > end:
            raise SystemExit(f"after {seconds} s: {what}")
        time.sleep(0.2)


def ready(unit):
    until(f"{unit} is not ready", lambda: fetch(f"http://127.0.0.1:{PORTS[unit]}/readyz")[0] == 200)


def show(unit, prop):
    return run("systemctl", "show", "--property", prop, "--value", unit)


class Forge:
    """The scripted forge, a process that takes orders."""

    def __init__(self):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([HERE / "scripted-forge"], stdin=pipe, stdout=pipe, text=True)
        self.url = json.loads(self.process.stdout.readline())

    def order(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def git(*words, folder="/srv/main"):
    return run("git", "-C", folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words)


def commit(message, **files):
    for name, text in files.items():
        path = pathlib.Path("/srv/main") / name.replace("__", "/").replace("DOT", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git("add", "--all")
    git("commit", "--quiet", "--message", message)
    git("push", "--quiet", "/srv/main.git", "HEAD:refs/heads/main")
    git("update-server-info", folder="/srv/main.git")
    run("chmod", "-R", "a+rX", "/srv")
    head = git("rev-parse", "HEAD")
    forge.order("commit", REPOSITORY, head)
    return head


def deliver(port, event, body):
    """A signed webhook, as a forge sends it."""
    text = json.dumps(body).encode()
    signature = "sha256=" + hmac.new(SECRET.encode(), text, hashlib.sha256).hexdigest()
    headers = {"X-Hub-Signature-256": signature, "X-GitHub-Event": event}
    status, answer = fetch(f"http://127.0.0.1:{port}/webhook", text, headers)
    if status != 202:
        raise SystemExit(f"the {event} was answered with {status}: {answer}")
    return answer


def push(sha):
    person = {"login": "ada"}
    clone = f"http://127.0.0.1:{files}/main.git"
    return deliver(3000, "push", {
        "ref": "refs/heads/main", "before": "0" * 40, "after": sha, "created": True, "deleted": False, "commits": [],
        "head_commit": {"id": sha, "message": "A sample", "added": [], "modified": [], "removed": []},
        "pusher": person, "sender": person,
        "repository": {"full_name": REPOSITORY, "clone_url": clone, "html_url": clone, "default_branch": "main"},
    })["run"]


RUNNER = {"Authorization": "Bearer runner-token-of-the-test"}


def record(run_id):
    return fetch(f"http://127.0.0.1:3000/runs/{run_id}", headers=RUNNER)[1]


def log_of(run_id):
    return str(fetch(f"http://127.0.0.1:3000/runs/{run_id}/log", headers=RUNNER)[1])


def ended(run_id, seconds=240):
    words = ("succeeded", "failed", "lost", "cancelled")
    def over():
        found = record(run_id)
        return found if isinstance(found, dict) and found.get("state") in words else None
    return until(f"the run {run_id} has not ended: {record(run_id)}", over, seconds)


def final_statuses(sha, count=1):
    def over():
        latest = {context: state for context, state, _ in forge.order("statuses", REPOSITORY, sha)}
        return latest if len(latest) >= count and "pending" not in latest.values() else None
    return until(f"statuses of {sha}: {forge.order('statuses', REPOSITORY, sha)}", over)


def packages(version):
    names = ["common", "client", "search", "vm-guest", "vm-manager", "runner", "orchestrator"]
    found = [str(next((HERE / version).glob(f"orrery-{name}_*.deb"))) for name in names]
    return found


# The steps.

def systemd_is_the_first_process():
    until("systemd does not answer", lambda: os.path.exists("/run/systemd/private"))
    state = run("systemctl", "is-system-running", "--wait", check=False)
    if state != "running" or pathlib.Path("/proc/1/comm").read_text() != "systemd\n":
        raise SystemExit(f"{state}: {run('systemctl', '--failed', '--no-pager')}")


def install_the_packages():
    run("dpkg", "--install", *packages("first"), env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    # The search server starts by itself, the others want to be told something.
    if show("orrery-search", "ActiveState") not in ("active", "activating"):
        raise SystemExit("the search server was not started by its package")
    for unit in UNITS[1:]:
        if show(unit, "ActiveState") != "inactive":
            raise SystemExit(f"{unit} was started before it was told anything")


def search_once():
    ready("orrery-search")
    def found():
        body = {"search_term": "restart policy", "limit": 3}
        status, answer = fetch("http://127.0.0.1:8000/api/documents/search", body)
        return status == 200 and answer["results"]
    until("the documentation is not found", found)
    figure("from the packages to the first search")
    said = run("runuser", "-u", "nobody", "--", "service-agent", "search", "restart policy", "--limit", "1")
    if not said:
        raise SystemExit("service-agent finds nothing")


def configure_and_start_every_unit():
    run("git", "init", "--quiet", "--bare", "--initial-branch=main", "/srv/main.git")
    run("git", "init", "--quiet", "--initial-branch=main", "/srv/main")
    for user, token in (("orrery", FORGE_TOKEN),):
        forge.order("user", user, token)
    forge.order("repo", REPOSITORY)
    forge.order("permission", REPOSITORY, "ada", "write")
    forge.order("issue", REPOSITORY, 1, "Say hello")
    commit("A sample", **{"DOTgithub__workflows__sampleDOTyml": WORKFLOW, "workDOTsh": "echo done\n"})
    etc = pathlib.Path("/etc/orrery")
    # There is no KVM, and a VM in an emulated VM is too slow: the namespace sandbox, by its name.
    (etc / "vm-manager.toml").write_text('listen = "127.0.0.1:3100"\ndriver = "namespace-sandbox"\n')
    (etc / "runner.toml").write_text(
        f'listen = "127.0.0.1:3000"\nforge = "gitea"\nforge_url = "{forge.url}"\nallow_http = true\n'
        'allow_addresses = ["127.0.0.1"]\n[machines.default]\nisolation_min = "namespace-sandbox"\n'
    )
    orchestrator = etc / "orchestrator/orchestrator.toml"
    text = orchestrator.read_text().replace("[[projects]]", (
        f'[forge]\nkind = "gitea"\nurl = "{forge.url}"\ntoken = "${{FORGE_TOKEN}}"\nallow_http = true\n\n[[projects]]'
    ), 1)
    orchestrator.write_text(text)
    token = run("runuser", "-u", "orrery-vm", "--", "vm-manager", "--data", "/var/lib/orrery-vm", "token")
    secrets = {
        "runner": {"FORGE_WEBHOOK_SECRET": SECRET, "FORGE_TOKEN": FORGE_TOKEN, "VMM_AUTH_TOKEN": token,
                   "WORKFLOW_RUNNER_API_TOKEN": "runner-token-of-the-test"},
        "orchestrator": {"ORCH_WEBHOOK_SECRET": SECRET, "FORGE_TOKEN": FORGE_TOKEN, "ORCH_PROJECT_DIR": "/srv/main"},
    }
    for name, values in secrets.items():
        path = etc / f"{name}.env"
        path.touch(0o600)
        path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    run("systemctl", "enable", "--now", *UNITS)
    for unit in UNITS:
        ready(unit)
        if show(unit, "ActiveState") != "active" or show(unit, "NRestarts") != "0":
            raise SystemExit(f"{unit}: {run('systemctl', 'status', unit, '--no-pager', check=False)}")


def what_the_units_promise_is_in_force():
    for unit in UNITS:
        process = show(unit, "MainPID")
        limits = pathlib.Path(f"/proc/{process}/limits").read_text()
        status = pathlib.Path(f"/proc/{process}/status").read_text()
        lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        files = next(line for line in limits.splitlines() if line.startswith("Max open files")).split()
        wrong = []
        if files[3:5] != ["65536", "65536"]:
            wrong.append(f"open files {files[3:5]}")
        if int(lines["CapEff"], 16) or int(lines["CapBnd"], 16):
            wrong.append(f"capabilities {lines['CapEff']} {lines['CapBnd']}")
        if lines["NoNewPrivs"].strip() != "1" or lines["Umask"].strip() != "0077":
            wrong.append(f"privileges {lines['NoNewPrivs']}, umask {lines['Umask']}")
        if lines["Uid"].split()[0] == "0":
            wrong.append("it is root")
        state = pathlib.Path("/var/lib") / show(unit, "StateDirectory")
        if state.stat().st_mode & 0o077:
            wrong.append(f"{state} is open to others")
        if wrong:
            raise SystemExit(f"{unit}: {'; '.join(wrong)}")


def run_a_workflow():
    sha = git("rev-parse", "HEAD")
    run_id = push(sha)
    until("no step ran", lambda: "the first step ran as" in log_of(run_id), 240)
    figure("from the packages to the first step of a workflow")
    found = ended(run_id)
    if found["state"] != "succeeded":
        raise SystemExit(f"{json.dumps(found)[:3000]}\n{log_of(run_id)[-3000:]}")
    if set(final_statuses(sha).values()) != {"success"}:
        raise SystemExit(f"statuses: {forge.order('statuses', REPOSITORY, sha)}")


def answer_a_mention():
    text = "@orch:greeter please"
    number = forge.order("comment", REPOSITORY, 1, "ada", text)
    deliver(3200, "issue_comment", {
        "action": "created",
        "comment": {"id": number, "body": text, "user": {"login": "ada"}, "created_at": "2026-01-01T00:00:00Z"},
        "issue": {"number": 1, "title": "Say hello", "state": "open"}, "repository": {"full_name": REPOSITORY},
    })
    def answered():
        return [text for author, text in forge.order("comments", REPOSITORY, 1) if author != "ada"]
    answer = until("nobody answers the mention", answered)
    if "Hello from greeter" not in answer[0]:
        raise SystemExit(f"the answer: {answer}")


def a_hung_program_is_ended_and_started_again():
    unit = "orrery-search"
    before = show(unit, "MainPID")
    run("systemctl", "kill", "--signal=STOP", "--kill-whom=main", unit)
    until("the watchdog does nothing", lambda: show(unit, "NRestarts") == "1", 150)
    ready(unit)
    if show(unit, "MainPID") == before or show(unit, "Result") not in ("success", "watchdog"):
        raise SystemExit(run("systemctl", "status", unit, "--no-pager", check=False))
    if "watchdog timeout" not in run("journalctl", "-u", unit, "--no-pager", "-o", "cat").lower():
        raise SystemExit("it was not the watchdog that ended it")


def reload_goes_on():
    for unit in ["orrery-orchestrator", "orrery-runner"]:
        before = show(unit, "MainPID")
        run("systemctl", "reload", unit)
        ready(unit)
        if show(unit, "MainPID") != before:
            raise SystemExit(f"a reload started {unit} anew")


def upgrade_while_a_run_is_under_way():
    long = "for i in $(seq 600); do echo tick $i; sleep 1; done\n"
    sha = commit("Long work", workDOTsh=long)
    run_id = push(sha)
    until("the long job does not run", lambda: "tick 2" in log_of(run_id), 240)
    upgrade.update(run=run_id, sha=sha, processes={unit: show(unit, "MainPID") for unit in UNITS})
    said = run("dpkg", "--install", *packages("second"), env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if "refuses" in said:
        raise SystemExit(said)


def verify_the_upgrade():
    version = run("dpkg-query", "--show", "--showformat=${Version}", "orrery-runner")
    if not version.endswith("+next"):
        raise SystemExit(f"the version is {version}")
    for unit in UNITS:
        ready(unit)
        if show(unit, "MainPID") == upgrade["processes"][unit]:
            raise SystemExit(f"{unit} runs the former program")
    # A job that had a machine ends as lost, with a status that has ended: docs/OPERATIONS.md.
    found = ended(upgrade["run"], 240)
    states = set(final_statuses(upgrade["sha"]).values())
    if found["state"] == "succeeded" or "success" in states:
        raise SystemExit(f"the run that was interrupted: {found['state']}, {states}")
    print(f"the run that was under way: {found['state']}, statuses {sorted(states)}", flush=True)
    sha = commit("Short work again", workDOTsh="echo done\n")
    again = ended(push(sha))
    if again["state"] != "succeeded":
        raise SystemExit(f"after the upgrade: {json.dumps(again)[:2000]}")
    if "acme/main" not in (etc_runner := pathlib.Path("/etc/orrery/orchestrator/orchestrator.toml").read_text()) \
            or forge.url not in etc_runner:
        raise SystemExit("the upgrade changed the settings")


def a_version_that_refuses_the_settings_leaves_the_former_one_running():
    settings = pathlib.Path("/etc/orrery/runner.toml")
    right, before = settings.read_text(), show("orrery-runner", "MainPID")
    settings.write_text(right + "no_such_key = 1\n")
    done = subprocess.run(["dpkg-reconfigure", "-fnoninteractive", "orrery-runner"], capture_output=True, text=True)
    settings.write_text(right)
    ready("orrery-runner")
    if show("orrery-runner", "MainPID") != before or "goes on" not in done.stderr + done.stdout:
        raise SystemExit(f"{done.returncode} {done.stdout} {done.stderr}")


def restart_all():
    run("systemctl", "restart", *UNITS)
    for unit in UNITS:
        ready(unit)
    search_once_more = fetch("http://127.0.0.1:8000/api/documents/search", {"search_term": "restart policy"})
    if search_once_more[0] != 200:
        raise SystemExit(f"{search_once_more}")


def one_process_instead():
    run("systemctl", "disable", "--now", *UNITS)
    run("dpkg", "--install", str(next((HERE / "second").glob("orrery_*.deb"))))
    run("systemctl", "enable", "--now", "orrery")
    ready("orrery-search")
    run("systemctl", "disable", "--now", "orrery")


def remove():
    names = run("dpkg-query", "--show", "--showformat=${Package}\n", "orrery*").split()
    run("dpkg", "--remove", *names)
    for unit in UNITS + ["orrery"]:
        if show(unit, "LoadState") not in ("not-found", "masked"):
            raise SystemExit(f"{unit} is left: {show(unit, 'LoadState')}")
    if not pathlib.Path("/var/lib/orrery-runner/store.redb").exists():
        raise SystemExit("removal took the data")
    said = run("dpkg", "--purge", *names)
    left = [str(path) for folder in ("/usr", "/lib/systemd", "/etc") for path in pathlib.Path(folder).rglob("*orrery*")]
    left = [path for path in left if not path.startswith("/etc/orrery")]
    if left or "its data are kept in /var/lib/orrery-runner" not in said:
        raise SystemExit(f"left: {left}\n{said}")
    state = run("systemctl", "is-system-running", check=False)
    if state != "running":
        raise SystemExit(f"the machine is {state}: {run('systemctl', '--failed', '--no-pager')}")


STEPS = [
    systemd_is_the_first_process, install_the_packages, search_once, configure_and_start_every_unit,
    what_the_units_promise_is_in_force, run_a_workflow, answer_a_mention, a_hung_program_is_ended_and_started_again,
    reload_goes_on, upgrade_while_a_run_is_under_way, verify_the_upgrade,
    a_version_that_refuses_the_settings_leaves_the_former_one_running, restart_all, one_process_instead, remove,
]

upgrade = {}
forge = Forge()
pathlib.Path("/srv").mkdir(exist_ok=True)
server = http.server.ThreadingHTTPServer(
    ("127.0.0.1", 0), lambda *words: Quiet(*words, directory="/srv"))
files = server.server_address[1]
threading.Thread(target=server.serve_forever, daemon=True).start()
for one in STEPS:
    step(one)
print(f"{len(STEPS)} passed, 0 failed", flush=True)
sys.exit(0)
