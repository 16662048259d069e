//! The lines of a followed command: one JSON object a line, from the first output on.
//!
//! ```text
//! {"stream":"stdout","data":"text, when the chunk is UTF-8"}
//! {"stream":"stderr","b64":"base64, when it is not"}
//! {}                                                   a keep-alive, at least every 15 s
//! {"dropped":4096}                                     bytes of output past the manager's limit
//! {"state":"exited","exit_code":0,"signal":null}       the last line, always
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::exec::{ExecReport, ExecState, OutputStream};

/// A line of a followed execution: output as it came. Exactly one of `data` and `b64` is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Chunk {
    /// Where it came from.
    pub stream: OutputStream,
    /// The output, when the bytes of this chunk are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The output in standard base64, when they are not: a character may be cut by the chunk's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b64: Option<String>,
}

impl Chunk {
    /// A chunk of these bytes.
    #[must_use]
    pub fn new(stream: OutputStream, bytes: &[u8]) -> Self {
        let (data, b64) = match std::str::from_utf8(bytes) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(STANDARD.encode(bytes))),
        };
        Self { stream, data, b64 }
    }
}

/// A line of a followed execution: so many bytes of output are beyond the manager's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedOutput {
    /// How many.
    pub dropped: u64,
}

/// What a line of a followed execution says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowLine {
    /// Output, as it was written.
    Output(OutputStream, Vec<u8>),
    /// So many bytes of output were beyond the manager's limit.
    Dropped(u64),
    /// It has ended: the last line.
    Ended(ExecReport),
    /// Nothing: the connection is alive.
    KeepAlive,
}

/// A line that is none of a followed execution; in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line of its output is unreadable: {0}")]
pub struct FollowLineError(String);

/// All fields that a line may have.
#[derive(Debug, Deserialize)]
struct Fields {
    stream: Option<OutputStream>,
    data: Option<String>,
    b64: Option<String>,
    dropped: Option<u64>,
    state: Option<ExecState>,
    exit_code: Option<i32>,
    signal: Option<i32>,
    reason: Option<String>,
    #[serde(default)]
    dropped_bytes: u64,
}

impl FollowLine {
    /// Reads a line.
    ///
    /// # Errors
    /// When it is no JSON object, knows another state or stream, or has neither or both kinds of
    /// output. An exit without a code and a signal is an error too: neither is made up.
    pub fn parse(line: &[u8]) -> Result<Self, FollowLineError> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::KeepAlive);
        }
        let fields: Fields =
            serde_json::from_slice(line).map_err(|error| FollowLineError(error.to_string()))?;
        if let Some(state) = fields.state {
            return fields.into_end_line(state);
        }
        match (fields.dropped, fields.stream) {
            (Some(dropped), _) => Ok(Self::Dropped(dropped)),
            (None, Some(stream)) => Ok(Self::Output(stream, fields.output()?)),
            (None, None) => Ok(Self::KeepAlive),
        }
    }
}

impl Fields {
    fn into_end_line(self, state: ExecState) -> Result<FollowLine, FollowLineError> {
        match (state, self.exit_code, self.signal) {
            (ExecState::Running, ..) => Ok(FollowLine::KeepAlive),
            (ExecState::Exited, None, None) => Err(FollowLineError(
                "it exited with neither a code nor a signal".to_owned(),
            )),
            (state, exit_code, signal) => Ok(FollowLine::Ended(ExecReport {
                state,
                exit_code,
                signal,
                reason: self.reason,
                dropped_bytes: self.dropped_bytes,
            })),
        }
    }

    fn output(self) -> Result<Vec<u8>, FollowLineError> {
        match (self.data, self.b64) {
            (Some(text), None) => Ok(text.into_bytes()),
            (None, Some(b64)) => STANDARD
                .decode(b64)
                .map_err(|error| FollowLineError(error.to_string())),
            _ => Err(FollowLineError(
                "it has neither data nor b64, or both".to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use {ExecState::*, OutputStream::*};

    fn report(state: ExecState, exit_code: Option<i32>, signal: Option<i32>) -> ExecReport {
        ExecReport {
            state,
            exit_code,
            signal,
            reason: None,
            dropped_bytes: 0,
        }
    }

    #[test]
    fn lines_are_read() {
        let ended = |state, exit_code, signal| FollowLine::Ended(report(state, exit_code, signal));
        let not_started = ExecReport {
            reason: Some("no such folder".to_owned()),
            ..report(NotStarted, None, None)
        };
        let table = [
            (
                r#"{"stream":"stdout","data":"a\n"}"#,
                FollowLine::Output(Stdout, b"a\n".to_vec()),
            ),
            (
                r#"{"stream":"stderr","b64":"/wA="}"#,
                FollowLine::Output(Stderr, b"\xff\x00".to_vec()),
            ),
            (r#"{"dropped":7}"#, FollowLine::Dropped(7)),
            ("{}", FollowLine::KeepAlive),
            ("  ", FollowLine::KeepAlive),
            (
                r#"{"state":"running","exit_code":null}"#,
                FollowLine::KeepAlive,
            ),
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
                FollowLine::Ended(not_started),
            ),
        ];
        for (line, expected) in table {
            assert_eq!(FollowLine::parse(line.as_bytes()).unwrap(), expected);
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
            assert!(FollowLine::parse(line.as_bytes()).is_err(), "{line}");
        }
    }

    #[test]
    fn what_the_manager_writes_is_what_its_clients_read() {
        fn line(value: &impl Serialize) -> FollowLine {
            FollowLine::parse(&serde_json::to_vec(value).unwrap()).unwrap()
        }
        for bytes in [b"\xc3\xa4\n".as_slice(), b"\xc3\x00"] {
            let expected = FollowLine::Output(Stderr, bytes.to_vec());
            assert_eq!(line(&Chunk::new(Stderr, bytes)), expected);
        }
        assert_eq!(line(&DroppedOutput { dropped: 7 }), FollowLine::Dropped(7));
        let lost = ExecReport {
            reason: Some("the VM was ended".to_owned()),
            dropped_bytes: 9,
            ..report(Lost, None, None)
        };
        assert_eq!(line(&lost), FollowLine::Ended(lost.clone()));
    }
}
