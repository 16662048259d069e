//! The actor that asks: connections, answers that are still fresh and pauses live with it, on its own thread.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler, ResponseFuture};
use futures_util::future::join_all;

use super::outcome::SourceOutcome;
use super::source::AskedSource;
use crate::boards::Boards;
use crate::messages::{AskSources, BoardChanged};
use crate::slot::SourceSlot;

/// The actor. A life that fails loses what it kept, nothing else.
pub struct AskDesk {
    boards: Boards,
    sources: Vec<Rc<One>>,
    deadline: Duration,
}

struct One {
    slot: Arc<SourceSlot>,
    source: AskedSource,
}

impl AskDesk {
    /// A desk for those sources of the boards that are asked; each question ends within `deadline`.
    #[must_use]
    pub fn new(boards: &Boards, deadline: Duration) -> Self {
        Self {
            boards: boards.clone(),
            sources: Vec::new(),
            deadline,
        }
    }

    /// Knows the sources of the board in force; those that stay keep what they know.
    fn renew(&mut self) {
        let board = self.boards.now();
        let asked = board.slots().iter().filter(|slot| slot.is_asked());
        let sources = asked.filter_map(|slot| {
            let known = self.sources.iter().find(|one| Arc::ptr_eq(&one.slot, slot));
            known
                .map(Rc::clone)
                .or_else(|| One::begin(slot, self.deadline))
        });
        self.sources = sources.collect();
    }
}

impl One {
    fn begin(slot: &Arc<SourceSlot>, deadline: Duration) -> Option<Rc<Self>> {
        let source = AskedSource::new(&slot.haystack, deadline)?;
        match &source {
            AskedSource::Refused(reason) => slot.fail(reason),
            AskedSource::Remote(_) | AskedSource::Tasks(_) => slot.can_be_asked(),
        }
        source.warm();
        let slot = Arc::clone(slot);
        Some(Rc::new(Self { slot, source }))
    }
}

impl Actor for AskDesk {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        self.renew();
    }
}

impl Handler<BoardChanged> for AskDesk {
    type Result = ();

    fn handle(&mut self, _: BoardChanged, _: &mut Self::Context) {
        self.renew();
    }
}

impl Handler<AskSources> for AskDesk {
    type Result = ResponseFuture<Vec<SourceOutcome>>;

    fn handle(&mut self, asked: AskSources, _: &mut Self::Context) -> Self::Result {
        let chosen = self
            .sources
            .iter()
            .filter(|one| asked.ids.contains(&one.slot.id));
        let chosen: Vec<Rc<One>> = chosen.map(Rc::clone).collect();
        let (deadline, words) = (self.deadline, Rc::<str>::from(asked.words));
        let questions = chosen.into_iter().map(move |one| {
            let words = Rc::clone(&words);
            async move {
                let outcome = one.source.ask(one.slot.id.clone(), &words, deadline).await;
                if let Some(error) = &outcome.error {
                    let source = one.slot.haystack.name.as_str();
                    tracing::warn!(event = "source.unanswered", source, %error);
                }
                one.slot.answered(outcome.error.as_deref());
                outcome
            }
        });
        Box::pin(join_all(questions))
    }
}
