//! Runs: what was asked for, how far it got, how it ended and why.

mod exit;
mod reason;
mod record;

pub(crate) use exit::words;
pub use exit::{ExitClass, ExitReport, Terminal};
pub use reason::{Hold, Reason};
pub use record::{
    AgentRunState, Priority, ProcessIdentity, Run, RunContext, RunKey, RunTrigger, StatusKey,
    Subject, WorktreeRecord,
};
