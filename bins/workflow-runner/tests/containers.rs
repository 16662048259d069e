//! Containers of workflows in real, emulated VMs: services, a job's container, Docker actions, a
//! registry. Agent, kernel and images come from the cache folder (`ORRERY_CACHE`, else
//! `~/.cache/orrery`) and are made there once: the image `full`, and images of containers of
//! Debian's packages.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

mod stage;

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use stage::{in_order, text};
use tempfile::TempDir;
use vm_engine::image::{ImageStore, Recipe, build_container};

/// A database and a store of keys, in one image: both are made once.
const SERVICES: &str = r#"
name = "services"
packages = ["postgresql", "redis-server"]
[container]
cmd = ["redis-server", "--bind", "0.0.0.0", "--protected-mode", "no"]
env.PATH = "/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin"
"#;

fn cache() -> PathBuf {
    let base = std::env::var_os("ORRERY_CACHE").map(PathBuf::from);
    let base = base.unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").expect("HOME or ORRERY_CACHE")).join(".cache/orrery")
    });
    base.join("vm")
}

/// A runner with a store of images, and a manager with real VMs.
struct Lab {
    folder: TempDir,
    registry: Option<Child>,
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some(mut registry) = self.registry.take() {
            let _ = registry.kill();
            let _ = registry.wait();
        }
    }
}

impl Lab {
    fn new() -> Self {
        std::fs::create_dir_all(cache()).unwrap();
        let folder = tempfile::Builder::new()
            .prefix("containers-")
            .tempdir_in(cache())
            .unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("vms")).unwrap();
        for name in ["images", "kernels"] {
            std::fs::create_dir_all(cache().join(name)).unwrap();
            std::os::unix::fs::symlink(cache().join(name), at("vms").join(name)).unwrap();
        }
        let agent = std::env::var("ORRERY_VM_GUEST")
            .expect("ORRERY_VM_GUEST names the agent: run the tests by `cargo xtask test`");
        let manager = format!("data_dir = {:?}\nagent = {agent:?}\n", at("vms"));
        std::fs::write(at("vm.toml"), manager).unwrap();
        let lab = Self {
            folder,
            registry: None,
        };
        lab.settings("");
        lab
    }

    fn settings(&self, lines: &str) {
        let data = self.path("runner");
        let machine = "[machines.default]\nimage = \"full\"\nmemory = \"1GiB\"\ndisk = \"8GiB\"\n";
        let text = format!("data_dir = {data:?}\n{lines}{machine}");
        std::fs::write(self.path("runner.toml"), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command.current_dir(self.folder.path()).args(arguments);
        command.args(["--config", "runner.toml"]);
        command.env("VM_MANAGER_CONFIG", self.path("vm.toml"));
        command.env_remove("VMM_API_URL");
        let output = command.output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        (output.status.code(), said)
    }

    /// Runs the workflow of a working tree with these files.
    fn exec(&self, files: &[(&str, &str)]) -> (Option<i32>, String) {
        let tree = self.path("tree");
        std::fs::create_dir_all(&tree).unwrap();
        let git = Command::new("git")
            .args(["init", "--quiet", "."])
            .current_dir(&tree)
            .status();
        assert!(git.unwrap().success());
        for (path, text) in files {
            let path = tree.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            if text.starts_with("#!") {
                std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
            }
        }
        self.run(&["exec", "tree"])
    }

    /// Adds an image of the container that [`prepare`] made, under these names.
    fn add_images(&self, names: &[&str]) {
        for name in names {
            let from = cache().join("container-services");
            let (code, said) = self.run(&["images", "add", name, "--from", from.to_str().unwrap()]);
            assert_eq!(code, Some(0), "{said}");
        }
    }
}

/// Makes what is missing in the cache; one process at a time does.
fn prepare() -> PathBuf {
    std::fs::create_dir_all(cache()).unwrap();
    let lock = File::create(cache().join("lock")).unwrap();
    lock.lock().unwrap();
    let say = |_: &str| {};
    let images = ImageStore::open(&cache().join("images")).unwrap();
    // The manager makes its own default image where there is none.
    for recipe in [Recipe::default_image(), Recipe::known("full").unwrap()] {
        if images.resolve(&recipe.name).is_err() {
            images.build(&recipe, &say).unwrap();
        }
    }
    let services = cache().join("container-services");
    if !services.is_dir() {
        let recipe = Recipe::parse(Path::new("services.toml"), SERVICES).unwrap();
        build_container(&recipe, &services, &say).unwrap();
    }
    services
}

/// What a job has in the log.
fn of_job(said: &str, job: &str) -> String {
    let mark = format!("[{job}] ");
    let lines = said.lines().filter(|line| line.starts_with(&mark));
    lines.collect::<Vec<_>>().join("\n")
}

const WORKFLOW: &str = r#"
on: push
jobs:
  beside:
    runs-on: x
    services:
      db:
        image: postgres:15
        ports: ["5432:5432", 5432]
        env: {PGDATA: /var/lib/postgresql/job}
        volumes: ["data:/var/lib/postgresql/job"]
        command: "-c 'chown postgres /var/lib/postgresql/job && chmod 700 /var/lib/postgresql/job && setpriv --reuid=postgres --regid=postgres --clear-groups initdb --auth=trust >/dev/null && echo host all all all trust >> /var/lib/postgresql/job/pg_hba.conf && exec setpriv --reuid=postgres --regid=postgres --clear-groups postgres -k /tmp -c listen_addresses=*'"
        entrypoint: /bin/sh
        options: --health-cmd "pg_isready -h 127.0.0.1" --health-interval 10s --health-retries 20
    steps:
      - uses: docker://tools:1
        with: {entrypoint: /bin/sh, args: "-c 'psql -h db -U postgres -Atc \"select 6 * 7\" > answer; pwd; id -u; ls /github/workflow/event.json; echo said=hi >> $GITHUB_OUTPUT'"}
        id: query
      - run: |
          cat answer; echo "said ${{ steps.query.outputs.said }}"
          python3 -c "import socket; socket.create_connection(('localhost', 5432)).close(); print('reached')"
          python3 -c "import socket; socket.create_connection(('localhost', ${{ job.services.db.ports['5432'] }})).close()"
  inside:
    runs-on: x
    container:
      image: tools:1
      env: {GREETING: hello}
    services:
      cache: {image: "redis:7"}
    steps:
      - uses: actions/checkout@v4
      - id: one
        run: |
          echo "$GREETING from $HOME in $(pwd) as $(id -u)"
          redis-cli -h cache set x y; redis-cli -h cache get x
          echo out=1 >> $GITHUB_OUTPUT; echo V=w >> $GITHUB_ENV
          kill -9 1; cat /proc/1/comm; ls /dev/vport* /dev/vda 2>&1 | wc -l
        shell: sh
      - uses: ./act
        id: built
        with: {who: "${{ steps.one.outputs.out }} $V"}
      - run: echo "network ${{ job.container.network }}, ${{ steps.built.outputs.reply }}"; cat made-by-action
"#;

const ACTION: &str = r#"
inputs: {who: {required: true}}
outputs: {reply: {description: what it said}}
runs:
  using: docker
  image: ../docker/Dockerfile
  args: ["${{ inputs.who }}"]
  env: {OWN: of-the-action}
  post-entrypoint: /post.sh
"#;

const DOCKERFILE: &str = "ARG BASE=tools\nFROM ${BASE}:1\nRUN echo built > /built\nCOPY entry.sh post.sh /\nENTRYPOINT [\"/bin/sh\", \"/entry.sh\"]\n";
const ENTRY: &str = "cat /built; echo \"repository [$GITHUB_ACTION_REPOSITORY] ${GITHUB_ACTION_REF-unset}\"; echo \"args [$1] $INPUT_WHO $OWN in $GITHUB_WORKSPACE\"; echo reply=from-docker >> $GITHUB_OUTPUT; echo k=v >> $GITHUB_STATE; redis-cli -h cache ping; touch made-by-action; mount -t tmpfs x /mnt 2>&1 | wc -l; kill -9 1\n";
const POST: &str = "#!/bin/sh\necho \"post with $STATE_k\"\n";

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_services_a_job_container_and_docker_actions_run_in_a_vm() {
    prepare();
    let lab = Lab::new();
    let files = [
        (".github/workflows/ci.yml", WORKFLOW),
        ("act/action.yml", ACTION),
        ("docker/Dockerfile", DOCKERFILE),
        ("docker/entry.sh", ENTRY),
        ("docker/post.sh", POST),
    ];
    // Nothing is there yet: nothing runs, and the command that helps is named.
    let (code, said) = lab.exec(&files);
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("workflow-runner images add tools:1"),
        "{said}"
    );
    lab.add_images(&["postgres:15", "redis:7", "tools:1"]);
    let (code, said) = lab.exec(&files);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &of_job(&said, "beside"),
        &[
            "service db is healthy",
            "/github/workspace",
            "0",
            "event.json",
            "42",
            "said hi",
            "reached",
            "Logs of services",
            "service db:",
            "database system is ready to accept connections",
        ],
    );
    in_order(
        &of_job(&said, "inside"),
        &[
            "steps run in a container of tools:1",
            "hello from /github/home in /workspace as 0",
            "OK",
            "y",
            "tail",
            "built",
            "repository [] ",
            "args [1 $V] 1 $V of-the-action in /github/workspace",
            "PONG",
            "network orrery, from-docker",
            "post with v",
        ],
    );
}

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_a_service_that_fails_its_check_shows_what_it_printed() {
    prepare();
    let lab = Lab::new();
    lab.add_images(&["redis:7"]);
    let workflow = "on: push\njobs:\n  a:\n    runs-on: x\n    services:\n      bad:\n        image: redis:7\n        options: --health-cmd false --health-interval 1s --health-retries 2\n    steps:\n      - run: echo never\n";
    let (code, said) = lab.exec(&[(".github/workflows/ci.yml", workflow)]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Ready to accept connections"), "{said}");
    assert!(said.contains("the service bad is not ready"), "{said}");
    assert!(!said.contains("never"), "{said}");
}

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_an_image_comes_from_an_allowed_registry_and_from_no_other() {
    let services = prepare();
    let mut lab = Lab::new();
    let config = lab.path("registry.yml");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let root = lab.path("registry");
    let text = format!(
        "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {root:?}}}}}\nhttp: {{addr: \"{address}\"}}\n"
    );
    std::fs::write(&config, text).unwrap();
    let registry = Command::new("docker-registry")
        .arg("serve")
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("docker-registry is installed (Debian package docker-registry)");
    let registry = lab.registry.insert(registry);
    while std::net::TcpStream::connect(address).is_err() {
        let ended = registry.try_wait().unwrap();
        assert!(ended.is_none(), "docker-registry ended with {ended:?}");
        std::thread::yield_now();
    }
    let name = format!("{address}/acme/redis:7");
    let copied = Command::new("skopeo")
        .args(["copy", "--quiet", "--dest-tls-verify=false"])
        .arg(format!("oci:{}:services", services.display()))
        .arg(format!("docker://{name}"))
        .output()
        .expect("skopeo is installed (Debian package skopeo)");
    assert!(copied.status.success(), "{copied:?}");
    let (code, said) = lab.run(&["images", "add", &name]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("`image_registries` does not list"), "{said}");
    lab.settings(&format!("image_registries = [\"{address}/acme\"]\n"));
    let (code, said) = lab.run(&["images", "add", &name]);
    assert_eq!(code, Some(0), "{said}");
    let (_, listed) = lab.run(&["images", "list"]);
    let digest = listed.split_whitespace().nth(1).unwrap().to_owned();
    // By its digest it is the same; another digest is not taken.
    let pinned = format!("{address}/acme/redis:7@{digest}");
    let (code, said) = lab.run(&["images", "add", &pinned]);
    assert_eq!(code, Some(0), "{said}");
    let other = format!("{address}/acme/redis@sha256:{}", "0".repeat(64));
    let (code, said) = lab.run(&["images", "add", &other]);
    assert_eq!(code, Some(1), "{said}");
    // What is changed in the store is noticed, and not used.
    let blobs = lab.path("runner/images/blobs/sha256");
    let largest = std::fs::read_dir(&blobs).unwrap().flatten();
    let largest = largest.max_by_key(|entry| entry.metadata().unwrap().len());
    let mut bytes = std::fs::read(largest.as_ref().unwrap().path()).unwrap();
    bytes[600] ^= 1;
    std::fs::write(largest.unwrap().path(), bytes).unwrap();
    let (code, said) = lab.run(&["images", "verify"]);
    assert_eq!(code, Some(1), "{said}");
}

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
          docker compose up || echo "compose ends with $?"
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
        "docker compose is not given here",
        "compose ends with 64",
    ];
    in_order(&of_job(&said, "scripts"), &scripts);
    let walls = of_job(&said, "walls");
    let closed = walls.lines().filter(|line| line.ends_with("] closed"));
    assert_eq!(closed.count(), 10, "{walls}");
    assert!(!walls.contains("] a way out:"), "{walls}");
}
