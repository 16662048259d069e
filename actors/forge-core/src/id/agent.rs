//! Names of agents, projects, runs, deliveries, events, accounts and status contexts.

use super::checks::{Check, ensure, is_visible_ascii};
use super::macros::{folded_id, text_id};

text_id! {
    /// An agent's name: `[a-z][a-z0-9-]{1,39}`, as it is written after `@orch:`.
    AgentName, "agent name", check_agent
}
text_id! {
    /// A project's id: `[a-z0-9][a-z0-9_-]{0,39}`, so that `project/agent` splits in one way only
    /// and the id can stand in a file name.
    ProjectId, "project id", check_project
}
text_id! {
    /// A run's id: 1 to 64 ASCII letters, digits and single inner hyphens (a UUID is one), so that
    /// it can stand in a file name, a branch name and an HTML comment.
    RunId, "run id", check_run
}
text_id! {
    /// A webhook delivery's id: 1 to 128 visible ASCII characters, chosen by the forge (a UUID
    /// today) or derived from the body.
    DeliveryId, "delivery id", check_delivery
}
text_id! {
    /// A forge event's name as in `X-GitHub-Event`: `[a-z][a-z0-9_]{0,63}`.
    EventName, "event name", check_event
}
text_id! {
    /// A commit status context such as `orch/build`: 1 to 255 bytes, no control characters, no
    /// space at either end.
    StatusContext, "status context", check_context
}
folded_id! {
    /// An account's login on a forge: 1 to 100 bytes without spaces, control characters or slashes.
    /// Forges compare logins without regard to case, and so does this type. Bots carry brackets
    /// (`dependabot[bot]`).
    Login, "login", check_login
}

/// Longest agent name, in bytes.
pub(crate) const AGENT_NAME_MAX: usize = 40;
/// Longest project id, in bytes.
pub(crate) const PROJECT_ID_MAX: usize = 40;

fn check_agent(text: &str) -> Check {
    let starts = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    ensure(
        starts && (2..=AGENT_NAME_MAX).contains(&text.len()) && text.bytes().all(is_agent_byte),
        "use 2 to 40 of a-z, 0-9 and '-', beginning with a letter",
    )
}

/// A byte that may stand in an agent name after its first.
pub(crate) fn is_agent_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')
}

/// A byte that may stand in a project id after its first.
pub(crate) fn is_project_byte(byte: u8) -> bool {
    is_agent_byte(byte) || byte == b'_'
}

fn check_project(text: &str) -> Check {
    let starts = text
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    ensure(
        starts && text.len() <= PROJECT_ID_MAX && text.bytes().all(is_project_byte),
        "use 1 to 40 of a-z, 0-9, '_' and '-', beginning with a letter or digit",
    )
}

fn check_run(text: &str) -> Check {
    let words = text.split('-').all(|word| !word.is_empty());
    ensure(
        words && text.len() <= 64 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'),
        "use 1 to 64 ASCII letters, digits and single inner hyphens",
    )
}

fn check_delivery(text: &str) -> Check {
    ensure(
        (1..=128).contains(&text.len()) && is_visible_ascii(text),
        "use 1 to 128 visible ASCII characters",
    )
}

fn check_event(text: &str) -> Check {
    let starts = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    ensure(
        starts
            && text.len() <= 64
            && text
                .bytes()
                .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_')),
        "use 1 to 64 of a-z, 0-9 and '_', beginning with a letter",
    )
}

fn check_context(text: &str) -> Check {
    ensure((1..=255).contains(&text.len()), "use 1 to 255 bytes")?;
    ensure(text.trim().len() == text.len(), "no space at either end")?;
    ensure(!text.chars().any(char::is_control), "no control characters")
}

fn check_login(text: &str) -> Check {
    ensure((1..=100).contains(&text.len()), "use 1 to 100 bytes")?;
    ensure(
        !text
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || c == '/' || c == '\\'),
        "no spaces, slashes or control characters",
    )
}
