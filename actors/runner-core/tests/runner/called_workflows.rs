//! Called workflows (page "Reuse workflows"): one call for each combination of the caller's matrix,
//! with fail-fast, max-parallel, concurrency, outputs and names.

use std::sync::Arc;

use runner_core::actions::NoActions;
use runner_core::expr::{ContextName, Contexts, ExprValue};
use runner_core::limits::MAX_OUTPUTS_BYTES;
use runner_core::plan::{
    Plan, PlanAction, PlanError, PlanInput, PlanState, StatusContexts, plan as make,
};
use runner_core::state::Conclusion;
use runner_core::workflow::parse;

const BUILD: &str = "on:
  workflow_call:
    inputs: {os: {type: string, required: true}, n: {type: number}}
    secrets: {S: {required: false}}
    outputs: {file: {value: '${{ jobs.pack.outputs.file }}'}}
jobs:
  make: {runs-on: '${{ inputs.os }}', steps: [{run: y}]}
  pack: {needs: make, runs-on: x, outputs: {file: 'f'}, steps: [{run: y}]}
";
const LARGE: &str = "on:
  workflow_call:
    outputs:
      a: {value: '${{ jobs.make.outputs.file }}'}
      b: {value: '${{ jobs.make.outputs.file }}'}
      c: {value: '${{ jobs.make.outputs.file }}'}
jobs:
  make: {runs-on: x, outputs: {file: f}, steps: [{run: y}]}
";
const CALLS_LARGE: &str = "  call: {uses: ./.github/workflows/large.yml}
  after: {needs: call, runs-on: '${{ needs.call.outputs.a }}', steps: [{run: y}]}
";
const GROUPED: &str = "on: {workflow_call: {inputs: {g: {type: string, default: own}}}}
concurrency: '${{ inputs.g }}'
jobs: {in: {runs-on: x, steps: [{run: y}]}}
";
const NESTED: &str = "on: {workflow_call: {inputs: {list: {type: string, required: true}}}}
jobs:
  each:
    strategy: {matrix: {os: '${{ fromJSON(inputs.list) }}'}}
    uses: ./.github/workflows/build.yml
    with: {os: '${{ matrix.os }}'}
";

fn files(path: &str) -> Option<Vec<u8>> {
    let text = match path {
        ".github/workflows/build.yml" => BUILD,
        ".github/workflows/grouped.yml" => GROUPED,
        ".github/workflows/large.yml" => LARGE,
        ".github/workflows/nested.yml" => NESTED,
        _ => return None,
    };
    Some(text.as_bytes().to_vec())
}

fn planned(jobs: &str) -> Result<Plan, PlanError> {
    let text = format!("on: push\njobs:\n{jobs}");
    let workflow = parse("ci.yml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let input = PlanInput {
        contexts: &Contexts::default(),
        files: &files,
        actions: &NoActions,
    };
    make(workflow.value, input)
}

/// A run without machines: jobs end as they are told to.
struct Run {
    state: PlanState,
    log: Vec<String>,
    open: Vec<(usize, usize)>,
    entering: Vec<(usize, usize)>,
}

impl Run {
    fn new(jobs: &str) -> Self {
        let plan = planned(jobs).unwrap_or_else(|error| panic!("{jobs}: {error}"));
        let base = Contexts::default().with(
            ContextName::Secrets,
            ExprValue::object::<&str, ExprValue>([]),
        );
        let mut run = Self {
            state: PlanState::new(Arc::new(plan), base),
            log: Vec::new(),
            open: Vec::new(),
            entering: Vec::new(),
        };
        run.go_on();
        run
    }

    fn key(&self, job: usize) -> String {
        self.state.plan().jobs[job].key.clone()
    }

    fn note(&mut self, actions: Vec<PlanAction>) {
        for action in actions {
            match action {
                PlanAction::Start { job, instance } => {
                    let copies = self.state.instances(job).expect("it was started");
                    let runs_on = &copies[instance].runs_on;
                    self.log
                        .push(format!("start {} on {}", self.key(job), runs_on.join(",")));
                    self.open.push((job, instance));
                }
                PlanAction::Cancel { job, instance } => {
                    self.log.push(format!("cancel {}", self.key(job)));
                    self.open.retain(|open| *open != (job, instance));
                }
                PlanAction::Ended {
                    job, conclusion, ..
                } => {
                    let how = conclusion.as_str();
                    self.log.push(format!("{how} {}", self.key(job)));
                }
                PlanAction::Enter {
                    job,
                    instance,
                    groups,
                } => {
                    let names: Vec<&str> = groups.iter().map(|it| it.name.as_str()).collect();
                    let (key, names) = (self.key(job), names.join("+"));
                    self.log.push(format!("enter {names} for {key}#{instance}"));
                    self.entering.push((job, instance));
                }
                PlanAction::Leave { job, instance } => {
                    self.log.push(format!("leave {}#{instance}", self.key(job)));
                }
            }
        }
    }

    fn go_on(&mut self) {
        let actions = self.state.advance();
        self.note(actions);
    }

    /// What happened since the last call.
    fn events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    fn end(&mut self, key: &str, conclusion: Conclusion, outputs: &[(&str, &str)]) {
        let at = self.open.iter().position(|(job, _)| self.key(*job) == key);
        let at = at.unwrap_or_else(|| panic!("{key} does not run: {:?}", self.log));
        let (job, instance) = self.open.remove(at);
        let outputs: Vec<(String, String)> = outputs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        self.state.finished(job, instance, conclusion, &outputs);
        self.go_on();
    }
}

const MATRIX: &str = "  call:
    strategy: {matrix: {os: [linux, bsd]}}
    uses: ./.github/workflows/build.yml
    with: {os: '${{ matrix.os }}'}
  after: {needs: call, runs-on: '${{ needs.call.outputs.file }}', steps: [{run: y}]}
";

#[test]
fn i17_a_workflow_is_called_once_for_each_combination() {
    let mut run = Run::new(MATRIX);
    assert_eq!(
        run.events(),
        ["start call#1/make on linux", "start call#2/make on bsd"]
    );
    run.end("call#1/make", Conclusion::Success, &[]);
    run.end("call#2/make", Conclusion::Success, &[]);
    assert_eq!(
        run.events(),
        ["start call#1/pack on x", "start call#2/pack on x"]
    );
    run.end("call#2/pack", Conclusion::Success, &[("file", "two")]);
    // The last that says something counts.
    run.end("call#1/pack", Conclusion::Success, &[("file", "one")]);
    assert_eq!(run.events(), ["start after on one"]);
    run.end("after", Conclusion::Success, &[]);
    assert_eq!(run.state.conclusion(), Some(Conclusion::Success));
}

/// Only those of the jobs in them were bounded: the workflow could name one 300 times.
#[test]
fn i17_the_outputs_of_a_called_workflow_are_bounded_as_those_of_a_job() {
    let mut run = Run::new(CALLS_LARGE);
    run.events();
    run.end("call/make", Conclusion::Success, &[("file", "x")]);
    assert_eq!(run.events(), ["start after on x"]);
    let mut run = Run::new(CALLS_LARGE);
    let large = "x".repeat(MAX_OUTPUTS_BYTES / 2);
    run.events();
    run.end("call/make", Conclusion::Success, &[("file", &large)]);
    assert_eq!(run.events(), ["failure call", "skipped after"]);
}

#[test]
fn i17_the_jobs_of_called_workflows_have_the_names_of_their_copies() {
    let plan = planned(MATRIX).unwrap();
    let names = StatusContexts::new(&plan, "CI", "push");
    let of = |key: &str| {
        let job = plan.jobs.iter().position(|job| job.key == key).unwrap();
        names.name(job)
    };
    assert_eq!(of("call#1/make"), "call (linux) / make");
    assert_eq!(of("call#2/pack"), "call (bsd) / pack");
    assert_eq!(of("after"), "after");
}

#[test]
fn i17_one_failed_call_ends_the_others_unless_fail_fast_is_off() {
    let mut run = Run::new(MATRIX);
    run.events();
    run.end("call#2/make", Conclusion::Failure, &[]);
    let events = run.events();
    for expected in [
        "cancel call#1/make",
        "skipped call#2/pack",
        "cancelled call#1/pack",
        "skipped after",
    ] {
        assert!(events.iter().any(|event| event == expected), "{events:?}");
    }
    assert_eq!(run.state.conclusion(), Some(Conclusion::Failure));

    let slow = MATRIX.replace("{matrix:", "{fail-fast: false, max-parallel: 1, matrix:");
    let mut run = Run::new(&slow);
    assert_eq!(run.events(), ["start call#1/make on linux"]);
    run.end("call#1/make", Conclusion::Failure, &[]);
    assert_eq!(
        run.events(),
        ["skipped call#1/pack", "start call#2/make on bsd"]
    );
    run.end("call#2/make", Conclusion::Success, &[]);
    run.end("call#2/pack", Conclusion::Success, &[("file", "two")]);
    assert_eq!(run.state.conclusion(), Some(Conclusion::Failure));
}

#[test]
fn i17_a_matrix_of_outputs_adds_its_calls_when_they_are_known() {
    let mut run = Run::new(
        "  list: {runs-on: x, outputs: {all: a}, steps: [{run: y}]}
  call:
    needs: list
    strategy: {matrix: {os: '${{ fromJSON(needs.list.outputs.all) }}'}}
    uses: ./.github/workflows/build.yml
    with: {os: '${{ matrix.os }}'}
  after: {needs: call, runs-on: '${{ needs.call.outputs.file }}', steps: [{run: y}]}
",
    );
    assert_eq!(run.state.plan().jobs.len(), 3);
    let names = StatusContexts::new(run.state.plan(), "CI", "push");
    run.events();
    run.end("list", Conclusion::Success, &[("all", r#"["a","b","c"]"#)]);
    let makes = ["a", "b", "c"];
    let starts: Vec<String> = makes
        .iter()
        .enumerate()
        .map(|(at, os)| format!("start call#{}/make on {os}", at + 1))
        .collect();
    assert_eq!(run.events(), starts);
    assert_eq!(run.state.plan().jobs.len(), 3 + 6);
    let names = names.extended(run.state.plan());
    let last = run.state.plan().jobs.len() - 1;
    assert_eq!(names.name(last), "call (c) / pack");
    for call in 1..=3 {
        run.end(&format!("call#{call}/make"), Conclusion::Success, &[]);
        let file = format!("f{call}");
        run.end(
            &format!("call#{call}/pack"),
            Conclusion::Success,
            &[("file", &file)],
        );
    }
    assert_eq!(run.events().last().unwrap(), "start after on f3");
}

#[test]
fn i17_calls_whose_copies_are_known_late_may_stand_in_each_other() {
    let mut run = Run::new(
        "  list: {runs-on: x, outputs: {all: a}, steps: [{run: y}]}
  top:
    needs: list
    strategy: {matrix: {list: '${{ fromJSON(needs.list.outputs.all) }}'}}
    uses: ./.github/workflows/nested.yml
    with: {list: '${{ matrix.list }}'}
",
    );
    run.events();
    let lists = r#"["[\"a\",\"b\"]","[\"c\"]"]"#;
    run.end("list", Conclusion::Success, &[("all", lists)]);
    let mut events = run.events();
    events.sort();
    assert_eq!(
        events,
        [
            "start top#1/each#1/make on a",
            "start top#1/each#2/make on b",
            "start top#2/each#1/make on c"
        ]
    );
    for call in ["top#1/each#1", "top#1/each#2", "top#2/each#1"] {
        for job in ["make", "pack"] {
            run.end(&format!("{call}/{job}"), Conclusion::Success, &[]);
        }
    }
    assert_eq!(run.state.conclusion(), Some(Conclusion::Success));
}

#[test]
fn i17_a_call_waits_for_its_caller_s_and_its_own_concurrency_group() {
    let jobs = "  a:
    concurrency: {group: caller}
    uses: ./.github/workflows/grouped.yml
";
    let mut run = Run::new(jobs);
    assert_eq!(run.events(), ["enter caller+own for a#0"]);
    let (job, copy) = run.entering[0];
    run.state.admitted(job, copy, true);
    run.go_on();
    assert_eq!(run.events(), ["start a/in on x"]);
    run.end("a/in", Conclusion::Success, &[]);
    assert_eq!(run.events(), ["leave a#0"]);
    assert_eq!(run.state.conclusion(), Some(Conclusion::Success));

    // A newer one took its place while it waited, or ends it while it runs.
    let mut run = Run::new(jobs);
    run.state.admitted(job, copy, false);
    run.go_on();
    assert!(run.events().contains(&"cancelled a/in".to_owned()));
    assert_eq!(run.state.conclusion(), Some(Conclusion::Cancelled));
    let mut run = Run::new(jobs);
    run.state.admitted(job, copy, true);
    run.go_on();
    run.events();
    let actions = run.state.cancel_call(job, copy);
    run.note(actions);
    run.go_on();
    assert_eq!(run.events(), ["leave a#0", "cancel a/in"]);
    assert_eq!(run.state.conclusion(), Some(Conclusion::Cancelled));

    // Both in one group would wait for each other for ever.
    let mut run = Run::new(
        "  a:
    concurrency: {group: G}
    uses: ./.github/workflows/grouped.yml
    with: {g: g}
",
    );
    assert!(run.events().contains(&"cancelled a".to_owned()));
}

#[test]
fn i17_what_a_caller_gives_is_compared_with_what_is_taken() {
    for (rest, expected) in [
        ("with: {os: a, n: 3}", None),
        ("with: {os: a, n: '${{ github.run_id }}'}", None),
        ("with: {os: a}\n    secrets: {S: x}", None),
        ("with: {os: a}\n    secrets: inherit", None),
        (
            "with: {os: a, n: many}",
            Some("the input `n` is `many`, expected a number"),
        ),
        ("with: {os: a, m: 1}", Some("build.yml has no input `m`")),
        ("with: {n: 1}", Some("the input `os` of")),
        (
            "with: {os: a}\n    secrets: {T: x}",
            Some("build.yml takes no secret `T`"),
        ),
    ] {
        let jobs = format!("  a:\n    uses: ./.github/workflows/build.yml\n    {rest}\n");
        let found = planned(&jobs).err().map(|error| error.to_string());
        match expected {
            None => assert_eq!(found, None, "{jobs}"),
            Some(expected) => {
                let found = found.unwrap_or_default();
                assert!(found.contains(expected), "{jobs}: {found}");
            }
        }
    }
}
