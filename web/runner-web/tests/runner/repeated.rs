//! Deliveries that come again.

use serde_json::json;

use crate::harness::{Setup, Site, push, within};

#[test]
fn w13_w14_w15_a_delivery_is_worked_on_once() {
    let site = Site::new();
    let runner = site.start();
    let first = push("https://forge.invalid/a/b.git", &"1".repeat(40));
    let other = push("https://forge.invalid/a/b.git", &"2".repeat(40));
    let started = runner.deliver("push", "d-1", &first);
    assert_eq!(started.code, 202);
    let run = started.json()["run"].clone();
    for (id, case) in [("d-1", "w13"), ("d-2", "w14")] {
        let again = runner.deliver("push", id, &first);
        let expected = json!({ "delivery": id, "status": "duplicate", "run": run });
        assert_eq!((again.code, again.json()), (200, expected), "{case}");
    }
    assert_eq!(runner.runs().len(), 1);
    assert_eq!(
        runner.deliver("push", "d-1", &other).code,
        202,
        "w15: the id is known, the body is not"
    );
    assert_eq!(runner.deliver("push", "d-1", &other).code, 200);
    assert_eq!(runner.runs().len(), 2);
    runner.stop();
    let runner = site.start();
    assert_eq!(
        runner.deliver("push", "d-1", &first).json()["run"],
        run,
        "after a restart too"
    );
    assert_eq!(runner.runs().len(), 2);
}

#[test]
fn w20_a_head_is_run_once_and_each_delivery_about_it_names_the_run() {
    let site = Site::new();
    let runner = site.start();
    let opened = site.fork(&"2".repeat(40), &"1".repeat(40));
    let run = runner.run("pull_request", "d-1", &opened);
    let mut moved = opened;
    moved["action"] = json!("synchronize");
    for id in ["d-2", "d-3"] {
        let again = runner.deliver("pull_request", id, &moved);
        let expected = json!({ "delivery": id, "status": "duplicate", "run": run });
        assert_eq!((again.code, again.json()), (200, expected));
    }
    assert_eq!(runner.runs().len(), 1);
}

#[test]
fn a_run_that_was_forgotten_is_not_named() {
    let site = Site::new();
    let runner = site.start_with(Setup {
        change: |settings| settings.keep_runs = 1,
        ..Setup::default()
    });
    let [first, second] =
        ["1", "2"].map(|digit| push("https://forge.invalid/a/b.git", &digit.repeat(40)));
    let run = runner.run("push", "d-1", &first);
    runner.ended(&run);
    runner.run("push", "d-2", &second);
    let again = runner.deliver("push", "d-1", &first);
    let expected = json!({ "delivery": "d-1", "status": "duplicate" });
    assert_eq!((again.code, again.json()), (200, expected));
}

#[test]
fn u8_no_more_runs_are_kept_than_asked_for_after_a_burst() {
    let site = Site::new();
    let runner = site.start_with(Setup {
        change: |settings| settings.keep_runs = 3,
        ..Setup::default()
    });
    // They come faster than they end: no later delivery forgets them.
    for number in 1..41 {
        let sha = format!("{number:040x}");
        runner.run(
            "push",
            &format!("d-{number}"),
            &push("https://forge.invalid/a/b.git", &sha),
        );
    }
    let mut kept = Vec::new();
    let few = within(|| {
        kept = runner.runs();
        kept.len() == 3
    });
    assert!(few, "{} runs are kept", kept.len());
}
