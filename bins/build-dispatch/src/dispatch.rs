//! From a command to its exit code: which worker, which slot, which files.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use config_core::Environment;

use crate::arguments::Arguments;
use crate::session::{Answer, Job, Session, ask};
use crate::tree::Snapshot;
use crate::watch::Signals;
use crate::workers::{self, Worker};
use crate::{FAILED, say};

/// Between two rounds over full workers.
const ROUND: Duration = Duration::from_secs(1);

/// Why the command was not run to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The workers' file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The workers' file has mistakes.
    #[error("{0}")]
    Wrong(config_core::Diagnostics),
    /// No such worker.
    #[error("there is no worker `{0}`; there are: {1}")]
    NoWorker(String, String),
    /// A variable's name.
    #[error("--env {0:?} is not the name of a variable that is set here")]
    Variable(String),
    /// Not in a checkout.
    #[error("{} is in no git checkout: the files are sent by git", .0.display())]
    NoRepository(PathBuf),
    /// No such commit.
    #[error("--ref {0:?} names no commit of this repository: fetch it first")]
    NoCommit(String),
    /// git is missing.
    #[error("git cannot be started: {0}")]
    Git(io::Error),
    /// git said no.
    #[error("git {what}: {said}")]
    GitSaid { what: String, said: String },
    /// ssh is missing.
    #[error("ssh cannot be started: {0}")]
    Ssh(io::Error),
    /// One worker does not answer.
    #[error("worker {0} cannot be reached, or is no worker")]
    Unreachable(String),
    /// The connection broke while the command ran.
    #[error("the connection to the worker broke; what ran there was ended")]
    Lost,
    /// The system refused something.
    #[error("{0}")]
    Wait(io::Error),
    /// A signal came.
    #[error("interrupted")]
    Interrupted(u8),
}

impl Failure {
    /// 125, 2 for wrong usage, 128 + number for a signal.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Interrupted(signal) => 128 + signal,
            Self::NoWorker(..) | Self::Variable(_) | Self::NoCommit(_) => 2,
            _ => FAILED,
        }
    }
}

/// Runs the command on a worker; its exit code.
pub(crate) fn dispatch(arguments: &Arguments, environment: &Environment) -> Result<u8, Failure> {
    let signals = Signals::watch().map_err(Failure::Wait)?;
    let workers = chosen(arguments, environment)?;
    let variables = variables(&arguments.passed, environment)?;
    let folder = std::env::current_dir().map_err(Failure::Wait)?;
    let snapshot = Snapshot::take(&folder, arguments.reference.as_deref(), &signals)?;
    say(&snapshot.origin());
    let id = uuid::Uuid::new_v4().simple().to_string();
    let job = Job {
        id: &id,
        command: &arguments.command,
        prefix: &snapshot.prefix,
        variables: &variables,
    };
    let (worker, session) = slot(&workers, job, &signals)?;
    say(&format!("worker {}, slot {}", worker.name, session.slot));
    snapshot.send(worker, &format!("refs/builds/{id}"), &signals)?;
    let commit = snapshot.commit.clone();
    // What was made here for the transport is not needed any more, however long the command runs.
    drop(snapshot);
    session.run(&commit, &signals)
}

fn chosen(arguments: &Arguments, environment: &Environment) -> Result<Vec<Worker>, Failure> {
    let mut workers = match &arguments.config {
        Some(path) => {
            let text = std::fs::read(path);
            let text = text.map_err(|source| Failure::Unreadable {
                path: path.clone(),
                source,
            })?;
            workers::read(path, &text, environment).map_err(Failure::Wrong)?
        }
        None => workers::usual(),
    };
    if let Some(name) = &arguments.worker {
        let names: Vec<String> = workers.iter().map(|worker| worker.name.clone()).collect();
        workers.retain(|worker| worker.name == *name);
        if workers.is_empty() {
            return Err(Failure::NoWorker(name.clone(), names.join(", ")));
        }
    }
    Ok(workers)
}

fn variables(
    names: &[String],
    environment: &Environment,
) -> Result<Vec<(String, String)>, Failure> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let each = names.iter().map(|name| {
        let is_name = name.bytes().all(allowed) && !name.starts_with(|c: char| c.is_ascii_digit());
        let value = environment
            .get(name)
            .ok()
            .flatten()
            .filter(|_| is_name && !name.is_empty());
        let value = value.ok_or_else(|| Failure::Variable(name.clone()))?;
        Ok((name.clone(), value.to_owned()))
    });
    each.collect()
}

/// The first slot that is free. With one worker the queue is there; with several they are asked in
/// turn, until one has room. One that does not answer is passed over, as long as another does.
fn slot<'w>(
    workers: &'w [Worker],
    job: Job<'_>,
    signals: &Signals,
) -> Result<(&'w Worker, Session), Failure> {
    let alone = workers.len() == 1;
    let mut told = false;
    loop {
        let mut failure = None;
        let mut answered = false;
        for worker in workers {
            match ask(worker, job, alone, signals) {
                Ok(Answer::Slot(session)) => return Ok((worker, session)),
                Ok(Answer::Full) => answered = true,
                Err(Failure::Unreachable(name)) => {
                    if !told && !alone {
                        say(&format!("worker {name} cannot be reached"));
                    }
                    failure = Some(Failure::Unreachable(name));
                }
                Err(other) => return Err(other),
            }
        }
        if let Some(failure) = failure.filter(|_| !answered) {
            return Err(failure);
        }
        if !told {
            say("all slots of all workers are taken; waiting");
            told = true;
        }
        let next = Instant::now() + ROUND;
        while Instant::now() < next {
            signals.check()?;
            signals.pause();
        }
    }
}
