//! Following an execution: lines of JSON become events, and the last one is never missing in
//! silence.

use std::collections::VecDeque;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;

use super::error::VmmError;
use super::shapes::{ExecReport, ExecState};
use crate::http::{HttpError, Streaming};
use crate::lines::{LineError, Lines};

/// The longest line in bytes.
const LINE: usize = 1 << 20;

/// Where output went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What happened in an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowEvent {
    /// Output, as it was written: chunks, not lines.
    Output(OutputStream, Bytes),
    /// So many bytes of output were beyond the manager's limit and are gone.
    Dropped(u64),
    /// It has ended; nothing follows.
    Ended(ExecReport),
}

/// An execution that is followed. Dropping it stops following, not the execution.
pub struct Follow {
    streaming: Streaming,
    lines: Lines,
    waiting: VecDeque<FollowEvent>,
    ended: bool,
    failed: Option<VmmError>,
}

#[derive(Debug, Deserialize)]
struct Line {
    stream: Option<OutputStream>,
    data: Option<String>,
    b64: Option<String>,
    dropped: Option<u64>,
    state: Option<ExecState>,
    exit_code: Option<i32>,
    signal: Option<i32>,
    reason: Option<String>,
}

impl Follow {
    pub(super) fn new(streaming: Streaming) -> Self {
        Self {
            streaming,
            lines: Lines::new(LINE),
            waiting: VecDeque::new(),
            ended: false,
            failed: None,
        }
    }

    /// The next event; `None` after the end.
    ///
    /// # Errors
    /// [`VmmError::Lost`] when the stream ends or breaks before the last line, or is silent for
    /// longer than the idle time; [`VmmError::BadReply`] when it is no such stream. Nothing follows
    /// an error; ask [`VmmClient::exec_report`](super::VmmClient::exec_report), or follow again
    /// from the first output on.
    pub async fn next(&mut self) -> Option<Result<FollowEvent, VmmError>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                if matches!(event, FollowEvent::Ended(_)) {
                    self.ended = true;
                    self.failed = None;
                    self.waiting.clear();
                }
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                self.ended = true;
                return Some(Err(error));
            }
            if self.ended {
                return None;
            }
            // What came before an error is passed on before it.
            self.failed = self.read().await.err();
        }
    }

    async fn read(&mut self) -> Result<(), VmmError> {
        match self.streaming.next_chunk().await {
            Some(Ok(chunk)) => self.lines.push(&chunk).map_err(bad)?,
            Some(Err(error @ (HttpError::BadBody { .. } | HttpError::TimedOut { .. }))) => {
                return Err(VmmError::Lost(error.to_string()));
            }
            Some(Err(error)) => return Err(error.into()),
            None => {
                return Err(VmmError::Lost(
                    "its output ended without saying how it ended".to_owned(),
                ));
            }
        }
        while let Some(line) = self.lines.next_line() {
            self.waiting.extend(event(&line)?);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Follow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follow")
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

#[allow(clippy::needless_pass_by_value)] // for map_err
fn bad(error: LineError) -> VmmError {
    VmmError::BadReply(error.to_string())
}

/// What a line says; signs of life say nothing.
fn event(line: &[u8]) -> Result<Option<FollowEvent>, VmmError> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let unreadable = |reason: &dyn std::fmt::Display| {
        VmmError::BadReply(format!("a line of its output is unreadable: {reason}"))
    };
    let line: Line = serde_json::from_slice(line).map_err(|error| unreadable(&error))?;
    if let Some(state) = line.state {
        let report = ExecReport {
            state,
            exit_code: line.exit_code,
            signal: line.signal,
            reason: line.reason,
        };
        return match state {
            ExecState::Running => Ok(None),
            ExecState::Exited if report.exit_code.is_none() && report.signal.is_none() => {
                Err(unreadable(&"it exited with neither a code nor a signal"))
            }
            _ => Ok(Some(FollowEvent::Ended(report))),
        };
    }
    if let Some(dropped) = line.dropped {
        return Ok(Some(FollowEvent::Dropped(dropped)));
    }
    let Some(stream) = line.stream else {
        return Ok(None);
    };
    let bytes = match (line.data, line.b64) {
        (Some(text), None) => Bytes::from(text),
        (None, Some(b64)) => {
            let bytes = STANDARD.decode(b64);
            bytes.map_err(|error| unreadable(&error))?.into()
        }
        _ => return Err(unreadable(&"it has neither data nor b64, or both")),
    };
    Ok(Some(FollowEvent::Output(stream, bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Option<FollowEvent>, VmmError> {
        event(line.as_bytes())
    }

    #[test]
    fn lines_become_events() {
        use {ExecState::*, OutputStream::*};
        let output = |stream, bytes: &'static [u8]| {
            Some(FollowEvent::Output(stream, Bytes::from_static(bytes)))
        };
        let ended = |state, exit_code, signal| {
            Some(FollowEvent::Ended(ExecReport {
                state,
                exit_code,
                signal,
                reason: None,
            }))
        };
        let table = [
            (
                r#"{"stream":"stdout","data":"a\n"}"#,
                output(Stdout, b"a\n"),
            ),
            (
                r#"{"stream":"stderr","b64":"/wA="}"#,
                output(Stderr, b"\xff\x00"),
            ),
            (r#"{"dropped":7}"#, Some(FollowEvent::Dropped(7))),
            ("{}", None),
            ("  ", None),
            (r#"{"state":"running","exit_code":null}"#, None),
            (
                r#"{"state":"exited","exit_code":0,"signal":null}"#,
                ended(Exited, Some(0), None),
            ),
            (
                r#"{"state":"exited","exit_code":null,"signal":9}"#,
                ended(Exited, None, Some(9)),
            ),
            (
                r#"{"state":"timed_out","exit_code":null}"#,
                ended(TimedOut, None, None),
            ),
            (r#"{"state":"killed"}"#, ended(Killed, None, None)),
            (r#"{"state":"lost","new":1}"#, ended(Lost, None, None)),
            (
                r#"{"state":"not_started","exit_code":null,"reason":"no such folder"}"#,
                Some(FollowEvent::Ended(ExecReport {
                    state: NotStarted,
                    exit_code: None,
                    signal: None,
                    reason: Some("no such folder".to_owned()),
                })),
            ),
        ];
        for (line, expected) in table {
            assert_eq!(of(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn an_exit_code_is_never_made_up() {
        for line in [
            r#"{"state":"exited"}"#,
            r#"{"state":"exited","exit_code":null,"signal":null}"#,
            r#"{"state":"exited","exit_code":"0"}"#,
            r#"{"state":"done","exit_code":0}"#,
            r#"{"stream":"stdout"}"#,
            r#"{"stream":"stdout","data":"a","b64":"YQ=="}"#,
            r#"{"stream":"stdout","b64":"%"}"#,
            r#"{"stream":"stdin","data":""}"#,
            "exited 0",
            "[1]",
        ] {
            assert!(matches!(of(line), Err(VmmError::BadReply(_))), "{line}");
        }
    }
}
