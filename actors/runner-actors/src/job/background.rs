//! Steps of a job that run beside those after them: `background`, `wait`, `wait-all`, `cancel`.
//!
//! ```text
//! step (background) ─fork─▶ StepRunner of its own ── ends ──▶ Ended
//! step, step, …     ◀─────── polled beside ─────────┘          │ wait, cancel, the job's end
//!                                                              ▼
//!                              outputs, variables, PATH, post stages are the job's from here on
//! ```
//! What such a step sets is known after the step that waits for it, and its failure fails that
//! one, as on GitHub (`BackgroundStepCoordinator` of its runner).

use std::future::Future;
use std::rc::Rc;

use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use runner_core::limits::MAX_BACKGROUND_STEPS;
use runner_core::plan::{PlannedStep, StepKind};
use runner_core::prepare;
use runner_core::state::{Conclusion, StepEnd};
use tokio::sync::{Semaphore, watch};

use super::fork::ForkBase;
use super::frame::{Frame, StepResult};
use super::step_runner::StepRunner;

/// The steps of a job in the background.
pub(super) struct BackgroundSteps<'a> {
    steps: Vec<BackgroundStep<'a>>,
    running: FuturesUnordered<LocalBoxFuture<'a, (usize, EndedStep<'a>)>>,
    slots: Rc<Semaphore>,
}

struct BackgroundStep<'a> {
    /// Its place among the steps of the job.
    place: usize,
    /// Its id in the file.
    id: Option<String>,
    /// Masked.
    name: String,
    /// Ends it, as far as its condition lets it be ended.
    cancel: Rc<watch::Sender<bool>>,
    /// Ends it whatever its condition says.
    cancel_step: watch::Sender<bool>,
    /// What it began with.
    base: ForkBase,
    /// It has ended, and the job does not know yet what it has set.
    ended: Option<Box<EndedStep<'a>>>,
    /// The job knows.
    known: Option<KnownEnd>,
}

struct EndedStep<'a> {
    runner: StepRunner<'a>,
    result: StepResult,
    forgiven: bool,
}

/// How a step ended that the job knows of.
#[derive(Clone)]
struct KnownEnd {
    end: StepEnd,
    conclusion: Conclusion,
    reason: Option<String>,
    /// A step has failed for it, or was told not to.
    is_counted: bool,
}

impl Default for BackgroundSteps<'_> {
    fn default() -> Self {
        Self {
            steps: Vec::new(),
            running: FuturesUnordered::new(),
            slots: Rc::new(Semaphore::new(MAX_BACKGROUND_STEPS)),
        }
    }
}

impl<'a> BackgroundSteps<'a> {
    /// Begins a step beside those after it: what it sees is what the job is now.
    pub(super) fn start(
        &mut self,
        runner: &StepRunner<'a>,
        place: usize,
        step: &'a PlannedStep,
        frame: &Frame,
    ) {
        let name = runner.step_name(step, frame);
        let (sender, cancel) = watch::channel(false);
        let (cancel_step, asked) = watch::channel(false);
        let sender = Rc::new(sender);
        let (fork, base) = runner.fork(cancel, asked);
        let index = self.steps.len();
        self.steps.push(BackgroundStep {
            place,
            id: step.id.clone(),
            name: runner.secrets.mask(&name),
            cancel: Rc::clone(&sender),
            cancel_step,
            base,
            ended: None,
            known: None,
        });
        let work = run_beside(fork, step, name, frame.clone(), Rc::clone(&self.slots));
        let mut of_job = runner.cancel.clone();
        self.running.push(Box::pin(async move {
            // The job's cancellation is that of the step.
            let relay = async {
                if of_job.wait_for(|cancelled| *cancelled).await.is_ok() {
                    sender.send_replace(true);
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                ended = work => (index, ended),
                () = relay => unreachable!("it never ends"),
            }
        }));
    }

    /// Something else of the job, while its steps in the background go on.
    pub(super) async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                Some((index, ended)) = self.running.next() => self.record_end(index, ended),
            }
        }
    }

    /// Whether the job knows of all of them how they ended.
    pub(super) fn is_settled(&self) -> bool {
        self.unknown().next().is_none()
    }

    /// Their places.
    fn unknown(&self) -> impl Iterator<Item = usize> {
        let unknown = self.steps.iter().filter(|step| step.known.is_none());
        unknown.map(|step| step.place)
    }

    /// Why the job fails for a step in the background that no step has failed for.
    fn uncounted_failure(&self) -> Option<String> {
        self.steps.iter().find_map(|step| {
            let known = step.known.as_ref().filter(|known| known.is_uncounted())?;
            Some(failed(&step.name, known.reason.as_deref()))
        })
    }

    fn record_end(&mut self, index: usize, ended: EndedStep<'a>) {
        self.steps[index].ended = Some(Box::new(ended));
    }

    fn at(&mut self, place: usize) -> Option<&mut BackgroundStep<'a>> {
        self.steps.iter_mut().find(|step| step.place == place)
    }

    /// Waits until those at these places have ended.
    async fn wait(&mut self, places: &[usize]) {
        let runs = |step: &BackgroundStep<'_>| step.ended.is_none() && step.known.is_none();
        while self
            .steps
            .iter()
            .any(|step| places.contains(&step.place) && runs(step))
        {
            let Some((index, ended)) = self.running.next().await else {
                return;
            };
            self.record_end(index, ended);
        }
    }

    /// What the job does not know yet of one that has ended.
    fn take_ended(&mut self, place: usize) -> Option<TakenStep<'a>> {
        let step = self.at(place)?;
        let EndedStep {
            runner,
            result,
            forgiven,
        } = *step.ended.take()?;
        let known = KnownEnd {
            end: result.end,
            conclusion: result.end.conclusion(forgiven),
            reason: result.reason.clone(),
            is_counted: false,
        };
        step.known = Some(known);
        Some(TakenStep {
            id: step.id.clone(),
            runner,
            base: std::mem::take(&mut step.base),
            outcome: result.end.outcome(),
            conclusion: result.end.conclusion(forgiven),
            outputs: result.outputs,
        })
    }

    fn names(&self, places: &[usize]) -> String {
        let named = self.steps.iter();
        let named = named.filter(|step| places.contains(&step.place));
        let names: Vec<&str> = named.map(|step| step.name.as_str()).collect();
        names.join(", ")
    }
}

impl KnownEnd {
    fn is_uncounted(&self) -> bool {
        self.conclusion == Conclusion::Failure && !self.is_counted
    }
}

struct TakenStep<'a> {
    id: Option<String>,
    runner: StepRunner<'a>,
    base: ForkBase,
    outcome: Conclusion,
    conclusion: Conclusion,
    outputs: Vec<(String, String)>,
}

fn failed(name: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{name}: {reason}"),
        None => format!("{name} failed"),
    }
}

/// One step with a runner of its own, once there is room for it.
async fn run_beside<'a>(
    mut runner: StepRunner<'a>,
    step: &'a PlannedStep,
    name: String,
    mut frame: Frame,
    slots: Rc<Semaphore>,
) -> EndedStep<'a> {
    let mut cancel = runner.cancel.clone();
    let slot = tokio::select! {
        slot = slots.acquire() => slot.ok(),
        _ = cancel.wait_for(|cancelled| *cancelled) => None,
    };
    let record = runner.start_step(&name).await;
    let failed_before = frame.failed;
    let (result, forgiven) = match slot {
        Some(_) => runner.judged_step(step, &mut frame, 0).await,
        None => (StepResult::cancelled(), false),
    };
    frame.failed |= result.end.conclusion(forgiven) == Conclusion::Failure;
    let result = runner.end_step(record, result, &frame, failed_before).await;
    EndedStep {
        runner,
        result,
        forgiven,
    }
}

impl<'a> StepRunner<'a> {
    /// A step of the job that waits for steps in the background, or ends one.
    pub(super) async fn control_step(
        &mut self,
        step: &PlannedStep,
        frame: &mut Frame,
        background: &mut BackgroundSteps<'a>,
    ) -> StepResult {
        let (places, verb) = match &step.work {
            StepKind::Wait(places) => (places.clone(), "Wait for"),
            StepKind::Cancel(place) => (vec![*place], "Cancel"),
            _ => (background.unknown().collect(), "Wait for"),
        };
        let name = match &step.name {
            None if !places.is_empty() => format!("{verb} {}", background.names(&places)),
            _ => self.step_name(step, frame),
        };
        let record = self.start_step(&name).await;
        let failed_before = frame.failed;
        let is_cancel = matches!(step.work, StepKind::Cancel(_));
        if is_cancel {
            for place in &places {
                if let Some(step) = background.at(*place) {
                    step.cancel_step.send_replace(true);
                    step.cancel.send_replace(true);
                }
            }
        }
        let result = self.wait_for(&places, is_cancel, frame, background).await;
        let forgiven = self.is_forgiven(step, frame, &result).await;
        let (outcome, conclusion) = (result.end.outcome(), result.end.conclusion(forgiven));
        frame.failed |= conclusion == Conclusion::Failure;
        if let Some(id) = &step.id {
            let result = prepare::step_result(outcome, conclusion, &[]);
            frame.steps.set(id, result);
        }
        self.end_step(record, result, frame, failed_before).await
    }

    /// After the job's last step: whatever still runs is waited for. Why the job fails, where a
    /// step in the background has failed and nothing failed for it.
    pub(super) async fn end_background(
        &mut self,
        frame: &mut Frame,
        background: &mut BackgroundSteps<'a>,
    ) -> Option<StepResult> {
        let left: Vec<usize> = background.unknown().collect();
        if !left.is_empty() {
            self.current.number += 1;
            let record = self
                .start_step("Wait for all steps in the background")
                .await;
            let failed_before = frame.failed;
            let result = self.wait_for(&left, false, frame, background).await;
            frame.failed |= result.end.outcome() == Conclusion::Failure;
            let result = self.end_step(record, result, frame, failed_before).await;
            if result.end.outcome() == Conclusion::Failure {
                return Some(result);
            }
        }
        let reason = background.uncounted_failure()?;
        frame.failed = true;
        Some(StepResult::error(reason))
    }

    /// Waits for steps in the background; what they have set is the job's then.
    async fn wait_for(
        &mut self,
        places: &[usize],
        is_cancel: bool,
        frame: &mut Frame,
        background: &mut BackgroundSteps<'a>,
    ) -> StepResult {
        background.wait(places).await;
        let mut result = StepResult::success(Vec::new());
        for place in places {
            if let Some(taken) = background.take_ended(*place) {
                self.take_over(taken, frame).await;
            }
            let Some(step) = background.at(*place) else {
                continue;
            };
            let name = step.name.clone();
            let Some(known) = &mut step.known else {
                continue;
            };
            let said = format!("{name}: {}", known.conclusion.as_str());
            self.log.info(self.current.number, &said).await;
            if known.end == StepEnd::Lost {
                return StepResult::lost(failed(&name, known.reason.as_deref()));
            }
            if is_cancel {
                continue;
            }
            match known.conclusion {
                Conclusion::Failure => {
                    known.is_counted = true;
                    if result.end != StepEnd::Error {
                        result = StepResult::error(failed(&name, known.reason.as_deref()));
                    }
                }
                Conclusion::Cancelled
                    if result.end == StepEnd::Exited(0) && self.is_cancelled() =>
                {
                    result = StepResult::cancelled();
                }
                _ => {}
            }
        }
        result
    }

    /// What a step in the background has set is the job's from here on.
    async fn take_over(&mut self, taken: TakenStep<'a>, frame: &mut Frame) {
        self.merge(taken.runner, &taken.base).await;
        if let Some(id) = &taken.id {
            let result = prepare::step_result(taken.outcome, taken.conclusion, &taken.outputs);
            frame.steps.set(id, result);
        }
    }
}
