//! What real forges and strangers do: bombs, jobs of one name, clones that are refused, heads that
//! move back, webhooks that get lost.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use runner_actors::RunnerSettings;
use scripted_peers::{Play, Pull};
use serde_json::{Value, json};

use crate::harness::{Runner, Setup, Site, push, status, within};

const CI: &str = "name: CI\non: [push, pull_request, workflow_dispatch]\njobs:\n  build:\n    runs-on: x\n    steps: [{run: echo built}]\n";

fn strict(settings: &mut RunnerSettings) {
    settings.checkouts.tree.entries = 10_000;
}

fn often(settings: &mut RunnerSettings) {
    settings.catch_up_every = Duration::from_millis(300);
}

fn with(change: fn(&mut RunnerSettings)) -> Setup {
    Setup {
        change,
        ..Setup::default()
    }
}

/// git with this on its standard input.
fn fed(site: &Site, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new("git")
        .current_dir(site.tree())
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A commit of a few kilobytes with 12^7 entries.
fn bomb(site: &Site, base: &str) -> String {
    let blob = fed(site, &["hash-object", "-w", "--stdin"], "x");
    let names = |kind: &str, id: &str| -> String {
        (0..12)
            .map(|at| format!("{kind} {id}\t{at:02}\n"))
            .collect()
    };
    let mut tree = fed(site, &["mktree"], &names("100644 blob", &blob));
    for _ in 1..7 {
        tree = fed(site, &["mktree"], &names("040000 tree", &tree));
    }
    let head = fed(
        site,
        &["commit-tree", "-p", base, "-m", "harmless", &tree],
        "",
    );
    site.git(&["update-ref", "refs/pull/7/head", &head]);
    site.forge.add_commit("acme/rocket", &head);
    head
}

/// The ended run of a delivery that was accepted.
fn ended(runner: &Runner, event: &str, id: &str, body: &Value) -> Value {
    let run = runner.run(event, id, body);
    runner.ended(&run)
}

#[test]
fn t6_a_hostile_pull_request_is_refused_and_others_go_on() {
    let site = Site::new();
    let runner = site.start_with(with(strict));
    let base = site.commit(CI);
    let head = bomb(&site, &base);
    let mut runs = Vec::new();
    for number in 7..14 {
        let mut body = site.fork(&head, &base);
        body["number"] = json!(number);
        body["pull_request"]["number"] = json!(number);
        runs.push(runner.run("pull_request", &format!("d-{number}"), &body));
    }
    for run in &runs {
        let record = runner.ended(run);
        assert_eq!(record["state"], "refused", "{record:#}");
        let reason = record["reason"].as_str().unwrap();
        // 12 + 12^2 + ... + 12^7.
        assert!(
            reason.contains("39089244") && reason.contains("10000"),
            "{reason}"
        );
    }
    let said = status(
        &site,
        &head,
        "workflow-runner / commit (pull_request)",
        "error",
    );
    assert!(said.contains("entries"), "{said}");
    assert_eq!(site.vmm.ordered(), 0);
    let laid_out = site.folder.path().join("runs/checkouts");
    assert_eq!(crate::harness::files(&laid_out), 0);
    let record = ended(&runner, "push", "d-1", &site.push(&base));
    assert_eq!(record["state"], "succeeded", "{record:#}");
}

#[test]
fn x1_a_red_job_is_not_hidden_by_a_green_one_of_its_name() {
    let site = Site::playing(|command| Play::exit(i32::from(command.script.contains("red"))));
    let runner = site.start();
    site.git(&["init", "--quiet", "--initial-branch=main", "."]);
    site.write(
        ".github/workflows/inner.yml",
        "on: workflow_call\njobs:\n  test: {runs-on: x, steps: [{run: red}]}\n",
    );
    // A second workflow of the same name, with the same job.
    site.write(
        ".github/workflows/other.yml",
        "name: CI\non: push\njobs:\n  a: {name: test, runs-on: x, steps: [{run: red}]}\n",
    );
    let sha = site.commit("name: CI\non: push\njobs:\n  a: {name: test, runs-on: x, steps: [{run: green}]}\n  b: {name: test, runs-on: x, steps: [{run: red}]}\n  left: {name: Left out, if: false, runs-on: x, steps: [{run: green}]}\n  call: {name: Called, uses: ./.github/workflows/inner.yml}\n");
    let record = ended(&runner, "push", "d-1", &site.push(&sha));
    assert_eq!(record["state"], "failed", "{record:#}");
    let ci = "CI [.github/workflows/ci.yml]";
    for (context, state) in [
        (format!("{ci} / test [a] (push)"), "success"),
        (format!("{ci} / test [b] (push)"), "failure"),
        (format!("{ci} / Left out (push)"), "success"),
        (format!("{ci} / Called / test (push)"), "failure"),
        (
            "CI [.github/workflows/other.yml] / test (push)".to_owned(),
            "failure",
        ),
    ] {
        status(&site, &sha, &context, state);
    }
}

#[test]
fn v1_a_clone_that_is_refused_has_a_status_and_a_later_run_clears_it() {
    let site = Site::new();
    let runner = site.start();
    let sha = site.commit(CI);
    let record = ended(&runner, "push", "d-1", &push("file:///no/such/place", &sha));
    assert_eq!(record["state"], "failed");
    let context = "workflow-runner / commit (push)";
    let said = status(&site, &sha, context, "error");
    assert!(said.contains("/no/such/place"), "{said}");
    let record = ended(&runner, "push", "d-2", &site.push(&sha));
    assert_eq!(record["state"], "succeeded", "{record:#}");
    status(&site, &sha, context, "success");
    status(&site, &sha, "CI / build (push)", "success");
}

#[test]
fn v3_a_head_that_goes_back_is_run_again_and_one_that_stays_is_not() {
    let site = Site::new();
    let runner = site.start();
    let base = site.commit(CI);
    site.git(&["checkout", "--quiet", "-b", "theirs"]);
    let (a, b) = (site.commit_all(), site.commit_all());
    let mut deliveries = 0;
    let mut deliver = |head: &str, action: &str| {
        deliveries += 1;
        let mut body = site.fork(head, &base);
        body["action"] = json!(action);
        body["delivered"] = json!(deliveries);
        let answer = runner.deliver("pull_request", &format!("d-{deliveries}"), &body);
        (
            answer.code,
            answer.json()["run"].as_str().map(str::to_owned),
        )
    };
    let first = deliver(&a, "opened");
    assert_eq!(
        deliver(&a, "synchronized"),
        (200, first.1.clone()),
        "the same head"
    );
    assert_eq!(deliver(&b, "synchronize").0, 202);
    let back = deliver(&a, "synchronize");
    assert_eq!(back.0, 202, "it is where it was before");
    assert_ne!(back.1, first.1);
    assert_eq!(runner.ended(&back.1.unwrap())["state"], "succeeded");
}

#[test]
fn v4_v9_what_asks_for_no_run_or_matches_no_workflow_is_in_no_list() {
    let site = Site::new();
    let runner = site.start();
    let base = site.commit("name: CI\non: {push: {branches: [main]}, pull_request: {}}\njobs:\n  build: {runs-on: x, steps: [{run: echo built}]}\n");
    site.git(&["checkout", "--quiet", "-b", "theirs"]);
    site.git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "words [skip ci]",
    ]);
    let head = site.git(&["rev-parse", "HEAD"]);
    site.forge.add_commit("acme/rocket", &head);
    let skipped = ended(&runner, "pull_request", "d-1", &site.fork(&head, &base));
    let mut elsewhere = site.push(&base);
    elsewhere["ref"] = json!("refs/heads/elsewhere");
    let unmatched = ended(&runner, "push", "d-2", &elsewhere);
    for (record, said) in [(&skipped, "[skip ci]"), (&unmatched, "filtered out")] {
        assert_eq!(record["state"], "ignored", "{record:#}");
        assert!(
            record["reason"].as_str().unwrap().contains(said),
            "{record:#}"
        );
    }
    assert_eq!(runner.runs(), Vec::<Value>::new());
    let ignored = runner.get("/runs?ignored=true").json();
    assert_eq!(ignored.as_array().map(Vec::len), Some(2));
    assert_eq!(site.forge.statuses("acme/rocket", &head).len(), 0);
}

#[test]
fn u3_a_push_while_the_runner_was_down_is_run_once() {
    let site = Site::new();
    let first = site.commit(CI);
    // They were there before anybody looked: added later, a look between would find them new.
    site.git(&["branch", "old"]);
    site.forge
        .add_pull("acme/rocket", Pull::new(3, "ada", &first, &first));
    let runner = site.start_with(with(often));
    let record = ended(&runner, "push", "d-1", &site.push(&first));
    assert_eq!(record["state"], "succeeded", "{record:#}");
    let listed = |runner: &Runner| runner.runs().len();
    runner.stop();
    let runner = site.start_with(with(often));
    let asked = || {
        let asked = site.forge.requests();
        asked
            .iter()
            .filter(|one| one.path.contains("/pulls"))
            .count()
    };
    let before = asked();
    assert!(within(|| asked() > before + 2));
    assert_eq!(listed(&runner), 1, "{:?}", runner.runs());
    runner.stop();
    let second = site.commit_all();
    site.git(&["branch", "new"]);
    site.forge
        .change_pull("acme/rocket", 3, |pull| pull.head_sha.clone_from(&second));
    let runner = site.start_with(with(often));
    assert!(within(|| listed(&runner) == 4), "{:?}", runner.runs());
    let mut missed: Vec<(String, String)> = runner
        .runs()
        .iter()
        .filter(|run| run["delivery"] == "catch-up")
        .map(|run| {
            (
                run["reference"].to_string(),
                run["sha"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    missed.sort();
    let wanted = [
        "\"refs/heads/main\"",
        "\"refs/heads/new\"",
        "\"refs/pull/3/head\"",
    ];
    assert_eq!(missed, wanted.map(|name| (name.to_owned(), second.clone())));
    // The webhook comes late.
    let mut late = site.push(&second);
    late["before"] = json!(first);
    let answer = runner.deliver("push", "d-2", &late);
    assert_eq!(
        (answer.code, answer.json()["status"].as_str()),
        (200, Some("duplicate"))
    );
    let before = asked();
    assert!(within(|| asked() > before + 2));
    assert_eq!(listed(&runner), 4, "{:?}", runner.runs());
}

#[test]
fn u3_a_dispatch_takes_the_head_of_now() {
    let site = Site::new();
    let runner = site.start_with(Setup {
        token: Some("an-api-token-0123456789"),
        ..Setup::default()
    });
    let headers = [
        ("Authorization", "Bearer an-api-token-0123456789"),
        ("Content-Type", "application/json"),
    ];
    let first = site.commit(CI);
    let run = runner.run("push", "d-1", &site.push(&first));
    let end_of = |run: &str| {
        let mut record = Value::Null;
        let ended = within(|| {
            let answer = runner.ask("GET", &format!("/runs/{run}"), &headers[..1], b"");
            record = answer.json();
            record.get("ended_at").is_some()
        });
        assert!(ended, "{record:#}");
        record
    };
    end_of(&run);
    let second = site.commit_all();
    let dispatch = |branch: &str| {
        let body = json!({"repository": "acme/rocket", "workflow": ".github/workflows/ci.yml", "branch": branch});
        runner.ask(
            "POST",
            "/runs/dispatch",
            &headers,
            body.to_string().as_bytes(),
        )
    };
    let answer = dispatch("main");
    assert_eq!(answer.code, 202, "{answer:?}");
    let record = end_of(answer.json()["run"].as_str().unwrap());
    assert_eq!(
        (&record["sha"], &record["state"]),
        (&json!(second), &json!("succeeded")),
        "{record:#}"
    );
    assert_eq!(dispatch("none").code, 404);
    std::fs::rename(site.tree(), site.folder.path().join("away")).unwrap();
    let answer = dispatch("main");
    assert_eq!(answer.code, 503, "an older commit is not taken: {answer:?}");
}

#[test]
fn y6_a_pull_request_of_the_documented_fields_alone_is_run() {
    let site = Site::new();
    let runner = site.start();
    let base = site.commit(CI);
    site.git(&["checkout", "--quiet", "-b", "theirs"]);
    let head = site.commit_all();
    site.git(&["checkout", "--quiet", "main"]);
    let documented = |number: u64| {
        json!({"action": "opened", "number": number,
            "repository": {"full_name": "acme/rocket", "clone_url": site.clone_url()},
            "pull_request": {"title": "t", "html_url": format!("http://forge.example/acme/rocket/pulls/{number}")}})
    };
    // The forge's API tells.
    site.forge
        .add_pull("acme/rocket", Pull::new(8, "ada", &head, &base));
    let record = ended(&runner, "pull_request", "d-8", &documented(8));
    assert_eq!(
        (&record["sha"], &record["state"]),
        (&json!(head), &json!("succeeded")),
        "{record:#}"
    );
    status(&site, &head, "CI / build (pull_request)", "success");
    // Only git does: nobody says where it comes from, so it gets no secret.
    site.git(&["update-ref", "refs/pull/9/head", &head]);
    let record = ended(&runner, "pull_request", "d-9", &documented(9));
    assert_eq!(
        (&record["sha"], &record["state"]),
        (&json!(head), &json!("succeeded")),
        "{record:#}"
    );
    // Nobody does.
    let record = ended(&runner, "pull_request", "d-10", &documented(10));
    assert_eq!(record["state"], "failed", "{record:#}");
    assert!(
        record["reason"].as_str().unwrap().contains("FORGE_TOKEN"),
        "{record:#}"
    );
}

#[test]
fn x4_the_runner_s_own_files_are_outside_the_checkout() {
    let site = Site::new();
    let runner = site.start();
    let sha = site.commit(CI);
    let record = ended(&runner, "push", "d-1", &site.push(&sha));
    assert_eq!(record["state"], "succeeded", "{record:#}");
    let command = &site.vmm.commands()[0];
    for (name, value) in &command.env {
        assert!(!value.contains("/workspace/.runner"), "{name}={value}");
    }
    assert!(
        command
            .argv
            .iter()
            .all(|argument| !argument.starts_with("/workspace/.")),
        "{command:?}"
    );
    assert_eq!(command.env["GITHUB_HEAD_REF"], "", "x6");
}

fn of_github(settings: &mut RunnerSettings) {
    settings.forge = forge_core::Forge::GitHub;
}

fn of_forgejo(settings: &mut RunnerSettings) {
    settings.forge = forge_core::Forge::Forgejo;
}

#[test]
fn i17_workflows_in_subfolders_run_where_their_forge_runs_them() {
    for (change, folder, state) in [
        (
            of_forgejo as fn(&mut _),
            ".forgejo/workflows/a",
            "succeeded",
        ),
        (of_forgejo, ".github/workflows/a/b", "succeeded"),
        (of_github, ".github/workflows/a", "ignored"),
    ] {
        let site = Site::new();
        site.git_init();
        site.write(&format!("{folder}/ci.yml"), CI);
        let sha = site.commit_all();
        let runner = site.start_with(with(change));
        let record = ended(&runner, "push", "d-1", &site.push(&sha));
        assert_eq!(record["state"], state, "{folder}: {record:#}");
    }
}
