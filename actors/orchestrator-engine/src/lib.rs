//! Blocking orchestrator work without actors.
//!
//! ```text
//! adapters ── argv, stdin ──> process ── pipe ──> output ── redacted ──> log of the run ──> followers
//!                               │                                    (head and tail, on disk)
//! worktree ── folder, branch ───┘    scenario: browser steps as data, run by the same process code
//! ```
//!
//! Everything here blocks its caller: actors give it threads. Nothing here decides what should run;
//! it says how a run ended, and leaves nothing behind.

pub mod adapters;
pub mod exhaustion;
pub mod names;
pub mod output;
pub mod process;
pub mod scenario;
pub mod worktree;
