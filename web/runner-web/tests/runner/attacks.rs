//! R: repositories and pull requests that mean harm.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use git_engine::Transports;
use http_clients::http::AddressPolicy;
use scripted_peers::Play;
use serde_json::json;

use crate::harness::{Setup, Site, TOKEN, push};
use crate::receiver::contains;

const BASE: &str = "name: CI\non: [push, pull_request]\njobs:\n  build:\n    runs-on: x\n    env:\n      TITLE: ${{ github.event.pull_request.title }}\n      HEAD: ${{ github.head_ref }}\n      KEY: ${{ secrets.KEY }}\n    steps:\n      - uses: actions/checkout@v4\n      - run: echo of-the-base \"$TITLE\"\n";

/// What must be in no machine.
const SECRETS: [&str; 3] = [TOKEN, "vmm-token-0123456789", "the webhook's secret"];

#[test]
fn r01_r02_r03_a_fork_gets_no_secret_the_base_s_workflow_and_data_as_data() {
    let site = Site::new();
    let runner = site.start();
    let base = site.commit(BASE);
    site.git(&["checkout", "--quiet", "-b", "theirs"]);
    site.write("theirs.txt", "their file");
    let head = site.commit("name: CI\non: [push, pull_request]\njobs:\n  build:\n    runs-on: x\n    steps:\n      - run: env; echo of-the-fork ${{ secrets.KEY }}\n");
    let run = runner.run("pull_request", "d-1", &site.fork(&head, &base));
    let record = runner.ended(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}");
    let commands = site.vmm.commands();
    assert_eq!(commands.len(), 1);
    assert!(
        commands[0].script.contains("of-the-base"),
        "r02: {}",
        commands[0].script
    );
    assert!(
        !commands[0].script.contains("touch pwned"),
        "r03: {}",
        commands[0].script
    );
    assert_eq!(commands[0].env["TITLE"], "$(touch pwned)`id`", "r03");
    assert_eq!(commands[0].env["GITHUB_HEAD_REF"], "x;curl-evil", "r03");
    assert_eq!(commands[0].env["KEY"], "", "r01");
    assert_eq!(
        commands[0].env["GITHUB_SHA"], head,
        "their commit is what is tested"
    );
    let sent = site.vmm.everything();
    assert!(contains(&sent, b"their file"));
    for secret in SECRETS.iter().chain(&["hunter2-hunter2"]) {
        assert!(!contains(&sent, secret.as_bytes()), "r01: {secret}");
    }
    // The same workflow, pushed by somebody who may: the secret is there, the runner's own are not.
    let run = runner.run("push", "d-2", &site.push(&base));
    assert_eq!(runner.ended(&run)["state"], "succeeded");
    assert_eq!(site.vmm.commands()[1].env["KEY"], "hunter2-hunter2");
    for secret in SECRETS {
        assert!(
            !contains(&site.vmm.everything(), secret.as_bytes()),
            "{secret}"
        );
    }
}

#[test]
fn r03_names_are_data_in_argv_and_env_and_newlines_do_no_harm() {
    let site = Site::new();
    let runner = site.start();
    let sha = site.commit("name: \"$(id)`id`; curl x\"\non: push\njobs:\n  build:\n    name: \"a; touch b\"\n    runs-on: x\n    steps:\n      - name: \"$(reboot)\"\n        env: {T: \"${{ github.event.head_commit.message }}\"}\n        run: echo \"$T\"\n");
    let mut body = site.push(&sha);
    body["head_commit"]["message"] = json!("one\n::set-output name=x::y\n$(id) `id`");
    body["pusher"] = json!({"login": "ada"});
    let run = runner.run("push", "d-1", &body);
    assert_eq!(runner.ended(&run)["state"], "succeeded");
    let command = &site.vmm.commands()[0];
    assert_eq!(command.env["T"], "one\n::set-output name=x::y\n$(id) `id`");
    assert!(command.script.contains("echo \"$T\"") && !command.script.contains("set-output"));
    assert!(
        command.argv.iter().all(|argument| !argument.contains("$(")),
        "{command:?}"
    );
}

#[test]
fn r04_clone_urls_that_are_commands_or_files_are_refused() {
    let site = Site::new();
    let strict = Setup {
        change: |settings| settings.transports = Transports::default(),
        ..Setup::default()
    };
    let runner = site.start_with(strict);
    let pwned = site.folder.path().join("pwned");
    let helper = format!("ext::sh -c touch% {}", pwned.display());
    for (number, url) in [
        "file:///etc",
        &helper,
        "ssh://-oProxyCommand=touch/x",
        "-uploadpack=touch",
        "https://user:pass@forge.example/a.git",
        "git://forge.example/a.git",
        "https://-x/a.git",
        "https://forge.example/a.git?x",
        "/etc",
    ]
    .iter()
    .enumerate()
    {
        let run = runner.run(
            "push",
            &format!("d-{number}"),
            &push(url, &format!("{:040x}", number + 1)),
        );
        let record = runner.ended(&run);
        let reason = record["reason"].as_str().unwrap_or_default();
        assert!(
            record["state"] == "failed" && reason.starts_with("the repository cannot be fetched"),
            "{url}: {record:#}"
        );
        assert!(!reason.contains("user:pass"), "{reason}");
    }
    assert!(!pwned.exists());
    assert_eq!(site.vmm.ordered(), 0);
}

#[test]
fn i17_an_event_names_no_other_repository_s_address_at_the_forge() {
    let site = Site::new();
    site.forge.add_repo("acme/other");
    let runner = site.start();
    let forge = site.forge.url();
    let (own, sha) = (format!("{forge}/acme/rocket"), "1".repeat(40));
    for (number, (field, address)) in [
        ("clone_url", format!("{forge}/acme/other.git")),
        ("clone_url", format!("{own}/../other.git")),
        ("clone_url", format!("{forge}/acme/%6fther.git")),
        ("html_url", format!("{forge}/acme/other")),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = push(&format!("{own}.git"), &sha);
        body["repository"][field] = address.as_str().into();
        let answer = runner.deliver("push", &format!("d-{number}"), &body);
        assert_eq!(answer.code, 400, "{address}: {answer:?}");
        assert!(answer.body.contains(field), "{answer:?}");
    }
    assert_eq!(runner.runs().len(), 0);
    let mut body = push(&format!("{forge}/Acme/Rocket.git"), &sha);
    body["repository"]["html_url"] = own.as_str().into();
    assert_eq!(runner.deliver("push", "d-own", &body).code, 202);
}

/// Counts who connects, and answers with a redirect.
fn trap(redirect: Option<String>) -> (u16, Arc<AtomicU32>) {
    use std::io::{Read as _, Write as _};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicU32::new(0));
    let seen = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            seen.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]);
            let location = redirect.clone().unwrap_or_default();
            let _ = stream.write_all(format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").as_bytes());
        }
    });
    (port, count)
}

#[test]
fn r05_addresses_of_this_machine_and_network_are_not_connected_to() {
    let site = Site::new();
    let open = Setup {
        change: |settings| {
            settings.transports = Transports {
                http: true,
                file: false,
            };
            settings.addresses = AddressPolicy::PublicOnly;
        },
        ..Setup::default()
    };
    let runner = site.start_with(open);
    let (port, seen) = trap(None);
    for (number, host) in [
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f.1",
        "0",
        "localhost",
        "169.254.169.254",
        "10.0.0.1",
        "[fe80::1]",
    ]
    .iter()
    .enumerate()
    {
        let url = format!("http://{host}:{port}/a/b.git");
        let run = runner.run(
            "push",
            &format!("d-{number}"),
            &push(&url, &format!("{:040x}", number + 1)),
        );
        let record = runner.ended(&run);
        let reason = record["reason"].as_str().unwrap_or_default();
        assert!(
            record["state"] == "failed" && reason.contains("neither public nor the forge's"),
            "{host}: {reason}"
        );
    }
    assert_eq!(seen.load(Ordering::SeqCst), 0);
}

#[test]
fn r05_a_redirect_to_another_host_is_not_followed() {
    let site = Site::new();
    let (inner, reached) = trap(None);
    let (outer, asked) = trap(Some(format!(
        "http://localhost:{inner}/a/b.git/info/refs?service=git-upload-pack"
    )));
    let open = Setup {
        change: |settings| {
            settings.transports = Transports {
                http: true,
                file: false,
            };
            settings.addresses = AddressPolicy::Listed(vec!["127.0.0.1".parse().unwrap()]);
        },
        ..Setup::default()
    };
    let runner = site.start_with(open);
    let url = format!("http://127.0.0.1:{outer}/a/b.git");
    let run = runner.run("push", "d-1", &push(&url, &"1".repeat(40)));
    assert_eq!(runner.ended(&run)["state"], "failed");
    assert!(asked.load(Ordering::SeqCst) > 0, "git did ask");
    assert_eq!(reached.load(Ordering::SeqCst), 0, "and followed nobody");
}

#[test]
fn r06_links_submodules_hooks_and_filters_of_a_repository_do_nothing_on_the_host() {
    let site = Site::new();
    let runner = site.start();
    let pwned = site.folder.path().join("pwned");
    site.commit("on: push\njobs:\n  build:\n    runs-on: x\n    steps:\n      - uses: actions/checkout@v4\n      - run: make\n");
    std::os::unix::fs::symlink("/etc/passwd", site.tree().join("passwd")).unwrap();
    std::os::unix::fs::symlink("/etc", site.tree().join("folder")).unwrap();
    let run = format!("touch {}", pwned.display());
    site.write(
        ".gitmodules",
        &format!("[submodule \"../../x\"]\n\tpath = sub\n\turl = ext::{run}\n"),
    );
    site.write(".gitattributes", "* filter=evil diff=evil\n");
    site.write(".lfsconfig", &format!("[lfs]\n\turl = ext::{run}\n"));
    let sha = site.commit_all();
    let hook = site.tree().join(".git/hooks/post-checkout");
    std::fs::write(&hook, format!("#!/bin/sh\n{run}\n")).unwrap();
    let run = runner.run("push", "d-1", &site.push(&sha));
    assert_eq!(
        runner.ended(&run)["state"],
        "succeeded",
        "{:#}",
        runner.record(&run)
    );
    assert!(!pwned.exists());
    let passwd = std::fs::read("/etc/passwd").unwrap();
    let first = passwd.split(|byte| *byte == b'\n').next().unwrap();
    let sent = site.vmm.everything();
    assert!(!contains(&sent, first), "the link was followed");
    assert!(
        contains(&sent, b"/etc/passwd"),
        "the link itself is in the tree"
    );
}

#[test]
fn r07_a_bomb_in_a_workflow_ends_its_run_with_the_place() {
    let site = Site::new();
    let runner = site.start();
    let mut bomb = "on: push\nx0: &x0 [a,a,a,a,a,a,a,a,a,a]\n".to_owned();
    for level in 1..9 {
        let before = format!("*x{}", level - 1);
        bomb += &format!("x{level}: &x{level} [{}]\n", vec![before; 10].join(","));
    }
    let sha = site.commit(&(bomb + "jobs: {a: {runs-on: x, steps: [{run: make}]}}\n"));
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run);
    let reason = record["reason"].as_str().unwrap_or_default();
    assert!(
        record["state"] == "failed" && reason.contains(".github/workflows/ci.yml:"),
        "{record:#}"
    );
    let shown = crate::harness::status(
        &site,
        &sha,
        ".github/workflows/ci.yml / workflow (push)",
        "error",
    );
    assert!(!shown.is_empty());
    assert_eq!(site.vmm.ordered(), 0);
}

#[test]
fn r14_each_job_has_a_machine_of_its_own_and_the_former_is_gone() {
    let site = Site::playing(|command| Play::exit(0).out(format!("in {}\n", command.vm)));
    let runner = site.start();
    let sha = site.commit("on: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n  b:\n    needs: a\n    runs-on: x\n    steps: [{run: make}]\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run);
    let vms: Vec<&str> = record["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["vm"].as_str().unwrap())
        .collect();
    assert_eq!(vms, ["vm-1", "vm-2"], "{record:#}");
    let requests = site.vmm.requests();
    let at = |method: &str, path: &str| {
        requests
            .iter()
            .position(|request| request.method == method && request.path == path)
    };
    let last_order = requests
        .iter()
        .rposition(|request| request.method == "POST" && request.path == "/vms");
    assert!(
        at("DELETE", "/vms/vm-1") < last_order,
        "the first machine ends before the second is ordered"
    );
    assert!(site.vmm.vms().is_empty());
}

#[test]
fn r15_ids_and_names_that_climb_are_unknown() {
    let site = Site::new();
    let runner = site.start();
    let sha = site.commit("on: push\njobs: {a: {runs-on: x, steps: [{run: make}]}}\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    runner.ended(&run);
    for path in [
        "/runs/..%2F..%2Fetc".to_owned(),
        "/runs/..%2Fruns/log".to_owned(),
        format!("/runs/{run}/artifacts/..%2F..%2Fstore.redb"),
        format!("/runs/{run}/artifacts/%2Fetc%2Fpasswd"),
        format!("/runs/{run}%2F..%2Fx/log"),
        "/assets/..%2Fpage.rs".to_owned(),
    ] {
        let answer = runner.get(&path);
        assert!([400, 403, 404].contains(&answer.code), "{path}: {answer:?}");
    }
}

/// A tar of one file.
fn tar_of(name: &str, text: &str) -> String {
    let mut block = [0_u8; 512];
    let mut put = |at: usize, field: &str| {
        block[at..at + field.len()].copy_from_slice(field.as_bytes());
    };
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{:011o}\0", text.len()));
    put(136, "00000000000\0");
    put(148, "        0");
    put(257, "ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let head = String::from_utf8(block.to_vec()).unwrap();
    let padding = "\0".repeat(512 - text.len() + 1024);
    format!("{head}{text}{padding}")
}

#[test]
fn t7_what_a_branch_saves_is_not_what_main_restores() {
    const CACHED: &str = "name: CI\non: push\njobs:\n  test:\n    runs-on: x\n    steps:\n      - uses: actions/cache@v4\n        with: {path: /deps, key: deps-1, restore-keys: deps-}\n      - run: build\n";
    const KEPT: [&str; 3] = ["POISON-OF-A-BRANCH", "BUILT-BY-MAIN", "NEVER-ASKED-FOR"];
    static PACKED: AtomicU32 = AtomicU32::new(0);
    let site = Site::playing(|command| {
        if command
            .argv
            .iter()
            .any(|word| word.contains(".runner-cache-"))
        {
            let nth = PACKED.fetch_add(1, Ordering::SeqCst);
            return Play::exit(0).file("cache.tar", &tar_of("deps", KEPT[nth.min(2) as usize]));
        }
        Play::exit(0)
    });
    let runner = site.start_with(Setup {
        change: |settings| {
            settings.machines = vec![("x".to_owned(), runner_actors::MachineType::default())];
        },
        ..Setup::default()
    });
    let job = |id: &str, branch: &str| {
        let sha = site.commit(&format!("{CACHED}# {id}\n"));
        let mut event = site.push(&sha);
        event["ref"] = format!("refs/heads/{branch}").into();
        let run = runner.run("push", id, &event);
        let ended = runner.ended(&run);
        assert_eq!(ended["state"], "succeeded", "{ended:#}");
        runner.log(&run)
    };
    let sent = |what: &str| contains(&site.vmm.everything(), what.as_bytes());
    let log = job("d-1", "evil");
    assert!(log.contains("cache deps-1: "), "it is saved: {log}");
    let log = job("d-2", "main");
    assert!(log.contains("there is no cache for deps-1"), "{log}");
    assert!(!sent(KEPT[0]), "a branch's cache came to main");
    let log = job("d-3", "main");
    assert!(log.contains("cache deps-1 is restored"), "{log}");
    assert!(sent(KEPT[1]) && !sent(KEPT[0]));
    // Another branch has the default branch's, not its neighbour's.
    let log = job("d-4", "other");
    assert!(log.contains("cache deps-1 is restored"), "{log}");
    assert!(!sent(KEPT[0]) && !sent(KEPT[2]));
    // And its own, where it has one.
    job("d-5", "evil");
    assert!(sent(KEPT[0]));
}
