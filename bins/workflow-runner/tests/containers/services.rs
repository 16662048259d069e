//! Services, a job's container, Docker actions, a registry.

use std::process::Command;

use crate::lab::{Lab, of_job, prepare, registry};
use crate::stage::in_order;

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
    let (registry, address) = registry(&lab.path("registry"));
    lab.registry = Some(registry);
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

const OF_A_USER: &str = r#"
on: push
jobs:
  a:
    runs-on: x
    container:
      image: tools:1
      options: --user 1000
    steps:
      - uses: actions/checkout@v4
      - run: echo "a step of $(id -u)"
      - uses: ./act
"#;

/// 17: the list of the machine's programs was made by the user of the container, who may not, and
/// the job was lost.
#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_a_javascript_action_runs_in_a_container_of_another_user() {
    prepare();
    let lab = Lab::new();
    let files = [
        (".github/workflows/ci.yml", OF_A_USER),
        ("act/action.yml", "runs: {using: node24, main: main.js}\n"),
        (
            "act/main.js",
            "console.log(`an action of ${process.getuid()}`);\n",
        ),
    ];
    lab.add_images(&["tools:1"]);
    let (code, said) = lab.exec(&files);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &of_job(&said, "a"),
        &["a step of 1000", "an action of 1000"],
    );
}
