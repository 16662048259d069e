//! `ssh-key` of `actions/checkout`, in a real namespace sandbox, against a real OpenSSH server and
//! real git behind it.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::stage::{Stage, in_order};
use scripted_peers::{GitForge, GitRepository, Sshd};

/// A server with repositories, the event that says where, and a stage that may reach it.
struct Site {
    stage: Stage,
    sshd: Sshd,
    forge: GitForge,
    event: String,
}

impl Site {
    fn new(allowed: bool) -> Self {
        let stage = Stage::new();
        stage.make_tree();
        let sshd = serve(&stage.path("."), &stage.path("served"));
        let forge = GitForge::start();
        let user = sshd.host();
        let user = user.split('@').next().unwrap();
        let url = format!("ssh://{user}@127.0.0.1:{}", sshd.port());
        let event = stage.path("event.json");
        let said = format!("{{\"repository\": {{\"ssh_url\": \"{url}/local/tree.git\"}}}}");
        std::fs::write(&event, said).unwrap();
        let address = format!("127.0.0.1:{}", sshd.port());
        if allowed {
            stage.add_settings(&format!("allow_addresses = [{address:?}]\n"));
        }
        append(&stage, "runner.toml", "network = \"user\"\n");
        append(
            &stage,
            "vm.toml",
            &format!("[network]\nallow = [{address:?}]\n"),
        );
        let site = Self {
            event: event.display().to_string(),
            stage,
            sshd,
            forge,
        };
        site.fill();
        site
    }

    /// A repository with two branches, and one with submodules by each kind of address.
    fn fill(&self) {
        let lib = self.repository("acme/lib");
        lib.write("name", "lib\n");
        lib.commit("first");
        lib.git(&["checkout", "--quiet", "-b", "side"]);
        lib.write("name", "side\n");
        lib.commit("side");
        lib.git(&["checkout", "--quiet", "main"]);
        let commit = lib.git(&["rev-parse", "HEAD"]);
        let parts = self.repository("acme/parts");
        parts.add_gitlink("relative", "../lib.git", &commit);
        let url = self.url("acme/lib");
        parts.add_gitlink("absolute", &url, &commit);
        parts.commit("with submodules");
    }

    fn repository(&self, name: &str) -> GitRepository {
        let folder = self.stage.path("served").join(name);
        let repository = GitRepository::new(folder.clone());
        // As forges call them.
        std::os::unix::fs::symlink(&folder, folder.with_extension("git")).unwrap();
        repository
    }

    fn url(&self, name: &str) -> String {
        let event = std::fs::read_to_string(&self.event).unwrap();
        let url = event.split('"').nth(5).unwrap();
        url.replace("local/tree", name)
    }

    fn exec(&self, steps: &str, key: &str) -> (Option<i32>, String) {
        let (key, hosts) = (
            format!("KEY={key}"),
            format!("HOSTS={}", self.sshd.known_hosts()),
        );
        let options = [
            "--secret",
            &key,
            "--secret",
            &hosts,
            "--event-path",
            &self.event,
        ];
        let steps = steps.trim_matches('\n');
        let workflow = format!("on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n{steps}\n");
        self.stage.exec_with(&workflow, &options)
    }
}

/// A server of the repositories below `top`, by the paths that their forge has for them.
fn serve(folder: &Path, top: &Path) -> Sshd {
    let serve = format!(
        "path=${{SSH_ORIGINAL_COMMAND#*\\'}}\nexec git-upload-pack {top:?}\"${{path%\\'}}\"\n"
    );
    let script = folder.join("serve.sh");
    std::fs::write(&script, serve).unwrap();
    let settings = format!(
        "AcceptEnv GIT_PROTOCOL\nForceCommand sh {}",
        script.display()
    );
    Sshd::start(folder, &settings)
}

fn append(stage: &Stage, file: &str, text: &str) {
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open(stage.path(file));
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

/// The middle of a key, which no log may hold.
fn middle(key: &str) -> &str {
    key.lines().nth(2).unwrap()
}

#[test]
fn i17_a_key_of_ssh_fetches_what_it_may_and_stays_nowhere() {
    let site = Site::new(true);
    let key = site.sshd.key();
    let (code, said) = site.exec(
        r#"
      - uses: actions/checkout@v4
        with: {repository: acme/lib, path: lib, ssh-key: "${{ secrets.KEY }}", ssh-known-hosts: "${{ secrets.HOSTS }}", persist-credentials: false}
      - run: echo "lib $(cat lib/name) $(git -C lib branch --show-current) $(git -C lib remote get-url origin)"
      - uses: actions/checkout@v4
        with: {repository: acme/lib, path: side, ref: side, fetch-depth: 0, ssh-key: "${{ secrets.KEY }}", ssh-known-hosts: "${{ secrets.HOSTS }}", persist-credentials: false}
      - run: echo "side $(cat side/name) $(git -C side rev-list --count HEAD)"
      - uses: actions/checkout@v4
        with: {repository: acme/parts, path: parts, submodules: recursive, ssh-key: "${{ secrets.KEY }}", ssh-strict: false, persist-credentials: false}
      - run: echo "parts $(cat parts/relative/name) $(cat parts/absolute/name) [$(git -C parts status --porcelain)]"
      - run: |
          grep -rl "PRIVATE[ ]KEY" /tmp /workspace "$HOME" 2>/dev/null | grep . && exit 1
          grep -r sshCommand */.git/config && exit 1
          echo "no key is left"
      - run: echo '${{ secrets.KEY }}'
"#,
        &key,
    );
    assert_eq!(code, Some(0), "{said}\n{}", site.sshd.log());
    let url = site.url("acme/lib");
    in_order(
        &said,
        &[
            &format!("[a] lib lib main {url}"),
            "[a] side side 2",
            "[a] parts lib lib []",
            "[a] no key is left",
        ],
    );
    assert!(!said.contains(middle(&key)), "{said}");
    assert!(site.forge.asked().is_empty(), "nothing goes another way");
}

#[test]
fn i17_git_in_the_machine_uses_the_key_that_is_kept() {
    let site = Site::new(true);
    let key = site.sshd.key();
    let (code, said) = site.exec(
        r#"
      - uses: actions/checkout@v4
        with: {repository: acme/parts, path: parts, submodules: true, ssh-key: "${{ secrets.KEY }}", ssh-known-hosts: "${{ secrets.HOSTS }}"}
      - run: "[ -e /etc/passwd ] || echo 'root:x:0:0::/root:/bin/sh' > /etc/passwd"
      - run: |
          cd parts
          git fetch --quiet origin main && echo "fetched $(git rev-parse FETCH_HEAD)"
          cd relative
          git fetch --quiet origin side && git checkout --quiet FETCH_HEAD && echo "submodule $(cat name)"
      - run: |
          sed -i 's/^/no/' /tmp/checkout-key-*/known_hosts
          git -C parts fetch origin && exit 1
          echo "unknown hosts are refused"
"#,
        &key,
    );
    assert_eq!(code, Some(0), "{said}\n{}", site.sshd.log());
    in_order(
        &said,
        &[
            "[a] fetched ",
            "[a] submodule side",
            "Host key verification failed",
            "[a] unknown hosts are refused",
        ],
    );
    assert!(!said.contains(middle(&key)), "{said}");
}

#[test]
fn i17_a_wrong_key_an_unknown_host_and_a_changed_one_are_said() {
    let site = Site::new(true);
    let other = site.stage.path("other");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&other)
        .status();
    assert!(made.unwrap().success());
    let wrong = std::fs::read_to_string(&other).unwrap();
    let public = std::fs::read_to_string(other.with_extension("pub")).unwrap();
    let changed = format!("[127.0.0.1]:{} {public}", site.sshd.port());
    let step = |more: &str| {
        format!(
            "      - uses: actions/checkout@v4\n        with: {{repository: acme/lib, path: lib, ssh-key: \"${{{{ secrets.KEY }}}}\"{more}}}"
        )
    };
    let known = ", ssh-known-hosts: \"${{ secrets.HOSTS }}\"";
    let changed = format!(
        ", ssh-strict: false, ssh-known-hosts: \"{}\"",
        changed.trim()
    );
    let right = site.sshd.key();
    for (key, more, words) in [
        (
            wrong.as_str(),
            known,
            ["Permission denied (publickey)", "deploy key"],
        ),
        (&right, "", ["host key is known", "`ssh-known-hosts`"]),
        (&right, &changed, ["has changed", "another key"]),
        ("no key", known, ["Load key", "without a passphrase"]),
        (&right, ", ssh-user: \"-x\"", ["no user", "ssh-key"]),
        (
            &right,
            ", github-server-url: \"ssh://127.0.0.1:9\"",
            ["127.0.0.1", "neither public nor the forge's"],
        ),
    ] {
        let (code, said) = site.exec(&step(more), key);
        assert_eq!(code, Some(1), "{more}: {said}");
        for word in words {
            assert!(said.contains(word), "{word} {more}: {said}");
        }
        assert!(!said.contains(middle(&right)), "{said}");
        assert!(!said.contains(middle(&wrong)), "{said}");
    }
}

#[test]
fn i17_a_server_elsewhere_is_reached_within_the_address_policy() {
    let site = Site::new(true);
    let key = site.sshd.key();
    let user = site.sshd.host();
    let user = user.split('@').next().unwrap();
    let step = format!(
        "      - uses: actions/checkout@v4\n        with: {{repository: acme/lib, path: lib, github-server-url: \"ssh://127.0.0.1:{}\", ssh-user: {user}, ssh-key: \"${{{{ secrets.KEY }}}}\", ssh-known-hosts: \"${{{{ secrets.HOSTS }}}}\"}}\n      - run: echo \"lib $(cat lib/name)\"",
        site.sshd.port()
    );
    let (code, said) = site.exec(&step, &key);
    assert_eq!(code, Some(0), "{said}");
    in_order(&said, &["[a] lib lib"]);
    let closed = Site::new(false);
    let (code, said) = closed.exec(&step, &key);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("neither public nor the forge's"), "{said}");
}

/// The runner as a service: the run's own repository, and a machine that is kept after its job.
#[test]
fn i17_the_run_s_own_repository_comes_by_ssh_and_a_kept_machine_has_no_key() {
    let mut site = crate::site::Site::new("namespace-sandbox", "failed = true\nvms = 1");
    let folder = tempfile::tempdir().unwrap();
    let top = site.repository.folder.parent().unwrap().parent().unwrap();
    std::os::unix::fs::symlink(&site.repository.folder, top.join("acme/rocket.git")).unwrap();
    let sshd = serve(folder.path(), top);
    let user = sshd.host();
    let user = user.split('@').next().unwrap();
    // At the forge's own host, at the port that its event names: no `allow_addresses`.
    let url = format!("ssh://{user}@127.0.0.1:{}/acme/rocket.git", sshd.port());
    site.ssh_url = Some(url.clone());
    let key = sshd.key();
    let indented = key.trim().replace('\n', "\n            ");
    let known = sshd.known_hosts();
    let known = known.trim();
    let (run, record) = site.run(&format!(
        r#"
on: push
jobs:
  build:
    runs-on: x
    steps:
      - uses: actions/checkout@v4
        with:
          path: mine
          ssh-known-hosts: "{known}"
          ssh-key: |
            {indented}
      - run: |
          echo "own $(git -C mine remote get-url origin) $(git -C mine branch --show-current) $(git -C mine rev-list --count HEAD)"
          cat /tmp/checkout-key-*/key
          test -s /tmp/checkout-key-*/key && exit 3
"#
    ));
    let log = site.log(&run);
    assert_eq!(record["state"], "failed", "{record:#}\n{log}");
    assert!(log.contains(&format!("own {url} main 1")), "{log}");
    assert!(log.contains("exit code 3"), "the key was there: {log}");
    assert!(!log.contains(middle(&key)), "{log}");
    assert!(sshd.connections() > 0);
    let mut shell = site.command(&["shell", &run]);
    let mut shell = shell
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let look = b"stat -c 'size %s' /tmp/checkout-key-*/key; exit 5\n";
    shell.stdin.take().unwrap().write_all(look).unwrap();
    let output = shell.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains("size 0"), "{text}");
}
