//! The orchestrator under a long queue: ticks, start-up, memory, and from a webhook to its process.
//!
//! `cargo bench -p orchestrator`. `-- --engines` measures dispatches over both engines of the store
//! instead, with a PostgreSQL server of its own in the folder of temporary files. Ticks are
//! measured with all actors in this process, everything else with the daemon.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "orchestrator/daemon.rs"]
mod daemon;
#[path = "orchestrator/dispatches.rs"]
mod dispatches;
#[path = "orchestrator/ticks.rs"]
mod ticks;

use std::time::Duration;

/// Agents of the configuration, as the claim says.
pub(crate) const AGENTS: usize = 1000;
/// Mentions of one comment.
pub(crate) const MENTIONS: usize = 100;

/// The value below which `share` of all are.
pub(crate) fn at(sorted: &[Duration], share: f64) -> Duration {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place within a list"
    )]
    let place = (sorted.len() as f64 * share) as usize;
    sorted[place.min(sorted.len() - 1)]
}

pub(crate) fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}

/// The agents as TOML: most cannot start, because so few may run at a time.
pub(crate) fn agents() -> String {
    (0..AGENTS)
        .map(|number| {
            format!(
                "[[agents]]\nproject = \"main\"\nname = \"agent-{number}\"\ncli = \"sh\"\nscript = \"sleep 600\"\ngrace_seconds = 1\n"
            )
        })
        .collect()
}

/// A comment that asks `count` agents.
pub(crate) fn comment(id: u64, count: usize) -> serde_json::Value {
    let asked = (0..count).map(|n| {
        format!(
            "@orch:agent-{}\n",
            (usize::try_from(id).unwrap_or(0) * count + n) % AGENTS
        )
    });
    serde_json::json!({
        "action": "created",
        "comment": {"id": id + 1, "body": asked.collect::<String>(), "user": {"login": "alice"}, "created_at": "2026-11-21T10:00:00Z"},
        "issue": {"number": 0, "title": "Work", "state": "open"},
        "repository": {"full_name": "acme/main"},
    })
}

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    if std::env::args().any(|argument| argument == "--engines") {
        return dispatches::measure();
    }
    ticks::measure();
    daemon::measure();
}
