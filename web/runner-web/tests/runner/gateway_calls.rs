//! What jobs move at the forge by its REST API starts no runs, whether the webhook comes before the
//! answer or after it; what others do there starts them as ever.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use scripted_peers::{Failure, PlannedFailure, Play, Pull};
use serde_json::{Value, json};

use crate::gateway::{has, lines, workflow};
use crate::harness::{Runner, Setup, Site, within};

/// Whoever calls this does not wait for the answer.
const LEFT: &str = "/contents/left";

/// Method, path below the repository, body.
pub(crate) type Call = (&'static str, &'static str, Value);

pub(crate) struct Stage {
    pub(crate) site: Site,
    runner: Arc<Runner>,
    /// What the next job calls.
    calls: Arc<Mutex<Vec<Call>>>,
}

pub(crate) fn stage() -> Stage {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let services = listener.local_addr().unwrap();
    let calls = Arc::<Mutex<Vec<Call>>>::default();
    let asked = Arc::clone(&calls);
    let site = Site::playing(move |command| {
        if !command.script.contains("call the forge") {
            return Play::exit(0);
        }
        let calls: Vec<Call> = asked.lock().unwrap().drain(..).collect();
        let said = calls.iter().map(|call| {
            let code = send(services, &command.env["TOKEN"], call);
            format!("{} {}: {code}\n", call.0, call.1)
        });
        Play::exit(0).out(said.collect::<String>())
    });
    let runner = site.start_with(Setup {
        services: Some(listener),
        ..Setup::default()
    });
    site.commit(&workflow("permissions: write-all"));
    Stage {
        site,
        runner: Arc::new(runner),
        calls,
    }
}

/// A call as a program in the machine makes it; the status code of its answer.
fn send(services: SocketAddr, token: &str, (method, path, body): &Call) -> String {
    let mut stream = TcpStream::connect(services).unwrap();
    let body = body.to_string();
    let accept = match path.contains("/assets") {
        true => "Accept: application/octet-stream\r\n",
        false => "",
    };
    let head = format!(
        "{method} /api/v1/repos/acme/rocket{path} HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: token {token}\r\nContent-Type: application/json\r\n{accept}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    let mut answer = String::new();
    if *path == LEFT {
        // The program ends before the answer comes.
        pause(300);
        return "left".to_owned();
    }
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

fn pause(ms: u64) {
    let (_kept, never) = mpsc::channel::<()>();
    let _ = never.recv_timeout(Duration::from_millis(ms));
}

impl Stage {
    /// A job that makes these calls; their codes.
    pub(crate) fn job(&self, calls: &[Call], codes: &[&str]) {
        *self.calls.lock().unwrap() = calls.to_vec();
        let (delivery, event) = self.next("operator");
        let run = self.runner.run("push", &delivery, &event);
        let record = self.runner.ended(&run);
        assert_eq!(record["state"], "succeeded", "{record:#}");
        let said = lines(&self.runner, &run);
        for ((method, path, _), code) in calls.iter().zip(codes) {
            has(&said, &format!("{method} {path}: {code}"));
        }
    }

    /// A new commit on the branch, and how the forge tells of it.
    fn next(&self, actor: &str) -> (String, Value) {
        self.site
            .git(&["commit", "--quiet", "--allow-empty", "-m", actor]);
        let sha = self.site.git(&["rev-parse", "HEAD"]);
        self.site.forge.add_commit("acme/rocket", &sha);
        let mut event = self.site.push(&sha);
        event["pusher"]["login"] = actor.into();
        event["sender"]["login"] = actor.into();
        (format!("d-{sha}"), event)
    }

    /// How a run ends that this event starts.
    fn state(&self, event: &str, delivery: &str, body: &Value) -> String {
        let run = self.runner.run(event, delivery, body);
        let record = self.runner.ended(&run);
        let state = record["state"].as_str().unwrap().to_owned();
        if state == "ignored" {
            let reason = record["reason"].as_str().unwrap();
            let expected = format!("this {event} was made with the token of a job");
            assert!(reason.starts_with(&expected), "{record:#}");
        }
        state
    }

    fn pull(&self, action: &str, number: u64, actor: &str) -> Value {
        let head = self.site.git(&["rev-parse", "HEAD"]);
        let mut event = self.site.fork(&head, &head);
        event["action"] = action.into();
        event["number"] = number.into();
        event["sender"]["login"] = actor.into();
        event["pull_request"]["number"] = number.into();
        event["pull_request"]["head"]["ref"] = "main".into();
        event["pull_request"]["head"]["repo"] = event["repository"].clone();
        event
    }
}

#[test]
fn i17_a_webhook_that_comes_before_the_answer_waits_for_it() {
    let stage = stage();
    let (built, by_runner) = stage.next("runner");
    let (theirs, by_ada) = stage.next("ada");
    let sha = by_runner["after"].clone();
    let runs = Arc::new(Mutex::new(Vec::new()));
    let (seen, runner) = (Arc::clone(&runs), Arc::downgrade(&stage.runner));
    stage
        .site
        .forge
        .answer("PUT", "/contents/built", move |body| {
            assert_eq!(body["branch"], "main");
            let runner = runner.upgrade().unwrap();
            let own = runner.run("push", &built, &by_runner);
            let awaited = within(|| {
                let record = runner.record(&own);
                let reason = record["reason"].as_str().unwrap_or_default();
                reason.contains("its answer is awaited") || record.get("ended_at").is_some()
            });
            assert!(awaited, "{:#}", runner.record(&own));
            // Somebody else's push of the same branch waits for nothing: it is planned.
            let other = runner.run("push", &theirs, &by_ada);
            assert!(within(|| runner.record(&other).get("name").is_some()));
            assert_eq!(runner.record(&own).get("ended_at"), None);
            *seen.lock().unwrap() = vec![own, other];
            (200, json!({"content": {}, "commit": {"sha": sha}}))
        });
    stage.job(
        &[("PUT", "/contents/built", json!({"branch": "main"}))],
        &["200"],
    );
    let runs = runs.lock().unwrap().clone();
    let [own, other] = runs.as_slice() else {
        panic!("{runs:?}");
    };
    assert_eq!(stage.runner.ended(other)["state"], "succeeded");
    let record = stage.runner.ended(own);
    assert_eq!(record["state"], "ignored", "{record:#}");
    let reason = "this push was made with the token of a job, and starts nothing";
    assert_eq!(record["reason"], reason);
}

#[test]
fn i17_a_webhook_that_comes_after_the_answer_starts_nothing_and_those_of_others_do() {
    let stage = stage();
    let (built, by_runner) = stage.next("runner");
    let sha = by_runner["after"].clone();
    let forge = &stage.site.forge;
    forge.answer("PUT", "/contents/built", move |_| {
        (200, json!({"commit": {"sha": sha}}))
    });
    forge.answer("POST", "/pulls", |_| (201, json!({"number": 9})));
    forge.answer("PUT", "/issues/9/labels", |_| (200, json!([])));
    let calls = [
        ("PUT", "/contents/built", json!({"branch": "main"})),
        ("POST", "/pulls", json!({"head": "main", "base": "main"})),
        ("PUT", "/issues/9/labels", json!(["ready"])),
    ];
    stage.job(&calls, &["200", "201", "200"]);
    assert_eq!(stage.state("push", &built, &by_runner), "ignored");
    for (action, number, actor, expected) in [
        ("opened", 9, "runner", "ignored"),
        ("opened", 10, "runner", "succeeded"),
        ("opened", 11, "ada", "succeeded"),
        ("reopened", 9, "runner", "succeeded"),
    ] {
        let pull = stage.pull(action, number, actor);
        let delivery = format!("{action}-{number}");
        let state = stage.state("pull_request", &delivery, &pull);
        assert_eq!(state, expected, "{action} {number} {actor}");
    }
    // Somebody pushes the next commit, and the token's owner one by hand.
    for actor in ["ada", "runner"] {
        let (delivery, event) = stage.next(actor);
        assert_eq!(
            stage.state("push", &delivery, &event),
            "succeeded",
            "{actor}"
        );
    }
}

#[test]
fn i17_a_merge_is_known_by_its_pull_request_and_its_push_starts_nothing() {
    let stage = stage();
    let (delivery, by_runner) = stage.next("runner");
    let sha = by_runner["after"].as_str().unwrap();
    let forge = &stage.site.forge;
    // Gitea's answer to a merge is empty.
    forge.answer("POST", "/pulls/8/merge", |_| (200, Value::Null));
    let merged = json!({"number": 8, "merged": true, "merge_commit_sha": sha, "base": {"ref": "main"}, "head": {"ref": "x", "sha": sha}});
    forge.answer("GET", "/pulls/8", move |_| (200, merged.clone()));
    forge.add_pull("acme/rocket", Pull::new(8, "ada", sha, sha));
    stage.job(
        &[("POST", "/pulls/8/merge", json!({"Do": "merge"}))],
        &["200"],
    );
    assert_eq!(stage.state("push", &delivery, &by_runner), "ignored");
    let (delivery, by_ada) = stage.next("ada");
    assert_eq!(stage.state("push", &delivery, &by_ada), "succeeded");
}

#[test]
fn i17_calls_that_are_refused_or_never_answered_swallow_nobody_s_events() {
    let stage = stage();
    let forge = &stage.site.forge;
    let (refused, by_runner) = stage.next("runner");
    forge.answer("PATCH", "/git/refs/heads/main", |_| {
        (422, json!({"message": "no"}))
    });
    let sha = by_runner["after"].clone();
    let call = ("PATCH", "/git/refs/heads/main", json!({"sha": sha}));
    stage.job(&[call], &["422"]);
    assert_eq!(stage.state("push", &refused, &by_runner), "succeeded");

    // What became of it nobody knows: events of the token's own account may be of it.
    forge.answer("PUT", "/contents/built", |_| (200, json!({})));
    forge.plan(PlannedFailure::new(
        "PUT",
        "/contents/built",
        1,
        Failure::DoneThenCut,
    ));
    stage.job(
        &[("PUT", "/contents/built", json!({"branch": "main"}))],
        &["502"],
    );
    let (delivery, by_ada) = stage.next("ada");
    assert_eq!(stage.state("push", &delivery, &by_ada), "succeeded");
    let (delivery, by_runner) = stage.next("runner");
    assert_eq!(stage.state("push", &delivery, &by_runner), "ignored");
}

#[test]
fn i17_what_becomes_of_a_call_is_noted_when_nobody_waits_for_its_answer() {
    let stage = stage();
    let (built, own) = stage.next("runner");
    let sha = own["after"].clone();
    stage.site.forge.answer("PUT", LEFT, move |_| {
        pause(1_000);
        (200, json!({"commit": {"sha": sha}}))
    });
    stage.job(&[("PUT", LEFT, json!({"branch": "main"}))], &["left"]);
    pause(1_000);
    let (delivery, by_hand) = stage.next("runner");
    assert_eq!(stage.state("push", &delivery, &by_hand), "succeeded");
    assert_eq!(stage.state("push", &built, &own), "ignored");
}

#[test]
fn i17_an_app_is_known_by_its_first_commit_and_events_of_other_apps_start_runs() {
    let stage = stage();
    let (built, own) = stage.next("our[bot]");
    let sha = own["after"].clone();
    let forge = &stage.site.forge;
    // Tokens of apps have no account.
    forge.answer("GET", "/user", |_| (403, json!({"message": "no"})));
    forge.answer("PUT", "/contents/built", move |_| {
        (200, json!({"commit": {"sha": sha}}))
    });
    forge.answer("PATCH", "/pulls/9", |_| (200, json!({"number": 9})));
    let calls = [
        ("PUT", "/contents/built", json!({"branch": "main"})),
        ("PATCH", "/pulls/9", json!({"State": "open"})),
    ];
    stage.job(&calls, &["200", "200"]);
    assert_eq!(stage.state("push", &built, &own), "ignored");
    for (actor, expected) in [
        ("our[bot]", "ignored"),
        ("other[bot]", "succeeded"),
        ("ada", "succeeded"),
    ] {
        let pull = stage.pull("reopened", 9, actor);
        let state = stage.state("pull_request", actor, &pull);
        assert_eq!(state, expected, "{actor}");
    }
}
