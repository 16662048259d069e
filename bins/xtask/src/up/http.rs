//! `GET` from a server on this machine: all that the quick start asks of HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};

/// How long the server may take for each step.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// Asks for `path`.
///
/// HTTP/1.0 (RFC 1945): the server closes when it is done, and may not send chunks.
///
/// # Errors
/// When nothing listens, or what answers is no HTTP server.
pub(super) fn get(address: SocketAddr, path: &str) -> Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: application/json\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.take(LARGEST).read_to_end(&mut answer)?;
    parse(&String::from_utf8_lossy(&answer)).context("the answer is not HTTP")
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

    #[test]
    fn an_answer_is_read_to_its_end() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("one connection");
            let mut request = [0; 512];
            let read = stream.read(&mut request).expect("a request");
            stream
                .write_all(b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\n\r\n{\"a\":1}")
                .expect("a reader");
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        let answer = get(address, "/health").expect("an answer");
        assert_eq!((answer.status, answer.body.as_str()), (503, "{\"a\":1}"));
        let request = server.join().expect("no panic");
        assert!(request.starts_with("GET /health HTTP/1.0\r\n"), "{request}");
        assert!(
            request.contains(&format!("Host: {address}\r\n")),
            "{request}"
        );
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
