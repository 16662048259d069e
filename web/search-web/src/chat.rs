//! `POST /api/chat`, `/api/conversations` and `POST /api/documents/summarize`.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use edge_web::{ApiJson, Problem};
use futures_util::stream;
use http_clients::llm::LlmError;
use search_actors::chat::{
    AnswerChat, ChatChunk, ChatFailure, ChatParams, ChatService, Conversations, Summarise,
};
use search_core::conversation::{ChatAnswer, Conversation, ConversationList, SummaryAnswer};
use serde_json::{Value, json};
use supervision::{AskError, ChildRef};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::chat_wire::{ChatBody, SummaryBody};
use crate::state::{ask_problem, search_problem};

/// Pieces of an answer that wait for a slow reader; then the model waits.
const WAITING: usize = 64;
/// Seconds to come back after when as many chats are under way as may be.
const RETRY_SECONDS: u32 = 5;

/// Who chats, and what is kept of it.
#[derive(Debug, Clone)]
pub struct ChatState {
    /// Who answers.
    pub(crate) service: ChildRef<ChatService>,
    /// What was said.
    pub(crate) conversations: Conversations,
}

/// Silence after which a stream says that it goes on. Only what is written shows that the client
/// has left.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(3);

/// An answer under way.
pub(crate) type PendingAnswer = Pin<Box<dyn Future<Output = Result<ChatAnswer, Problem>>>>;

/// Asks the service. The answer ends when the receiver is dropped.
pub(crate) fn start_answer(
    service: &ChildRef<ChatService>,
    params: ChatParams,
) -> (mpsc::Receiver<ChatChunk>, PendingAnswer) {
    let (pieces, received) = mpsc::channel(WAITING);
    let service = service.clone();
    let answering = async move {
        let reply = service.ask(AnswerChat { params, pieces }).await;
        reply
            .map_err(|error| service_problem(&error))?
            .map_err(|failure| chat_problem(&failure))
    };
    (received, Box::pin(answering))
}

/// Answers a message from the documents of a role, with citations.
///
/// With `stream` the answer comes as server-sent events: `start` (`conversation_id`, `provider`,
/// `model`), `delta` (`text`), at last `done` (the whole answer, as without `stream`) or `error` (a
/// problem).
#[utoipa::path(
    post, path = "/api/chat", tag = "chat", request_body = ChatBody,
    responses((status = 200, description = "The answer; with `stream` as text/event-stream.", body = ChatAnswer))
)]
pub(crate) async fn chat(
    chat: web::Data<ChatState>,
    body: ApiJson<ChatBody>,
) -> Result<HttpResponse, Problem> {
    let params = body.0.check()?;
    let stream = params.stream;
    let (mut pieces, mut answering) = start_answer(&chat.service, params);
    if !stream {
        let answer = answering.await?;
        return Ok(no_store().json(answer));
    }
    // What fails before the first word has a status of its own.
    let first = match next_chunk(&mut pieces, &mut answering).await {
        Ok(piece) => frame(&chunk_json(&piece)),
        Err(end) => end_event(end?),
    };
    let events = Events {
        pieces,
        answering: Some(answering),
        first: Some(first),
    };
    Ok(no_store()
        .content_type("text/event-stream")
        .insert_header(("x-accel-buffering", "no"))
        .streaming(stream::unfold(events, Events::next)))
}

/// A stream of events in the making; dropping it ends the answer.
struct Events {
    pieces: mpsc::Receiver<ChatChunk>,
    answering: Option<PendingAnswer>,
    first: Option<Bytes>,
}

impl Events {
    async fn next(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Self)> {
        if let Some(first) = self.first.take() {
            if first.starts_with(b"event: done") {
                self.answering = None;
            }
            return Some((Ok(first), self));
        }
        let answering = self.answering.as_mut()?;
        let next = timeout(KEEP_ALIVE_INTERVAL, next_chunk(&mut self.pieces, answering)).await;
        let Ok(next) = next else {
            return Some((Ok(Bytes::from_static(b": waiting\n\n")), self));
        };
        let bytes = match next {
            Ok(piece) => frame(&chunk_json(&piece)),
            Err(end) => {
                self.answering = None;
                match end {
                    Ok(answer) => end_event(answer),
                    Err(problem) => frame(&("error", problem_json(&problem))),
                }
            }
        };
        Some((Ok(bytes), self))
    }
}

/// The next piece, or how the answer ended; pieces go before the end.
pub(crate) async fn next_chunk(
    pieces: &mut mpsc::Receiver<ChatChunk>,
    answering: &mut PendingAnswer,
) -> Result<ChatChunk, Result<ChatAnswer, Problem>> {
    let end = tokio::select! {
        biased;
        Some(piece) = pieces.recv() => return Ok(piece),
        end = answering.as_mut() => end,
    };
    // The last pieces may have come between the two looks.
    let Ok(piece) = pieces.try_recv() else {
        return Err(end);
    };
    *answering = Box::pin(std::future::ready(end));
    Ok(piece)
}

/// A piece as an event: its name and its data.
pub(crate) fn chunk_json(piece: &ChatChunk) -> (&'static str, Value) {
    match piece {
        ChatChunk::Start {
            conversation,
            provider,
            model,
        } => (
            "start",
            json!({"conversation_id": conversation, "provider": provider, "model": model}),
        ),
        ChatChunk::Delta(text) => ("delta", json!({"text": text})),
    }
}

pub(crate) fn problem_json(problem: &Problem) -> Value {
    serde_json::to_value(problem.document(None)).unwrap_or_default()
}

fn end_event(answer: ChatAnswer) -> Bytes {
    frame(&("done", serde_json::to_value(answer).unwrap_or_default()))
}

/// An event as it is sent. JSON has no line ends outside of its strings, and none inside.
fn frame((event, data): &(&'static str, Value)) -> Bytes {
    Bytes::from(format!("event: {event}\ndata: {data}\n\n"))
}

/// Summarises a text or an indexed document.
#[utoipa::path(
    post, path = "/api/documents/summarize", tag = "chat", request_body = SummaryBody,
    responses((status = 200, description = "The summary.", body = SummaryAnswer))
)]
pub(crate) async fn summarize(
    chat: web::Data<ChatState>,
    body: ApiJson<SummaryBody>,
) -> Result<HttpResponse, Problem> {
    let params = body.0.check()?;
    // Dropped with this future, when the client leaves.
    let (here, _present) = mpsc::channel(1);
    let reply = chat.service.ask(Summarise { params, here }).await;
    let reply = reply.map_err(|error| service_problem(&error))?;
    let answer = reply.map_err(|failure| chat_problem(&failure))?;
    Ok(no_store().json(answer))
}

/// Lists the kept conversations, the newest first.
#[utoipa::path(
    get, path = "/api/conversations", tag = "chat",
    responses((status = 200, description = "The conversations.", body = ConversationList))
)]
pub(crate) async fn conversations(chat: web::Data<ChatState>) -> Result<HttpResponse, Problem> {
    let conversations = blocking(&chat, |kept| kept.list()).await?;
    Ok(no_store().json(ConversationList { conversations }))
}

/// Reads a kept conversation.
#[utoipa::path(
    get, path = "/api/conversations/{id}", tag = "chat", params(("id" = String, Path, description = "A conversation")),
    responses((status = 200, description = "The conversation.", body = Conversation))
)]
pub(crate) async fn conversation(
    chat: web::Data<ChatState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let found = blocking(&chat, move |kept| kept.get(&id)).await?;
    Ok(no_store().json(found))
}

/// Deletes a kept conversation.
#[utoipa::path(
    delete, path = "/api/conversations/{id}", operation_id = "forget", tag = "chat", params(("id" = String, Path, description = "A conversation")),
    responses((status = 204, description = "It is gone."))
)]
pub(crate) async fn delete_conversation(
    chat: web::Data<ChatState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    blocking(&chat, move |kept| kept.delete(&id)).await?;
    Ok(HttpResponse::NoContent().finish())
}

async fn blocking<T: Send + 'static>(
    chat: &ChatState,
    work: impl FnOnce(Conversations) -> Result<T, ChatFailure> + Send + 'static,
) -> Result<T, Problem> {
    let kept = chat.conversations.clone();
    let done = web::block(move || work(kept)).await;
    done.map_err(|_| Problem::internal())?
        .map_err(|failure| chat_problem(&failure))
}

fn no_store() -> actix_web::HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    response
}

/// Why the chat service has no reply, as an answer.
fn service_problem(error: &AskError) -> Problem {
    let full = "as many chats and summaries are under way as may be";
    if matches!(error, AskError::Full { .. }) {
        return Problem::unavailable(full, RETRY_SECONDS);
    }
    edge_web::ask_problem(error, full, "the chat service is being restarted")
}

/// Why there is no answer, as an answer. The service has logged it.
pub(crate) fn chat_problem(failure: &ChatFailure) -> Problem {
    let detail = failure.to_string();
    match failure {
        ChatFailure::Search(failure) => search_problem(failure),
        ChatFailure::Unanswered(error) => ask_problem(error),
        ChatFailure::Model(error) => model_problem(error, detail),
        ChatFailure::UnknownConversation(_) => Problem::not_found(detail),
        ChatFailure::LongConversation(_) => Problem::conflict(detail),
        ChatFailure::State(_)
        | ChatFailure::Unreadable { .. }
        | ChatFailure::BrokenOff
        | ChatFailure::Left => Problem::internal(),
    }
}

fn model_problem(error: &LlmError, detail: String) -> Problem {
    match error {
        LlmError::TimedOut(_) => Problem::gateway_timeout(detail),
        LlmError::RateLimited { after, .. } => {
            let seconds = after.map_or(RETRY_SECONDS.into(), |after| after.as_secs().max(1));
            Problem::unavailable(detail, u32::try_from(seconds).unwrap_or(u32::MAX))
        }
        _ => Problem::bad_gateway(detail),
    }
}
