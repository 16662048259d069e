//! `GET /vms/{id}/terminal?exec=`: the terminal of a command, as a WebSocket.
//!
//! ```text
//! client ──binary: what is typed, text: TerminalCommand──▶ Vm ─▶ guest
//! client ◀─binary: output, text: TerminalEvent──────────── OutputLog ◀── guest
//! ```
//! Closing the connection ends the command, as hanging up does. Output that the client does not
//! take holds the command back, as it does whoever follows it.

use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseCode, CloseReason, Session};
use bytes::Bytes;
use edge_web::{ConcurrencyLimit, Problem};
use serde::Deserialize;
use supervision::ChildRef;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use utoipa::IntoParams;
use vm_actors::log::{Follower, LogChunk};
use vm_actors::messages::{KillExec, ResizeTerminal, TypeIn};
use vm_actors::{ExecRecord, Vm};
use vmm_api_core::{TerminalCommand, TerminalEvent};

use super::execs::find;
use crate::auth::WriteCaller;
use crate::state::VmWebState;

/// Connections at once.
const CONNECTIONS: usize = 64;
/// Largest message: what is pasted comes in several.
const MESSAGE_BYTES: usize = 64 << 10;
/// How long a client may take nothing: somebody has stopped their screen to read it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(600);
/// How long the guest may take to hear of something.
const GUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a client is pinged, and after how long a silent one is gone.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const SILENCE_TIMEOUT: Duration = Duration::from_secs(600);

/// How many terminals may be open at once; shared by the workers.
#[derive(Debug, Clone)]
pub(crate) struct TerminalGate(ConcurrencyLimit);

impl Default for TerminalGate {
    fn default() -> Self {
        Self(ConcurrencyLimit::new(CONNECTIONS, 5))
    }
}

/// Which command.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct TerminalQuery {
    /// The id of what was started with `terminal`.
    exec: String,
}

/// The terminal of what was started with `terminal`: a WebSocket. Binary messages are output and
/// input, text messages are JSON: `{"resize": {"columns": 80, "rows": 24}}` from the client,
/// `{"dropped": 4096}` and at last `{"ended": …}` to it. Closing it ends what runs.
#[utoipa::path(
    get, path = "/vms/{id}/terminal", tag = "exec", operation_id = "terminal", security(("token" = [])),
    params(("id" = String, Path, description = "A VM's id"), TerminalQuery),
    responses(
        (status = 101, description = "Messages both ways.", body = TerminalEvent),
        (status = 400, description = "No WebSocket."),
        (status = 404, description = "Nothing of this id was started there."),
        (status = 503, description = "As many terminals as may be are open."),
    )
)]
pub(crate) async fn open(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    gate: web::Data<TerminalGate>,
    id: web::Path<String>,
    query: web::Query<TerminalQuery>,
    request: HttpRequest,
    body: web::Payload,
) -> Result<HttpResponse, Problem> {
    let record = find(&state, &caller.0, &id, &query.exec)?;
    let actor = state.actor(&id, &caller.0)?;
    let permit = gate.0.try_acquire()?;
    let (response, session, messages) = actix_ws::handle(&request, body).map_err(|error| {
        Problem::bad_request(format!("this path speaks WebSocket only: {error}"))
    })?;
    let messages = messages
        .max_frame_size(MESSAGE_BYTES)
        .aggregate_continuations()
        .max_continuation_size(MESSAGE_BYTES);
    let terminal = Terminal { actor, record };
    actix_web::rt::spawn(async move {
        terminal.run(session, messages).await;
        drop(permit);
    });
    Ok(response)
}

/// A command's terminal with somebody at it.
struct Terminal {
    actor: ChildRef<Vm>,
    record: Arc<ExecRecord>,
}

impl Terminal {
    async fn run(&self, session: Session, messages: AggregatedMessageStream) {
        let reason = tokio::select! {
            reason = self.show(session.clone()) => reason,
            reason = self.take(session.clone(), messages) => reason,
        };
        if self.record.log.end().is_none() {
            let kill = KillExec::now(self.record.id.clone());
            // A VM that cannot be told is about to end.
            let _ = self.actor.ask_within(kill, GUEST_TIMEOUT).await;
        }
        // Whoever does not read it is gone anyway.
        let _ = timeout(WRITE_TIMEOUT, session.close(reason)).await;
    }

    /// Output, to the end of the command.
    async fn show(&self, mut session: Session) -> Option<CloseReason> {
        let mut follower: Follower = self.record.log.follow();
        loop {
            let sent = match follower.next().await {
                LogChunk::Output(_, bytes) => timeout(WRITE_TIMEOUT, session.binary(bytes)).await,
                LogChunk::Lost(bytes) => {
                    let text = json(&TerminalEvent::Dropped(bytes));
                    timeout(WRITE_TIMEOUT, session.text(text)).await
                }
                LogChunk::End(_) => {
                    let text = json(&TerminalEvent::Ended(self.record.view()));
                    let _ = timeout(WRITE_TIMEOUT, session.text(text)).await;
                    return Some(CloseCode::Normal.into());
                }
            };
            if !matches!(sent, Ok(Ok(()))) {
                return Some((CloseCode::Away, "the output is not taken").into());
            }
        }
    }

    /// What is typed, until the client is gone.
    async fn take(
        &self,
        mut session: Session,
        mut messages: AggregatedMessageStream,
    ) -> Option<CloseReason> {
        let mut pings = interval(PING_INTERVAL);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        loop {
            let message = tokio::select! {
                message = messages.recv() => message,
                _ = pings.tick() => {
                    let sent = timeout(WRITE_TIMEOUT, session.ping(b"")).await;
                    if heard.elapsed() > SILENCE_TIMEOUT || !matches!(sent, Ok(Ok(()))) {
                        return Some((CloseCode::Away, "nothing is heard of the client").into());
                    }
                    continue;
                }
            };
            heard = Instant::now();
            let taken = match message {
                None => return None,
                Some(Err(error)) => Err(error.to_string()),
                Some(Ok(AggregatedMessage::Close(reason))) => return reason,
                Some(Ok(AggregatedMessage::Binary(bytes))) => {
                    let taken = self.type_in(bytes).await;
                    heard = Instant::now();
                    taken
                }
                Some(Ok(AggregatedMessage::Text(text))) => self.command(&text).await,
                Some(Ok(AggregatedMessage::Ping(bytes))) => {
                    let _ = timeout(WRITE_TIMEOUT, session.pong(&bytes)).await;
                    Ok(())
                }
                Some(Ok(AggregatedMessage::Pong(_))) => Ok(()),
            };
            if let Err(reason) = taken {
                return Some((CloseCode::Policy, reason).into());
            }
        }
    }

    /// Until the program has taken all of it; the client is not read from meanwhile.
    async fn type_in(&self, mut bytes: Bytes) -> Result<(), String> {
        while !bytes.is_empty() {
            let message = TypeIn {
                exec: self.record.id.clone(),
                bytes: bytes.clone(),
            };
            let taken = self.actor.ask_within(message, GUEST_TIMEOUT).await;
            let taken = taken.map_err(|error| error.to_string())?;
            let taken = taken.map_err(|failure| failure.to_string())?;
            bytes = bytes.split_off(taken.min(bytes.len()));
        }
        Ok(())
    }

    async fn command(&self, text: &str) -> Result<(), String> {
        let command: TerminalCommand = serde_json::from_str(text)
            .map_err(|error| format!("no command of a terminal: {error}"))?;
        let TerminalCommand::Resize(size) = command;
        if !size.is_valid() {
            return Err("a terminal has 1 to 1000 columns and rows".to_owned());
        }
        let exec = self.record.id.clone();
        let told = self
            .actor
            .ask_within(ResizeTerminal { exec, size }, GUEST_TIMEOUT)
            .await;
        let told = told.map_err(|error| error.to_string())?;
        told.map_err(|failure| failure.to_string())
    }
}

fn json(event: &TerminalEvent) -> String {
    serde_json::to_string(event).expect("texts and numbers are always JSON")
}
