//! Intake: makes events durable, and says what became of them.
//!
//! ```text
//! receiver --Admit--> Intake --one transaction--> store
//!                       │ after the commit
//!                       ├──Reconcile──> Dispatcher      (wake_on_dispatch)
//!                       ├──CheckAuthor─> Dispatcher ──> Poller
//!                       └──Wake──────> ForgePoster
//! ```
//! It holds nothing: what it has accepted stands in the store before it answers.

use actix::{Actor, Context, Handler, ResponseFuture};
use forge_actors::ForgePoster;
use forge_actors::messages::Wake;
use forge_core::{Delivery, Event};
use orchestrator_core::Millis;
use orchestrator_core::admin::WebhookReply;
use orchestrator_engine::process::StopCause;
use store::StoreError;
use supervision::ChildRef;

use crate::dispatcher::Dispatcher;
use crate::ledger::{self, Admitted, Book, Source};
use crate::messages::{Admit, AdmitFound, CheckAuthor, Reconcile};
use crate::shared::Shared;

/// How an event came.
enum Arrived {
    Delivery(Box<Delivery>),
    Found { event: Box<Event>, asked_at: Millis },
}

/// The actor.
pub struct Intake {
    shared: Shared,
    dispatcher: ChildRef<Dispatcher>,
    poster: ChildRef<ForgePoster>,
}

impl Intake {
    /// An intake that tells these two what is new.
    pub fn new(
        shared: Shared,
        dispatcher: ChildRef<Dispatcher>,
        poster: ChildRef<ForgePoster>,
    ) -> Self {
        Self {
            shared,
            dispatcher,
            poster,
        }
    }

    fn admit(&self, arrived: Arrived) -> ResponseFuture<Result<WebhookReply, StoreError>> {
        let shared = self.shared.clone();
        let (dispatcher, poster) = (self.dispatcher.clone(), self.poster.clone());
        let (config, own, now) = (shared.config(), shared.own_logins(), shared.now());
        let wake = config.wake_on_dispatch;
        let deliveries = shared.deliveries().clone();
        let admitted = shared.store().write(move |rows| {
            let book = Book::new(rows, &config, now);
            let source = match &arrived {
                Arrived::Delivery(delivery) => Source::Delivery(delivery),
                Arrived::Found { event, asked_at } => Source::Found {
                    event,
                    asked_at: *asked_at,
                },
            };
            ledger::admit(book, &deliveries, &source, &own)
        });
        Box::pin(async move {
            let admitted: Admitted = admitted.await?;
            shared.journalled(&admitted.entries);
            if admitted.id_reused {
                tracing::warn!(
                    event = "webhook.id_reused",
                    delivery = %admitted.reply.delivery,
                    "a delivery id came again with another body"
                );
            }
            for run in &admitted.kill {
                shared.stop(run, StopCause::Superseded);
            }
            // Wake-ups only: what they are about is stored, and the next tick finds it.
            let _ = poster.tell(Wake);
            for run in admitted.check {
                let _ = dispatcher.tell(CheckAuthor(run));
            }
            if wake && !admitted.reply.dispatches.is_empty() {
                let _ = dispatcher.tell(Reconcile);
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
        self.admit(Arrived::Delivery(delivery))
    }
}

impl Handler<AdmitFound> for Intake {
    type Result = ResponseFuture<Result<WebhookReply, StoreError>>;

    fn handle(
        &mut self,
        AdmitFound { event, asked_at }: AdmitFound,
        _: &mut Context<Self>,
    ) -> Self::Result {
        self.admit(Arrived::Found { event, asked_at })
    }
}
