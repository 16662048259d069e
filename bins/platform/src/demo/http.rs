//! HTTP with servers on this machine: all that the quick start asks of it.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use scripted_peers::Reply;
use serde_json::Value;

/// How long the server may take to answer.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a reader that follows looks whether it should stop.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Asks for `path`.
///
/// # Errors
/// When no whole answer comes.
pub(super) fn get(address: SocketAddr, path: &str) -> Result<Reply> {
    let json = [("Accept", "application/json")];
    send(address, &format!("GET {path}"), &json, "")
}

/// Sends a request (`POST /path`) and reads its answer.
///
/// # Errors
/// When no whole answer comes.
pub(super) fn send(
    address: SocketAddr,
    request: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Reply> {
    let address = address.to_string();
    scripted_peers::ask_within(REPLY_TIMEOUT, &address, request, headers, body)
        .with_context(|| format!("{address} does not answer {request}"))
}

/// The body as JSON, when the status is one of success.
///
/// # Errors
/// With the body, when it is not.
pub(super) fn json(reply: &Reply, asked: &str) -> Result<Value> {
    if !(200..300).contains(&reply.status) {
        bail!("{asked} was answered with {}: {}", reply.status, reply.body);
    }
    serde_json::from_str(&reply.body).with_context(|| format!("{asked} answered {:?}", reply.body))
}

/// Follows server-sent events until there are no more or `on_event` (event, data) says that it is
/// enough; `stopped` is asked while nothing comes. False when that ended it.
///
/// # Errors
/// When nothing listens, and when the stream breaks.
pub(super) fn follow(
    address: SocketAddr,
    path: &str,
    stopped: &mut dyn FnMut() -> bool,
    on_event: &mut dyn FnMut(&str, &str) -> bool,
) -> Result<bool> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(POLL_INTERVAL))?;
    // HTTP/1.0 (RFC 1945): the server closes when it is done, and may not send chunks.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// A server that answers one request with this text.
    fn answering(text: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("one connection");
            let _ = stream.read(&mut [0; 512]).expect("a request");
            stream.write_all(text.as_bytes()).expect("a reader");
        });
        address
    }

    #[test]
    fn an_answer_that_is_no_success_is_an_error_with_its_body() {
        let busy = answering("HTTP/1.1 503 Busy\r\nRetry-After: 1\r\n\r\n{\"a\":1}");
        let answer = get(busy, "/health").expect("an answer");
        assert_eq!((answer.status, answer.body.as_str()), (503, "{\"a\":1}"));
        let error = json(&answer, "GET /health").expect_err("it is no success");
        assert!(error.to_string().contains("503: {\"a\":1}"), "{error}");
        let error = get(answering("HTTP/1.1 200"), "/").expect_err("it is cut short");
        assert!(
            error.to_string().contains("does not answer GET /"),
            "{error}"
        );
    }

    #[test]
    fn events_are_followed_to_the_last() {
        let address = answering(
            "HTTP/1.1 200 OK\r\n\r\n: alive\n\ndata: {\"text\":\"a\"}\n\nevent: end\ndata: \"succeeded\"\n\n",
        );
        let mut events = Vec::new();
        let ended = follow(address, "/log", &mut || false, &mut |event, data| {
            events.push(format!("{event} {data}"));
            event != "end"
        });
        assert!(ended.expect("a stream"));
        assert_eq!(events, ["message {\"text\":\"a\"}", "end \"succeeded\""]);
    }
}
