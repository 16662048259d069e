//! A shell of somebody else on this terminal: keys there, output here.
//!
//! ```text
//! keys (a thread) ─▶ Escape ─▶ binary messages ─▶ runner ─▶ shell
//! SIGWINCH ─▶ resize             this terminal ◀─ output ◀──┘
//! ```

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::time::Duration;

use anyhow::{Context as _, bail};
use command_line::terminal::escape::{Escape, EscapeAction};
use command_line::terminal::raw::{self, RawTerminal};
use command_line::terminal::{TerminationSignals, WindowChanges};
use config_core::Secret;
use http_clients::http::HttpError;
use http_clients::vmm::{ExecReport, ExecState, TerminalCommand, TerminalEvent, TerminalSize};
use http_clients::ws::{self, Frame, Message, WsOptions, WsReceiver, WsSender};
use tokio::sync::mpsc;
use url::Url;

use crate::arguments::print_note;

/// What is read of the keyboard at once.
const PIECE: usize = 16 << 10;
/// How long the runner may take: the VM goes on, and a shell begins in it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(90);
/// Ends the input of a shell whose input is a pipe.
const END_OF_INPUT: &[u8] = &[4];

/// Opens the shell and stays in it; its exit code.
pub(super) fn run(mut url: Url, token: Secret<String>) -> anyhow::Result<u8> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let size = size_of(is_terminal);
    url.query_pairs_mut()
        .append_pair("columns", &size.columns.to_string())
        .append_pair("rows", &size.rows.to_string());
    actix_rt::System::new().block_on(async move {
        let options = WsOptions {
            connect: CONNECT_TIMEOUT,
            ..WsOptions::default()
        };
        let connected = ws::connect_as(&url, Some(&token), &options).await;
        let (sender, receiver) = connected.map_err(|error| refused(&url, error))?;
        if !is_terminal {
            return relay(sender, receiver, None).await;
        }
        let raw = RawTerminal::enable().context("this terminal cannot be used")?;
        print_note("a shell in the kept VM; `~.` on a line of its own ends it\r");
        let ended = relay(sender, receiver, Some(size)).await;
        drop(raw);
        ended
    })
}

fn refused(url: &Url, error: HttpError) -> anyhow::Error {
    let status = match &error {
        HttpError::Status { status, .. } => *status,
        _ => return anyhow::Error::new(error),
    };
    let why = match status {
        401 => "WORKFLOW_RUNNER_API_TOKEN is not the runner's",
        403 => "the runner has no API token: it opens no shells",
        404 => "no VM of this job is kept; `workflow-runner kept` shows those that are",
        409 => {
            "several VMs of the run are kept and no job is named, or it is gone; `workflow-runner kept` shows those that are"
        }
        503 => "as many shells as may be are open, or there is no room; try again",
        _ => "the VM manager does not answer as it should",
    };
    let host = url.host_str().unwrap_or_default().to_owned();
    anyhow::Error::new(RefusedShell { host, status, why })
}

/// A runner that opens no shell. The client of WebSockets does not read why.
#[derive(Debug, thiserror::Error)]
#[error("no shell: the runner at {host} says {status}: {why}")]
pub(super) struct RefusedShell {
    host: String,
    status: u16,
    why: &'static str,
}

fn size_of(is_terminal: bool) -> TerminalSize {
    let size = is_terminal.then(raw::size).flatten();
    let size = size.map(|(columns, rows)| TerminalSize { columns, rows });
    size.filter(|size| size.is_valid())
        .unwrap_or(TerminalSize::USUAL)
}

/// Until the shell has ended, or is left.
async fn relay(
    mut sender: WsSender,
    mut receiver: WsReceiver,
    terminal: Option<TerminalSize>,
) -> anyhow::Result<u8> {
    let mut keys = keys();
    let mut escape = Escape::default();
    let mut signals = TerminationSignals::listen()?;
    let mut changes = WindowChanges::watch()?;
    let mut open = true;
    loop {
        tokio::select! {
            frame = receiver.next() => match frame {
                Some(Ok(frame)) => {
                    if let Some(code) = show(frame, &mut sender).await? {
                        return Ok(code);
                    }
                }
                _ => bail!("the connection to the shell broke off"),
            },
            typed = keys.recv(), if open => {
                let left = match typed {
                    Some(bytes) if terminal.is_some() => type_in(&mut sender, &mut escape, &bytes).await,
                    Some(bytes) => send(&mut sender, bytes).await.map(|()| false),
                    None => {
                        open = false;
                        send(&mut sender, END_OF_INPUT.to_vec()).await.map(|()| false)
                    }
                };
                if left? {
                    print_note("\r\nthe shell is ended\r");
                    return Ok(0);
                }
            }
            signal = signals.next() => return Ok(signal.code()),
            () = changes.next(), if terminal.is_some() => {
                let resize = TerminalCommand::Resize(size_of(true));
                let text = serde_json::to_string(&resize)?;
                let sent = sender.send(Message::Text(text.into())).await;
                sent.context("the connection to the shell broke off")?;
            }
        }
    }
}

/// Passes keys on; true when the shell is left.
async fn type_in(sender: &mut WsSender, escape: &mut Escape, bytes: &[u8]) -> anyhow::Result<bool> {
    let (typed, action) = escape.take(bytes);
    if !typed.is_empty() {
        send(sender, typed).await?;
    }
    match action {
        Some(EscapeAction::Leave) => return Ok(true),
        Some(EscapeAction::Help) => {
            print_note("\r\n~.  ends the shell\r\n~~  types a ~\r\n~?  shows this\r");
        }
        None => {}
    }
    Ok(false)
}

async fn send(sender: &mut WsSender, bytes: Vec<u8>) -> anyhow::Result<()> {
    let sent = sender.send(Message::Binary(bytes.into())).await;
    sent.context("the connection to the shell broke off")
}

/// Shows what came; the exit code when the shell has ended.
async fn show(frame: Frame, sender: &mut WsSender) -> anyhow::Result<Option<u8>> {
    match frame {
        Frame::Binary(bytes) => {
            let mut out = std::io::stdout().lock();
            let shown = out.write_all(&bytes).and_then(|()| out.flush());
            shown.context("this terminal is gone")?;
        }
        Frame::Text(text) => match serde_json::from_slice(&text)? {
            TerminalEvent::Ended(report) => return code_of(&report).map(Some),
            TerminalEvent::Dropped(bytes) => {
                print_note(&format!(
                    "\r\n[{bytes} bytes of output came too fast and are gone]\r"
                ));
            }
        },
        Frame::Ping(bytes) => {
            // One that cannot be answered ends with the next message.
            let _ = sender.send(Message::Pong(bytes)).await;
        }
        Frame::Close(reason) => {
            let why = reason.and_then(|reason| reason.description);
            bail!("the runner has ended it: {}", why.unwrap_or_default());
        }
        Frame::Continuation(_) | Frame::Pong(_) => {}
    }
    Ok(None)
}

/// As a shell counts: the exit code, or 128 and the signal.
fn code_of(report: &ExecReport) -> anyhow::Result<u8> {
    let signalled = report.signal.map(|signal| 128 + signal);
    let code = report.exit_code.or(signalled);
    match code.and_then(|code| u8::try_from(code).ok()) {
        Some(code) => Ok(code),
        None if report.state == ExecState::Killed => bail!("the shell was ended"),
        None => {
            let why = report.reason.as_deref().unwrap_or("no reason is given");
            bail!("the shell is lost: {why}")
        }
    }
}

/// What is typed, as it comes; it ends with the input.
fn keys() -> mpsc::Receiver<Vec<u8>> {
    let (sender, keys) = mpsc::channel(16);
    let read = move || {
        let mut buffer = vec![0; PIECE];
        let mut input = std::io::stdin().lock();
        while let Ok(count @ 1..) = input.read(&mut buffer) {
            if sender.blocking_send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    };
    // Without the thread nothing can be typed; output is still shown.
    let _ = std::thread::Builder::new()
        .name("keys".to_owned())
        .spawn(read);
    keys
}
