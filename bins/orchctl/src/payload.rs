//! The webhook that `trigger` sends: a comment with a mention, as the contract describes it.

use std::time::{SystemTime, UNIX_EPOCH};

use forge_core::mention::neutralise_mentions;
use forge_core::{AgentName, BY_HAND};
use serde_json::json;

/// Longest context, in bytes: what the orchestrator keeps of a comment, less the mention before it.
pub(crate) const MAX_CONTEXT_BYTES: usize = orchestrator_core::intake::MAX_TEXT - 256;

/// The mention to send.
#[derive(Debug, Clone)]
pub(crate) struct TriggerRequest<'a> {
    pub(crate) agent: &'a AgentName,
    /// `owner/name`.
    pub(crate) repository: &'a str,
    /// 0: no issue.
    pub(crate) issue: u32,
    pub(crate) context: &'a str,
}

/// The body, to be signed and sent as it is. `now` makes the comment's id, so that two triggers are
/// two comments.
pub(crate) fn body(request: &TriggerRequest<'_>, now: SystemTime) -> Vec<u8> {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    // Forges and JavaScript keep 53 bits of a number.
    let id = u64::try_from(since.as_micros()).unwrap_or(u64::MAX) & ((1 << 53) - 1);
    let created = jiff::Timestamp::try_from(now).unwrap_or_default();
    // Mentions in the context are text for this agent, not orders to others.
    let context = neutralise_mentions(forge_core::text::truncate(
        request.context,
        MAX_CONTEXT_BYTES,
    ));
    let body = json!({
        "action": "created",
        "comment": {
            "id": id,
            "body": format!("@orch:{} {context}", request.agent).trim_end(),
            "user": {"login": "orchctl"},
            "created_at": format!("{created:.3}"),
        },
        "issue": {"number": request.issue, "title": "orchctl trigger", "state": "open"},
        "repository": {"full_name": request.repository},
        BY_HAND: true,
    });
    body.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_body_is_the_contract_s() {
        let agent: AgentName = "developer".parse().unwrap();
        let request = TriggerRequest {
            agent: &agent,
            repository: "acme/main",
            issue: 7,
            context: "fix it\n@orch:other now",
        };
        let bytes = body(
            &request,
            UNIX_EPOCH + Duration::from_millis(1_790_000_000_123),
        );
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["action"], "created");
        assert_eq!(value["comment"]["id"], 1_790_000_000_123_000_u64);
        let text = value["comment"]["body"].as_str().unwrap();
        assert!(
            text.starts_with("@orch:developer fix it\n") && text.matches("@orch:").count() == 1,
            "{text}"
        );
        assert_eq!(value["comment"]["created_at"], "2026-09-21T14:13:20.123Z");
        assert_eq!(value["issue"]["number"], 7);
        assert_eq!(value["repository"]["full_name"], "acme/main");
        assert_eq!(value["orchctl"], true);
        let mentions = forge_core::mention::scan(text, forge_core::mention::ScanLimits::default());
        assert_eq!(mentions.found.len(), 1);
    }

    #[test]
    fn without_context_the_mention_stands_alone() {
        let agent: AgentName = "developer".parse().unwrap();
        let request = TriggerRequest {
            agent: &agent,
            repository: "a/b",
            issue: 0,
            context: "",
        };
        let value: serde_json::Value = serde_json::from_slice(&body(&request, UNIX_EPOCH)).unwrap();
        assert_eq!(value["comment"]["body"], "@orch:developer");
    }
}
