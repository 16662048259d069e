//! The chat desk: answers messages and summarises texts, each as a future of its own on the desk's thread.
//!
//! What computes or blocks on a disk runs on the runtime's blocking threads. How many answers may be under way is the
//! capacity of the desk's child spec; beyond it the sender gets `Full`.

use std::time::Duration;

use actix::{Actor, ActorFutureExt, Context, Handler, ResponseActFuture, WrapFuture};
use search_core::conversation::{ChatAnswer, SummaryAnswer};
use supervision::{ChildSpec, Placement};

use crate::conversations::Conversations;
use crate::failure::ChatFailure;
use crate::messages::{Summarise, Talk};
use crate::model::Models;
use crate::settings::ChatParts;
use crate::summaries::Summaries;
use crate::talk;

/// What one answer needs.
#[derive(Clone)]
pub(crate) struct Tools {
    pub(crate) parts: ChatParts,
    pub(crate) models: Models,
    pub(crate) conversations: Conversations,
    pub(crate) summaries: Summaries,
}

/// The actor.
pub struct ChatDesk {
    tools: Tools,
}

/// The spec of a desk that works with `parts` and adds to `conversations`.
#[must_use]
pub fn chat_desk(parts: ChatParts, conversations: Conversations) -> ChildSpec<ChatDesk> {
    let limits = parts.limits.clone();
    ChildSpec::new("chat", move |_| ChatDesk::new(&parts, &conversations))
        .capacity(limits.at_once)
        // The answers end themselves before; this is for a desk that is stuck.
        .ask_timeout(limits.whole + limits.first + Duration::from_secs(15))
        .placement(Placement::Own)
}

impl ChatDesk {
    fn new(parts: &ChatParts, conversations: &Conversations) -> Self {
        Self {
            tools: Tools {
                models: Models::new(&parts.limits),
                conversations: conversations.clone(),
                summaries: Summaries::new(parts.state.clone()),
                parts: parts.clone(),
            },
        }
    }
}

impl Actor for ChatDesk {
    type Context = Context<Self>;
}

impl Handler<Talk> for ChatDesk {
    type Result = ResponseActFuture<Self, Result<ChatAnswer, ChatFailure>>;

    fn handle(&mut self, talk: Talk, _: &mut Context<Self>) -> Self::Result {
        let tools = self.tools.clone();
        let answer = async move {
            let left = talk.pieces.clone();
            tokio::select! {
                biased;
                () = left.closed() => Err(ChatFailure::Left),
                answer = talk::answer(&tools, talk.order, &talk.pieces) => answer,
            }
        };
        Box::pin(answer.into_actor(self).map(|answer, _, _| {
            report("chat", answer.as_ref().err());
            answer
        }))
    }
}

impl Handler<Summarise> for ChatDesk {
    type Result = ResponseActFuture<Self, Result<SummaryAnswer, ChatFailure>>;

    fn handle(
        &mut self,
        Summarise { order, here }: Summarise,
        _: &mut Context<Self>,
    ) -> Self::Result {
        let tools = self.tools.clone();
        let answer = async move {
            tokio::select! {
                biased;
                () = here.closed() => Err(ChatFailure::Left),
                answer = crate::summaries::answer(&tools, order) => answer,
            }
        };
        Box::pin(answer.into_actor(self).map(|answer, _, _| {
            report("summary", answer.as_ref().err());
            answer
        }))
    }
}

/// Failures that somebody who runs the server should see; wrong requests are answers.
fn report(what: &str, failure: Option<&ChatFailure>) {
    match failure {
        Some(ChatFailure::Model(error)) => {
            tracing::warn!(event = "chat.model_failed", what, class = error.class(), error = %error, "a language model did not answer");
        }
        Some(ChatFailure::State(_) | ChatFailure::Unreadable { .. } | ChatFailure::BrokenOff) => {
            let error = failure.map(ToString::to_string).unwrap_or_default();
            tracing::error!(
                event = "chat.failed",
                what,
                error,
                "an answer could not be given or kept"
            );
        }
        Some(ChatFailure::Left) => {
            tracing::debug!(event = "chat.left", what, "whoever asked has left");
        }
        _ => {}
    }
}

/// Runs what computes or blocks beside the desk's thread.
pub(crate) async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ChatFailure> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| ChatFailure::BrokenOff)
}
