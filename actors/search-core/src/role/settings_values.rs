//! Values of the server's settings.

use std::fmt;

use config_core::{Choices, ValueError, parse_http_url, quoted, suggestion};
use url::{Host, Url};

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum LogLevel {
    /// Everything, for developers.
    Debug,
    /// What the server does.
    #[default]
    Info,
    /// What is odd.
    Warn,
    /// What failed.
    Error,
}

impl LogLevel {
    /// All spellings.
    pub const CHOICES: &Choices<Self> = &[
        ("debug", Self::Debug),
        ("info", Self::Info),
        ("warn", Self::Warn),
        ("error", Self::Error),
    ];

    /// The name of the level.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, ValueError> {
        let lower = text.to_ascii_lowercase();
        let found = Self::CHOICES.iter().find(|(name, _)| *name == lower);
        found.map(|(_, level)| *level).ok_or_else(|| {
            let error = ValueError::new(format!("unknown level {}", quoted(text)));
            let near = suggestion(text, Self::CHOICES.iter().map(|(name, _)| *name));
            match near {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help("one of: debug, info, warn, error"),
            }
        })
    }
}

/// Where the server listens: a host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// An IP address or a name to resolve.
    pub host: Host,
    /// The port; 0 lets the system choose one.
    pub port: u16,
}

impl ListenAddress {
    /// The contract's default port.
    pub const DEFAULT_PORT: u16 = 8000;

    /// Whether only this machine can reach it.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => {
                address.is_loopback()
                    || address
                        .to_ipv4_mapped()
                        .is_some_and(|address| address.is_loopback())
            }
            // RFC 6761 section 6.3: `localhost` and names below it are loopback.
            Host::Domain(name) => {
                let name = name.trim_end_matches('.');
                name == "localhost" || name.ends_with(".localhost")
            }
        }
    }

    /// The host as sockets want it: without the brackets of an IPv6 address.
    pub fn host_name(&self) -> String {
        match &self.host {
            Host::Ipv6(address) => address.to_string(),
            other => other.to_string(),
        }
    }

    /// Reads `<host>:<port>`; without a port it is the default one.
    ///
    /// # Errors
    /// The host is missing, or one of both is wrong.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        const EXAMPLE: &str = "write `<host>:<port>`, for example `127.0.0.1:8000`";
        let wrong = |what: &str| {
            ValueError::new(format!("{} is not an address: {what}", quoted(text))).help(EXAMPLE)
        };
        if text.contains("://") {
            return Err(wrong("it is a URL"));
        }
        let is_port = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (host, port) = match text.rsplit_once(':') {
            Some(_) if text.ends_with(']') => (text, None),
            Some((host, port)) => (host, Some(port)),
            // A number alone reads as an address of its own (`8000` as `0.0.31.64`).
            None if is_port => ("", Some(text)),
            None => (text, None),
        };
        if host.is_empty() {
            return Err(wrong("the host is missing"));
        }
        if host.contains(':') && !host.starts_with('[') {
            return Err(wrong("an IPv6 address stands in brackets"));
        }
        let digits = |port: &&str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let port = match port {
            None => Self::DEFAULT_PORT,
            Some(port) => Some(port)
                .filter(digits)
                .and_then(|port| port.parse().ok())
                .ok_or_else(|| wrong("the port is a number from 0 to 65535"))?,
        };
        let host = Host::parse(host).map_err(|error| wrong(&error.to_string()))?;
        Ok(Self { host, port })
    }
}

impl Default for ListenAddress {
    /// `127.0.0.1:8000`.
    fn default() -> Self {
        Self {
            host: Host::Ipv4(std::net::Ipv4Addr::LOCALHOST),
            port: Self::DEFAULT_PORT,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Where conversations and summaries are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StorageBackend {
    /// An embedded key-value database.
    #[default]
    Redb,
    /// An embedded SQL database.
    Sqlite,
    /// In memory, in order; gone at the end. For tests.
    Memory,
    /// In memory, for many threads; gone at the end.
    ConcurrentMap,
}

impl StorageBackend {
    const CHOICES: [(&str, Self); 4] = [
        ("redb", Self::Redb),
        ("sqlite", Self::Sqlite),
        ("memory", Self::Memory),
        ("concurrent-map", Self::ConcurrentMap),
    ];

    /// Its name in the configuration.
    pub fn as_str(self) -> &'static str {
        let found = Self::CHOICES.iter().find(|(_, one)| *one == self);
        found.map_or("redb", |(name, _)| name)
    }

    /// Reads a name.
    ///
    /// # Errors
    /// No backend is called so.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let found = Self::CHOICES.iter().find(|(name, _)| *name == text.trim());
        found.map(|(_, backend)| *backend).ok_or_else(|| {
            let error = ValueError::new(format!("unknown storage backend {}", quoted(text)));
            let names = Self::CHOICES.map(|(name, _)| name);
            match suggestion(text, names) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("one of: {}", names.join(", "))),
            }
        })
    }
}

/// Reads the address of a WebSocket.
///
/// # Errors
/// Why it is none.
pub(super) fn websocket_url(text: &str) -> Result<Url, ValueError> {
    let not = || {
        let error = ValueError::new(format!("{} is not a ws or wss URL", quoted(text)));
        error.help("for example `ws://127.0.0.1:9000/ws`")
    };
    let rest = text.strip_prefix("ws").ok_or_else(not)?;
    let mut url = parse_http_url(&format!("http{rest}")).map_err(|error| ValueError {
        message: error.message.replace("`http", "`ws"),
        ..error
    })?;
    let scheme = if url.scheme() == "https" { "wss" } else { "ws" };
    url.set_scheme(scheme).map_err(|()| not())?;
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, shown, loopback) in [
            ("127.0.0.1:8000", "127.0.0.1:8000", true),
            ("127.8.8.8:0", "127.8.8.8:0", true),
            ("localhost:80", "localhost:80", true),
            ("LOCALHOST.:80", "localhost.:80", true),
            ("[::1]:8000", "[::1]:8000", true),
            ("[::ffff:127.0.0.1]:1", "[::ffff:7f00:1]:1", true),
            ("0.0.0.0:8000", "0.0.0.0:8000", false),
            ("[::]:8000", "[::]:8000", false),
            (
                "search.example.org:65535",
                "search.example.org:65535",
                false,
            ),
            ("localhost.example.org:1", "localhost.example.org:1", false),
        ] {
            let address = ListenAddress::parse(text).unwrap();
            assert_eq!(
                (address.to_string().as_str(), address.is_loopback()),
                (shown, loopback)
            );
        }
        assert_eq!(ListenAddress::parse("[::1]:1").unwrap().host_name(), "::1");
    }

    /// "Listen address as `<host>:<port>`. Default port 8000."
    #[test]
    fn contract_without_a_port_it_is_8000() {
        for (text, shown) in [
            ("127.0.0.1", "127.0.0.1:8000"),
            ("[::1]", "[::1]:8000"),
            ("localhost", "localhost:8000"),
            ("search.example.org", "search.example.org:8000"),
        ] {
            assert_eq!(ListenAddress::parse(text).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn wrong_addresses_are_explained() {
        for (text, message) in [
            ("8000", "`8000` is not an address: the host is missing"),
            ("", "`` is not an address: the host is missing"),
            (":8000", "`:8000` is not an address: the host is missing"),
            (
                "localhost:",
                "`localhost:` is not an address: the port is a number from 0 to 65535",
            ),
            (
                "a:65536",
                "`a:65536` is not an address: the port is a number from 0 to 65535",
            ),
            (
                "a:+1",
                "`a:+1` is not an address: the port is a number from 0 to 65535",
            ),
            (
                "::1:80",
                "`::1:80` is not an address: an IPv6 address stands in brackets",
            ),
            (
                "http://a:80",
                "`http://a:80` is not an address: it is a URL",
            ),
            (
                "a b:80",
                "`a b:80` is not an address: invalid international domain name",
            ),
        ] {
            assert_eq!(
                ListenAddress::parse(text).unwrap_err().message,
                message,
                "{text}"
            );
        }
    }
}
