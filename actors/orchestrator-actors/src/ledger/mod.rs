//! The durable state: one [`Ledger`] handle, and every decision as functions of one transaction
//! each.
//!
//! ```text
//! webhook, poll ──admit──▶ delivery + runs + contexts + statuses + journal        (one transaction)
//! tick ──decide_tick──▶ reconcile ──▶ start_run, reject, lost, mark …             (one transaction each)
//! AgentRun ──running, end──▶ run, status, comment, usage, breaker, journal        (one transaction)
//! ```
//!
//! What a decision needs to know exactly is read in the transaction that stores it, so no two
//! decisions can contradict each other, and a crash leaves either all of it or nothing.

mod admit;
mod event_source;
mod handle;
mod health;
mod ids;
mod issue_comments;
mod open_runs;
mod planning;
mod pull_heads;
mod records;
mod rows;
mod tick_input;
mod transitions;
mod txn;
mod views;

pub use admit::{IntakeResult, admit};
pub use event_source::EventSource;
pub use handle::{Ledger, WallClock};
pub(crate) use ids::new_run_id;
pub use open_runs::{OpenRunCache, open_runs};
pub use planning::{calendar, try_route};
pub use records::{
    advance_cursor, clear_config_errors, cursor, forget_worktree, mark_comments_seen,
    mark_schedule, record_heads, set_paused, worktrees,
};
pub(crate) use records::{age_clock, newest_run, prune};
pub use rows::RunVm;
pub use tick_input::{ForgeQuestion, TickContext, breakers, decide_tick, forge_question};
pub use transitions::{
    RunEnd, RunPlace, RunStart, add_run, cancel, checked, close_status, end, lost, reject, retry,
    return_to_queue, run_vm, running, start_failure, start_run,
};
pub use txn::LedgerTxn;
pub(crate) use txn::OWN_ACCOUNT;
pub use views::{
    ProcessStatus, RunQuery, agents, journal, projects, run_record, run_view, runs, status,
};
