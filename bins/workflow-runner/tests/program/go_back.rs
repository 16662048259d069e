//! i17: a failed job goes back to before a step: a shell, and re-runs that do not repeat what came
//! before. The real runner, the real VM manager, VMs of QEMU.
#![allow(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that fails here should say where, and one VM answers many questions"
)]

use crate::site::Site;
use serde_json::Value;

const WORKFLOW: &str = r#"
on: push
env: {ATTEMPT_OF_ENV: "${{ github.run_attempt }}"}
jobs:
  build:
    runs-on: x
    outputs: {made: "${{ steps.one.outputs.made }}"}
    steps:
      - id: one
        name: Make
        run: |
          made=$(cat /proc/sys/kernel/random/uuid)
          echo "$made" > ~/made
          echo "made=$made" >> "$GITHUB_OUTPUT"
          echo "MADE=$made" >> "$GITHUB_ENV"
          echo "::add-mask::masked-in-step-one"
      - uses: actions/cache@v4
        with: {key: "k-${{ github.sha }}", path: ~/made}
      - name: Twice
        run: |
          echo two >> ~/two
          echo the-second-"ran"
      - name: Fails at first
        run: |
          echo three > ~/three
          echo "attempt $GITHUB_RUN_ATTEMPT: ${{ steps.one.outputs.made }} $MADE $(cat ~/made) $(wc -l < ~/two)"
          echo masked-in-step-one
          test "$GITHUB_RUN_ATTEMPT" -ge 3
      - run: echo the-"last"
  after:
    needs: build
    runs-on: x
    steps:
      - run: echo "got ${{ needs.build.outputs.made }}"
"#;

/// The steps before which the only kept VM can be.
fn steps(site: &Site) -> Vec<u64> {
    let kept = site.get("/runs/kept");
    let snapshots = kept[0]["snapshots"].as_array().unwrap().clone();
    snapshots
        .iter()
        .map(|it| it["step"].as_u64().unwrap())
        .collect()
}

fn vm_of(record: &Value, job: &str) -> String {
    let jobs = record["jobs"].as_array().unwrap();
    let job = jobs.iter().find(|it| it["key"] == job).unwrap();
    job["vm"].as_str().unwrap().to_owned()
}

/// Runs again before step 4; the new run's record and log.
fn from_step_four(site: &Site, run: &str) -> (String, Value, String) {
    let (code, text) = site.output(&["rerun", run, "--from-step", "4", "--job", "build"]);
    assert_eq!(code, Some(0), "{text}");
    let next = text.trim().to_owned();
    let record = site.ended(&next);
    let log = site.log(&next);
    (next, record, log)
}

#[test]
fn i17_a_job_goes_back_to_before_a_step_for_a_shell_and_for_re_runs() {
    let mut site = Site::new("qemu", "failed = true\nvms = 1\nsnapshots = true");
    let (run, record) = site.run(WORKFLOW);
    assert_eq!(record["state"], "failed", "{record:#}\n{}", site.log(&run));
    assert_eq!(steps(&site), [1, 2, 3, 4], "{}", site.log(&run));
    let vm = vm_of(&record, "build");
    let log = site.log(&run);
    assert!(log.contains("with `--before-step 4`"), "{log}");
    let (code, text) = site.output(&["kept"]);
    assert!(
        code == Some(0) && text.contains("before step 1, 2, 3, 4"),
        "{text}"
    );

    // A shell before the step that failed, and before an earlier one.
    let look = "cat ~/two ~/three 2>&1; echo made-$MADE; stty -a >/dev/null && echo te\"\"rminal\nexit 0\n";
    let before = ["shell", &run, "build", "--before-step", "4"];
    let shown = site.in_shell(&before, 0, look);
    assert!(
        shown.contains("two") && shown.contains("terminal"),
        "{shown}"
    );
    assert!(
        shown.contains("No such file") && !shown.contains("made-\r"),
        "{shown}"
    );
    let before = ["shell", &run, "build", "--before-step", "2"];
    let shown = site.in_shell(&before, 0, "ls ~; touch ~/by-hand; exit 0\n");
    assert!(shown.contains("made") && !shown.contains("two"), "{shown}");
    // Without a step it is as it was left, and says where it is.
    let shown = site.in_shell(&["shell", &run], 0, "ls ~; exit 0\n");
    assert!(
        shown.contains("by-hand") && !shown.contains("three"),
        "{shown}"
    );
    assert_eq!(site.get("/runs/kept")[0]["at_step"], 2);
    for (arguments, why) in [
        (
            ["shell", &run, "build", "--before-step", "5"],
            "before the steps 1, 2, 3, 4",
        ),
        (
            ["rerun", &run, "build", "--from-step", "4"],
            "unexpected argument",
        ),
    ] {
        let (code, text) = site.output(&arguments);
        assert!(code != Some(0) && text.contains(why), "{code:?} {text}");
    }
    let (code, text) = site.output(&["rerun", &run, "--from-step", "9"]);
    assert!(
        code == Some(1) && text.contains("409") && text.contains("before the steps"),
        "{text}"
    );

    // It goes on there: what was done before is not done again, what it knew is known.
    let (second, record, log) = from_step_four(&site, &run);
    assert_eq!(record["state"], "failed", "{record:#}\n{log}");
    assert_eq!(vm_of(&record, "build"), vm, "the same VM");
    assert!(
        log.contains(&format!(
            "goes on in the VM of the run {run}, before step 4"
        )),
        "{log}"
    );
    assert!(
        !log.contains("the-second-ran") && !log.contains("masked-in-step-one"),
        "{log}"
    );
    let line = log
        .lines()
        .find(|line| line.contains("attempt 2: "))
        .expect(&log);
    let words: Vec<&str> = line
        .split_once("attempt 2: ")
        .unwrap()
        .1
        .split(' ')
        .collect();
    assert!(
        words[0] == words[1] && words[1] == words[2] && words[3].starts_with("1\""),
        "{line}"
    );
    let made = words[0].to_owned();
    let done = &record["jobs"][0]["steps"];
    assert_eq!(done[0]["name"], "Make", "{done:#}");
    assert!(
        done[2]["reason"].as_str().unwrap().contains(&run),
        "{done:#}"
    );
    // The old run's VM is the new one's, with all that it can go back to.
    assert_eq!(steps(&site), [1, 2, 3, 4]);
    let (code, text) = site.output(&["rerun", &run, "--from-step", "4"]);
    assert!(
        code == Some(1) && text.contains("no VM of the run"),
        "{text}"
    );

    let (third, record, log) = from_step_four(&site, &second);
    assert_eq!(record["state"], "succeeded", "{record:#}\n{log}");
    assert_eq!(record["attempt"], 3);
    assert!(
        log.contains(&format!("attempt 3: {made} {made} {made} 1")),
        "{log}"
    );
    assert!(
        log.contains("the-last") && log.contains(&format!("got {made}")),
        "{log}"
    );
    // The cache that was met before the snapshot is saved at the end of the job that went on.
    assert!(log.contains("cache k-"), "{log}");
    let done = &record["jobs"][0]["steps"];
    let reason = done[0]["reason"].as_str().unwrap();
    assert!(reason.contains(&run), "where it was done: {done:#}");
    assert_eq!(site.manager.vms(), Vec::<Value>::new(), "{third}");
}

#[test]
fn i17_a_job_that_cannot_go_back_says_why_and_begins_at_its_first_step() {
    let mut site = Site::new("namespace-sandbox", "failed = true\nsnapshots = true");
    let (run, record) = site.run(WORKFLOW);
    assert_eq!(record["state"], "failed", "{record:#}\n{}", site.log(&run));
    let log = site.log(&run);
    assert!(
        log.contains("no snapshots are taken between steps: "),
        "{log}"
    );
    assert_eq!(
        log.matches("no snapshots are taken").count(),
        1,
        "said once: {log}"
    );
    let (code, text) = site.output(&["rerun", &run, "--from-step", "4"]);
    assert!(
        code == Some(1) && text.contains("no snapshots were taken"),
        "{text}"
    );
}
