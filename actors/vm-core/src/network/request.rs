//! Requests to the proxy: `CONNECT host:port`, and HTTP with the whole URL.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use super::{NetworkTarget, PROXY_PORT, TargetError, TargetHost};

/// Most bytes of a request's head.
pub const MAX_HEAD: usize = 32 * 1024;
/// Most fields of a head.
const MAX_FIELDS: usize = 128;

/// The ports that schemes stand for.
const HTTP: u16 = 80;
const HTTPS: u16 = 443;

/// Fields that belong to the connection with the proxy, or that it sets itself.
const OWN: [&str; 8] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "upgrade",
];

/// What is asked of the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyRequest {
    /// A connection to carry bytes.
    Connect(NetworkTarget),
    /// One request for the services of the VM's owner.
    Services {
        /// The head for them, as below.
        head: String,
        /// What follows it.
        body: BodyFraming,
    },
    /// One request to be passed on.
    Forward {
        /// To whom.
        target: NetworkTarget,
        /// The head for it: with the path alone, `Host` from the URL, and `Connection: close`.
        head: String,
        /// What follows it.
        body: BodyFraming,
    },
    /// The same of an `https` URL: the proxy opens TLS. Whoever asks so would use `CONNECT` if it
    /// knew proxies better, as axios before 2026 does not.
    ForwardByTls {
        /// To whom.
        target: NetworkTarget,
        /// The head for it, as above.
        head: String,
        /// What follows it.
        body: BodyFraming,
    },
}

/// What follows a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// So many bytes.
    Length(u64),
    /// Chunks; the peer finds their end.
    Chunked,
}

/// A request that is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// It is no HTTP/1.
    #[error("this is not an HTTP/1 request")]
    Malformed,
    /// The head is too long.
    #[error(
        "the request's head is longer than {MAX_HEAD} bytes or has more than {MAX_FIELDS} fields"
    )]
    TooLong,
    /// It does not say where to.
    #[error("this is a proxy: ask for a whole http or https URL, or use CONNECT")]
    NotForProxies,
    /// No host and port, or not readable ones.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Where its body ends can be read in two ways.
    #[error("where the request's body ends is not clear")]
    Body,
}

/// Where the head in `bytes` ends, its empty line included.
#[must_use]
pub fn head_end(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    end.map(|at| at + 4)
}

/// Reads a whole head, its empty line included.
///
/// # Errors
/// [`RequestError`]: nothing of it is passed on.
pub fn read(head: &[u8]) -> Result<ProxyRequest, RequestError> {
    if head.len() > MAX_HEAD {
        return Err(RequestError::TooLong);
    }
    let text = head
        .strip_suffix(b"\r\n\r\n")
        .ok_or(RequestError::Malformed)?;
    let text = std::str::from_utf8(text).map_err(|_| RequestError::Malformed)?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(RequestError::Malformed);
    };
    let fields = fields(lines)?;
    if !is_token(method) || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return Err(RequestError::Malformed);
    }
    if method == "CONNECT" {
        return Ok(ProxyRequest::Connect(NetworkTarget::parse(target, None)?));
    }
    let (target, path, port) = match target.starts_with('/') {
        true if target.bytes().all(|byte| byte.is_ascii_graphic()) => (itself(), target, HTTP),
        _ => absolute(target)?,
    };
    let body = body(version, &fields)?;
    if port == HTTPS {
        let head = rewritten(method, (&target, HTTPS), path, &fields);
        return Ok(ProxyRequest::ForwardByTls { target, head, body });
    }
    let target = if is_itself(&target) { itself() } else { target };
    let head = rewritten(method, (&target, HTTP), path, &fields);
    Ok(if target == itself() {
        ProxyRequest::Services { head, body }
    } else {
        ProxyRequest::Forward { target, head, body }
    })
}

/// The proxy's own address, as programs in the VM see it.
fn itself() -> NetworkTarget {
    NetworkTarget {
        host: TargetHost::Address(Ipv4Addr::LOCALHOST.into()),
        port: PROXY_PORT,
    }
}

/// Programs that send everything to the proxy name it as well.
fn is_itself(target: &NetworkTarget) -> bool {
    let loopback = match &target.host {
        TargetHost::Name(name) => name == "localhost",
        TargetHost::Address(address) => address.is_loopback(),
    };
    loopback && target.port == PROXY_PORT
}

type Field<'a> = (&'a str, &'a str);

fn fields<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<Field<'a>>, RequestError> {
    let mut fields = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(RequestError::Malformed)?;
        let value = value.trim_matches([' ', '\t']);
        let strange = |c: char| c.is_control() && c != '\t';
        if !is_token(name) || value.contains(strange) {
            return Err(RequestError::Malformed);
        }
        if fields.len() == MAX_FIELDS {
            return Err(RequestError::TooLong);
        }
        fields.push((name, value));
    }
    Ok(fields)
}

/// A `token` of RFC 9110.
fn is_token(text: &str) -> bool {
    let of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(of_token)
}

/// Host and path of an `http` or `https` URL, and the port that its scheme stands for.
fn absolute(url: &str) -> Result<(NetworkTarget, &str, u16), RequestError> {
    let visible = url.bytes().all(|byte| byte.is_ascii_graphic());
    let (scheme, rest) = url.split_once("://").ok_or(RequestError::NotForProxies)?;
    let port = match scheme {
        _ if !visible => return Err(RequestError::NotForProxies),
        _ if scheme.eq_ignore_ascii_case("http") => HTTP,
        _ if scheme.eq_ignore_ascii_case("https") => HTTPS,
        _ => return Err(RequestError::NotForProxies),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = path.split('#').next().unwrap_or_default();
    Ok((NetworkTarget::parse(authority, Some(port))?, path, port))
}

fn body(version: &str, fields: &[Field<'_>]) -> Result<BodyFraming, RequestError> {
    let named = |wanted: &'static str| {
        fields
            .iter()
            .filter(move |(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| *value)
    };
    let mut encodings = named("transfer-encoding");
    let mut lengths = named("content-length");
    match (encodings.next(), lengths.next()) {
        (None, None) => Ok(BodyFraming::Length(0)),
        (Some(encoding), None) => {
            let chunked = encoding.eq_ignore_ascii_case("chunked") && encodings.next().is_none();
            (chunked && version == "HTTP/1.1")
                .then_some(BodyFraming::Chunked)
                .ok_or(RequestError::Body)
        }
        (None, Some(length)) => {
            let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
            let same = lengths.all(|other| other == length);
            let length = length.parse().ok().filter(|_| digits && same);
            length.map(BodyFraming::Length).ok_or(RequestError::Body)
        }
        (Some(_), Some(_)) => Err(RequestError::Body),
    }
}

fn rewritten(
    method: &str,
    (target, port): (&NetworkTarget, u16),
    path: &str,
    fields: &[Field<'_>],
) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    let shown = target.to_string();
    let usual = format!(":{port}");
    let host = shown.strip_suffix(&usual).unwrap_or(&shown);
    let mut head = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {host}\r\n");
    let named: Vec<&str> = fields
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
        .flat_map(|(_, value)| value.split(','))
        .map(str::trim)
        .collect();
    for (name, value) in fields {
        let is = |other: &&str| name.eq_ignore_ascii_case(other);
        let framing = ["content-length", "transfer-encoding"].iter().any(is);
        if !OWN.iter().any(is) && (framing || !named.iter().any(is)) {
            // Writing to a string cannot fail.
            let _ = write!(head, "{name}: {value}\r\n");
        }
    }
    head.push_str("Via: 1.1 vm-manager\r\nConnection: close\r\n\r\n");
    head
}
