//! What a process is to the others, for all parts of it that ask or change it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::replica::decision::{ReplicaRole, RoleAction, RoleEvent, RoleState};
use parking_lot::Mutex;
use serde::Serialize;
use store::{IntakeBacklog, StandbyCounts};
use tokio::sync::watch;

use crate::replica::election::Election;
use crate::replica::sight::StoreSight;

/// The role of a process, and the newest sight of the store. Clones are the same.
#[derive(Clone)]
pub struct RoleControl(Arc<ControlState>);

struct ControlState {
    started_at: Instant,
    state: Mutex<RoleState>,
    sight: watch::Sender<StoreSight>,
    /// The epoch whose leader was asked last to hand over.
    drain: watch::Sender<Option<u64>>,
    /// Who is asked for others beside this process.
    election: Option<Arc<dyn Election>>,
    backlog: Mutex<Option<IntakeBacklog>>,
    /// Why this process may not stand here at all.
    refusal: watch::Sender<Option<String>>,
    /// What is wrong with this process or its surroundings, though it may go on.
    warnings: Mutex<BTreeMap<&'static str, String>>,
    /// Since when the database has not said who leads.
    silent_since: Mutex<Option<Instant>>,
    /// When a delivery could not be stored, and why.
    unstored: Mutex<Option<(Instant, String)>>,
    /// Where the others reach this process.
    own_address: String,
}

/// What a standby asks itself, and differs from the leader in.
const STANDBY_PARTS: [&str; 3] = ["objects", "settings", "vm_hosts"];

/// How long after a delivery that could not be stored none is to be sent here.
const INTAKE_BAN_PERIOD: Duration = Duration::from_secs(10);

/// Why a process does not hand over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DrainRefusal {
    /// It does not lead.
    NotLeading,
    /// Nobody would lead after it.
    NobodyBeside,
    /// Whoever would lead after it says that something is wrong with it.
    NobodyFit,
    /// The database does not say whether anybody would.
    Unknown(String),
}

/// What `/health` and `GET /admin/actors` say of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplicaStatus {
    /// `leader` or `standby`.
    pub role: ReplicaRole,
    /// The newest epoch that is known of.
    pub epoch: u64,
    /// Where the leader is reached by the others; absent while nobody leads, or it says nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Program, machine and process of whoever else leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub led_by: Option<String>,
    /// It has taken the store, and leads as soon as its actors run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub starting: bool,
}

impl RoleControl {
    /// A standby that has seen nothing yet. `own_address`: where the others reach it.
    #[must_use]
    pub fn new(own_address: &str) -> Self {
        Self::with_election(own_address, None)
    }

    /// The same of a process that can say who else stands beside the store.
    #[must_use]
    pub fn with_standbys(own_address: &str, election: Arc<dyn Election>) -> Self {
        Self::with_election(own_address, Some(election))
    }

    fn with_election(own_address: &str, election: Option<Arc<dyn Election>>) -> Self {
        Self(Arc::new(ControlState {
            started_at: Instant::now(),
            state: Mutex::default(),
            sight: watch::Sender::new(StoreSight::default()),
            drain: watch::Sender::new(None),
            election,
            backlog: Mutex::default(),
            refusal: watch::Sender::new(None),
            warnings: Mutex::default(),
            silent_since: Mutex::default(),
            unstored: Mutex::default(),
            own_address: own_address.to_owned(),
        }))
    }

    /// Goes on by an event; what is to be done.
    pub fn apply(&self, event: RoleEvent) -> RoleAction {
        let now = self.0.started_at.elapsed();
        let (before, action, after) = {
            let mut state = self.0.state.lock();
            let before = state.role();
            (before, state.apply(event, now), state.role())
        };
        if before != after {
            // Whoever waits for a leader looks again: it may be this process.
            self.0.sight.send_modify(|_| {});
        }
        action
    }

    /// What it is now.
    #[must_use]
    pub fn role(&self) -> ReplicaRole {
        self.0.state.lock().role()
    }

    /// Whether it led until now, and will stand by: its actors are ending.
    #[must_use]
    pub fn hands_over(&self) -> bool {
        self.0.state.lock().hands_over()
    }

    /// Whether it may take a store that was last had under this epoch.
    #[must_use]
    pub fn may_take(&self, epoch: u64) -> bool {
        let now = self.0.started_at.elapsed();
        self.0.state.lock().may_take(epoch, now)
    }

    /// Where the others reach this process; empty: nowhere.
    #[must_use]
    pub fn own_address(&self) -> &str {
        &self.0.own_address
    }

    /// The newest sight of the store.
    #[must_use]
    pub fn sight(&self) -> StoreSight {
        self.0.sight.borrow().clone()
    }

    /// The sights of the store from now on.
    #[must_use]
    pub fn sights(&self) -> watch::Receiver<StoreSight> {
        self.0.sight.subscribe()
    }

    /// Since when the database has not said who leads, if it does not.
    #[must_use]
    pub fn silent_since(&self) -> Option<Instant> {
        *self.0.silent_since.lock()
    }

    /// Notes what was seen of the store.
    pub fn publish(&self, sight: StoreSight) {
        {
            let mut since = self.0.silent_since.lock();
            let is_silent = sight.leader.is_none() && sight.trouble.is_some();
            *since = is_silent.then(|| since.unwrap_or_else(Instant::now));
        }
        self.0.sight.send_replace(sight);
    }

    /// Has the process hand over, if it leads and another one stands beside it; with `force` also
    /// to nobody, so that the store is nobody's until one comes, or for
    /// half a minute.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn drain(&self, force: bool) -> Result<(), DrainRefusal> {
        let asked_of = self.may_drain(force).await?;
        self.0.drain.send_replace(Some(asked_of));
        Ok(())
    }

    /// The epoch that it would hand over, where it would.
    ///
    /// # Errors
    /// Why it would not.
    pub async fn may_drain(&self, force: bool) -> Result<u64, DrainRefusal> {
        let asked_of = self.leads_under().ok_or(DrainRefusal::NotLeading)?;
        if let Some(election) = self.0.election.clone().filter(|_| !force) {
            let asked = tokio::task::spawn_blocking(move || election.standby_counts());
            // The thread is never cancelled, and does not panic.
            let beside = asked
                .await
                .unwrap_or_else(|_| Ok(StandbyCounts::default()))
                .map_err(DrainRefusal::Unknown)?;
            match beside {
                StandbyCounts { all: 0, .. } => return Err(DrainRefusal::NobodyBeside),
                StandbyCounts { fit: 0, .. } => return Err(DrainRefusal::NobodyFit),
                _ => {}
            }
        }
        // It may have lost the store meanwhile.
        if self.leads_under() != Some(asked_of) {
            return Err(DrainRefusal::NotLeading);
        }
        Ok(asked_of)
    }

    /// Has the processes beside this one read their settings again, as this one did.
    ///
    /// # Errors
    /// Why they are not told.
    pub async fn broadcast_settings_reload(&self) -> Result<(), String> {
        let Some(election) = self.0.election.clone() else {
            return Ok(());
        };
        let told = tokio::task::spawn_blocking(move || election.broadcast_settings_reload());
        // The thread is never cancelled, and does not panic.
        told.await.unwrap_or(Ok(()))
    }

    /// The epoch that it leads under, if it leads.
    #[must_use]
    pub fn leads_under(&self) -> Option<u64> {
        let state = self.0.state.lock();
        (state.role() == ReplicaRole::Leader).then(|| state.epoch())
    }

    /// Notes why the process may not stand beside this store; whether that is new.
    pub fn refuse(&self, reason: String) -> bool {
        self.0.refusal.send_if_modified(|noted| {
            let is_new = noted.is_none();
            noted.get_or_insert(reason);
            is_new
        })
    }

    /// Whether it may not.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.0.refusal.borrow().is_some()
    }

    /// Resolves with the reason when it may not.
    pub async fn refused(&self) -> String {
        let mut refusal = self.0.refusal.subscribe();
        let noted = refusal.wait_for(Option::is_some).await;
        // The sender lives as long as this.
        noted
            .ok()
            .and_then(|noted| noted.clone())
            .unwrap_or_default()
    }

    /// Resolves when somebody wants the process to hand over what it has had since it took the
    /// store last. Requests of the time before are over.
    pub async fn drain_asked(&self) {
        let epoch = self.0.state.lock().epoch();
        let mut asked = self.0.drain.subscribe();
        // The sender lives as long as this.
        let _ = asked.wait_for(|asked| *asked == Some(epoch)).await;
    }

    /// Notes what is wrong with a part of this process or its surroundings, or that nothing is;
    /// whether that is new.
    pub fn record_warning(&self, part: &'static str, warning: Option<String>) -> bool {
        let mut warnings = self.0.warnings.lock();
        match warning {
            Some(warning) => warnings.insert(part, warning).is_none(),
            None => {
                warnings.remove(part);
                false
            }
        }
    }

    /// What is noted to be wrong with a part.
    #[must_use]
    pub fn warning_of(&self, part: &str) -> Option<String> {
        self.0.warnings.lock().get(part).cloned()
    }

    /// What is wrong, for `/health`.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let leads = self.role() == ReplicaRole::Leader;
        let warnings = self.0.warnings.lock();
        let all = warnings.iter();
        // A leader meets what a standby can only ask for.
        let all = all.filter(|(part, _)| !leads || !STANDBY_PARTS.contains(part));
        let all: Vec<_> = all.map(|(_, warning)| warning.as_str()).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Notes that a delivery could not be stored, or that one was.
    pub fn record_delivery(&self, failure: Option<String>) {
        *self.0.unstored.lock() = failure.map(|reason| (Instant::now(), reason));
    }

    /// Whether deliveries are stored, as far as the last of them tell.
    ///
    /// # Errors
    /// Why not.
    pub fn stores_deliveries(&self) -> Result<(), String> {
        match &*self.0.unstored.lock() {
            Some((at, reason)) if at.elapsed() < INTAKE_BAN_PERIOD => Err(reason.clone()),
            _ => Ok(()),
        }
    }

    /// Notes what standbys took in and the leader has not decided; nothing where that is not known.
    pub fn record_backlog(&self, backlog: Option<IntakeBacklog>) {
        *self.0.backlog.lock() = backlog;
    }

    /// What was noted last.
    #[must_use]
    pub fn backlog(&self) -> Option<IntakeBacklog> {
        *self.0.backlog.lock()
    }

    /// What is said of it.
    #[must_use]
    pub fn status(&self) -> ReplicaStatus {
        let (state, sight) = (*self.0.state.lock(), self.sight());
        let role = state.role();
        if role == ReplicaRole::Leader {
            // What it saw last may be from before it took the store.
            let address = self.0.own_address.clone();
            return ReplicaStatus {
                role,
                epoch: state.epoch(),
                leader: Some(address).filter(|address| !address.is_empty()),
                led_by: None,
                starting: false,
            };
        }
        let leader = sight.leader.filter(|leader| leader.is_locked);
        ReplicaStatus {
            role,
            epoch: sight.epoch,
            leader: leader
                .as_ref()
                .map(|leader| leader.address.clone())
                .filter(|address| !address.is_empty()),
            led_by: leader.map(|leader| leader.by),
            starting: state.is_starting(),
        }
    }
}
