//! A transaction of the ledger: the rows, the time, the configuration, and the journal entries that
//! are logged once the transaction is durable.

use forge_actors::outbox::{self, StatusTarget};
use forge_core::{CommitState, RunId};
use orchestrator_core::Millis;
use orchestrator_core::config::Config;
use orchestrator_core::intake::AgentKey;
use orchestrator_core::obligation::{Obligation, conclusion};
use orchestrator_core::run::{Run, Subject};
use orchestrator_core::verdict::Verdict;
use store::{ReadRows, StoreError, WriteTxn};

use super::rows::{
    CONTEXTS, ContextRow, Flag, HEADS, HeadRow, JOURNAL, JournalRow, MAX_JOURNAL, OPEN, OWED,
    OpenRow, OwedRow, PULL_RUNS, RUNS, RunRow, folded,
};
use crate::journal::{JournalEvent, RecordedEvent, status_text};
use orchestrator_core::run::RunContext;

/// The name by which the orchestrator's own forge token is known to the outbox worker.
pub(crate) const OWN_ACCOUNT: &str = "orchestrator";

/// An open transaction of the ledger.
pub struct LedgerTxn<'t, 'db> {
    pub(super) rows: &'t mut WriteTxn<'db>,
    pub(super) config: &'t Config,
    pub(super) now: Millis,
    entries: Vec<RecordedEvent>,
}

impl<'t, 'db> LedgerTxn<'t, 'db> {
    /// A transaction at `now`, under this configuration.
    pub fn new(rows: &'t mut WriteTxn<'db>, config: &'t Config, now: Millis) -> Self {
        Self {
            rows,
            config,
            now,
            entries: Vec::new(),
        }
    }

    /// The entries to log once the transaction is durable.
    pub fn entries(self) -> Vec<RecordedEvent> {
        self.entries
    }

    /// Appends an event to the journal.
    ///
    /// # Errors
    /// The store's.
    pub fn journal(&mut self, entry: RecordedEvent) -> Result<(), StoreError> {
        let next = self.rows.last(&JOURNAL)?.map_or(1, |(seq, _)| seq + 1);
        let (event, detail) = entry.name_and_detail();
        let row = JournalRow {
            at: self.now,
            event: event.to_owned(),
            run: entry.run.clone(),
            agent: entry.agent.clone(),
            project: entry.project.clone(),
            detail,
        };
        self.rows.put(&JOURNAL, &next, &row)?;
        // Drops the oldest entry at once: ignored webhooks can outpace the pruning of ticks.
        if let Some(oldest) = next.checked_sub(MAX_JOURNAL) {
            self.rows.delete(&JOURNAL, &oldest)?;
        }
        self.entries.push(entry);
        Ok(())
    }

    /// The configuration the transaction is made under.
    pub fn config(&self) -> &'t Config {
        self.config
    }

    /// When it is made.
    pub fn time(&self) -> Millis {
        self.now
    }

    /// Whether there is a run of that id.
    ///
    /// # Errors
    /// The store's.
    pub fn has_run(&mut self, id: &RunId) -> Result<bool, StoreError> {
        self.rows.contains(&RUNS, &id.to_string())
    }

    /// The run of that id.
    pub(super) fn run(&mut self, id: &RunId) -> Result<Option<Run>, StoreError> {
        let row = self.rows.get(&RUNS, &id.to_string())?;
        Ok(row.map(|RunRow(run)| run))
    }

    /// Stores a run, and what makes it findable.
    pub(super) fn put(&mut self, run: &Run) -> Result<(), StoreError> {
        let id = run.id.to_string();
        self.rows.put(&RUNS, &id, &RunRow(run.clone()))?;
        let pull = pull_key(run);
        if run.state.is_terminal() {
            self.rows.delete(&OPEN, &id)?;
            if let Some(key) = pull {
                self.rows.delete(&PULL_RUNS, &key)?;
            }
        } else {
            let written = self.rows.get(&OPEN, &id)?.map_or(0, |OpenRow(count)| count);
            self.rows.put(&OPEN, &id, &OpenRow(written + 1))?;
            if let Some(key) = pull {
                self.rows.put(&PULL_RUNS, &key, &Flag(()))?;
            }
        }
        Ok(())
    }

    pub(super) fn put_context(&mut self, run: &Run, context: RunContext) -> Result<(), StoreError> {
        self.rows
            .put(&CONTEXTS, &run.id.to_string(), &ContextRow(context))
    }

    /// Begins the status a run owes: pending, or terminal at once for a run that was refused.
    pub(super) fn start_status(&mut self, run: &Run) -> Result<(), StoreError> {
        let Some(key) = run.status.clone().filter(|_| self.config.forge.is_some()) else {
            return Ok(());
        };
        let (state, description) = conclusion(run, None, false);
        let owed = Obligation {
            state,
            description,
            ..Obligation::pending(key.clone(), run.id.clone(), self.now)
        };
        let target = StatusTarget {
            account: self.account(run),
            repo: key.repository.clone(),
            sha: key.sha.clone(),
        };
        let status = owed.status(self.target_url(run));
        outbox::start_status(self.rows, &target, &run.id, &status, self.now)?;
        self.changed_head(run)?;
        if state == CommitState::Pending {
            return self.rows.put(&OWED, &run.id.to_string(), &OwedRow(key));
        }
        self.journal(
            RecordedEvent::new(run, JournalEvent::StatusDecided(state)).about(status_text(&key)),
        )
    }

    /// Says how the run's commit stands now.
    pub(super) fn update_status(
        &mut self,
        run: &Run,
        verdict: Option<&Verdict>,
        needs_verdict: bool,
    ) -> Result<(), StoreError> {
        let Some(key) = run.status.clone().filter(|_| self.config.forge.is_some()) else {
            return Ok(());
        };
        let (state, description) = conclusion(run, verdict, needs_verdict);
        let owed = Obligation {
            state,
            description,
            ..Obligation::pending(key.clone(), run.id.clone(), self.now)
        };
        let status = owed.status(self.target_url(run));
        let (repo, sha) = (&key.repository, &key.sha);
        outbox::update_status(self.rows, repo, sha, &run.id, &status, self.now)?;
        if state.is_terminal() {
            self.rows.delete(&OWED, &run.id.to_string())?;
            self.changed_head(run)?;
            let entry = RecordedEvent::new(run, JournalEvent::StatusDecided(state));
            self.journal(entry.about(status_text(&key)))?;
        }
        Ok(())
    }

    /// The run of a pending status is not there any more (its row could not be read).
    pub(super) fn abandon_status(&mut self, id: &RunId) -> Result<(), StoreError> {
        let Some(OwedRow(key)) = self.rows.get(&OWED, &id.to_string())? else {
            return Ok(());
        };
        let owed = Obligation {
            state: CommitState::Error,
            description: "the record of its run is lost".to_owned(),
            ..Obligation::pending(key.clone(), id.clone(), self.now)
        };
        let (repo, sha) = (&key.repository, &key.sha);
        outbox::update_status(self.rows, repo, sha, id, &owed.status(None), self.now)?;
        self.rows.delete(&OWED, &id.to_string())?;
        let entry = RecordedEvent::plain(
            JournalEvent::StatusDecided(CommitState::Error),
            status_text(&key),
        );
        self.journal(entry)
    }

    /// Remembers a commit to be compared with the forge at the next ticks.
    fn changed_head(&mut self, run: &Run) -> Result<(), StoreError> {
        let Some(key) = &run.status else {
            return Ok(());
        };
        let place = (self.now, format!("{} {}", folded(&key.repository), key.sha));
        let row = HeadRow((key.repository.clone(), key.sha.clone()));
        self.rows.put(&HEADS, &place, &row)
    }

    /// Whose token posts for a run: the agent's own where it has one.
    pub(super) fn account(&self, run: &Run) -> String {
        if self.config.agent_tokens.contains_key(&run.agent) {
            return run.agent.to_string();
        }
        OWN_ACCOUNT.to_owned()
    }

    fn target_url(&self, run: &Run) -> Option<String> {
        let base = self.config.public_url.as_ref()?;
        let base = base.as_str().trim_end_matches('/');
        Some(format!("{base}/runs/{}", run.id))
    }

    /// The key of the agent a run belongs to.
    pub(super) fn agent_key(run: &Run) -> AgentKey {
        (run.home.clone(), run.agent.clone())
    }
}

fn pull_key(run: &Run) -> Option<(String, u64, String)> {
    match &run.subject {
        Subject::PullRequest { number, .. } => {
            Some((folded(&run.repository), number.get(), run.id.to_string()))
        }
        _ => None,
    }
}
