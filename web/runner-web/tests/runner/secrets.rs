//! R16: secrets do not leave.

use scripted_peers::Play;

use crate::harness::{Site, status};

const WORKFLOW: &str = "name: CI\non: push\njobs:\n  build:\n    runs-on: x\n    outputs:\n      leak: ${{ steps.a.outputs.leak }}\n    steps:\n      - id: a\n        name: with ${{ secrets.KEY }}\n        env: {KEY: \"${{ secrets.KEY }}\"}\n        run: make\n";

#[test]
fn r16_a_secret_is_masked_in_the_log_the_record_the_status_and_the_page_however_it_is_written() {
    let site = Site::playing(|_| {
        Play::exit(1)
            .out("plain hunter2-hunter2 p@ss/word+1\n")
            .out("split hunter2-")
            .out("hunter2\n")
            .out("base64 aHVudGVyMi1odW50ZXIy\n")
            .out("url p%40ss%2Fword%2B1\n")
            .out("hex 68756e746572322d68756e74657232\n")
            .out("added ::no\n::add-mask::a-late-secret\nthen a-late-")
            .out("secret\n")
            .out("::error file=a::hunter2-hunter2\n")
            .file("output", "leak=hunter2-hunter2\n")
            .file("summary", "# hunter2-hunter2\n")
    });
    let runner = site.start();
    let sha = site.commit(WORKFLOW);
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run);
    assert_eq!(record["state"], "failed", "{record:#}");
    let log = runner.log(&run);
    let page = runner.ask(
        "GET",
        &format!("/runs/{run}"),
        &[("Accept", "text/html")],
        b"",
    );
    let statuses = format!("{:?}", site.forge.statuses("acme/rocket", &sha));
    let disk =
        std::fs::read_to_string(site.folder.path().join(format!("runs/logs/{run}.jsonl"))).unwrap();
    for (what, text) in [
        ("log", &log),
        ("record", &record.to_string()),
        ("page", &page.body),
        ("status", &statuses),
        ("disk", &disk),
    ] {
        for form in [
            "hunter2-hunter2",
            "aHVudGVyMi1odW50ZXIy",
            "68756e746572322d68756e74657232",
            "p%40ss%2Fword%2B1",
            "p@ss/word+1",
            "then a-late-secret",
        ] {
            assert!(!text.contains(form), "{what}: {form} in {text}");
        }
    }
    for part in [
        "plain ***",
        "split ***",
        "base64 ***",
        "hex ***",
        "then ***",
    ] {
        assert!(log.contains(part), "{part} in {log}");
    }
    assert!(!record["jobs"][0]["outputs"].to_string().contains("hunter2"));
    let context = record["jobs"][0]["context"].as_str().unwrap().to_owned();
    status(&site, &sha, &context, "failure");
}
