//! The orchestrator's decisions, without I/O: configuration, intake, reconciliation, runs, prompts,
//! verdicts.
//!
//! ```text
//! files ──config──▶ Config (cannot be wrong) ─┐
//! webhook event ──────────────────────────────┼─▶ intake ──▶ Run (queued) + Obligation, or a Reason
//! runs, now ──────────────────────────────────┴─▶ reconcile ──▶ Vec<Action> ──▶ carried out by actors
//! process end, output ──classify, verdict──▶ ExitClass, Verdict ──obligation──▶ the commit's terminal status
//! ```
//!
//! Times are [`Millis`] since the Unix epoch and always arguments; nothing here reads a clock, a
//! file or the environment.

pub mod action;
pub mod admin;
pub mod classify;
pub mod config;
pub mod health;
pub mod intake;
pub mod obligation;
pub mod posting;
pub mod prompt;
pub mod reconcile;
pub mod run;
pub mod verdict;
pub mod worktree;

/// Milliseconds since the Unix epoch.
pub type Millis = u64;
