//! One request at a time to whoever listens.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// Jobs in emulated VMs are waited for.
const REPLY_TIMEOUT: Duration = Duration::from_secs(240);

/// What was answered to a request.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The status line and the headers.
    pub head: String,
    /// The body.
    pub body: String,
}

impl Reply {
    /// A header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut found = lines.filter(|(given, _)| given.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim())
    }

    /// The body as JSON; null where it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// One request (`GET /path`) to whoever listens at this address; nothing where no whole answer
/// comes. `HTTP/1.0`, so that the answer ends with the connection.
#[must_use]
pub fn ask(address: &str, request: &str, headers: &[(&str, &str)], body: &str) -> Option<Reply> {
    ask_within(REPLY_TIMEOUT, address, request, headers, body)
}

/// The same, which has to come within this time.
#[must_use]
pub fn ask_within(
    timeout: Duration,
    address: &str,
    request: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Reply> {
    let length = body.len();
    let mut text = format!("{request} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    send(timeout, address, &format!("{text}\r\n{body}"))
}

/// A request as it is written, which ends the connection.
#[must_use]
pub fn exchange(address: &str, request: &str) -> Option<Reply> {
    send(REPLY_TIMEOUT, address, request)
}

fn send(timeout: Duration, address: &str, request: &str) -> Option<Reply> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(timeout)).ok()?;
    stream.set_write_timeout(Some(timeout)).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    parse(&String::from_utf8_lossy(&answer))
}

fn parse(text: &str) -> Option<Reply> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let reply = Reply {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head: head.to_owned(),
        body: body.to_owned(),
    };
    let length = reply.header("content-length");
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    // A program that died in the middle of its answer has not answered.
    (body.len() >= length).then_some(reply)
}

/// A webhook of GitHub's, signed with a secret, to whoever receives at this address.
#[must_use]
pub fn deliver(address: &str, secret: &str, event: &str, id: &str, body: &Value) -> Option<Reply> {
    let body = body.to_string();
    deliver_within(REPLY_TIMEOUT, address, secret, (event, id), &body)
}

/// The same of a body as it is written, which is to be answered within this time.
///
/// # Panics
/// When the secret is empty.
#[must_use]
pub fn deliver_within(
    timeout: Duration,
    address: &str,
    secret: &str,
    (event, id): (&str, &str),
    body: &str,
) -> Option<Reply> {
    let signature = forge_core::sign(secret, body.as_bytes()).expect("a secret");
    let headers = [
        ("Content-Type", "application/json"),
        ("X-GitHub-Event", event),
        ("X-GitHub-Delivery", id),
        ("X-Hub-Signature-256", &signature.hub()),
    ];
    ask_within(timeout, address, "POST /webhook", &headers, body)
}

/// What a webhook tells of a push to `main` of `acme/rocket`, which is cloned from there.
#[must_use]
pub fn push_event(clone_url: &str, commit: &str) -> Value {
    json!({"ref": "refs/heads/main", "before": "0".repeat(40), "after": commit,
        "created": true, "deleted": false, "commits": [],
        "head_commit": {"id": commit, "message": "a commit", "added": [], "modified": [], "removed": []},
        "pusher": {"login": "ada"}, "sender": {"login": "ada"},
        "repository": {"full_name": "acme/rocket", "clone_url": clone_url, "default_branch": "main"}})
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn an_answer_that_was_cut_short_is_none() {
        let whole = parse("HTTP/1.0 202 Accepted\r\nContent-Length: 2\r\n\r\n{}").expect("whole");
        assert_eq!((whole.status, whole.body.as_str()), (202, "{}"));
        assert!(parse("HTTP/1.0 202 Accepted\r\nContent-Length: 9\r\n\r\n{}").is_none());
        assert!(parse("HTTP/1.0 202 Acc").is_none());
    }
}
