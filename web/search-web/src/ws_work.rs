//! What one `/ws` connection has under way.

use std::future::{Future, pending};
use std::net::IpAddr;
use std::pin::Pin;

use actix_web::web;
use config_core::Secret;
use edge_web::Problem;
use search_actors::chat::ChatChunk;
use search_actors::messages::Search;
use search_core::answer::SearchAnswer;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::chat::{self, ChatState, PendingAnswer};
use crate::chat_wire::ChatBody;
use crate::config::ConfigState;
use crate::runs::{RunListener, SubscribeError};
use crate::state::{SearchState, ask_problem, search_problem};
use crate::wire::SearchBody;

/// A message for the client.
pub(crate) type WebSocketMessage = Value;

/// A problem as a message.
pub(crate) fn error(id: &Value, problem: &Problem) -> WebSocketMessage {
    json!({"type": "error", "id": id, "problem": crate::chat::problem_json(problem)})
}

type PendingSearch = Pin<Box<dyn Future<Output = Result<SearchAnswer, Problem>>>>;

/// A chat under way.
struct PendingChat {
    id: Value,
    pieces: mpsc::Receiver<ChatChunk>,
    answering: PendingAnswer,
}

/// The work of one connection.
pub(crate) struct ConnectionWork {
    search: web::Data<SearchState>,
    chat: web::Data<ChatState>,
    searching: Option<(Value, PendingSearch)>,
    chatting: Option<PendingChat>,
    config: web::Data<Option<ConfigState>>,
    /// What the client was last told of the indexes; none when it did not subscribe.
    index: Option<Value>,
    /// What it was last told of the configuration.
    reported_config: Option<Value>,
    /// What it was told of runs.
    runs: Option<RunListener>,
    /// Where the client is: wrong tokens are counted by address.
    peer: Option<IpAddr>,
}

/// What a client says.
#[derive(Debug, Deserialize)]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    /// Comes back with every answer.
    #[serde(default)]
    id: Value,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl ConnectionWork {
    pub(crate) fn new(
        search: web::Data<SearchState>,
        chat: web::Data<ChatState>,
        config: web::Data<Option<ConfigState>>,
        peer: Option<IpAddr>,
    ) -> Self {
        Self {
            search,
            chat,
            searching: None,
            chatting: None,
            config,
            index: None,
            reported_config: None,
            runs: None,
            peer,
        }
    }

    /// Begins what a message orders; what can be said at once comes back.
    pub(crate) fn handle_message(&mut self, text: &[u8]) -> Option<WebSocketMessage> {
        let message = match serde_json::from_slice::<Message>(text) {
            Ok(message) => message,
            Err(fault) => {
                let detail = format!("a message is a JSON object with a \"type\": {fault}");
                return Some(error(&Value::Null, &Problem::bad_request(detail)));
            }
        };
        let Message { kind, id, rest } = message;
        let done = match kind.as_str() {
            "ping" => Ok(Some(json!({"type": "pong", "id": id}))),
            "search" => self.start_search(&id, rest).map(|()| None),
            "chat" => self.start_chat(&id, rest).map(|()| None),
            "cancel" => {
                (self.searching, self.chatting) = (None, None);
                Ok(Some(json!({"type": "cancelled", "id": id})))
            }
            "subscribe" => self.subscribe(&id, &rest, true).map(Some),
            "unsubscribe" => self.subscribe(&id, &rest, false).map(Some),
            other => {
                let known = "ping, search, chat, cancel, subscribe, unsubscribe";
                let other: String = other.chars().take(40).collect();
                Err(Problem::bad_request(format!(
                    "unknown type {other:?}; the types are: {known}"
                )))
            }
        };
        done.unwrap_or_else(|problem| Some(error(&id, &problem)))
    }

    /// A newer search takes the place of the older one, whose work ends unless it has begun.
    fn start_search(&mut self, id: &Value, rest: Map<String, Value>) -> Result<(), Problem> {
        self.searching = None;
        let params = body::<SearchBody>(rest)?.check()?;
        let (service, metrics) = (self.search.search.clone(), self.search.metrics.clone());
        let searching = async move {
            let reply = service.ask(Search(params)).await;
            let answer = reply.map_err(|error| ask_problem(&error))?;
            let answer = answer.map_err(|failure| search_problem(&failure))?;
            metrics.record_answer(&answer);
            Ok(answer)
        };
        self.searching = Some((id.clone(), Box::pin(searching)));
        Ok(())
    }

    fn start_chat(&mut self, id: &Value, mut rest: Map<String, Value>) -> Result<(), Problem> {
        self.chatting = None;
        rest.insert("stream".to_owned(), Value::Bool(true));
        let params = body::<ChatBody>(rest)?.check()?;
        let (pieces, answering) = chat::start_answer(&self.chat.service, params);
        self.chatting = Some(PendingChat {
            id: id.clone(),
            pieces,
            answering,
        });
        Ok(())
    }

    fn subscribe(
        &mut self,
        id: &Value,
        rest: &Map<String, Value>,
        on: bool,
    ) -> Result<WebSocketMessage, Problem> {
        let topic = rest.get("topic").and_then(Value::as_str);
        match topic {
            // The first news comes with the next look.
            Some("index") => self.index = on.then_some(Value::Null),
            Some("config") if self.config.is_some() => {
                self.reported_config = on.then_some(Value::Null);
            }
            Some("runs") if self.search.runs.is_some() => {
                // Whoever has subscribed before and gives a wrong token now is not subscribed any
                // more.
                self.runs = None;
                let feed = self.search.runs.as_ref().filter(|_| on);
                if let Some(feed) = feed {
                    let listener = feed.subscribe(tokens(rest)?, self.peer);
                    self.runs = Some(listener.map_err(refused)?);
                }
            }
            // In a search server alone runs are another one's, which streams its own.
            Some(topic @ ("config" | "runs")) => {
                let problem = Problem::unprocessable(
                    format!("this server has no news of {topic:?}"),
                    Vec::new(),
                );
                return Err(problem.kind("no-such-news", "No such news"));
            }
            _ => {
                return Err(Problem::bad_request(
                    "\"topic\" is missing or unknown; the topics are \"index\", \"config\" and \"runs\"",
                ));
            }
        }
        let kind = if on { "subscribed" } else { "unsubscribed" };
        Ok(json!({"type": kind, "id": id, "topic": topic}))
    }

    pub(crate) fn is_subscribed(&self) -> bool {
        self.index.is_some() || self.reported_config.is_some() || self.runs.is_some()
    }

    /// What has changed of that to which the client subscribed; one thing at a time.
    pub(crate) fn news(&mut self) -> Option<WebSocketMessage> {
        let news = self.config_news().or_else(|| self.index_news());
        news.or_else(|| self.run_news())
    }

    fn run_news(&mut self) -> Option<WebSocketMessage> {
        if self.runs.take_if(|runs| !runs.is_open()).is_some() {
            let problem =
                Problem::unauthorized("the token of the subscription to runs was replaced");
            return Some(error(&Value::Null, &problem));
        }
        let runs = self.runs.as_mut()?.news()?;
        Some(json!({"type": "runs", "runs": runs}))
    }

    fn config_news(&mut self) -> Option<WebSocketMessage> {
        let reported = self.reported_config.as_mut()?;
        let config = self.config.as_ref().as_ref()?;
        let now = serde_json::to_value(config.config.health()).unwrap_or_default();
        if now == *reported {
            return None;
        }
        reported.clone_from(&now);
        let roles = self.search.roles().role_list();
        Some(json!({"type": "config", "configuration": now, "roles": roles}))
    }

    /// The state of all sources, if it is another than the client was told.
    fn index_news(&mut self) -> Option<WebSocketMessage> {
        let reported = self.index.as_mut()?;
        let now = serde_json::to_value(self.search.roles().health()).unwrap_or_default();
        if now == *reported {
            return None;
        }
        reported.clone_from(&now);
        Some(json!({"type": "index", "sources": now}))
    }

    /// Waits for news of the search or the chat; for ever when there is neither.
    pub(crate) async fn next(&mut self) -> WebSocketMessage {
        let (searching, chatting) = (&mut self.searching, &mut self.chatting);
        tokio::select! {
            news = search_news(searching) => news,
            news = chat_news(chatting) => news,
        }
    }
}

/// The tokens of a subscription: `"token"`, or several of them in `"tokens"`.
fn tokens(rest: &Map<String, Value>) -> Result<Vec<Secret<String>>, Problem> {
    let wrong =
        || Problem::bad_request("\"token\" is a text, \"tokens\" a list of at most 2 texts");
    let listed = match rest.get("tokens") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(tokens)) if tokens.len() <= 2 => tokens.as_slice(),
        Some(_) => return Err(wrong()),
    };
    let single = rest.get("token").filter(|token| !token.is_null());
    let texts = single.into_iter().chain(listed).map(Value::as_str);
    texts
        .map(|text| Ok(Secret::new(text.ok_or_else(wrong)?.trim().to_owned())))
        .collect()
}

/// Why a client is not subscribed to runs.
fn refused(refused: SubscribeError) -> Problem {
    match refused {
        SubscribeError::NoToken => Problem::unauthorized(
            "runs are shown only with the token of who keeps them: give the workflow runner's WORKFLOW_RUNNER_API_TOKEN or the orchestrator's admin_token as \"token\", or both in \"tokens\"",
        ),
        SubscribeError::Later(wait) => {
            let seconds = u32::try_from(wait.as_secs() + 1).unwrap_or(u32::MAX);
            Problem::unavailable(
                format!("there were too many wrong tokens; try again in {seconds} s"),
                seconds,
            )
        }
    }
}

async fn search_news(searching: &mut Option<(Value, PendingSearch)>) -> WebSocketMessage {
    let Some((id, search)) = searching else {
        return pending().await;
    };
    let news = match search.await {
        Ok(answer) => json!({"type": "results", "id": id, "answer": answer}),
        Err(problem) => error(id, &problem),
    };
    *searching = None;
    news
}

async fn chat_news(chatting: &mut Option<PendingChat>) -> WebSocketMessage {
    let Some(chat) = chatting else {
        return pending().await;
    };
    let end = match chat::next_chunk(&mut chat.pieces, &mut chat.answering).await {
        Ok(piece) => {
            let (kind, mut data) = chat::chunk_json(&piece);
            data["type"] = kind.into();
            data["id"] = chat.id.clone();
            return data;
        }
        Err(end) => end,
    };
    let news = match end {
        Ok(answer) => json!({"type": "done", "id": chat.id, "answer": answer}),
        Err(problem) => error(&chat.id, &problem),
    };
    *chatting = None;
    news
}

/// The rest of a message as the body of the request it stands for.
fn body<T: DeserializeOwned>(rest: Map<String, Value>) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(rest)).map_err(|fault| {
        Problem::bad_request(format!(
            "the message does not have the expected form: {fault}"
        ))
    })
}
