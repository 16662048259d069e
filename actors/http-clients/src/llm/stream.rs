//! An answer as it comes.

use std::collections::VecDeque;

use super::error::LlmError;
use super::ollama;
use super::openai::StreamEnd;
use super::shapes::{ChatEvent, ChatReply};
use crate::http::StreamingResponse;
use crate::lines::Lines;

/// The longest line in bytes.
const LINE: usize = 1 << 20;

/// Bytes → events, for either protocol. Pure.
#[derive(Debug)]
pub(super) struct Parser {
    lines: Lines,
    ending: Option<StreamEnd>,
}

impl Parser {
    /// For lines of JSON (Ollama).
    pub(super) fn json_lines() -> Self {
        Self {
            lines: Lines::new(LINE),
            ending: None,
        }
    }

    /// For server-sent events (OpenAI-style).
    pub(super) fn server_sent() -> Self {
        Self {
            lines: Lines::new(LINE),
            ending: Some(StreamEnd::default()),
        }
    }

    /// Adds what a chunk says.
    pub(super) fn push(
        &mut self,
        chunk: &[u8],
        events: &mut VecDeque<ChatEvent>,
    ) -> Result<(), LlmError> {
        let pushed = self.lines.push(chunk);
        pushed.map_err(|error| LlmError::BadReply(error.to_string()))?;
        while let Some(line) = self.lines.next_line() {
            self.line(&line, events)?;
        }
        Ok(())
    }

    /// Adds what stands behind the last line end: some servers leave the last one out.
    pub(super) fn finish(&mut self, events: &mut VecDeque<ChatEvent>) -> Result<(), LlmError> {
        let rest = self.lines.rest();
        self.line(&rest, events)
    }

    fn line(&mut self, line: &[u8], events: &mut VecDeque<ChatEvent>) -> Result<(), LlmError> {
        match &mut self.ending {
            Some(ending) => ending.events(line, events),
            None => ollama::events(line, events),
        }
    }
}

/// An answer as it comes. Dropping it ends the request.
pub struct ChatStream {
    streaming: StreamingResponse,
    parser: Parser,
    waiting: VecDeque<ChatEvent>,
    ended: bool,
    failed: Option<LlmError>,
    /// Bytes of text that may still come.
    room: usize,
}

impl ChatStream {
    pub(super) fn new(streaming: StreamingResponse, parser: Parser, limit: usize) -> Self {
        Self {
            streaming,
            parser,
            waiting: VecDeque::new(),
            ended: false,
            failed: None,
            room: limit,
        }
    }

    /// The next event; `None` after the end.
    ///
    /// # Errors
    /// See [`LlmError`]; an answer that breaks off is `BadReply`. Nothing follows an error.
    pub async fn next(&mut self) -> Option<Result<ChatEvent, LlmError>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(self.record_event(event));
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

    /// The whole answer.
    ///
    /// # Errors
    /// See [`next`](Self::next).
    pub async fn collect(mut self) -> Result<ChatReply, LlmError> {
        let mut content = String::new();
        while let Some(event) = self.next().await {
            match event? {
                ChatEvent::Delta(text) => content.push_str(&text),
                ChatEvent::Done { stop, usage } => {
                    return Ok(ChatReply {
                        content,
                        stop,
                        usage,
                    });
                }
            }
        }
        Err(LlmError::BadReply("it broke off".to_owned()))
    }

    fn record_event(&mut self, event: ChatEvent) -> Result<ChatEvent, LlmError> {
        match &event {
            ChatEvent::Done { .. } => {
                self.ended = true;
                self.waiting.clear();
                self.failed = None;
            }
            ChatEvent::Delta(text) if text.len() > self.room => {
                self.ended = true;
                self.waiting.clear();
                return Err(LlmError::TooLarge("its text exceeds the limit".to_owned()));
            }
            ChatEvent::Delta(text) => self.room -= text.len(),
        }
        Ok(event)
    }

    async fn read(&mut self) -> Result<(), LlmError> {
        match self.streaming.next_chunk().await {
            Some(chunk) => self.parser.push(&chunk?, &mut self.waiting),
            None => {
                self.parser.finish(&mut self.waiting)?;
                let done = |event: &ChatEvent| matches!(event, ChatEvent::Done { .. });
                if self.waiting.iter().any(done) {
                    return Ok(());
                }
                Err(LlmError::BadReply("it broke off".to_owned()))
            }
        }
    }
}

impl std::fmt::Debug for ChatStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatStream")
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
