//! What is in turn: which messages the agent may send on a channel, by what the channel is used
//! for.

use super::{STREAMS, ToHost};
use crate::OutputStream;

/// What a channel is used for, and how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelUse {
    /// A ping, with its number.
    Ping(u64),
    /// A question for the clocks.
    Clock,
    /// A request that is done, or not.
    Request,
    /// An execution, and whether it has begun.
    Exec {
        /// Whether the agent has said so.
        started: bool,
    },
    /// An execution on a terminal, and whether it has begun.
    Terminal {
        /// Whether the agent has said so.
        started: bool,
    },
    /// A tar to the agent, and whether all of it was sent.
    TarIn {
        /// Whether the host has sent its end.
        sent: bool,
    },
    /// A tar from the agent.
    TarOut,
    /// A connection to the proxy.
    Stream {
        /// Whether the agent has sent all it had.
        finished: bool,
    },
}

/// What a message does to its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelTransition {
    /// The channel goes on, as this.
    On(ChannelUse),
    /// Nothing more may come of it.
    End,
}

/// A message that is not in turn. The connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolViolation {
    /// The channel is used for something else, or has not come that far.
    #[error("its agent sent `{0}` out of turn")]
    OutOfTurn(&'static str),
    /// Data without a byte: it costs no credit, so there could be any number.
    #[error("its agent sent `{0}` without a byte")]
    Empty(&'static str),
    /// The host never opened it.
    #[error("its agent sent `{0}` on a channel that was never opened")]
    Unknown(&'static str),
    /// It has ended, by the agent's own word.
    #[error("its agent sent `{0}` on a channel that it had ended")]
    Ended(&'static str),
    /// A second hello, one of a clone, or something else before it.
    #[error("its agent sent `{0}` where a hello is due, or a hello where none is")]
    Hello(&'static str),
    /// Too much for channels that the host has closed.
    #[error("its agent goes on sending on channels that were closed")]
    Late,
    /// The answer to another ping.
    #[error("its agent answered a ping that was not sent")]
    Nonce,
    /// It takes nothing of what it is sent.
    #[error("its agent does not read: {0} bytes wait for it")]
    Unread(usize),
}

impl ChannelUse {
    /// What `message` does to a channel of this use.
    ///
    /// # Errors
    /// [`ProtocolViolation`] when it is not in turn.
    pub fn take(self, message: &ToHost<'_>) -> Result<ChannelTransition, ProtocolViolation> {
        let name = message.name();
        if matches!(message, ToHost::Output(_, bytes) | ToHost::Data(bytes) if bytes.is_empty()) {
            return Err(ProtocolViolation::Empty(name));
        }
        match (self, message) {
            (Self::Ping(asked), ToHost::Pong(said)) if asked == *said => Ok(ChannelTransition::End),
            (Self::Ping(_), ToHost::Pong(_)) => Err(ProtocolViolation::Nonce),
            (Self::Clock, ToHost::Clock(_) | ToHost::Failed(_))
            | (Self::Request, ToHost::Finished(_) | ToHost::Failed(_))
            | (Self::Exec { .. } | Self::Terminal { .. }, ToHost::Ended(_))
            | (Self::TarIn { sent: true }, ToHost::Finished(_))
            | (Self::TarIn { .. }, ToHost::Failed(_))
            | (Self::TarOut, ToHost::Finished(_) | ToHost::Failed(_)) => Ok(ChannelTransition::End),
            (Self::Exec { started: false }, ToHost::Started(_)) => {
                Ok(ChannelTransition::On(Self::Exec { started: true }))
            }
            (Self::Terminal { started: false }, ToHost::Started(_)) => {
                Ok(ChannelTransition::On(Self::Terminal { started: true }))
            }
            (Self::Stream { finished: false }, ToHost::Finish) => {
                Ok(ChannelTransition::On(Self::Stream { finished: true }))
            }
            (Self::Exec { started: true }, ToHost::Output(..))
            | (
                Self::Terminal { started: true },
                ToHost::Output(OutputStream::Stdout, _) | ToHost::Credit(_),
            )
            | (Self::TarIn { .. }, ToHost::Credit(_))
            | (Self::TarOut | Self::Stream { finished: false }, ToHost::Data(_))
            | (Self::Stream { .. }, ToHost::Credit(_) | ToHost::Abort) => {
                Ok(ChannelTransition::On(self))
            }
            _ => Err(ProtocolViolation::OutOfTurn(name)),
        }
    }
}

impl ToHost<'_> {
    /// What it is called, for people.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Pong(_) => "pong",
            Self::Started(_) => "started",
            Self::Output(..) => "output",
            Self::Ended(_) => "ended",
            Self::Data(_) => "data",
            Self::Credit(_) => "credit",
            Self::Finished(_) => "finished",
            Self::Failed(_) => "failed",
            Self::Open => "open",
            Self::Finish => "finish",
            Self::Abort => "abort",
            Self::Clock(_) => "clock",
        }
    }

    /// What it counts for on a channel that is closed: each costs something to read.
    #[must_use]
    pub fn weight(&self) -> u64 {
        match self {
            Self::Output(_, bytes) | Self::Data(bytes) => bytes.len().max(1) as u64,
            _ => 1,
        }
    }

    /// Whether its channel's number belongs to streams, or to what the host has asked for.
    #[must_use]
    pub fn fits(&self, channel: u32) -> bool {
        match self {
            Self::Open | Self::Finish | Self::Abort => channel >= STREAMS,
            Self::Data(_) | Self::Credit(_) => true,
            _ => channel < STREAMS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExecEnd;
    use crate::guest::{ClockReading, FailureKind, Greeting, GuestFailure, TarSummary, VERSION};

    /// Every kind of message, once.
    fn messages() -> Vec<ToHost<'static>> {
        let greeting = Greeting {
            version: VERSION,
            uptime_ms: 1,
            kernel: String::new(),
            cgroups: true,
        };
        let failure = GuestFailure {
            kind: FailureKind::System,
            what: String::new(),
        };
        vec![
            ToHost::Hello(greeting),
            ToHost::Pong(7),
            ToHost::Started(1),
            ToHost::Output(OutputStream::Stdout, b"x"[..].into()),
            ToHost::Ended(ExecEnd::Exited { code: 0 }),
            ToHost::Data(b"x"[..].into()),
            ToHost::Credit(1),
            ToHost::Finished(TarSummary::default()),
            ToHost::Failed(failure),
            ToHost::Open,
            ToHost::Finish,
            ToHost::Abort,
            ToHost::Clock(ClockReading::default()),
        ]
    }

    #[test]
    fn t5_only_what_is_in_turn_is_taken() {
        let (quiet, busy) = (
            ChannelUse::Exec { started: false },
            ChannelUse::Exec { started: true },
        );
        let (open, half) = (
            ChannelUse::Stream { finished: false },
            ChannelUse::Stream { finished: true },
        );
        // Use, what goes on with it, what ends it; everything else breaks the rules.
        let waiting = ChannelUse::Terminal { started: false };
        let typed = ChannelUse::Terminal { started: true };
        let table: [(ChannelUse, &[&str], &[&str]); 12] = [
            (ChannelUse::Ping(7), &[], &["pong"]),
            (ChannelUse::Clock, &[], &["clock", "failed"]),
            (ChannelUse::Request, &[], &["finished", "failed"]),
            (quiet, &["started"], &["ended"]),
            (busy, &["output"], &["ended"]),
            (waiting, &["started"], &["ended"]),
            (typed, &["output", "credit"], &["ended"]),
            (ChannelUse::TarIn { sent: false }, &["credit"], &["failed"]),
            (
                ChannelUse::TarIn { sent: true },
                &["credit"],
                &["finished", "failed"],
            ),
            (ChannelUse::TarOut, &["data"], &["finished", "failed"]),
            (open, &["data", "credit", "finish", "abort"], &[]),
            (half, &["credit", "abort"], &[]),
        ];
        for (used, on, end) in table {
            for message in messages() {
                let name = message.name();
                let turn = used.take(&message);
                match turn {
                    Ok(ChannelTransition::On(_)) => assert!(on.contains(&name), "{used:?} {name}"),
                    Ok(ChannelTransition::End) => assert!(end.contains(&name), "{used:?} {name}"),
                    Err(ProtocolViolation::OutOfTurn(said)) => {
                        assert_eq!(said, name);
                        assert!(
                            !on.contains(&name) && !end.contains(&name),
                            "{used:?} {name}"
                        );
                    }
                    Err(other) => panic!("{used:?} {name}: {other}"),
                }
            }
        }
        assert_eq!(
            quiet.take(&ToHost::Started(1)),
            Ok(ChannelTransition::On(busy))
        );
        assert_eq!(open.take(&ToHost::Finish), Ok(ChannelTransition::On(half)));
    }

    #[test]
    fn i17_a_terminal_has_one_stream_of_output() {
        let typed = ChannelUse::Terminal { started: true };
        let output = |stream| ToHost::Output(stream, b"x"[..].into());
        let taken = typed.take(&output(OutputStream::Stdout));
        assert_eq!(taken, Ok(ChannelTransition::On(typed)));
        let refused = typed.take(&output(OutputStream::Stderr));
        assert_eq!(refused, Err(ProtocolViolation::OutOfTurn("output")));
    }

    #[test]
    fn t5_neither_a_guessed_pong_nor_data_without_bytes_is_taken() {
        assert_eq!(
            ChannelUse::Ping(7).take(&ToHost::Pong(8)),
            Err(ProtocolViolation::Nonce)
        );
        let empty = ToHost::Data(b""[..].into());
        assert_eq!(
            ChannelUse::TarOut.take(&empty),
            Err(ProtocolViolation::Empty("data"))
        );
        let empty = ToHost::Output(OutputStream::Stderr, b""[..].into());
        let busy = ChannelUse::Exec { started: true };
        assert_eq!(busy.take(&empty), Err(ProtocolViolation::Empty("output")));
    }
}
