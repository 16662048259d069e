//! What the agent answers, and what it says in words as it may be shown.

use vm_core::guest::{ClockReading, GuestFailure, TarSummary};

use crate::error::MachineError;

/// What a question was answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuestReply {
    Done(TarSummary),
    Clock(ClockReading),
}

/// How a question was answered.
pub(super) type GuestReplyResult = Result<GuestReply, MachineError>;

/// What a guest says in words, as it may be shown: short, and in one line.
pub(super) fn readable(text: &str) -> String {
    let most = 2000;
    let shown = text.chars().take(most);
    shown
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect()
}

pub(super) fn readable_failure(failure: &GuestFailure) -> MachineError {
    MachineError::Guest(GuestFailure {
        kind: failure.kind,
        what: readable(&failure.what),
    })
}

pub(super) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
