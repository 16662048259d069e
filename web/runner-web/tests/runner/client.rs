//! Requests to the runner, as bytes.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::harness::{Runner, TEST_TIMEOUT, sign, within};

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

impl Runner {
    /// Sends bytes and reads until the connection is closed.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        // A server that refuses a body may close before all of it was sent.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .unwrap_or((answer.as_str(), ""));
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if chunked {
            unchunked(body)
        } else {
            body.to_owned()
        };
        Answer {
            code: code.unwrap_or_default(),
            head: head.to_owned(),
            body,
        }
    }

    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        let mut request = head.into_bytes();
        request.extend_from_slice(body);
        self.raw(&request)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    /// A signed delivery.
    pub(crate) fn deliver(&self, event: &str, id: &str, body: &Value) -> Answer {
        let body = serde_json::to_vec(body).unwrap();
        self.hook(&[("X-Hub-Signature-256", &sign(&body))], event, id, &body)
    }

    pub(crate) fn hook(
        &self,
        headers: &[(&str, &str)],
        event: &str,
        id: &str,
        body: &[u8],
    ) -> Answer {
        let mut all = vec![
            ("Content-Type", "application/json"),
            ("X-GitHub-Delivery", id),
        ];
        all.extend((!event.is_empty()).then_some(("X-GitHub-Event", event)));
        all.extend(headers);
        self.ask("POST", "/webhook", &all, body)
    }

    /// Delivers, and gives the run it started.
    pub(crate) fn run(&self, event: &str, id: &str, body: &Value) -> String {
        let answer = self.deliver(event, id, body);
        assert_eq!(answer.code, 202, "{answer:?}");
        answer.json()["run"].as_str().unwrap().to_owned()
    }

    /// All runs.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let answer = self.get("/runs?limit=1000");
        assert_eq!(answer.code, 200, "{answer:?}");
        serde_json::from_str(&answer.body).unwrap()
    }

    pub(crate) fn record(&self, run: &str) -> Value {
        let answer = self.get(&format!("/runs/{run}"));
        assert_eq!(answer.code, 200, "{answer:?}");
        answer.json()
    }

    pub(crate) fn ended(&self, run: &str) -> Value {
        let mut record = Value::Null;
        let ended = within(|| {
            record = self.record(run);
            record.get("ended_at").is_some()
        });
        assert!(ended, "it does not end: {record:#}");
        record
    }

    pub(crate) fn log(&self, run: &str) -> String {
        self.get(&format!("/runs/{run}/log")).body
    }
}

/// The chunks' content; a body that breaks off gives what came.
fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let Some(chunk) = rest.get(..size).filter(|chunk| !chunk.is_empty()) else {
            break;
        };
        whole.push_str(chunk);
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}

/// Whether the bytes hold this part.
pub(crate) fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
