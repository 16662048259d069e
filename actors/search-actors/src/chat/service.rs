//! The chat service: answers messages and summarises texts, each as a future of its own on the
//! service's thread.
//!
//! What computes or blocks on a disk runs on the runtime's blocking threads. How many answers may
//! be under way is the capacity of the service's child spec; beyond it the sender gets `Full`.

use std::time::Duration;

use actix::{Actor, ActorFutureExt, Context, Handler, ResponseActFuture, WrapFuture};
use search_core::conversation::{ChatAnswer, SummaryAnswer};
use supervision::{ChildSpec, ThreadPlacement};

use super::context::ChatContext;
use super::conversations::Conversations;
use super::failure::ChatFailure;
use super::messages::{AnswerChat, Summarise};
use super::model::Models;
use super::settings::ChatParts;
use super::summary_cache::SummaryCache;
use super::{chat_answer, summaries};

/// The actor.
pub struct ChatService {
    context: ChatContext,
}

/// The spec of a service that works with `parts` and adds to `conversations`.
#[must_use]
pub fn chat_service(parts: ChatParts, conversations: Conversations) -> ChildSpec<ChatService> {
    let limits = parts.limits.clone();
    ChildSpec::new("chat", move |_| ChatService::new(&parts, &conversations))
        .capacity(limits.at_once)
        // The answers end themselves before; this is for a service that is stuck.
        .ask_timeout(limits.whole + limits.first + Duration::from_secs(15))
        .placement(ThreadPlacement::Own)
}

impl ChatService {
    fn new(parts: &ChatParts, conversations: &Conversations) -> Self {
        Self {
            context: ChatContext {
                models: Models::new(&parts.limits),
                conversations: conversations.clone(),
                summaries: SummaryCache::new(parts.state.clone()),
                parts: parts.clone(),
            },
        }
    }
}

impl Actor for ChatService {
    type Context = Context<Self>;
}

impl Handler<AnswerChat> for ChatService {
    type Result = ResponseActFuture<Self, Result<ChatAnswer, ChatFailure>>;

    fn handle(&mut self, talk: AnswerChat, _: &mut Context<Self>) -> Self::Result {
        let context = self.context.clone();
        let answer = async move {
            let left = talk.pieces.clone();
            tokio::select! {
                biased;
                () = left.closed() => Err(ChatFailure::Left),
                answer = chat_answer::answer(&context, talk.params, &talk.pieces) => answer,
            }
        };
        Box::pin(answer.into_actor(self).map(|answer, _, _| {
            report("chat", answer.as_ref().err());
            answer
        }))
    }
}

impl Handler<Summarise> for ChatService {
    type Result = ResponseActFuture<Self, Result<SummaryAnswer, ChatFailure>>;

    fn handle(
        &mut self,
        Summarise { params, here }: Summarise,
        _: &mut Context<Self>,
    ) -> Self::Result {
        let context = self.context.clone();
        let answer = async move {
            tokio::select! {
                biased;
                () = here.closed() => Err(ChatFailure::Left),
                answer = summaries::answer(&context, params) => answer,
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
