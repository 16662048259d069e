//! `drain`: the leader hands over, at once or when its jobs have ended.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use config_core::{Environment, format_duration};
use http_clients::http::{Method, Request};
use serde_json::Value;

use crate::arguments::{exit_code, print, print_note};
use crate::runner_api::{RunnerApi, RunnerRefusal};
use crate::runner_options::RunnerDrainOptions;

/// Time between two looks at a leader that waits.
const INTERVAL: Duration = Duration::from_secs(2);
/// So long after a look jobs begin again, where no other look follows.
const HOLD_S: u64 = 30;
/// So long nobody may answer: one leads no more, and the next not yet.
const MAX_SILENCE: Duration = Duration::from_secs(60);
/// The time is over, and jobs had a machine.
const TIMED_OUT: u8 = 7;
/// What is said of a leader that did not come to hand over.
const LOST: &str = "the leader ended before it handed over, and another one leads: the jobs that ran \
                    are lost, or run again";

/// What the leader says of it.
enum Drain {
    /// It waits for so many jobs, and leads under this epoch.
    Waits(usize, Option<u64>),
    /// It hands over; so many jobs have not ended.
    HandsOver(usize),
    /// It has handed over, and another one leads; so many jobs had not ended.
    IsOver(usize),
    /// It ended before it handed over, and another one leads.
    IsLost,
}

impl Drain {
    fn from_answer(answer: &Value) -> Self {
        let jobs = answer["jobs"].as_u64().unwrap_or_default();
        let jobs = usize::try_from(jobs).unwrap_or(usize::MAX);
        match answer["status"].as_str() {
            Some("waiting") => Self::Waits(jobs, answer["epoch"].as_u64()),
            Some("over") => Self::IsOver(jobs),
            Some("lost") => Self::IsLost,
            _ => Self::HandsOver(jobs),
        }
    }
}

/// Has the runner that leads hand over.
pub(crate) fn run(options: &RunnerDrainOptions, environment: &Environment) -> ExitCode {
    let drained = RunnerApi::from_options(&options.runner, environment).and_then(|api| {
        let request = DrainRequest {
            api: &api,
            force: options.force,
        };
        match options.wait {
            Some(wait) => request.wait(wait),
            None => request.at_once(None).map(|_| 0),
        }
    });
    match drained {
        Ok(0) => {
            print("the leader hands over\n");
            ExitCode::SUCCESS
        }
        Ok(jobs) => {
            let waited = format_duration(options.wait.unwrap_or_default());
            print_note(&format!(
                "the leader hands over: {jobs} jobs had not ended after {waited}"
            ));
            ExitCode::from(TIMED_OUT)
        }
        Err(error) => exit_code(Err(error)),
    }
}

/// What is asked of the leader.
struct DrainRequest<'a> {
    api: &'a RunnerApi,
    force: bool,
}

impl DrainRequest<'_> {
    fn ask(&self, hold_s: Option<u64>, epoch: Option<u64>) -> anyhow::Result<Drain> {
        let mut url = self.api.url("admin/drain")?;
        let number = |name: &'static str, number: Option<u64>| Some((name, number?.to_string()));
        let force = self.force.then(|| ("force", "true".to_owned()));
        let parameters = [force, number("hold_s", hold_s), number("epoch", epoch)];
        for (name, value) in parameters.into_iter().flatten() {
            url.query_pairs_mut().append_pair(name, &value);
        }
        let answer = self.api.ask(Request::new(Method::Post, url))?;
        Ok(Drain::from_answer(&answer))
    }

    fn at_once(&self, epoch: Option<u64>) -> anyhow::Result<Drain> {
        self.ask(None, epoch)
    }

    /// Waits until no job has a machine, or the time is over; the jobs that had one then.
    fn wait(&self, wait: Duration) -> anyhow::Result<usize> {
        let begun = Instant::now();
        let Drain::Waits(_, epoch) = self.ask(Some(HOLD_S), None)? else {
            return Ok(0);
        };
        let (mut last, mut heard) = (None, Instant::now());
        loop {
            let left = wait.saturating_sub(begun.elapsed());
            let asked = if left.is_zero() {
                self.at_once(epoch)
            } else {
                self.ask(Some(HOLD_S), epoch)
            };
            match asked {
                Ok(Drain::IsOver(jobs) | Drain::HandsOver(jobs)) => return Ok(jobs),
                Ok(Drain::IsLost) => bail!(LOST),
                Ok(Drain::Waits(jobs, _)) => {
                    heard = Instant::now();
                    if last.replace(jobs) != Some(jobs) {
                        print_note(&format!("{jobs} jobs run, and none begins"));
                    }
                }
                Err(error) if is_final(&error) => return Err(error),
                Err(error) if heard.elapsed() > MAX_SILENCE => bail!("{error:#}"),
                // Whoever led ends, and the next leads in a moment.
                Err(_) => {}
            }
            std::thread::park_timeout(INTERVAL.min(left.max(Duration::from_millis(100))));
        }
    }
}

/// Whether asking again cannot help.
fn is_final(error: &anyhow::Error) -> bool {
    let refused = error.downcast_ref::<RunnerRefusal>();
    refused.is_some_and(|refused| refused.status < 500)
}
