//! Deliveries on their way into the store: on the thread that received them, without a detour over an actor.
//!
//! ```text
//! HTTP worker ─▶ one transaction (delivery, run, event, body) ─▶ arrived ─▶ 202
//!                                                                   └─ tell ─▶ RunDesk
//! ```

use std::sync::Arc;
use std::time::Duration;

use forge_actors::deliveries::{Admission, Arrival};
use forge_core::{BodyDigest, DeliveryId};
use store::{Piece, StoreError, WriteTxn};

use crate::clock::now_ms;
use crate::desk::received;
use crate::event::StoredEvent;
use crate::heads::{self, How, ReportedHead};
use crate::rows::{self, NewRun};
use crate::service::Shared;

/// Longest wait for a delivery to become durable.
const PATIENCE: Duration = Duration::from_secs(10);

/// Takes deliveries.
#[derive(Clone)]
pub struct RunnerIntake {
    pub(crate) shared: Arc<Shared>,
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
    pub body: Piece,
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// It started this run.
    Run(String),
    /// It was seen before; nothing was done.
    Duplicate {
        /// The run it had started, if that is still kept.
        run: Option<String>,
    },
    /// As many runs wait as may; nothing was stored.
    Full,
}

/// Why it is not known what became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAccepted {
    /// The store's reason.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store took too long; sent again, the delivery is accepted or found to be known.
    #[error("the delivery was not stored within {} s; send it again", .0.as_secs())]
    Late(Duration),
}

impl RunnerIntake {
    /// Stores a delivery and the run it starts; answers once both are durable. A caller that goes away stops nothing.
    /// To be called on a thread of an actix system.
    ///
    /// # Errors
    /// See [`NotAccepted`].
    pub async fn accept(&self, delivery: NewDelivery) -> Result<Accepted, NotAccepted> {
        if self.shared.waiting() >= self.shared.settings.max_waiting {
            self.shared.figures.refused();
            return Ok(Accepted::Full);
        }
        let accepting = actix_rt::spawn(accept(Arc::clone(&self.shared), delivery));
        match tokio::time::timeout(PATIENCE, accepting).await {
            Ok(Ok(accepted)) => Ok(accepted?),
            // It is never cancelled: its thread is ending.
            Ok(Err(_)) => Err(StoreError::Closed.into()),
            Err(_) => Err(NotAccepted::Late(PATIENCE)),
        }
    }
}

/// What the store made of a delivery.
enum Stored {
    /// It is new; these runs were forgotten for its own.
    New(Vec<String>),
    /// It was seen before, and started this run.
    Seen(Option<String>),
}

async fn accept(shared: Arc<Shared>, delivery: NewDelivery) -> Result<Accepted, StoreError> {
    let NewDelivery {
        id: delivery,
        digest,
        event,
        body,
    } = delivery;
    let record = received(&event, delivery.to_string());
    let id = record.id.clone();
    let keep = shared.settings.keep_runs;
    let new = NewRun::delivered(&record, &event, body);
    let (deliveries, run) = (shared.deliveries.clone(), id.clone());
    let stored = shared.store.write(move |rows| {
        let told = ReportedHead::of(&event);
        let known = match &told {
            Some(told) => heads::run_of(rows, told)?,
            None => None,
        };
        let arrival = Arrival {
            id: &delivery,
            body: &digest,
            subject: None,
            leads_to: known.as_deref().or(Some(&run)),
        };
        let admission = deliveries.admit(rows, &arrival, now_ms())?;
        if admission == Admission::SameIdOtherBody {
            tracing::warn!(event = "webhook.same_id", %delivery, "a delivery's id came with another body");
        }
        if let Admission::Duplicate { led_to } = admission {
            return Ok(Stored::Seen(kept(rows, led_to)?));
        }
        if known.is_some() {
            return Ok(Stored::Seen(kept(rows, known)?));
        }
        new.put(rows)?;
        if let Some(told) = &told {
            heads::note(rows, told, &run, How::Delivered)?;
        }
        Ok::<_, StoreError>(Stored::New(rows::forget_oldest(rows, keep)?))
    });
    let stored = stored.await?;
    shared.figures.delivery(matches!(stored, Stored::New(_)));
    let gone = match stored {
        Stored::New(gone) => gone,
        Stored::Seen(run) => return Ok(Accepted::Duplicate { run }),
    };
    for run in gone {
        shared.remove_files(&run);
    }
    tracing::info!(event = "webhook.accepted", run = %id, "webhook received");
    shared.start(id.clone());
    Ok(Accepted::Run(id))
}

/// The run, unless it was forgotten meanwhile.
fn kept(rows: &mut WriteTxn<'_>, run: Option<String>) -> Result<Option<String>, StoreError> {
    let Some(run) = run else { return Ok(None) };
    Ok(rows::run(rows, &run)?.map(|_| run))
}
