//! `docker` in scripts: builds, containers, networks, compose, the socket, buildx.

use crate::lab::{Lab, of_job, prepare};
use crate::stage::in_order;

const SCRIPTS: &str = r#"
on: push
env: {ORRERY_IMAGES: "tools:1"}
jobs:
  scripts:
    runs-on: ubuntu-latest
    steps:
      - run: |
          printf 'FROM tools:1\nCOPY hello /hello\n' > Dockerfile; echo built-by-a-script > hello
          docker build --quiet -t mine . > /dev/null
          docker run --rm -v "$PWD:/here" -w /here mine sh -c 'cat /hello; ls hello; id -u'
          docker run -d --name cache -p 6380:6379 tools:1 > /dev/null
          docker ps --format 'runs {{.Names}}'
      - run: |
          exec 3<>/dev/tcp/localhost/6380; printf 'PING\r\n' >&3; head -1 <&3
          docker logs cache | grep -c Ready
          docker rm -f cache > /dev/null; docker ps -q | wc -l
          docker compose watch || echo "compose ends with $?"
        shell: bash
  walls:
    runs-on: x
    container: {image: "tools:1", options: --privileged}
    steps:
      - run: |
          no() { if sh -c "$1" > /dev/null 2>&1; then echo "a way out: $1"; else echo "closed"; fi; }
          no 'mount -t ext4 /dev/vda /mnt'
          no 'mknod /tmp/disk b 254 0'
          no 'head -c 1 /dev/vda'
          no 'ls /dev/vport*'
          no 'ls /dev/hvc*'
          no 'grep -l vm-guest /proc/[0-9]*/comm'
          no 'nsenter --target 1 --mount --no-fork ls /workspace/.github/../../var/lib/orrery-images'
          no 'echo 1 > /sys/kernel/uevent_helper'
          no 'unshare --mount sh -c "mount -o remount,rw /sys && echo 0 > /sys/kernel/mm/ksm/run"'
          no 'date -s 2001-01-01'
          echo the end
        shell: sh
"#;

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_scripts_have_docker_and_a_privileged_container_stays_in_the_vm() {
    prepare();
    let lab = Lab::new();
    lab.add_images(&["tools:1"]);
    let (code, said) = lab.exec(&[(".github/workflows/ci.yml", SCRIPTS)]);
    assert_eq!(code, Some(0), "{said}");
    let scripts = [
        "built-by-a-script",
        "hello",
        "0",
        "runs cache",
        "+PONG",
        "1",
        "0",
        "docker compose watch is not given here",
        "compose ends with 64",
    ];
    in_order(&of_job(&said, "scripts"), &scripts);
    let walls = of_job(&said, "walls");
    let closed = walls.lines().filter(|line| line.ends_with("] closed"));
    assert_eq!(closed.count(), 10, "{walls}");
    assert!(!walls.contains("] a way out:"), "{walls}");
}

const COMPOSE: &str = r#"
name: shop
services:
  db:
    image: tools:1
    user: postgres
    entrypoint: /bin/sh
    command: ["-c", "[ -e $$PGDATA/PG_VERSION ] || initdb --auth=trust > /dev/null; echo host all all all trust >> $$PGDATA/pg_hba.conf; exec postgres -k /tmp -c listen_addresses=*"]
    env_file: [db.env]
    volumes: ["data:/var/lib/postgresql"]
    healthcheck: {test: ["CMD", "pg_isready", "-h", "127.0.0.1"], interval: 2s, retries: 60}
  web:
    build: {context: web, args: {GREETING: hello}}
    depends_on: {db: {condition: service_healthy}}
    environment: [DATABASE=db]
    ports: ["8080:80"]
    networks: {default: {aliases: [shop-front]}}
    healthcheck: {test: ["CMD", "python3", "/probe.py"], interval: 2s, retries: 60}
  debug: {image: "tools:1", profiles: [debug], command: [sleep, "1000"]}
volumes: {data: {}}
"#;
const WEB: &str = "FROM tools:1\nARG GREETING\nENV GREETING=$GREETING\nCOPY server.py probe.py /\nCMD [\"python3\", \"/server.py\"]\n";
const SERVER: &str = r#"
import http.server, os, psycopg2
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with psycopg2.connect(host=os.environ["DATABASE"], user="postgres") as db, db.cursor() as cursor:
            cursor.execute("select 6 * 7")
            text = f"{os.environ['GREETING']} {cursor.fetchone()[0]}\n"
        self.send_response(200); self.end_headers(); self.wfile.write(text.encode())
http.server.HTTPServer(("", 80), Page).serve_forever()
"#;
const PROBE: &str = "import urllib.request; urllib.request.urlopen('http://localhost/')\n";
const PROJECT: &str = r#"
on: push
jobs:
  shop:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: docker compose up -d --wait
      - run: |
          curl --silent --show-error localhost:8080
          docker compose ps --format '{{.Names}} {{.Status}}'
          docker compose exec -T web sh -c 'getent hosts shop-front > /dev/null && echo named'
          docker compose exec -T db psql -h db -Atc "select 'in the database'"
          docker compose run --rm web python3 -c 'print("one more")'
          docker compose logs db | grep -c 'ready to accept connections'
          docker run --rm --network shop_default tools:1 pg_isready -h db
          docker compose down -v -t 0
          echo "left: $(docker ps -aq | wc -l) containers, $(docker volume ls -q | wc -l) volumes"
"#;

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_a_compose_project_with_a_database_runs_as_it_is() {
    prepare();
    let lab = Lab::new();
    lab.add_images(&["tools:1"]);
    let (code, said) = lab.exec(&[
        (".github/workflows/ci.yml", PROJECT),
        ("compose.yaml", COMPOSE),
        ("db.env", "PGDATA=/var/lib/postgresql/data\n"),
        ("web/Dockerfile", WEB),
        ("web/server.py", SERVER),
        ("web/probe.py", PROBE),
    ]);
    assert_eq!(code, Some(0), "{said}");
    let lines = [
        "image tools:1 is sha256:",
        "hello 42",
        "shop-db-1 Up",
        "(healthy)",
        "shop-web-1 Up",
        "(healthy)",
        "named",
        "in the database",
        "one more",
        "db:5432 - accepting connections",
        "left: 0 containers, 0 volumes",
    ];
    in_order(&of_job(&said, "shop"), &lines);
}

/// A client of the API, in a container that the socket is mounted into. Its own limit of a minute
/// for an answer is less than what a loaded machine takes to start a container.
const CLIENT: &str = r#"
import docker, threading, time
client = docker.from_env(timeout=900)
print("api", client.version()["ApiVersion"])
seen = []
def follow():
    for event in client.events(decode=True, filters={"type": "container"}):
        seen.append(event["Action"])
threading.Thread(target=follow, daemon=True).start()
cache = client.containers.run("tools:1", ["redis-server", "--protected-mode", "no"], detach=True,
    labels={"of": "test"}, ports={"6379/tcp": None}, healthcheck={"test": ["CMD", "redis-cli", "ping"], "interval": 1000000000})
cache.reload()
print("status", cache.status, "port", cache.ports["6379/tcp"][0]["HostPort"].isdigit())
while cache.attrs["State"]["Health"]["Status"] != "healthy":
    time.sleep(0.2); cache.reload()
print("exec", cache.exec_run(["redis-cli", "set", "x", "y"]).output.decode().strip())
print("logs", b"Ready to accept connections" in cache.logs())
print("found", [each.id == cache.id for each in client.containers.list(filters={"label": "of=test"})])
short = client.containers.run("tools:1", ["sh", "-c", "echo out; exit 3"], detach=True)
print("wait", short.wait()["StatusCode"], short.logs().decode().strip())
network = client.networks.create("of-the-api")
network.connect(cache, aliases=["the-store"])
print("by name", client.containers.run("tools:1", ["redis-cli", "-h", "the-store", "get", "x"], network="of-the-api", remove=True).decode().strip())
cache.remove(force=True)
while "die" not in seen: time.sleep(0.2)
print("events", all(each in seen for each in ("create", "start", "die")))
"#;
/// Each in a step and in a privileged container that a step starts by the socket and that has all
/// of the machine's files: what the step cannot do, the container cannot either.
const WAYS: &str = r#"mount -t ext4 /dev/vda /mnt
mknod /tmp/disk b 254 0 && head -c 1 /tmp/disk
head -c 1 /dev/vda
head -c 1 $HOST/dev/vda
ls $HOST/dev/vport*
ls $HOST/dev/hvc*
grep -l vm-guest $HOST/proc/[0-9]*/comm
nsenter --mount=$HOST/proc/1/ns/mnt true
unshare --mount mount -o remount,rw $HOST/sys
echo 1 > $HOST/sys/kernel/uevent_helper
echo 0 > $HOST/sys/kernel/mm/ksm/run
echo 1 > $HOST/sys/fs/cgroup/cgroup.procs
dmesg --clear
swapoff -a && swapon /dev/vda
chroot $HOST/. sh -c 'head -c 1 /dev/vda'
cat $HOST/proc/kcore | head -c 1 | grep -q .
kill -0 1 && cat /proc/1/environ | grep -qa ORRERY
"#;
const SOCKET: &str = r##"
on: push
env: {ORRERY_IMAGES: "tools:1"}
jobs:
  client:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: |
          curl --silent --unix-socket /var/run/docker.sock http://docker/_ping; echo
          docker run --rm -v /var/run/docker.sock:/var/run/docker.sock -v "$PWD:/w" tools:1 python3 /w/client.py
  walls:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: |
          HOST= sh ./try.sh > step.txt
          cat > start.py << 'END'
          import docker
          client = docker.from_env(timeout=900)
          print(client.containers.run("tools:1", ["sh", "-c", "cd /host/workspace && HOST=/host sh ./try.sh"], privileged=True,
              network_mode="host", remove=True, volumes={"/": {"bind": "/host"}}).decode(), end="")
          END
          docker run --rm -v /var/run/docker.sock:/var/run/docker.sock -v "$PWD:/w" tools:1 python3 /w/start.py > container.txt
          paste -d ' ' step.txt container.txt
"##;
const TRY: &str = "while read -r way; do\n  if sh -c \"$way\" > /dev/null 2>&1 < /dev/null; then echo open; else echo closed; fi\ndone < ways.txt\n";

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_the_socket_serves_clients_and_leads_no_further_than_a_step() {
    prepare();
    let lab = Lab::new();
    lab.add_images(&["tools:1"]);
    let (code, said) = lab.exec(&[
        (".github/workflows/ci.yml", SOCKET),
        ("client.py", CLIENT),
        ("ways.txt", WAYS),
        ("try.sh", TRY),
    ]);
    assert_eq!(code, Some(0), "{said}");
    let lines = [
        "OK",
        "api 1.41",
        "status running port True",
        "exec OK",
        "logs True",
        "found [True]",
        "wait 3 out",
        "by name y",
        "events True",
    ];
    in_order(&of_job(&said, "client"), &lines);
    let walls = of_job(&said, "walls");
    let tried: Vec<&str> = walls
        .lines()
        .filter_map(|line| line.split_once("] "))
        .map(|(_, said)| said)
        .filter(|said| said.starts_with("open ") || said.starts_with("closed "))
        .collect();
    assert_eq!(tried.len(), WAYS.lines().count(), "{walls}");
    let wider = WAYS.lines().zip(&tried);
    let wider: Vec<_> = wider.filter(|(_, said)| **said == "closed open").collect();
    assert!(wider.is_empty(), "{wider:?}");
    let shut = tried.iter().filter(|said| **said == "closed closed");
    assert!(shut.count() >= 12, "{tried:?}");
}

const NETWORKS: &str = r#"
on: push
jobs:
  names:
    runs-on: ubuntu-latest
    services:
      store: {image: "tools:1"}
      registry:
        image: tools:1
        ports: ["5000:5000"]
        entrypoint: /bin/sh
        command: "-c 'echo me:\\$2y\\$05\\$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a > /users; printf \"version: 0.1\\nlog: {level: error}\\nstorage: {filesystem: {rootdirectory: /r}}\\nhttp: {addr: \\\":5000\\\"}\\nauth: {htpasswd: {realm: r, path: /users}}\\n\" > /c.yml; exec docker-registry serve /c.yml'"
    steps:
      - uses: actions/checkout@v4
      - run: |
          docker run --rm tools:1 redis-cli -h store ping
          docker network create --driver bridge backend
          docker run -d --name cache --network backend --network-alias keys -p 6390:6379 tools:1 redis-server --protected-mode no --port 6379 > /dev/null
          docker run --rm --network backend tools:1 sh -c 'redis-cli -h cache ping; redis-cli -h keys set a b; redis-cli -h store ping'
          exec 3<>/dev/tcp/localhost/6390; printf 'GET a\r\n' >&3; head -2 <&3
          docker run -d -p 6390:80 tools:1 sleep 9 || echo "the port is taken: $?"
          docker network create other; docker network connect --alias elsewhere other cache
          docker run --rm --network other tools:1 redis-cli -h elsewhere get a
          docker network inspect other --format 'network {{.Name}}'
          docker rm -f cache > /dev/null; docker network rm backend other; docker network ls --format 'is {{.Name}}'
        shell: bash
      - run: |
          docker context ls --format 'context {{.Name}}'
          docker version --format 'server {{.Server.Version}}'; docker info --format 'system {{.OSType}}'
          docker buildx create --name one --driver docker-container --use; docker buildx inspect --bootstrap | grep Platforms
          echo secret | docker login --username me --password-stdin localhost:5000
          docker buildx build --load --push --platform linux/amd64 --build-arg GREETING=hey --target last --tag localhost:5000/web:1 --cache-to type=inline --metadata-file meta.json --output type=docker,dest=web.tar .
          tar -tf web.tar | grep -c manifest.json
          docker rmi localhost:5000/web:1 > /dev/null; docker pull --quiet localhost:5000/web:1 > /dev/null
          docker run --rm localhost:5000/web:1
          python3 -c 'import json; print("digest", json.load(open("meta.json"))["containerimage.digest"][:7])'
          docker buildx build --platform linux/mips64le . || echo "another machine ends with $?"
          docker logout localhost:5000; docker pull localhost:5000/web:1 || echo "without a password $?"
"#;

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_networks_have_names_and_buildx_pushes_to_a_registry() {
    prepare();
    let lab = Lab::new();
    lab.add_images(&["tools:1"]);
    let dockerfile = "FROM tools:1 AS base\nARG GREETING\nENV GREETING=$GREETING\nFROM base AS last\nCMD [\"sh\", \"-c\", \"echo $GREETING from the registry\"]\n";
    let (code, said) = lab.exec(&[
        (".github/workflows/ci.yml", NETWORKS),
        ("Dockerfile", dockerfile),
    ]);
    assert_eq!(code, Some(0), "{said}");
    let lines = [
        "PONG",
        "backend",
        "PONG",
        "OK",
        "PONG",
        "b",
        "another container has it",
        "the port is taken: 126",
        "b",
        "network other",
        "is podman",
        "context default",
        "server 5.",
        "system linux",
        "Platforms: linux/amd64",
        "Login Succeeded!",
        "--cache-to has no effect",
        "1",
        "hey from the registry",
        "digest sha256:",
        "machines here run linux/amd64",
        "another machine ends with 64",
        "without a password",
    ];
    in_order(&of_job(&said, "names"), &lines);
}
