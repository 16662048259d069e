//! Deliveries on their way into the store: on the thread that received them, without a detour over
//! an actor.
//!
//! ```text
//! HTTP worker ─▶ one transaction (delivery, run, event, body) ─▶ RunQueue ─▶ 202
//!                                                                    └─ wakes ─▶ RunCoordinator
//! ```

use std::sync::Arc;
use std::time::Duration;

use forge_actors::deliveries::{Arrival, Deliveries, DeliveryAdmission};
use forge_core::{BodyDigest, DeliveryId};
use runner_core::event::EventKind;
use store::{Blob, Store, StoreError, WriteTxn};

use crate::clock::now_ms;
use crate::counters::RunCounters;
use crate::event::StoredEvent;
use crate::heads::{self, HeadSource, ReportedHead};
use crate::own_forge::OwnForge;
use crate::records::RunRecord;
use crate::rows::{self, NewRunRows};
use crate::run_files::RunFiles;
use crate::run_queue::RunQueue;

/// Longest wait for a delivery to become durable.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// Takes deliveries.
#[derive(Clone)]
pub struct RunnerIntake {
    pub(crate) store: Store,
    /// Deliveries seen already.
    pub(crate) deliveries: Deliveries,
    pub(crate) queue: RunQueue,
    pub(crate) counters: Arc<RunCounters>,
    pub(crate) files: RunFiles,
    /// Runs that may wait; beyond it deliveries are refused.
    pub(crate) max_waiting: usize,
    pub(crate) keep_runs: usize,
    /// The forge that is configured.
    pub(crate) forge: OwnForge,
}

/// A delivery that starts a run.
#[derive(Debug)]
pub struct NewDelivery {
    /// Its id.
    pub id: DeliveryId,
    /// The digest of its body.
    pub digest: BodyDigest,
    /// What it starts.
    pub event: StoredEvent,
    /// The body itself.
    pub body: Blob,
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryResult {
    /// It started this run.
    Run(String),
    /// It was seen before; nothing was done.
    Duplicate {
        /// The run it had started, if that is still kept.
        run: Option<String>,
    },
    /// No workflow of the default branch is started by it; nothing was stored.
    Unwanted(String),
    /// As many runs wait as may; nothing was stored.
    Full,
}

/// Why it is not known what became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntakeError {
    /// The store's reason.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store took too long; sent again, the delivery is accepted or found to be known.
    #[error("the delivery was not stored within {} s; send it again", .0.as_secs())]
    Late(Duration),
    /// It names another repository's address at the forge as its own; nothing was stored.
    #[error("the field repository.{0} is at the forge, and not that of repository.full_name")]
    OtherRepository(&'static str),
}

impl RunnerIntake {
    /// Stores a delivery and the run it starts; answers once both are durable. A caller that goes
    /// away stops nothing. To be called on a thread of an actix system.
    ///
    /// # Errors
    /// See [`IntakeError`].
    pub async fn accept(&self, delivery: NewDelivery) -> Result<DeliveryResult, IntakeError> {
        if let Some(field) = self.forge.misplaced(&delivery.event) {
            tracing::warn!(event = "webhook.other_repository", delivery = %delivery.id, repository = %delivery.event.repository, field, "a delivery names another repository's address");
            return Err(IntakeError::OtherRepository(field));
        }
        if self.queue.waiting() >= self.max_waiting {
            self.counters.refused();
            return Ok(DeliveryResult::Full);
        }
        let accepting = actix_rt::spawn(self.clone().store_delivery(delivery));
        match tokio::time::timeout(STORE_TIMEOUT, accepting).await {
            Ok(Ok(accepted)) => Ok(accepted?),
            // It is never cancelled: its thread is ending.
            Ok(Err(_)) => Err(StoreError::Closed.into()),
            Err(_) => Err(IntakeError::Late(STORE_TIMEOUT)),
        }
    }

    /// What the workflows of the event's repository are started by beside pushes; pushes need not
    /// know.
    async fn started_by(&self, event: &StoredEvent) -> Result<Vec<String>, StoreError> {
        if event.kind() == EventKind::Push {
            return Ok(Vec::new());
        }
        let repository = event.repository.clone();
        let known = self
            .store
            .read(move |rows| rows::load_repository(rows, &repository));
        Ok(known.await?.unwrap_or_default().started_by)
    }

    async fn store_delivery(self, delivery: NewDelivery) -> Result<DeliveryResult, StoreError> {
        let NewDelivery {
            id: delivery,
            digest,
            event,
            body,
        } = delivery;
        let started_by = self.started_by(&event).await?;
        let wants = |trigger: &str| started_by.iter().any(|name| name == trigger);
        if let Some(trigger) = event.trigger().filter(|trigger| !wants(trigger)) {
            let (name, action) = (event.name(), event.action().unwrap_or_default());
            tracing::info!(event = "webhook.ignored", delivery = %delivery, trigger, "no workflow is started by it");
            return Ok(DeliveryResult::Unwanted(format!(
                "no workflow of the default branch, as it was last pushed, is started by {name} {action}"
            )));
        }
        let body = self.store.prepared(body);
        let record = RunRecord::received(&event, delivery.to_string());
        let id = record.id.clone();
        let keep = self.keep_runs;
        let target = event
            .target(self.forge.kind)
            .filter(|event| wants(event.name()));
        let target = target.map(|event| {
            let record = RunRecord::received(&event, delivery.to_string());
            (
                record.id.clone(),
                NewRunRows::delivered(&record, &event, body.clone()),
            )
        });
        let target_id = target.as_ref().map(|(id, _)| id.clone());
        let new = NewRunRows::delivered(&record, &event, body);
        let (deliveries, run) = (self.deliveries.clone(), id.clone());
        let stored = self.store.write(move |rows| {
            let reported = ReportedHead::from_event(&event);
            let known = match &reported {
                Some(reported) => heads::run_of(rows, reported)?,
                None => None,
            };
            let arrival = Arrival {
                id: &delivery,
                body: &digest,
                subject: None,
                leads_to: known.as_deref().or(Some(&run)),
            };
            let admission = deliveries.admit(rows, &arrival, now_ms())?;
            if admission == DeliveryAdmission::SameIdOtherBody {
                tracing::warn!(event = "webhook.same_id", %delivery, "a delivery's id came with another body");
            }
            if let DeliveryAdmission::Duplicate { led_to } = admission {
                return Ok(StoredDelivery::Seen(kept(rows, led_to)?));
            }
            if known.is_some() {
                return Ok(StoredDelivery::Seen(kept(rows, known)?));
            }
            new.put(rows)?;
            if let Some((_, target)) = target {
                target.put(rows)?;
            }
            if let Some(reported) = &reported {
                heads::record_head(rows, reported, &run, HeadSource::Webhook)?;
            }
            Ok::<_, StoreError>(StoredDelivery::New(rows::forget_oldest(rows, keep)?))
        });
        let stored = stored.await?;
        self.counters
            .delivery(matches!(stored, StoredDelivery::New(_)));
        let forgotten = match stored {
            StoredDelivery::New(forgotten) => forgotten,
            StoredDelivery::Seen(run) => return Ok(DeliveryResult::Duplicate { run }),
        };
        self.files.remove(forgotten);
        tracing::info!(event = "webhook.accepted", run = %id, "webhook received");
        self.queue.push(id.clone());
        target_id.into_iter().for_each(|id| self.queue.push(id));
        Ok(DeliveryResult::Run(id))
    }
}

/// What the store made of a delivery.
enum StoredDelivery {
    /// It is new; these runs were forgotten for its own.
    New(Vec<String>),
    /// It was seen before, and started this run.
    Seen(Option<String>),
}

/// The run, unless it was forgotten meanwhile.
fn kept(rows: &mut WriteTxn<'_>, run: Option<String>) -> Result<Option<String>, StoreError> {
    let Some(run) = run else { return Ok(None) };
    Ok(rows::run(rows, &run)?.map(|_| run))
}
