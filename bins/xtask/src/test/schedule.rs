//! Runs the steps, two beside each other where they bear it; each one's output stays in one piece.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::busy::Ticks;
use super::counts::TestRunCounts;
use super::plan;
use super::setting::StepSettings;
use super::steps::TestStep;
use super::summary::{StepRow, TestStepResult};
use crate::output::TaskOutput;
use crate::terminal;

/// The lowest priority of a process.
const GIVES_WAY: i32 = 19;

/// A step under way.
struct Running<'s> {
    step: &'s TestStep,
    output: TaskOutput,
}

/// Runs the steps; their rows are in the order of the steps.
pub(super) fn run(steps: &[&TestStep], setting: &StepSettings<'_>) -> Vec<StepRow> {
    match steps {
        // With the terminal to itself, programs show their progress.
        [step] => vec![run_step(step, setting)],
        steps => run_beside(steps, setting),
    }
}

fn run_beside(steps: &[&TestStep], setting: &StepSettings<'_>) -> Vec<StepRow> {
    let mut waiting = steps.to_vec();
    // In the order of their start: the first has the terminal.
    let mut running: Vec<Running<'_>> = Vec::new();
    // Of those that ended while another one had it.
    let mut kept: Vec<TaskOutput> = Vec::new();
    let mut rows = Vec::new();
    let (ended, ends) = mpsc::channel();
    thread::scope(|scope| {
        loop {
            let at_work: Vec<&TestStep> = running.iter().map(|running| running.step).collect();
            if let Some(at) = plan::next(&waiting, &at_work) {
                let (step, output) = (waiting.remove(at), TaskOutput::kept());
                if running.is_empty() {
                    output.show();
                }
                let (ended, own) = (ended.clone(), output.clone());
                scope.spawn(move || {
                    terminal::print_to(Some(own));
                    // It is listened to until the last one has ended.
                    let _ = ended.send(run_apart(step, setting));
                });
                running.push(Running { step, output });
                continue;
            }
            if running.is_empty() {
                break;
            }
            let Ok(row) = ends.recv() else { break };
            let at = running
                .iter()
                .position(|running| running.step.name == row.name);
            let output = at.map(|at| running.remove(at).output);
            rows.push(row);
            kept.extend(output);
            if at == Some(0) {
                kept.drain(..).for_each(|output| output.show());
                running
                    .iter()
                    .take(1)
                    .for_each(|running| running.output.show());
            }
        }
    });
    rows.sort_by_key(|row| steps.iter().position(|step| step.name == row.name));
    rows
}

/// Runs the step in a thread of its own: one that panics has failed, the others go on.
fn run_apart(step: &TestStep, setting: &StepSettings<'_>) -> StepRow {
    let start = Instant::now();
    if step.work.gives_way() {
        // Of this thread, and of what it starts. Without it all runs too.
        let _ = rustix::process::nice(GIVES_WAY);
    }
    catch_unwind(AssertUnwindSafe(|| run_step(step, setting))).unwrap_or_else(|_| {
        let row = StepRow {
            name: step.name,
            counts: TestRunCounts::default(),
            outcome: TestStepResult::Failed("it panicked".to_owned()),
            seconds: start.elapsed().as_secs_f64(),
            busy: None,
        };
        terminal::line(&format!("━━ {}", row.verdict()));
        row
    })
}

fn run_step(step: &TestStep, setting: &StepSettings<'_>) -> StepRow {
    terminal::heading(&format!("{}: {}", step.name, step.about));
    let (start, ticks) = (Instant::now(), Ticks::now());
    let (counts, outcome) = match (step.run)(setting) {
        Ok(done) => done,
        Err(error) => (
            TestRunCounts::default(),
            TestStepResult::Failed(format!("{error:#}")),
        ),
    };
    let row = StepRow {
        name: step.name,
        counts,
        outcome,
        seconds: start.elapsed().as_secs_f64(),
        busy: Ticks::busy_since(ticks),
    };
    terminal::line(&format!("━━ {}", row.verdict()));
    row
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use anyhow::bail;

    use super::super::setting::{StepReport, passed};
    use super::super::work::Work;
    use super::*;
    use crate::project::ProjectCheckout;

    static MEETING: Barrier = Barrier::new(2);

    fn meet(_: &StepSettings<'_>) -> StepReport {
        MEETING.wait();
        passed()
    }

    fn fail(_: &StepSettings<'_>) -> StepReport {
        bail!("it is broken")
    }

    fn panic(_: &StepSettings<'_>) -> StepReport {
        panic!("at the step")
    }

    const fn step(
        name: &'static str,
        run: fn(&StepSettings<'_>) -> StepReport,
        work: Work,
    ) -> TestStep {
        TestStep {
            name,
            about: "",
            run,
            work,
            after: &[],
            on_request: false,
        }
    }

    #[test]
    fn i14_steps_stand_beside_each_other_and_those_that_fail_are_named() {
        let project = ProjectCheckout::find().expect("tests run inside the checkout");
        let setting = StepSettings::new(&project, 0, false);
        let steps = [
            step("broken", fail, Work::Alone),
            // Neither ends before the other has begun.
            step("waits", meet, Work::Programs),
            step("panics", panic, Work::Alone),
            step("computes", meet, Work::Compiles),
        ];
        let rows = run(&steps.each_ref(), &setting);
        let ends: Vec<_> = rows.iter().map(|row| (row.name, row.failed())).collect();
        assert_eq!(
            ends,
            [
                ("broken", true),
                ("waits", false),
                ("panics", true),
                ("computes", false)
            ]
        );
        assert!(rows[2].verdict().ends_with("it panicked"));
        let alone = run(&[&steps[0]], &setting);
        assert!(alone[0].verdict().ends_with("it is broken"));
    }
}
