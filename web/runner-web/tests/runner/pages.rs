//! The pages: signing in, what a run's page shows, running again.

use scripted_peers::Play;
use serde_json::Value;

use crate::client::Answer;
use crate::harness::{Runner, Setup, Site, TEST_TIMEOUT, status, within};

pub(crate) const TOKEN: &str = "an api token of some length";
const HTML: (&str, &str) = ("Accept", "text/html,*/*");
const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");
const OWN: (&str, &str) = ("Origin", "http://localhost");

/// One job of each kind of end; the failed one says things in colours, groups and annotations.
pub(crate) const WORKFLOW: &str = "name: CI\non: push\njobs:\n  test:\n    runs-on: x\n    steps:\n      - {name: Unit tests, run: fails}\n      - {name: After it, run: never}\n  gpu:\n    runs-on: gpu\n    steps: [{run: train}]\n  docs:\n    runs-on: x\n    steps: [{name: Long book, run: long}]\n  deploy:\n    needs: test\n    runs-on: x\n    steps: [{run: deploy}]\n";

pub(crate) fn plays(command: &scripted_peers::Command) -> Play {
    if command.script.contains("fails") {
        return Play::exit(3).out("::group::Compile <b>\n\u{1b}[32mok\u{1b}[0m a<script>alert(1)</script>\n::endgroup::\n::warning::careful\n\u{1b}[1;31mfatal\u{1b}[0m it broke\n::error file=a.rs,line=3::bad thing\n");
    }
    if command.script.contains("long") {
        return Play::exit(0)
            .often("a line of a book that goes on for a while\n", 20_000)
            .file("summary", "# All *good*\n");
    }
    if command.script.contains("hangs") {
        return Play::hang().out("hanging\n");
    }
    Play::exit(0)
}

pub(crate) fn setup() -> Setup {
    Setup {
        token: Some(TOKEN),
        change: |settings| {
            settings.machines = vec![("x".to_owned(), runner_actors::MachineType::default())];
        },
        ..Setup::default()
    }
}

#[test]
fn i17_summaries_are_had_by_pages_beside_the_record() {
    let site = Site::playing(|_| Play::exit(0).file("summary", &"x".repeat(1 << 20)));
    let runner = site.start();
    let steps = "{run: a}, {run: b}, {run: c}, {run: d}, {run: e}";
    let workflow = format!(
        "on: push\njobs:\n  a: {{runs-on: x, steps: [{steps}]}}\n  b: {{runs-on: x, steps: [{{name: last, run: a}}]}}\n"
    );
    let sha = site.commit(&workflow);
    let run = runner.run("push", "d-1", &site.push(&sha));
    runner.ended(&run);
    let path = format!("/runs/{run}/summaries");
    let answer = runner.get(&format!("{path}?job=a"));
    let page: Vec<Value> = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(page.len(), 4, "4 MiB");
    let next = header(&answer, "link");
    assert!(next.starts_with("<?job=a&cursor="), "{next}");
    let next = next.trim_start_matches('<').split('>').next().unwrap();
    let answer = runner.get(&format!("{path}{next}"));
    let page: Vec<Value> = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((page.len(), header(&answer, "link")), (1, ""));
    assert_eq!(page[0]["step"], 5);
    assert_eq!(page[0]["text"].as_str().map(str::len), Some(1 << 20));
    let html = runner.ask("GET", &path, &[HTML], b"").body;
    assert!(html.contains("/summaries?cursor="), "more is linked");
    assert_eq!(runner.get(&format!("{path}?cursor=x")).code, 422);
    assert_eq!(runner.get("/runs/none/summaries").code, 404);
}

fn sign_in(runner: &Runner, token: &str, more: &[(&str, &str)]) -> Answer {
    let body = format!("token={}&next=%2Fruns%2F1", token.replace(' ', "+"));
    let mut headers = vec![FORM];
    headers.extend(more);
    runner.ask("POST", "/sign-in", &headers, body.as_bytes())
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    let mut lines = answer.head.lines().filter_map(|line| line.split_once(": "));
    lines
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map_or("", |(_, value)| value)
}

#[test]
fn a_browser_signs_in_and_a_program_does_not() {
    let site = Site::playing(plays);
    let runner = site.start_with(setup());
    let sha = site.commit(
        &WORKFLOW
            .replace("deploy}", "hangs}")
            .replace("run: fails", "run: passes"),
    );
    let run = runner.run("push", "d-1", &site.push(&sha));
    let page = format!("/runs/{run}");
    let refused = runner.ask("GET", &page, &[HTML], b"");
    assert_eq!(refused.code, 401);
    assert!(
        header(&refused, "content-type").starts_with("text/html"),
        "{refused:?}"
    );
    assert!(
        refused
            .body
            .contains(&format!("name=\"next\" value=\"{page}\"")),
        "{refused:?}"
    );
    let program = runner.get(&page);
    assert_eq!(program.code, 401);
    assert!(
        header(&program, "content-type").contains("problem+json"),
        "{program:?}"
    );
    assert_eq!(
        runner
            .ask("POST", &format!("{page}/cancel"), &[HTML], b"")
            .code,
        401
    );

    assert_eq!(sign_in(&runner, "wrong", &[OWN]).code, 401);
    assert_eq!(
        sign_in(&runner, TOKEN, &[("Origin", "http://evil.example")]).code,
        403
    );
    let entered = sign_in(&runner, TOKEN, &[OWN]);
    assert_eq!(
        (entered.code, header(&entered, "location")),
        (303, "/runs/1"),
        "{entered:?}"
    );
    let cookie = header(&entered, "set-cookie").to_owned();
    let session = ("Cookie", cookie.split(';').next().unwrap());
    let shown = runner.ask("GET", &page, &[HTML, session], b"");
    assert_eq!(shown.code, 200);
    assert_eq!(header(&shown, "referrer-policy"), "same-origin");
    let log = runner.ask("GET", &format!("{page}/log"), &[session], b"");
    assert_eq!(log.code, 200);
    let forged = ("Cookie", "workflow-runner-session=9999999999.00");
    assert_eq!(runner.ask("GET", &page, &[HTML, forged], b"").code, 401);

    let cancel = format!("{page}/cancel");
    assert_eq!(
        runner.ask("POST", &cancel, &[session], b"").code,
        401,
        "no page sent it"
    );
    let foreign = [session, ("Origin", "http://localhost:81")];
    assert_eq!(runner.ask("POST", &cancel, &foreign, b"").code, 403);
    let site_of = [session, ("Sec-Fetch-Site", "same-site")];
    assert_eq!(runner.ask("POST", &cancel, &site_of, b"").code, 403);
    assert!(within(|| {
        let answer = runner.ask("POST", &cancel, &[session, OWN, HTML], b"");
        (answer.code, header(&answer, "location")) == (303, page.as_str())
    }));
    let out = runner.ask("POST", "/sign-out", &[session, OWN], b"");
    assert!(header(&out, "set-cookie").contains("Max-Age=0"), "{out:?}");
}

#[test]
fn t11_a_cookie_opens_nothing_after_signing_out() {
    let site = Site::playing(plays);
    let runner = site.start_with(setup());
    let enter = || {
        let entered = sign_in(&runner, TOKEN, &[OWN]);
        let cookie = header(&entered, "set-cookie");
        cookie.split(';').next().unwrap().to_owned()
    };
    let (left, stays) = (enter(), enter());
    let code = |cookie: &str| {
        let session = ("Cookie", cookie);
        runner.ask("GET", "/runs", &[HTML, session], b"").code
    };
    assert_eq!((code(&left), code(&stays)), (200, 200));
    let session = ("Cookie", left.as_str());
    let stranger = runner.ask("POST", "/sign-out", &[session], b"");
    assert_eq!((stranger.code, code(&left)), (401, 200), "no page sent it");
    let out = runner.ask("POST", "/sign-out", &[session, OWN], b"");
    assert_eq!(out.code, 303);
    assert_eq!((code(&left), code(&stays)), (401, 200));
}

#[test]
fn t11_a_followed_log_ends_when_its_session_is_signed_out() {
    use std::io::{Read as _, Write as _};

    let site = Site::playing(plays);
    let runner = site.start_with(setup());
    let sha = site
        .commit("name: CI\non: push\njobs:\n  test:\n    runs-on: x\n    steps: [{run: hangs}]\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    let entered = sign_in(&runner, TOKEN, &[OWN]);
    let cookie = header(&entered, "set-cookie").split(';').next().unwrap();
    let mut stream = std::net::TcpStream::connect(runner.address).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let path = format!("/runs/{run}/log?follow=1");
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let (mut told, mut buffer) = (String::new(), [0; 4096]);
    while !told.contains("hanging") {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "it ends too early: {told}");
        told.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    let out = runner.ask("POST", "/sign-out", &[("Cookie", cookie), OWN], b"");
    assert_eq!(out.code, 303);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("the stream ends");
    assert!(!rest.contains("event: end"), "the run goes on: {rest}");
}

#[test]
fn wrong_tokens_are_limited_in_number_and_the_right_one_is_not_let_through_then() {
    let site = Site::playing(plays);
    let runner = site.start_with(setup());
    let before = sign_in(&runner, TOKEN, &[OWN]);
    let cookie = header(&before, "set-cookie").to_owned();
    let session = ("Cookie", cookie.split(';').next().unwrap());
    for _ in 0..10 {
        assert_eq!(sign_in(&runner, "wrong", &[OWN]).code, 401);
    }
    let (wrong, right) = (
        sign_in(&runner, "wrong", &[OWN]),
        sign_in(&runner, TOKEN, &[OWN]),
    );
    for refused in [&wrong, &right] {
        assert_eq!(refused.code, 429, "{refused:?}");
        let seconds: u64 = header(refused, "retry-after").parse().unwrap();
        assert!((1..=60).contains(&seconds), "{refused:?}");
        assert_eq!(header(refused, "set-cookie"), "");
        assert!(
            refused.body.contains("too many wrong tokens"),
            "{refused:?}"
        );
        assert!(refused.body.contains("name=\"token\""), "the form is there");
    }
    assert_eq!(runner.ask("GET", "/runs", &[HTML, session], b"").code, 200);
}

#[test]
fn a_session_is_a_cookie_that_scripts_and_other_sites_do_not_get() {
    let site = Site::playing(plays);
    let runner = site.start_with(setup());
    let entered = sign_in(&runner, TOKEN, &[OWN]);
    let cookie = header(&entered, "set-cookie").to_owned();
    for attribute in [
        "; HttpOnly",
        "; SameSite=Strict",
        "; Path=/",
        "; Max-Age=43200",
    ] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(
        !cookie.contains("Secure") && !cookie.contains("api token"),
        "{cookie}"
    );
    let by_https = sign_in(&runner, TOKEN, &[("X-Forwarded-Proto", "https")]);
    assert!(
        header(&by_https, "set-cookie").contains("; Secure"),
        "{by_https:?}"
    );
}

#[test]
fn a_run_s_page_shows_its_jobs_in_order_with_every_reason_and_the_log_without_a_script() {
    let site = Site::playing(plays);
    let setup = Setup {
        token: None,
        ..setup()
    };
    let runner = site.start_with(setup);
    let sha = site.commit(WORKFLOW);
    let run = runner.run("push", "d-1", &site.push(&sha));
    runner.ended(&run);
    let answer = runner.ask("GET", &format!("/runs/{run}"), &[HTML], b"");
    let page = answer.body;
    let at = |part: &str| {
        page.find(part)
            .unwrap_or_else(|| panic!("{part} is missing"))
    };
    let jobs = ["test", "gpu", "docs", "deploy"].map(|job| at(&format!("data-job=\"{job}\"")));
    assert!(jobs.is_sorted(), "{jobs:?}");
    for part in [
        "<dd>.github/<wbr>workflows/<wbr>ci.yml</dd>",
        "<dt>Branch</dt><dd>main</dd>",
        "<dt>Actor</dt><dd>ada</dd>",
        &format!("href=\"http://forge.example/acme/rocket/commit/{sha}\""),
        ">#1</span>",
        "no machine is configured for the labels gpu",
        "<span class=\"state refused\">refused</span> gpu",
        "<span class=\"state failure\">failure</span> test",
        "Unit tests <span class=\"why of-failure\">exit code 3</span>",
        "Compile &lt;b&gt;",
        "<span class=\"a32\">ok</span> a&lt;script&gt;",
        "Annotations",
        "a.rs:3: bad thing",
        "<h3>All <em>good</em></h3>",
        "action=\"/runs/",
        ">Re-run</button>",
        "rel=\"icon\"",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    assert!(page.contains("data-lines=\"20000\""));
    for never in [
        "no machine yet",
        "waiting for a machine",
        "<script>alert",
        "Cancel",
        "data-since",
    ] {
        assert!(!page.contains(never), "{never}");
    }
    assert_eq!(
        page.matches("no machine is configured").count(),
        1,
        "with its job"
    );
    let list = runner.ask("GET", "/runs", &[HTML], b"").body;
    for part in ["acme/rocket", ">main</span>", "push by ada", "#1", "failed"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    assert_eq!(runner.get("/favicon.ico").code, 200);
}

#[test]
fn a_followed_log_goes_on_where_it_was_left() {
    let site = Site::playing(plays);
    let runner = site.start();
    let sha = site.commit(WORKFLOW);
    let run = runner.run("push", "d-1", &site.push(&sha));
    runner.ended(&run);
    let path = format!("/runs/{run}/log?follow=1");
    let all = runner.get(&path).body;
    let ids: Vec<&str> = all
        .lines()
        .filter_map(|line| line.strip_prefix("id: "))
        .collect();
    let log = runner.log(&run);
    assert_eq!(ids.last().unwrap().parse(), Ok(log.len()));
    let rest = runner
        .ask("GET", &path, &[("Last-Event-ID", ids[2])], b"")
        .body;
    let lines = |text: &str| text.matches("data: {\"at\"").count();
    assert_eq!(lines(&rest) + 3, lines(&all));
    assert!(rest.contains("event: end"), "{rest}");
}

#[test]
fn a_run_that_has_ended_is_run_again_with_its_number_and_a_later_attempt() {
    let site = Site::playing(plays);
    let runner = site.start();
    let sha = site
        .commit("name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: \"hangs\"}]\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    let again = |run: &str| runner.ask("POST", &format!("/runs/{run}/rerun"), &[], b"");
    assert_eq!(again(&run).code, 409, "it runs");
    assert_eq!(again("nothing").code, 404);
    let cancel = |run: &str| {
        let path = format!("/runs/{run}/cancel");
        assert!(within(|| runner.ask("POST", &path, &[], b"").code == 202));
        runner.ended(run)
    };
    let first = cancel(&run);
    let answer = again(&run);
    assert_eq!(answer.code, 202, "{answer:?}");
    let second = answer.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(again(&run).code, 409, "its newest attempt runs");
    assert!(within(|| runner.log(&second).contains("hanging")));
    let ended = cancel(&second);
    assert_eq!(
        (
            &ended["attempt"],
            &ended["number"],
            &ended["sha"],
            &ended["repeats"]
        ),
        (
            &2.into(),
            &first["number"],
            &first["sha"],
            &run.clone().into()
        ),
        "{ended:#}"
    );
    let form = runner.ask("POST", &format!("/runs/{run}/rerun"), &[HTML, OWN], b"");
    assert_eq!(form.code, 303, "{form:?}");
    let third = header(&form, "location")
        .trim_start_matches("/runs/")
        .to_owned();
    assert_eq!(cancel(&third)["attempt"], 3);
    status(&site, &sha, "CI / a (push)", "error");
    let foreign = [("Origin", "http://evil.example")];
    assert_eq!(
        runner
            .ask("POST", &format!("/runs/{third}/rerun"), &foreign, b"")
            .code,
        403
    );
}

#[test]
fn a_manager_that_cannot_be_reached_is_named_in_the_run_s_log_and_the_runner_s_health() {
    let site = Site::playing(plays);
    let setup = Setup {
        change: |settings| settings.vm_hosts[0].url = "http://127.0.0.1:1/".parse().unwrap(),
        ..Setup::default()
    };
    let runner = site.start_with(setup);
    let sha =
        site.commit("name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: x}]\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    assert!(within(|| runner
        .log(&run)
        .contains("waiting for a VM, 15m at most: ")));
    let health = runner.get("/health").json();
    assert_eq!(health["status"], "degraded");
    assert!(
        health["reason"].as_str().unwrap().contains("127.0.0.1:1"),
        "{health}"
    );
    // Long enough for further tries.
    std::thread::park_timeout(std::time::Duration::from_millis(2500));
    let log = runner.log(&run);
    assert_eq!(log.matches("waiting for a VM").count(), 1, "{log}");
    let order = log
        .find("creating session manager")
        .zip(log.find("waiting for a VM"));
    assert!(order.is_some_and(|(first, then)| first < then), "{log}");
    let path = format!("/runs/{run}/cancel");
    assert!(within(|| runner.ask("POST", &path, &[], b"").code == 202));
    runner.ended(&run);
}

#[test]
fn i18_a_token_of_a_vm_host_that_ends_is_in_the_list_of_hosts_and_in_the_runner_s_health() {
    let site = Site::playing(plays);
    let setup = Setup {
        // {"exp":1}
        change: |settings| {
            let token = "e30.eyJleHAiOjF9.c2ln".to_owned();
            settings.vm_hosts[0].token = Some(config_core::Secret::new(token));
        },
        ..Setup::default()
    };
    let runner = site.start_with(setup);
    let notice = "its token has ended (1970-01-01T00:00:01.000Z)";
    let health = runner.get("/health").json();
    assert_eq!(health["status"], "degraded");
    assert!(
        health["reason"].as_str().unwrap().contains(notice),
        "{health}"
    );
    let hosts = runner.get("/vm-hosts").json();
    let told = hosts[0]["token_notice"].as_str().unwrap();
    assert!(told.starts_with(notice), "{hosts}");
}
