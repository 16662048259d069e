//! What goes over the wire: requests, answers, and the events of a forge.

use std::io::{Read, Write};

use serde_json::{Value, json};

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut found = lines.filter(|(given, _)| given.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

pub(crate) fn exchange(mut stream: impl Read + Write, head: &str, body: &[u8]) -> Option<Answer> {
    let mut request = format!("{head}\r\n").into_bytes();
    request.extend_from_slice(body);
    // A server that has refused already may have closed.
    let _ = stream.write_all(&request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, rest) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    let body = if chunked {
        unchunked(rest)
    } else {
        rest.to_owned()
    };
    let head = head.to_owned();
    Some(Answer { status, head, body })
}

fn unchunked(mut text: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        body.push_str(&rest[..size]);
        text = rest[size..].trim_start_matches("\r\n");
    }
    body
}

pub(crate) fn comment(issue: u64, id: u64, body: &str) -> Value {
    json!({
        "action": "created",
        "comment": {"id": id, "body": body, "user": {"login": "alice"}, "created_at": "2026-11-21T10:00:00Z"},
        "issue": {"number": issue, "title": "Something is wrong", "state": "open"},
        "repository": {"full_name": "acme/main"},
    })
}

pub(crate) fn pull(action: &str, number: u64, sha: &str) -> Value {
    let state = if action == "closed" { "closed" } else { "open" };
    json!({
        "action": action, "number": number,
        "pull_request": {
            "title": "A change", "html_url": "http://forge/pulls/1", "number": number, "state": state,
            "user": {"login": "alice"},
            "head": {"ref": "topic", "sha": sha, "repo": {"full_name": "acme/main"}},
            "base": {"ref": "main"},
        },
        "repository": {"full_name": "acme/main", "clone_url": "http://forge/acme/main.git"},
    })
}

/// The run of an agent that a reply names.
pub(crate) fn run_of(reply: &Value, agent: &str) -> String {
    let found = runs_of(reply).into_iter().find(|(name, _)| name == agent);
    found
        .unwrap_or_else(|| panic!("no run of {agent} in {reply}"))
        .1
}

/// The ids of the runs that a reply names, by agent.
pub(crate) fn runs_of(reply: &Value) -> Vec<(String, String)> {
    let dispatches = reply["dispatches"].as_array().expect("dispatches");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    dispatches
        .iter()
        .map(|one| (text(&one["agent"]), text(&one["run"])))
        .collect()
}
