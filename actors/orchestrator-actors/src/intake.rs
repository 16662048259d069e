//! Intake: makes events durable, and replies what became of them.
//!
//! ```text
//! receiver --Admit--> Intake --one transaction--> store
//!                       │ after the commit
//!                       ├──TickTrigger─────> Dispatcher      (wake_on_dispatch)
//!                       ├──CheckBeforeStart> Preflight
//!                       └──Wake────────────> OutboxWorker
//! ```
//! It holds nothing: what it has accepted is in the store before it answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use actix::{Actor, Context, Handler, ResponseFuture};
use forge_core::{Delivery, ForgeEvent, Login};
use orchestrator_core::Millis;
use orchestrator_core::admin::WebhookReply;
use orchestrator_engine::process::StopCause;
use store::StoreError;
use supervision::ChildRef;
use tokio::sync::watch;

use crate::active_runs::ActiveRuns;
use crate::change_notifier::ChangeNotifier;
use crate::ledger::{self, EventSource, IntakeResult, Ledger};
use crate::messages::{Admit, AdmitFound, CheckBeforeStart};
use crate::preflight::Preflight;

/// An event with its source.
enum NewEvent {
    Delivery(Box<Delivery>),
    Found {
        event: Box<ForgeEvent>,
        asked_at: Millis,
    },
}

/// The actor.
pub struct Intake {
    ledger: Ledger,
    runs: ActiveRuns,
    preflight: ChildRef<Preflight>,
    notifier: ChangeNotifier,
    /// The accounts behind the tokens, as the poller found them.
    token_logins: watch::Receiver<Arc<BTreeSet<Login>>>,
    /// Those that a configuration named.
    named_logins: BTreeSet<Login>,
}

impl Intake {
    pub(crate) fn new(
        ledger: Ledger,
        runs: ActiveRuns,
        preflight: ChildRef<Preflight>,
        notifier: ChangeNotifier,
        token_logins: watch::Receiver<Arc<BTreeSet<Login>>>,
    ) -> Self {
        Self {
            ledger,
            runs,
            preflight,
            notifier,
            token_logins,
            named_logins: BTreeSet::new(),
        }
    }

    /// Accounts whose comments start nothing. One that a configuration has named stays one.
    fn own_logins(&mut self) -> BTreeSet<Login> {
        let config = self.ledger.config();
        self.named_logins.extend(config.own_logins.iter().cloned());
        let token_logins = self.token_logins.borrow();
        self.named_logins.union(&token_logins).cloned().collect()
    }

    fn admit(&mut self, event: NewEvent) -> ResponseFuture<Result<WebhookReply, StoreError>> {
        let own = self.own_logins();
        let (ledger, runs) = (self.ledger.clone(), self.runs.clone());
        let (preflight, notifier) = (self.preflight.clone(), self.notifier.clone());
        let deliveries = ledger.deliveries().clone();
        Box::pin(async move {
            let admitted = ledger.write(move |txn| {
                let source = match &event {
                    NewEvent::Delivery(delivery) => EventSource::Delivery(delivery),
                    NewEvent::Found { event, asked_at } => EventSource::Found {
                        event,
                        asked_at: *asked_at,
                    },
                };
                ledger::admit(txn, &deliveries, &source, &own)
            });
            let admitted: IntakeResult = admitted.await?;
            if admitted.id_reused {
                tracing::warn!(
                    event = "webhook.id_reused",
                    delivery = %admitted.reply.delivery,
                    "a delivery id came again with another body"
                );
            }
            for run in &admitted.kill {
                runs.stop(run, StopCause::Superseded);
            }
            // Wake-ups only: what they are about is stored, and the next tick finds it.
            notifier.notify_outbox();
            for run in admitted.check {
                let _ = preflight.tell(CheckBeforeStart(run));
            }
            if !admitted.reply.dispatches.is_empty() {
                notifier.ticks.request();
            }
            Ok(admitted.reply)
        })
    }
}

impl Actor for Intake {
    type Context = Context<Self>;
}

impl Handler<Admit> for Intake {
    type Result = ResponseFuture<Result<WebhookReply, StoreError>>;

    fn handle(&mut self, Admit(delivery): Admit, _: &mut Context<Self>) -> Self::Result {
        self.admit(NewEvent::Delivery(delivery))
    }
}

impl Handler<AdmitFound> for Intake {
    type Result = ResponseFuture<Result<WebhookReply, StoreError>>;

    fn handle(
        &mut self,
        AdmitFound { event, asked_at }: AdmitFound,
        _: &mut Context<Self>,
    ) -> Self::Result {
        self.admit(NewEvent::Found { event, asked_at })
    }
}
