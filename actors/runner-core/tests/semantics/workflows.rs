//! Whole runs on the plan's state: needs, results, outputs, matrix, fail-fast, called workflows.

use std::collections::VecDeque;
use std::sync::Arc;

use runner_core::actions::NoActions;
use runner_core::expr::{ContextName, Contexts, ExprValue};
use runner_core::plan::{PlanAction, PlanInput, PlanState, plan};
use runner_core::state::Conclusion;
use runner_core::workflow::parse;

const NEEDS: &str = "Workflow syntax: jobs.<job_id>.needs";
const JOB_IF: &str = "Workflow syntax: jobs.<job_id>.if";
const OUTPUTS: &str = "Passing information between jobs";
const MATRIX: &str = "Running variations of jobs in a workflow";
const CONTINUE: &str = "Workflow syntax: jobs.<job_id>.continue-on-error";
const CALL: &str = "Reuse workflows";

/// Page, jobs, what ends how (copies that are not named succeed), what is seen.
pub(crate) const CASES: &[(&str, &str, &str, &str)] = &[
    (NEEDS, "{a: {}, b: {needs: a}}", "", "a b => success"),
    (
        NEEDS,
        "{a: {}, b: {needs: a}}",
        "a=failure",
        "a -b:skipped => failure",
    ),
    (
        NEEDS,
        "{a: {}, b: {needs: a}, c: {needs: [a, b]}}",
        "a=failure",
        "a -b:skipped -c:skipped => failure",
    ),
    (
        NEEDS,
        "{a: {}, b: {needs: a, if: always()}}",
        "a=failure",
        "a b => failure",
    ),
    (
        NEEDS,
        "{a: {if: false}, b: {needs: a}}",
        "",
        "-a:skipped -b:skipped => success",
    ),
    (
        NEEDS,
        "{a: {if: false}, b: {needs: a, if: always()}, c: {needs: b}}",
        "",
        "-a:skipped b -c:skipped => success",
    ),
    (NEEDS, "{A: {}, b: {needs: a}}", "", "A b => success"),
    (
        JOB_IF,
        "{a: {}, b: {needs: a, if: failure()}}",
        "",
        "a -b:skipped => success",
    ),
    (
        JOB_IF,
        "{a: {}, b: {needs: a, if: failure()}}",
        "a=failure",
        "a b => failure",
    ),
    (
        JOB_IF,
        "{a: {}, b: {needs: a, if: always()}, c: {needs: b, if: failure()}}",
        "a=failure",
        "a b c => failure",
    ),
    (
        JOB_IF,
        "{a: {}, b: {needs: a, if: \"needs.a.result == 'success'\"}}",
        "",
        "a b => success",
    ),
    (
        JOB_IF,
        "{a: {}, b: {needs: a, if: \"!cancelled() && needs.a.result == 'failure'\"}}",
        "a=failure",
        "a b => failure",
    ),
    (
        JOB_IF,
        "{a: {if: \"fromJSON('x')\"}}",
        "",
        "-a:failure => failure",
    ),
    (
        CONTINUE,
        "{a: {continue-on-error: true}, b: {needs: a}}",
        "a=failure",
        "a b => success",
    ),
    (
        CONTINUE,
        "{a: {continue-on-error: '${{ github.x }}'}, b: {needs: a}}",
        "",
        "-a:failure -b:skipped => failure",
    ),
    (
        OUTPUTS,
        "{a: {outputs: {v: x}}, b: {needs: a, name: \"n-${{ needs.a.outputs.v }}\"}}",
        "",
        "a n-out-of-a => success",
    ),
    (
        MATRIX,
        "{a: {strategy: {matrix: {v: [1, 2]}}}}",
        "",
        "a (1) a (2) => success",
    ),
    (
        MATRIX,
        "{a: {strategy: {matrix: {v: [1, 2]}}}, b: {needs: a}}",
        "a (1)=failure",
        "a (1) a (2) ×a (2) -b:skipped => failure",
    ),
    (
        MATRIX,
        "{a: {strategy: {fail-fast: false, matrix: {v: [1, 2]}}}}",
        "a (1)=failure",
        "a (1) a (2) => failure",
    ),
    (
        MATRIX,
        "{a: {strategy: {max-parallel: 1, matrix: {v: [1, 2]}}}}",
        "a (1)=failure",
        "a (1) => failure",
    ),
    (
        MATRIX,
        "{a: {strategy: {max-parallel: 1, matrix: {v: [1, 2]}}}}",
        "",
        "a (1) a (2) => success",
    ),
    (
        MATRIX,
        "{a: {continue-on-error: \"${{ matrix.x }}\", strategy: {matrix: {x: [true, false]}}}}",
        "a (true)=failure",
        "a (true) a (false) => success",
    ),
    (
        MATRIX,
        "{a: {}, b: {needs: a, strategy: {matrix: {v: \"${{ fromJSON(needs.a.outputs.list) }}\"}}}}",
        "",
        "a b (x) b (y) => success",
    ),
    (
        MATRIX,
        "{a: {}, b: {needs: a, strategy: {matrix: \"${{ fromJSON(needs.a.outputs.none) }}\"}}}",
        "",
        "a -b:failure => failure",
    ),
    (
        MATRIX,
        "{a: {name: \"T ${{ matrix.v }} of ${{ strategy.job-total }}\", strategy: {matrix: {v: [1, 2]}}}}",
        "",
        "T 1 of 2 T 2 of 2 => success",
    ),
    // No limit, as GitHub's own parser takes it.
    (
        MATRIX,
        "{a: {name: \"${{ matrix.v }} ${{ strategy.max-parallel }}\", strategy: {max-parallel: 0, matrix: {v: [1, 2]}}}}",
        "",
        "1 2 2 2 => success",
    ),
    (
        MATRIX,
        "{a: {name: \"${{ matrix.v }} ${{ strategy.max-parallel }}\", strategy: {max-parallel: 1.5, matrix: {v: [1, 2]}}}}",
        "",
        "1 1 2 1 => success",
    ),
    (
        CALL,
        "{a: {uses: ./called.yml, with: {who: me}}, z: {needs: a, name: \"z ${{ needs.a.outputs.result }}\"}}",
        "",
        "for me z out-of-inner => success",
    ),
    (
        CALL,
        "{a: {uses: ./called.yml, with: {who: me}}, z: {needs: a}}",
        "for me=failure",
        "for me -z:skipped => failure",
    ),
    (
        CALL,
        "{q: {}, a: {needs: q, uses: ./called.yml, with: {who: me}}}",
        "q=failure",
        "q -a:skipped -a/inner:skipped => failure",
    ),
];

const CALLED: &str = "on: {workflow_call: {inputs: {who: {type: string, required: true}}, outputs: {result: {value: '${{ jobs.inner.outputs.v }}'}}}}\n\
    jobs: {inner: {runs-on: x, name: 'for ${{ inputs.who }}', steps: [{run: y}]}}\n";

fn files(path: &str) -> Option<Vec<u8>> {
    let always =
        "on: workflow_call\njobs: {inner: {runs-on: x, if: always(), steps: [{run: y}]}}\n";
    match path {
        "called.yml" => Some(CALLED.as_bytes().to_vec()),
        "always.yml" => Some(always.as_bytes().to_vec()),
        _ => None,
    }
}

/// The jobs with a machine and a step each, unless they call.
fn workflow(jobs: &str) -> String {
    let mut json = String::new();
    let mut rest = jobs;
    // Every `id: {` at the second level gets what every job needs.
    let mut depth = 0;
    while let Some(at) = rest.find(['{', '}']) {
        json.push_str(&rest[..=at]);
        depth += if &rest[at..=at] == "{" { 1 } else { -1 };
        let inside = &rest[at + 1..];
        if depth == 2
            && &rest[at..=at] == "{"
            && !inside.starts_with("uses")
            && !inside.starts_with("needs: q, uses")
        {
            json.push_str("runs-on: x, steps: [{run: y}]");
            if !inside.starts_with('}') {
                json.push_str(", ");
            }
        }
        rest = inside;
    }
    format!("on: push\njobs: {json}{rest}\n")
}

fn run(jobs: &str, ends: &str) -> String {
    let text = workflow(jobs);
    let workflow = parse("ci.yml", text.as_bytes())
        .unwrap_or_else(|error| panic!("{error}"))
        .value;
    let contexts = Contexts::default().with(
        ContextName::Github,
        ExprValue::object([("x", "no boolean")]),
    );
    let plan = plan(
        workflow,
        PlanInput {
            contexts: &contexts,
            files: &files,
            actions: &NoActions,
        },
    )
    .expect("a plan");
    let plan = Arc::new(plan);
    let mut state = PlanState::new(plan.clone(), contexts);
    let mut seen: Vec<String> = Vec::new();
    let mut running: VecDeque<(usize, usize, String)> = VecDeque::new();
    loop {
        for action in state.advance() {
            match action {
                PlanAction::Start { job, instance } => {
                    let name = state.instances(job).expect("it was started")[instance]
                        .name
                        .clone();
                    seen.push(name.clone());
                    running.push_back((job, instance, name));
                }
                PlanAction::Cancel { job, instance } => {
                    let of = |running: &&(usize, usize, String)| {
                        (running.0, running.1) == (job, instance)
                    };
                    let name = &running.iter().find(of).expect("it was running").2;
                    seen.push(format!("×{name}"));
                }
                PlanAction::Ended {
                    job,
                    conclusion,
                    reason,
                } => {
                    assert!(!reason.is_empty());
                    seen.push(format!("-{}:{}", plan.jobs[job].key, conclusion.as_str()));
                }
                PlanAction::Enter { .. } | PlanAction::Leave { .. } => {
                    panic!("no case has groups of called workflows")
                }
            }
        }
        // One at a time: when it fails, the others are still running.
        let Some((job, instance, name)) = running.pop_front() else {
            break;
        };
        let failed = ends == format!("{name}=failure");
        let conclusion = if failed {
            Conclusion::Failure
        } else {
            Conclusion::Success
        };
        let outputs = [
            ("v".to_owned(), format!("out-of-{}", plan.jobs[job].id())),
            ("list".to_owned(), r#"["x","y"]"#.to_owned()),
        ];
        state.finished(job, instance, conclusion, &outputs);
    }
    let end = state
        .conclusion()
        .unwrap_or_else(|| panic!("{jobs}: the state stands still: {seen:?}"));
    format!("{} => {}", seen.join(" "), end.as_str())
}

#[test]
fn runs_go_as_documented() {
    for (page, jobs, ends, expected) in CASES {
        assert_eq!(run(jobs, ends), *expected, "{page}: {jobs} with {ends}");
    }
}

#[test]
fn a_cancelled_run_starts_only_what_asks_for_it() {
    let text = workflow(
        "{a: {}, b: {needs: a}, c: {needs: a, if: always()}, d: {needs: a, if: cancelled()}}",
    );
    let workflow = parse("ci.yml", text.as_bytes()).unwrap().value;
    let contexts = Contexts::default();
    let plan = Arc::new(
        plan(
            workflow,
            PlanInput {
                contexts: &contexts,
                files: &files,
                actions: &NoActions,
            },
        )
        .unwrap(),
    );
    let mut state = PlanState::new(plan, contexts);
    assert_eq!(
        state.advance(),
        [PlanAction::Start {
            job: 0,
            instance: 0
        }]
    );
    state.cancel();
    state.finished(0, 0, Conclusion::Cancelled, &[]);
    let actions = state.advance();
    let started: Vec<usize> = actions
        .iter()
        .filter_map(|action| match action {
            PlanAction::Start { job, .. } => Some(*job),
            _ => None,
        })
        .collect();
    assert_eq!(started, [2, 3]);
    let is_second = |action: &&PlanAction| {
        matches!(
            action,
            PlanAction::Ended {
                job: 1,
                conclusion: Conclusion::Cancelled,
                ..
            }
        )
    };
    assert_eq!(actions.iter().filter(is_second).count(), 1, "{actions:?}");
    state.finished(2, 0, Conclusion::Success, &[]);
    state.finished(3, 0, Conclusion::Success, &[]);
    state.advance();
    assert_eq!(state.conclusion(), Some(Conclusion::Cancelled));
}

/// Page "Workflow cancellation": "the server re-evaluates `if` conditions for all currently running
/// jobs".
#[test]
fn i17_jobs_go_on_whose_condition_holds_after_the_cancellation() {
    for (jobs, expected) in [
        ("{a: {}}", "a"),
        ("{a: {if: always()}}", ""),
        ("{a: {if: cancelled() || true}}", ""),
        ("{a: {if: '!cancelled()'}}", "a"),
        ("{a: {if: success() || failure()}}", "a"),
        ("{a: {if: \"always() && github.event_name == 'x'\"}}", ""),
        ("{a: {if: github.event_name != 'x'}}", "a"),
        ("{a: {uses: ./always.yml}}", "a/inner"),
        ("{a: {uses: ./always.yml, if: always()}}", ""),
        (
            "{a: {uses: ./called.yml, with: {who: me}, if: always()}}",
            "a/inner",
        ),
        (
            "{a: {if: always(), strategy: {matrix: {x: [1, 2]}}}, b: {strategy: {matrix: {x: [1, 2]}, max-parallel: 1}}}",
            "b",
        ),
    ] {
        let text = workflow(jobs);
        let workflow = parse("ci.yml", text.as_bytes()).unwrap().value;
        let contexts = Contexts::default();
        let input = PlanInput {
            contexts: &contexts,
            files: &files,
            actions: &NoActions,
        };
        let plan = Arc::new(plan(workflow, input).unwrap());
        let mut state = PlanState::new(plan.clone(), contexts);
        state.advance();
        let ended = |actions: Vec<PlanAction>| -> String {
            let ended = actions.iter().map(|action| match action {
                PlanAction::Cancel { job, .. } => plan.jobs[*job].key.as_str(),
                other => panic!("{jobs}: {other:?}"),
            });
            ended.collect()
        };
        assert_eq!(ended(state.cancel()), expected, "{jobs}");
        assert!(ended(state.cancel_all()).len() >= expected.len(), "{jobs}");
    }
}
