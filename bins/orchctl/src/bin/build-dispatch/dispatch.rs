//! From a command to its exit code: which worker, which slot, which files.

use std::time::{Duration, Instant};

use config_core::Environment;

use crate::arguments::Arguments;
use crate::error::DispatchError;
use crate::session::{BuildJob, SlotReply, WorkerSession, request_slot};
use crate::stderr::print_message;
use crate::tree::TreeSnapshot;
use crate::watch::StopSignals;
use crate::workers::{self, BuildWorker};

/// Between two rounds of requests to full workers.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Runs the command on a worker; its exit code.
pub(crate) fn dispatch(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<u8, DispatchError> {
    let signals = StopSignals::watch().map_err(DispatchError::Wait)?;
    let workers = select_workers(arguments, environment)?;
    let variables = variables(&arguments.passed, environment)?;
    let directory = std::env::current_dir().map_err(DispatchError::Wait)?;
    let snapshot = TreeSnapshot::take(&directory, arguments.reference.as_deref(), &signals)?;
    print_message(&snapshot.origin());
    let id = uuid::Uuid::new_v4().simple().to_string();
    let job = BuildJob {
        id: &id,
        command: &arguments.command,
        prefix: &snapshot.prefix,
        variables: &variables,
    };
    let (worker, session) = acquire_slot(&workers, job, &signals)?;
    print_message(&format!("worker {}, slot {}", worker.name, session.slot));
    snapshot.send(worker, &format!("refs/builds/{id}"), &signals)?;
    let commit = snapshot.commit.clone();
    // Its temporary objects are not needed while the command runs.
    drop(snapshot);
    session.run(&commit, &signals)
}

fn select_workers(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<Vec<BuildWorker>, DispatchError> {
    let mut workers = match &arguments.config {
        Some(path) => {
            let text = std::fs::read(path);
            let text = text.map_err(|source| DispatchError::Unreadable {
                path: path.clone(),
                source,
            })?;
            workers::read(path, &text, environment).map_err(DispatchError::InvalidConfig)?
        }
        None => workers::defaults(),
    };
    if let Some(name) = &arguments.worker {
        let names: Vec<String> = workers.iter().map(|worker| worker.name.clone()).collect();
        workers.retain(|worker| worker.name == *name);
        if workers.is_empty() {
            return Err(DispatchError::NoWorker(name.clone(), names.join(", ")));
        }
    }
    Ok(workers)
}

fn variables(
    names: &[String],
    environment: &Environment,
) -> Result<Vec<(String, String)>, DispatchError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let each = names.iter().map(|name| {
        let is_name = name.bytes().all(allowed) && !name.starts_with(|c: char| c.is_ascii_digit());
        let value = environment
            .get(name)
            .ok()
            .flatten()
            .filter(|_| is_name && !name.is_empty());
        let value = value.ok_or_else(|| DispatchError::Variable(name.clone()))?;
        Ok((name.clone(), value.to_owned()))
    });
    each.collect()
}

/// The first free slot. A single worker queues the request itself; several are asked in turn, until
/// one has a free slot. A worker that does not answer is skipped as long as another one does.
fn acquire_slot<'w>(
    workers: &'w [BuildWorker],
    job: BuildJob<'_>,
    signals: &StopSignals,
) -> Result<(&'w BuildWorker, WorkerSession), DispatchError> {
    let alone = workers.len() == 1;
    let mut is_reported = false;
    loop {
        let mut failure = None;
        let mut answered = false;
        for worker in workers {
            match request_slot(worker, job, alone, signals) {
                Ok(SlotReply::Slot(session)) => return Ok((worker, session)),
                Ok(SlotReply::Full) => answered = true,
                Err(DispatchError::Unreachable(name)) => {
                    if !is_reported && !alone {
                        print_message(&format!("worker {name} cannot be reached"));
                    }
                    failure = Some(DispatchError::Unreachable(name));
                }
                Err(other) => return Err(other),
            }
        }
        if let Some(failure) = failure.filter(|_| !answered) {
            return Err(failure);
        }
        if !is_reported {
            print_message("all slots of all workers are taken; waiting");
            is_reported = true;
        }
        let next = Instant::now() + RETRY_INTERVAL;
        while Instant::now() < next {
            signals.check()?;
            signals.pause();
        }
    }
}
