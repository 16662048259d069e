//! What a process beside others answers over HTTP.
//!
//! ```text
//! standby:  POST /webhook ─▶ signature, event ─▶ intake (PostgreSQL) ─▶ 202, once it is durable
//!           /livez, /readyz, /health, /metrics, /admin/actors ─▶ here
//!           everything else ─▶ LeaderPassage ─key─▶ the leader ─▶ its answer, as it comes
//! leader:   requests with the key ─▶ as any other, judged by host already
//! leader that has lost the store: POST /webhook ─▶ intake, as a standby
//! ```
//! Tokens, sessions and rights are judged by the leader; a standby knows none of them.

mod headers;
mod intake;
mod metrics;
mod passage;
mod reach;
mod standby;
mod timeouts;

pub use intake::{IntakeAnswer, SharedIntake, is_for_shared_intake};
pub use metrics::ReplicaMetrics;
pub use passage::{LeaderPassage, PassageOptions};
pub use standby::{
    COMPARED_SECRET, DrainQuery, StandbyHealth, StandbyParts, actors, drain, key_of, not_drained,
    not_shared, standby_health, with_status,
};
pub use timeouts::PassageTimeouts;
