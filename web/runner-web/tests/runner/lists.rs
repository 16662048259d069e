//! What pages of runs ask for: filters and pages of the list, parts of logs, the graph of jobs,
//! what can be started, running again what failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scripted_peers::Play;
use serde_json::{Value, json};

use crate::client::Answer;
use crate::harness::{Runner, Setup, Site, push, within};

fn header(answer: &Answer, name: &str) -> Option<String> {
    let lines = answer.head.lines().filter_map(|line| line.split_once(": "));
    let mut found = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim().to_owned())
}

/// All pages of a list, by what their `Link` says.
fn pages(runner: &Runner, query: &str) -> Vec<Vec<Value>> {
    let mut pages = Vec::new();
    let mut query = query.to_owned();
    loop {
        let answer = runner.get(&format!("/runs{query}"));
        assert_eq!(answer.code, 200, "{answer:?}");
        pages.push(answer.json().as_array().unwrap().clone());
        assert!(pages.len() < 50, "it ends");
        match header(&answer, "link") {
            Some(link) => {
                let next = link.strip_prefix('<').and_then(|link| link.split_once('>'));
                let (next, rest) = next.unwrap();
                assert_eq!(rest, "; rel=\"next\"");
                query = next.to_owned();
            }
            None => return pages,
        }
    }
}

#[test]
fn a_list_is_filtered_and_comes_in_pages() {
    let site = Site::new();
    let runner = site.start();
    let mut ids = Vec::new();
    for number in 1..=25 {
        let mut body = push("https://forge.invalid/a/b.git", &format!("{number:040x}"));
        if number % 5 == 0 {
            body["ref"] = json!("refs/heads/fix/<b>&\u{202e}");
            body["repository"]["full_name"] = json!("acme/moon");
            body["sender"]["login"] = json!("grace");
            body["pusher"]["login"] = json!("grace");
        }
        ids.push(runner.run("push", &format!("d-{number}"), &body));
    }
    ids.iter().for_each(|id| drop(runner.ended(id)));
    let all = pages(&runner, "?limit=10");
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 5]);
    let listed: Vec<&str> = all
        .iter()
        .flatten()
        .map(|run| run["id"].as_str().unwrap())
        .collect();
    let mut sorted = listed.clone();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    sorted.dedup();
    assert_eq!(listed, sorted, "each once, the newest first");
    let count = |query: &str| pages(&runner, query).concat().len();
    for (query, expected) in [
        ("", 25),
        ("?repository=ACME%2FMoon", 5),
        ("?repository=acme%2Fmoon&limit=2", 5),
        ("?actor=ada", 20),
        ("?actor=nobody", 0),
        ("?branch=fix%2F%3Cb%3E%26%E2%80%AE", 5),
        ("?branch=main&limit=7", 20),
        ("?event=schedule", 0),
        ("?event=push&state=failed,lost", 25),
        ("?state=active", 0),
        ("?state=succeeded", 0),
        ("?text=grace", 5),
        ("?text=%20", 25),
        ("?text=0000000000000000000000000000000000000019", 1),
        ("?workflow=ci.yml", 0),
    ] {
        assert_eq!(count(query), expected, "{query}");
    }
    let wrong = runner.get("/runs?state=done");
    assert_eq!(wrong.code, 422, "{wrong:?}");
    assert!(wrong.body.contains("`done` is no state"), "{wrong:?}");
    assert!(
        runner.get("/runs?colour=red").code >= 400,
        "an unknown filter is no filter"
    );
    assert_eq!(
        runner
            .get("/runs?cursor=zzzz&limit=3")
            .json()
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let seen = runner.get("/repositories");
    assert_eq!(
        (seen.code, seen.json()),
        (200, json!([])),
        "no push of them could be fetched"
    );
}

fn speaks(command: &scripted_peers::Command) -> Play {
    if command.script.contains("speak") {
        let lines: String = (1..=3000).map(|n| format!("line {n} of it\n")).collect();
        return Play::exit(0).out(lines).out(
            "\u{1b}[31mERROR\u{1b}[0m <script>alert(1)</script> \u{202e}gnp\n::warning::careful\n",
        );
    }
    Play::exit(0)
}

#[test]
#[expect(clippy::too_many_lines, reason = "one run, walked from end to end")]
fn a_log_is_read_by_line_searched_and_kept_as_text() {
    let site = Site::playing(speaks);
    let runner = site.start();
    let sha = site.commit("name: CI\non: push\njobs:\n  talk:\n    runs-on: x\n    steps:\n      - {name: Say it, run: speak}\n      - {name: Nothing, run: quiet}\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    runner.ended(&run);
    let get = |path: &str| {
        let answer = runner.get(&format!("/runs/{run}/{path}"));
        assert_eq!(answer.code, 200, "{path}: {answer:?}");
        answer
    };
    let overview = get("log/overview").json();
    let sections = overview["sections"].as_array().unwrap();
    let of = |step: u64| {
        let mut found = sections
            .iter()
            .filter(|one| one["step"] == step && one["job"] != "");
        found
            .next()
            .unwrap_or_else(|| panic!("{step}: {overview:#}"))
    };
    let job = of(1)["job"].as_str().unwrap().to_owned();
    let total = of(1)["lines"].as_u64().unwrap();
    assert!(total >= 3002, "{overview:#}");
    assert_eq!(of(1)["warnings"], 1);
    let note = &overview["notes"][0];
    assert_eq!(
        (note["kind"].as_str(), note["text"].as_str()),
        (Some("warning"), Some("careful"))
    );
    let range = get(&format!("log/lines?job={job}&step=1&from=2000&lines=3")).json();
    assert_eq!(range["total"], total);
    let first = range["lines"][0]["n"].as_u64().unwrap();
    assert_eq!((first, range["lines"].as_array().unwrap().len()), (2000, 3));
    let found = get(&format!("log/search?q=LINE%202999%20of&job={job}&step=1")).json();
    let line = found["matches"][0]["line"].as_u64().unwrap();
    assert_eq!(
        (found["matches"].as_array().unwrap().len(), &found["more"]),
        (1, &json!(false))
    );
    let read = get(&format!("log/lines?job={job}&step=1&from={line}&lines=1")).json();
    assert_eq!(read["lines"][0]["text"], "line 2999 of it");
    let many = get("log/search?q=line&limit=10").json();
    assert_eq!(
        (many["matches"].as_array().unwrap().len(), &many["more"]),
        (10, &json!(true))
    );
    assert_eq!(
        get("log/search?q=%3CSCRIPT%3EAlert").json()["matches"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(runner.get(&format!("/runs/{run}/log/search?q=")).code, 422);
    assert!(
        !get("log/lines?from=1&lines=5000").body.contains('\u{202e}'),
        "it is escaped"
    );
    let text = get(&format!("log/text?job={job}&step=1&timestamps=true"));
    assert!(
        header(&text, "content-disposition")
            .unwrap()
            .starts_with("attachment")
    );
    let lines: Vec<&str> = text.body.lines().collect();
    assert!(
        lines.len() as u64 > total && lines.iter().all(|line| line.starts_with("20")),
        "{}",
        &text.body[..500]
    );
    assert!(
        text.body
            .contains(" ERROR <script>alert(1)</script> <U+202E>gnp\n")
    );
    assert!(!text.body.contains('\u{1b}'));
    let changes = get("changes").body;
    assert!(
        changes.contains("event: record") && changes.ends_with("event: end\ndata: {}\n\n"),
        "{changes}"
    );
    for path in [
        "log/overview",
        "log/lines",
        "log/text",
        "log/search?q=x",
        "graph",
        "last-green",
        "artifacts",
        "changes",
    ] {
        assert_eq!(
            runner.get(&format!("/runs/none/{path}")).code,
            404,
            "{path}"
        );
    }
}

const DIAMOND: &str = "name: CI\non: push\njobs:\n  build:\n    runs-on: x\n    outputs: {made: '${{ steps.a.outputs.made }}'}\n    steps: [{id: a, run: build}]\n  test:\n    needs: build\n    runs-on: x\n    strategy: {fail-fast: false, matrix: {n: [1, 2]}}\n    steps: [{run: 'test ${{ matrix.n }} with ${{ needs.build.outputs.made }}'}]\n  lint:\n    runs-on: x\n    steps: [{run: lint}]\n  ship:\n    needs: [test, lint]\n    runs-on: x\n    steps: [{run: 'ship ${{ needs.test.result }}'}]\n";

#[test]
#[expect(clippy::too_many_lines, reason = "one run, walked from end to end")]
fn only_what_failed_runs_again_with_the_outputs_and_artifacts_of_the_rest() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let site = Site::playing(move |command| {
        if command.script.contains("test 2") && is_broken.load(Ordering::SeqCst) {
            return Play::exit(1).out("it broke\n");
        }
        if command.script.starts_with("build") {
            return Play::exit(0).file("output", "made=a-thing\n");
        }
        Play::exit(0)
    });
    let runner = site.start();
    let sha = site.commit(DIAMOND);
    let first = runner.run("push", "d-1", &site.push(&sha));
    let failed = runner.ended(&first);
    assert_eq!(failed["state"], "failed", "{failed:#}");
    let graph = runner.get(&format!("/runs/{first}/graph")).json();
    assert_eq!(graph["complete"], true);
    let states: Vec<(&str, &str)> = graph["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| (job["key"].as_str().unwrap(), job["state"].as_str().unwrap()))
        .collect();
    assert_eq!(
        states,
        [
            ("build", "success"),
            ("test", "failure"),
            ("lint", "success"),
            ("ship", "skipped")
        ]
    );
    assert_eq!(graph["jobs"][3]["needs"], json!(["test", "lint"]));
    assert_eq!(graph["jobs"][1]["copies"].as_array().unwrap().len(), 2);
    assert_eq!(runner.get(&format!("/runs/{first}/last-green")).code, 404);

    let stored = |run: &str| {
        let hashed = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
        let folder = site.folder.path().join("runs/artifacts").join(hashed(run));
        folder.join(hashed("built"))
    };
    std::fs::create_dir_all(stored(&first).parent().unwrap()).unwrap();
    std::fs::write(stored(&first).with_extension("tar"), "a tar").unwrap();
    let described = r#"{"name":"built","bytes":5,"at":1}"#;
    std::fs::write(stored(&first).with_extension("json"), described).unwrap();

    broken.store(false, Ordering::SeqCst);
    let before = site.vmm.requests().len();
    let again = runner.ask(
        "POST",
        &format!("/runs/{first}/rerun?failed=true"),
        &[],
        b"",
    );
    assert_eq!(again.code, 202, "{again:?}");
    let second = again.json()["run"].as_str().unwrap().to_owned();
    let record = runner.ended(&second);
    assert_eq!(
        (&record["state"], &record["attempt"]),
        (&json!("succeeded"), &json!(2)),
        "{record:#}"
    );
    let kept: Vec<(&str, bool)> = record["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| {
            (
                job["name"].as_str().unwrap(),
                job["kept_from"] == json!(first),
            )
        })
        .collect();
    let count = |kept_too: bool| kept.iter().filter(|(_, is)| *is == kept_too).count();
    assert_eq!((count(true), count(false)), (3, 2), "{kept:?}");
    let made = site.vmm.requests()[before..]
        .iter()
        .filter(|request| request.path == "/vms" && request.method == "POST")
        .count();
    assert_eq!(made, 2, "two machines: the failed copy, and what needs it");
    let ran = site.vmm.commands();
    let ran = |text: &str| {
        ran.iter()
            .filter(|command| command.script.contains(text))
            .count()
    };
    assert_eq!(
        (
            ran("ship success"),
            ran("test 2 with a-thing"),
            ran("test 1")
        ),
        (1, 2, 1)
    );
    for run in [&first, &second] {
        let artifacts = runner.get(&format!("/runs/{run}/artifacts")).json();
        assert_eq!(artifacts, json!([{"name": "built", "bytes": 5, "at": 1}]));
        assert_eq!(
            runner.get(&format!("/runs/{run}/artifacts/built")).body,
            "a tar"
        );
    }
    assert_eq!(
        runner.get(&format!("/runs/{second}/last-green")).code,
        404,
        "it is the first that is green"
    );
    let none = runner.ask(
        "POST",
        &format!("/runs/{second}/rerun?failed=true"),
        &[],
        b"",
    );
    assert_eq!(none.code, 409, "{none:?}");
    assert!(none.body.contains("no job"), "{none:?}");

    let third = runner.ask("POST", &format!("/runs/{second}/rerun"), &[], b"");
    let third = third.json()["run"].as_str().unwrap().to_owned();
    let record = runner.ended(&third);
    let jobs = record["jobs"].as_array().unwrap();
    assert!(
        jobs.len() == 5 && jobs.iter().all(|job| job.get("kept_from").is_none()),
        "{record:#}"
    );
    assert_eq!(
        runner.get(&format!("/runs/{third}/last-green")).json()["id"],
        json!(second)
    );
}

#[test]
fn what_can_be_started_is_listed_with_its_inputs() {
    let site = Site::new();
    let runner = site.start_with(Setup::default());
    let sha =
        site.commit("name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    runner.ended(&run);
    site.write(".github/workflows/ship.yml", "name: Ship <b>\non:\n  workflow_dispatch:\n    inputs:\n      where: {type: choice, options: [moon, mars], required: true, description: 'Where to'}\n      fast: {type: boolean, default: true}\njobs:\n  ship:\n    runs-on: x\n    steps: [{run: ship}]\n");
    site.write(".github/workflows/wrong.yml", "on: [push\n");
    let head = site.commit_all();
    assert!(within(
        || runner.get("/repositories").json()[0]["repository"] == "acme/rocket"
    ));
    let known = &runner.get("/repositories").json()[0];
    assert_eq!(
        (&known["default_branch"], &known["branches"]),
        (&json!("main"), &json!(["main"]))
    );
    let answer = runner.get("/workflows?repository=acme%2Frocket");
    assert_eq!(answer.code, 200, "{answer:?}");
    let found = answer.json();
    assert_eq!(
        (&found["branch"], &found["sha"]),
        (&json!("main"), &json!(head)),
        "the head of now"
    );
    assert_eq!(
        found["workflows"],
        json!([{"file": ".github/workflows/ship.yml", "name": "Ship <b>", "inputs": [
        {"name": "where", "description": "Where to", "kind": "choice", "required": true, "options": ["moon", "mars"]},
        {"name": "fast", "kind": "boolean", "required": false, "default": "true"}]}])
    );
    assert_eq!(found["wrong"].as_array().unwrap().len(), 1);
    assert_eq!(
        runner
            .get("/workflows?repository=acme%2Frocket&branch=none")
            .code,
        404
    );
    assert_eq!(runner.get("/workflows?repository=a%2Fb").code, 404);
}
