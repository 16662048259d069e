//! One HTTP request over a connection of its own; a program that is being killed answers nothing,
//! and that is no error.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    /// The body as JSON; `null` if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// Sends a request in HTTP/1.0, so that the answer ends with the connection; `None` when there is
/// no whole answer.
pub(crate) fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Option<Answer> {
    let timeout = Duration::from_secs(20);
    let mut stream = TcpStream::connect_timeout(&address, timeout).ok()?;
    stream.set_read_timeout(Some(timeout)).ok()?;
    stream.set_write_timeout(Some(timeout)).ok()?;
    let mut request = format!(
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    stream.write_all(body).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    parse(&String::from_utf8_lossy(&answer))
}

/// `GET` of JSON; `None` when there is no answer with status 200.
pub(crate) fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Option<Value> {
    let answer = ask(address, "GET", path, headers, b"")?;
    (answer.status == 200).then(|| answer.json())
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    // A program that died in the middle of its answer has not answered.
    if length.is_some_and(|length| length > body.len()) {
        return None;
    }
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer {
        status,
        body: body.to_owned(),
    })
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
