//! HTTP with servers on this machine: all that the quick start asks of it.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// How long the server may take for each step.
const IO_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a reader that follows looks whether it should stop.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The most that is read; `GET /health` is a few kilobytes.
const LARGEST: u64 = 4 << 20;

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    /// The status code.
    pub(super) status: u16,
    /// The body.
    pub(super) body: String,
}

impl Answer {
    /// The body as JSON, when the status is one of success.
    ///
    /// # Errors
    /// With the body, when it is not.
    pub(super) fn json(&self, asked: &str) -> Result<Value> {
        if !(200..300).contains(&self.status) {
            bail!("{asked} was answered with {}: {}", self.status, self.body);
        }
        serde_json::from_str(&self.body)
            .with_context(|| format!("{asked} answered {:?}", self.body))
    }
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    /// `GET` or `POST`.
    pub(super) method: &'a str,
    /// Path and query.
    pub(super) path: &'a str,
    /// Further headers.
    pub(super) headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub(super) body: &'a str,
}

impl Request<'_> {
    /// HTTP/1.0 (RFC 1945): the server closes when it is done, and may not send chunks.
    fn send(&self, address: SocketAddr) -> Result<TcpStream> {
        let mut stream = TcpStream::connect_timeout(&address, IO_TIMEOUT)?;
        stream.set_read_timeout(Some(IO_TIMEOUT))?;
        stream.set_write_timeout(Some(IO_TIMEOUT))?;
        let (method, path) = (self.method, self.path);
        let mut text =
            format!("{method} {path} HTTP/1.0\r\nHost: {address}\r\nAccept: application/json\r\n");
        for (name, value) in self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() {
            let length = self.body.len();
            text.push_str(&format!(
                "Content-Type: application/json\r\nContent-Length: {length}\r\n"
            ));
        }
        // One write: a server that answers after the first part and closes would reset the
        // connection.
        let whole = format!("{text}\r\n{}", self.body);
        stream.write_all(whole.as_bytes())?;
        Ok(stream)
    }
}

/// Sends a request and reads its answer.
///
/// # Errors
/// When nothing listens, or what answers is no HTTP server.
pub(super) fn send(address: SocketAddr, request: &Request<'_>) -> Result<Answer> {
    let stream = request.send(address)?;
    let mut answer = Vec::new();
    stream.take(LARGEST).read_to_end(&mut answer)?;
    parse(&String::from_utf8_lossy(&answer)).context("the answer is not HTTP")
}

/// Asks for `path`.
///
/// # Errors
/// As [`send`].
pub(super) fn get(address: SocketAddr, path: &str) -> Result<Answer> {
    let request = Request {
        method: "GET",
        path,
        headers: &[],
        body: "",
    };
    send(address, &request)
}

/// Follows server-sent events until there are no more or `on_event` (event, data) says that it is
/// enough; `stopped` is asked while nothing comes. False when that ended it.
///
/// # Errors
/// As [`send`], and when the stream breaks.
pub(super) fn follow(
    address: SocketAddr,
    request: &Request<'_>,
    stopped: &mut dyn FnMut() -> bool,
    on_event: &mut dyn FnMut(&str, &str) -> bool,
) -> Result<bool> {
    let stream = request.send(address)?;
    stream.set_read_timeout(Some(POLL_INTERVAL))?;
    let mut reader = BufReader::new(stream);
    let (mut line, mut event) = (Vec::new(), "message".to_owned());
    loop {
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(true),
            Ok(_) => {}
            // What was read of the line stays in it.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if stopped() {
                    return Ok(false);
                }
                continue;
            }
            Err(error) => return Err(error).context("the stream broke"),
        }
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if let Some(name) = text.strip_prefix("event: ") {
            name.clone_into(&mut event);
        } else if let Some(data) = text.strip_prefix("data: ") {
            if !on_event(&event, data) {
                return Ok(true);
            }
            "message".clone_into(&mut event);
        }
    }
}

fn parse(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let mut first = head.lines().next()?.split(' ');
    first.next()?.starts_with("HTTP/1.").then_some(())?;
    let status = first.next()?.parse().ok()?;
    Some(Answer {
        status,
        body: body.to_owned(),
    })
}

/// The text as a part of a query (RFC 3986: everything but the unreserved characters escaped).
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A server that answers one request with this text, and gives what it was asked.
    fn answering(text: &'static str) -> (SocketAddr, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("one connection");
            let mut request = [0; 512];
            let read = stream.read(&mut request).expect("a request");
            stream.write_all(text.as_bytes()).expect("a reader");
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        (address, server)
    }

    #[test]
    fn an_answer_is_read_to_its_end() {
        let (address, server) = answering("HTTP/1.1 503 Busy\r\nRetry-After: 1\r\n\r\n{\"a\":1}");
        let answer = get(address, "/health").expect("an answer");
        assert_eq!((answer.status, answer.body.as_str()), (503, "{\"a\":1}"));
        let error = answer.json("GET /health").expect_err("it is no success");
        assert!(error.to_string().contains("503"), "{error}");
        let request = server.join().expect("no panic");
        assert!(request.starts_with("GET /health HTTP/1.0\r\n"), "{request}");
        assert!(
            request.contains(&format!("Host: {address}\r\n")),
            "{request}"
        );
    }

    #[test]
    fn a_body_is_sent_with_its_length() {
        let (address, server) = answering("HTTP/1.1 202 Accepted\r\n\r\n{}");
        let request = Request {
            method: "POST",
            path: "/webhook",
            headers: &[("X-A", "b")],
            body: "{\"é\":1}",
        };
        let answer = send(address, &request).expect("an answer");
        assert_eq!(answer.json("it").expect("JSON"), serde_json::json!({}));
        let sent = server.join().expect("no panic");
        assert!(
            sent.contains("X-A: b\r\n") && sent.ends_with("Content-Length: 8\r\n\r\n{\"é\":1}"),
            "{sent}"
        );
    }

    #[test]
    fn events_are_followed_to_the_last() {
        let (address, server) = answering(
            "HTTP/1.1 200 OK\r\n\r\n: alive\n\ndata: {\"text\":\"a\"}\n\nevent: end\ndata: \"succeeded\"\n\n",
        );
        let request = Request {
            method: "GET",
            path: "/log",
            headers: &[],
            body: "",
        };
        let mut events = Vec::new();
        let ended = follow(address, &request, &mut || false, &mut |event, data| {
            events.push(format!("{event} {data}"));
            event != "end"
        });
        assert!(ended.expect("a stream"));
        assert_eq!(events, ["message {\"text\":\"a\"}", "end \"succeeded\""]);
        server.join().expect("no panic");
    }

    #[test]
    fn what_is_not_http_is_refused() {
        for answer in [
            "",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 x\r\n\r\n",
        ] {
            assert!(parse(answer).is_none(), "{answer:?}");
        }
        assert_eq!(encoded("a b&ü~"), "a%20b%26%C3%BC~");
    }
}
