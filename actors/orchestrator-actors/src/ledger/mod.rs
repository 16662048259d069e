//! Everything durable, as functions of one transaction each.
//!
//! ```text
//! webhook, poll ──admit──▶ delivery + runs + contexts + statuses + journal   (one transaction)
//! tick ──look──▶ reconcile ──▶ begin, reject, lost, mark …                   (one transaction each)
//! keeper ──running, ended──▶ run, status, comment, usage, breaker, journal   (one transaction)
//! ```
//!
//! What a decision needs to know exactly is read in the transaction that stores it, so no two of them can
//! contradict each other, and a crash leaves either all of it or nothing.

mod admit;
mod answer;
mod book;
mod change;
mod heads;
mod health;
mod keep;
mod look;
mod mirror;
mod rows;
mod view;

pub(crate) use admit::new_run_id;
pub use admit::{Admitted, Source, admit};
pub use book::Book;
pub(crate) use book::OWN_ACCOUNT;
pub use change::{
    EndOfRun, Started, add_run, begin, cancel, checked, close_status, end, lost, put_back, reject,
    retry, running, spawned_nothing,
};
pub(crate) use keep::last_entry_at;
pub use keep::{
    advance_cursor, clear_trouble, cursor, forget_worktree, mark_schedule, prune, remember_heads,
    set_paused, worktrees,
};
pub use look::{Looked, Question, breakers, look, question_of};
pub use mirror::{Mirror, open_runs};
pub use view::{RunQuery, Standing, agents, journal, projects, run_record, run_view, runs, status};
