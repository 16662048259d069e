//! A run's record and its commit statuses: every change of both is one transaction.

use std::sync::Arc;

use forge_actors::OutboxWorker;
use forge_actors::messages::Wake;
use forge_actors::outbox::{self, StatusAdmission, StatusTarget};
use forge_core::{
    CommitSha, CommitState, CommitStatus, ObjectFormats, RepoName, RunId, StatusContext,
};
use runner_core::plan::run_context;
use runner_core::state::{Conclusion, RunProgress, RunState};
use runner_core::truncation::truncate_reason;
use store::{Store, StoreError, WriteTxn};
use supervision::ChildRef;
use tokio::sync::watch;
use url::Url;

use crate::clock::now_ms;
use crate::counters::RunCounters;
use crate::event::StoredEvent;
use crate::followers::{self, follower};
use crate::log::{LineKind, LogLine, Logs};
use crate::records::{JobRecord, RunRecord, StepRecord};
use crate::rows::{self, NewRunRows};
use crate::run_queue::RunQueue;
use crate::store_retry::{until_read, until_stored};
use crate::summary_rows::{self, NewSummary};
use crate::test_rows::NewJobTests;

/// Whose token posts statuses.
pub(crate) const ACCOUNT: &str = "runner";

/// A change of a commit status.
#[derive(Debug, Clone)]
pub(crate) struct StatusChange {
    pub(crate) context: String,
    pub(crate) state: CommitState,
    pub(crate) description: String,
    /// It is said of the run as a whole.
    pub(crate) of_run: bool,
}

/// Where records, statuses and log lines of runs go; clones share it.
#[derive(Clone)]
pub(crate) struct RunRecorder {
    pub(crate) store: Store,
    pub(crate) logs: Logs,
    /// With a forge token.
    pub(crate) outbox: Option<ChildRef<OutboxWorker>>,
    /// Where people read runs: the base of `target_url`.
    pub(crate) public_url: Option<Url>,
    pub(crate) counters: Arc<RunCounters>,
    /// Counts changes of records, for those who show them.
    pub(crate) changed: watch::Sender<u64>,
    /// Where runs go that begin beside one, or follow it.
    pub(crate) queue: RunQueue,
}

/// The record of one run, with the only right to change it.
pub(crate) struct RunLedger {
    pub(crate) recorder: RunRecorder,
    pub(crate) record: RunRecord,
    pub(crate) event: Arc<StoredEvent>,
    /// Runs that are stored with the next change of the record, or not at all.
    pub(crate) beginning: Vec<NewRunRows>,
    /// Summaries of steps that are stored with the next change of the record.
    pub(crate) summaries: Vec<NewSummary>,
    /// Why the record was not stored as it was: it lost what made it large, and the run ends.
    pub(crate) oversized: Option<String>,
}

impl RunLedger {
    /// A stored run with its event, as soon as the store can be read; `None`: one of them is
    /// missing.
    ///
    /// # Errors
    /// This process has the store no more, or the rows cannot be read.
    pub(crate) async fn load(recorder: &RunRecorder, id: &str) -> Result<Option<Self>, StoreError> {
        let loaded = until_read(id, || {
            let key = id.to_owned();
            recorder.store.read(move |rows| {
                Ok::<_, StoreError>((rows::run(rows, &key)?, rows::event(rows, &key)?))
            })
        });
        let (record, event) = loaded.await.inspect_err(|error| {
            tracing::error!(event = "run.store_failed", run = %id, %error, "a run's record cannot be read");
        })?;
        Ok(record.zip(event).map(|(record, event)| Self {
            recorder: recorder.clone(),
            record,
            event: Arc::new(event),
            beginning: Vec::new(),
            summaries: Vec::new(),
            oversized: None,
        }))
    }

    /// Goes over to a state; one that may not follow is an error of ours, logged and not done.
    pub(crate) fn become_state(&mut self, state: RunState) {
        if self.record.state == state {
            return;
        }
        match self.record.state.become_state(state) {
            Ok(state) => self.record.state = state,
            Err(error) => {
                tracing::error!(event = "run.wrong_transition", run = %self.record.id, %error, "a run would have changed its state wrongly");
                return;
            }
        }
        if state.is_terminal() {
            let now = now_ms();
            self.record.ended_at = Some(now);
            let took = now.saturating_sub(self.record.created_at);
            self.recorder.counters.run_ended(state, took);
        }
    }

    /// Stores the record, the statuses and the runs that begin with it; a store that is full or
    /// busy is waited for, because the truth must be told. One that was taken over by another
    /// leader, or closed, is not: the next leader says what became of the run. A record that is too
    /// large for the store loses what makes it so, and the run ends ([`RunLedger::oversized`]).
    /// Whether they are stored.
    pub(crate) async fn save(&mut self, statuses: Vec<StatusChange>) -> bool {
        self.notify_followers().await;
        let beginning = std::mem::take(&mut self.beginning);
        let ids: Vec<String> = beginning.iter().map(|new| new.id().to_owned()).collect();
        let mut summaries = Arc::new(std::mem::take(&mut self.summaries));
        let (statuses, beginning) = (Arc::new(statuses), Arc::new(beginning));
        while let Err(error) = until_stored(&self.record.id, "the record of a run", || {
            let beside = (Arc::clone(&beginning), Arc::clone(&summaries));
            self.store(Arc::clone(&statuses), beside)
        })
        .await
        {
            if !error.is_refused() {
                return false;
            }
            let has_shrunk = self.record.shrink();
            if !has_shrunk && summaries.is_empty() {
                return false;
            }
            summaries = Arc::default();
            let reason = format!("the record of the run cannot be stored: {error}");
            self.oversized.get_or_insert(reason);
        }
        for id in ids {
            self.recorder.queue.push(id);
        }
        self.recorder.changed.send_modify(|count| *count += 1);
        if !statuses.is_empty()
            && let Some(outbox) = &self.recorder.outbox
        {
            // A outbox that is being restarted looks for what is due when it starts.
            let _ = outbox.tell(Wake);
        }
        true
    }

    /// Runs that follow this one begin with what is stored next, where it has come further.
    async fn notify_followers(&mut self) {
        let untold = followers::untold(&self.record);
        let Some(last) = untold.last() else { return };
        let store = &self.recorder.store;
        let known = until_read(&self.record.id, || {
            let repository = self.record.repository.clone();
            store.read(move |rows| rows::load_repository(rows, &repository))
        });
        // Without the store the record is not stored either.
        let Ok(known) = known.await else { return };
        let page = self.page();
        self.record.announced = Some(*last);
        let run = (&self.record, &*self.event);
        let begin = |step: &RunProgress| follower(*step, known.as_ref()?, run, page.as_ref());
        let following: Vec<NewRunRows> = untold.iter().filter_map(begin).collect();
        self.beginning.extend(following);
    }

    /// Takes a step's summary out of its record: it is stored beside that of the run, with its next
    /// change, while there is room.
    pub(crate) async fn take_summary(&mut self, job: usize, step: &mut StepRecord) {
        let job = &self.record.jobs[job];
        let Some(summary) = NewSummary::taken(&self.record.id, job, step) else {
            return;
        };
        let bytes = step.summary_bytes.unwrap_or_default();
        if summary_rows::bytes_of(&self.record).saturating_add(bytes) <= summary_rows::MAX_OF_RUN {
            self.summaries.push(summary);
            return;
        }
        step.summary_bytes = None;
        let text = format!(
            "{}, step {}: its summary of {bytes} bytes is left out: those of a run have {} MiB together at most",
            job.name,
            step.number,
            summary_rows::MAX_OF_RUN >> 20
        );
        self.log_line(LineKind::Warning, &text).await;
    }

    /// The run's page.
    fn page(&self) -> Option<Url> {
        let base = self.recorder.public_url.as_ref()?;
        base.join(&format!("runs/{}", self.record.id)).ok()
    }

    /// Stores the tests of a job, as [`RunLedger::save`] does the record.
    pub(crate) async fn save_tests(&self, tests: NewJobTests) {
        let store = &self.recorder.store;
        let write = || {
            let tests = tests.clone();
            store.write(move |rows| tests.put(rows))
        };
        // Whoever leads now has them of the job's next run.
        let _ = until_stored(&self.record.id, "the tests of a job", write).await;
    }

    async fn store(
        &self,
        statuses: Arc<Vec<StatusChange>>,
        (beginning, summaries): (Arc<Vec<NewRunRows>>, Arc<Vec<NewSummary>>),
    ) -> Result<(), StoreError> {
        let record = self.record.clone();
        let target_url = self.page();
        let posts = self.recorder.outbox.is_some();
        let write = self.recorder.store.write(move |rows| {
            rows::put_run(rows, &record)?;
            for summary in summaries.iter() {
                summary.put(rows)?;
            }
            for new in beginning.iter() {
                new.clone().put_once(rows)?;
            }
            if !posts {
                return Ok(());
            }
            let (Ok(repo), Ok(sha), Ok(owner)) = (
                record.repository.parse::<RepoName>(),
                CommitSha::parse(&record.sha, ObjectFormats::Sha1AndSha256),
                record.id.parse::<RunId>(),
            ) else {
                return Ok(());
            };
            for change in statuses.iter() {
                let context = match change.context.parse::<StatusContext>() {
                    Ok(context) => context,
                    Err(error) => {
                        tracing::error!(event = "run.status_lost", run = %record.id, %error, "a status has a context that no forge takes");
                        continue;
                    }
                };
                let status = CommitStatus {
                    context,
                    state: change.state,
                    description: change.description.clone(),
                    target_url: target_url.as_ref().map(ToString::to_string),
                };
                let clears = change.of_run && change.state == CommitState::Success;
                if clears
                    && !outbox::is_bad(rows, &repo, &sha, &status.context)?
                    && !is_owed(rows, (&repo, &sha, &owner), &status.context)?
                {
                    continue;
                }
                if change.state == CommitState::Pending || change.of_run {
                    let target = StatusTarget {
                        account: ACCOUNT.to_owned(),
                        repo: repo.clone(),
                        sha: sha.clone(),
                    };
                    let begun = outbox::start_status(rows, &target, &owner, &status, now_ms())?;
                    // It said before that it waits, perhaps for something else.
                    if begun != StatusAdmission::Enqueued {
                        outbox::update_status(rows, &repo, &sha, &owner, &status, now_ms())?;
                    }
                } else {
                    outbox::update_status(rows, &repo, &sha, &owner, &status, now_ms())?;
                }
            }
            if record.state.is_terminal() {
                end_open_statuses(rows, (&repo, &sha, &owner), &record)?;
            }
            Ok(())
        });
        write.await
    }

    /// Says in a job's log that it runs again, and why.
    pub(crate) async fn log_rerun(&self, job: String, text: &str) {
        tracing::warn!(event = "run.job_again", run = %self.record.id, job, "{text}");
        let line = LogLine {
            at: now_ms(),
            job,
            step: 0,
            kind: LineKind::Warning,
            text: text.to_owned(),
        };
        self.recorder.logs.write(&self.record.id, line).await;
    }

    /// Says something in the run's log.
    pub(crate) async fn log_line(&self, kind: LineKind, text: &str) {
        for text in text.lines() {
            let line = LogLine {
                at: now_ms(),
                job: String::new(),
                step: 0,
                kind,
                text: text.to_owned(),
            };
            self.recorder.logs.write(&self.record.id, line).await;
        }
    }

    /// Ends the run with a reason; jobs that have no end get one, and so do their statuses.
    pub(crate) async fn end(&mut self, state: RunState, reason: Option<String>) {
        let open = self
            .record
            .jobs
            .iter_mut()
            .filter(|job| job.conclusion.is_none());
        let mut statuses = Vec::new();
        for job in open {
            let why = reason.as_deref().unwrap_or("the run ended");
            job.conclusion = Some(if state == RunState::Cancelled {
                Conclusion::Cancelled
            } else {
                Conclusion::Failure
            });
            job.reason = Some(truncate_reason(why));
            job.ended_at = Some(now_ms());
            statuses.push(job_status(job));
        }
        statuses.extend(self.of_whole_run(state, reason.as_deref()));
        if let Some(reason) = &reason {
            let kind = if state == RunState::Succeeded {
                LineKind::Info
            } else {
                LineKind::Error
            };
            self.log_line(kind, reason).await;
        }
        let reason = reason.as_deref().map(truncate_reason);
        self.record.reason = reason.or(self.record.reason.take());
        self.become_state(state);
        self.save(statuses).await;
    }

    /// A run that did not do what it should says so, also when none of its jobs can: it had none
    /// yet, or all that ended are well.
    fn of_whole_run(&self, state: RunState, reason: Option<&str>) -> Option<StatusChange> {
        let record = &self.record;
        if !state.is_terminal() || matches!(state, RunState::Succeeded | RunState::Ignored) {
            return None;
        }
        let is_bad = |job: &JobRecord| {
            matches!(
                job.conclusion,
                Some(Conclusion::Failure | Conclusion::Cancelled)
            )
        };
        // Whoever starts one by hand reads it there; no commit turns red by a wrong request.
        let by_hand = record.event == "workflow_dispatch" && record.jobs.is_empty();
        if by_hand || record.jobs.iter().any(is_bad) {
            return None;
        }
        let first = reason.unwrap_or_default().lines().next();
        Some(StatusChange {
            context: run_context(record.workflow_file.as_deref(), &record.event),
            state: CommitState::Error,
            description: first.unwrap_or_default().to_owned(),
            of_run: true,
        })
    }

    /// What a previous run of the commit said of itself as a whole is over: this one knows what it
    /// does.
    pub(crate) fn clearing(&self) -> Vec<StatusChange> {
        let file = self.record.workflow_file.as_deref();
        let files = [None].into_iter().chain(file.map(Some));
        files
            .map(|file| StatusChange {
                context: run_context(file, &self.record.event),
                state: CommitState::Success,
                description: "a later run of this commit could begin".to_owned(),
                of_run: true,
            })
            .collect()
    }
}

/// Whether the run has said of this context that it waits.
fn is_owed(
    rows: &mut WriteTxn<'_>,
    (repo, sha, owner): (&RepoName, &CommitSha, &RunId),
    context: &StatusContext,
) -> Result<bool, StoreError> {
    let mut owed = outbox::obligations(rows, repo, sha)?.into_iter();
    Ok(owed.any(|owed| {
        owed.owner == *owner
            && owed.status.context == *context
            && owed.status.state == CommitState::Pending
    }))
}

/// A run that has ended owes no status: what it began before a restart, by a plan that is not in
/// its record any more, ends with it.
fn end_open_statuses(
    rows: &mut WriteTxn<'_>,
    (repo, sha, owner): (&RepoName, &CommitSha, &RunId),
    record: &RunRecord,
) -> Result<(), StoreError> {
    for owed in outbox::obligations(rows, repo, sha)? {
        if owed.owner != *owner || owed.status.state != CommitState::Pending {
            continue;
        }
        let reason = record.reason.as_deref().unwrap_or_default().lines().next();
        let status = CommitStatus {
            // An event that starts nothing holds nothing up.
            state: if record.state == RunState::Ignored {
                CommitState::Success
            } else {
                CommitState::Error
            },
            description: reason.unwrap_or("the run has ended").to_owned(),
            ..owed.status
        };
        outbox::update_status(rows, repo, sha, owner, &status, now_ms())?;
    }
    Ok(())
}

/// What a job that succeeded has deployed to, as its status says it.
fn deployed(job: &JobRecord) -> Option<String> {
    let environment = job.environment.as_ref().filter(|it| it.deployment)?;
    let url = environment.url.as_ref();
    let url = url.map(|url| format!(": {url}")).unwrap_or_default();
    let succeeded = job.conclusion == Some(Conclusion::Success);
    succeeded.then(|| format!(", deployed to {}{url}", environment.name))
}

/// The status of a job's copy as it stands.
pub(crate) fn job_status(job: &JobRecord) -> StatusChange {
    let (state, word) = match job.conclusion {
        None => (CommitState::Pending, "waiting or running"),
        Some(Conclusion::Success) => (CommitState::Success, "successful"),
        // A job that need not run holds nothing up.
        Some(Conclusion::Skipped) => (CommitState::Success, "skipped"),
        Some(Conclusion::Failure) => (CommitState::Failure, "failed"),
        Some(Conclusion::Cancelled) => (CommitState::Error, "cancelled"),
    };
    let took = job
        .started_at
        .zip(job.ended_at)
        .map(|(from, to)| to.saturating_sub(from) / 1000);
    let took = took
        .map(|seconds| format!(" in {seconds} s"))
        .unwrap_or_default();
    let isolation = job
        .isolation
        .as_ref()
        .map(|isolation| format!(" ({isolation})"))
        .unwrap_or_default();
    let reason = job
        .reason
        .as_ref()
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    let said = format!("{word}{took}{isolation}");
    // "cancelled while it waited" says the word itself.
    let (said, reason) = match reason.strip_prefix(": ") {
        Some(reason) if reason.starts_with(&format!("{said} ")) => (reason.to_owned(), ""),
        _ => (said, reason.as_str()),
    };
    let deployed = deployed(job).unwrap_or_default();
    let tests = job.tests.filter(|tests| tests.total > 0);
    let tests = tests
        .map(|tests| format!(", {}", tests.line()))
        .unwrap_or_default();
    StatusChange {
        context: job.context.clone(),
        state,
        description: format!("{said}{tests}{deployed}{reason}"),
        of_run: false,
    }
}

#[cfg(test)]
pub(crate) mod tests;
