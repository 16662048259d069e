//! Following an execution: lines of JSON become events, and the last one is never missing in
//! silence.

use std::collections::VecDeque;

use bytes::Bytes;
use vmm_api_core::{ExecReport, FollowLine, OutputStream};

use super::error::VmmError;
use crate::http::{HttpError, StreamingResponse};
use crate::lines::{LineError, Lines};

/// The longest line in bytes.
const LINE: usize = 1 << 20;

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
    streaming: StreamingResponse,
    lines: Lines,
    waiting: VecDeque<FollowEvent>,
    ended: bool,
    failed: Option<VmmError>,
}

impl Follow {
    pub(super) fn new(streaming: StreamingResponse) -> Self {
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

/// What a line says; a keep-alive says nothing.
fn event(line: &[u8]) -> Result<Option<FollowEvent>, VmmError> {
    let line = FollowLine::parse(line).map_err(|error| VmmError::BadReply(error.to_string()))?;
    Ok(match line {
        FollowLine::Output(stream, bytes) => Some(FollowEvent::Output(stream, bytes.into())),
        FollowLine::Dropped(bytes) => Some(FollowEvent::Dropped(bytes)),
        FollowLine::Ended(report) => Some(FollowEvent::Ended(report)),
        FollowLine::KeepAlive => None,
    })
}
