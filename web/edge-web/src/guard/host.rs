//! The `Host` guard: a page of another site that points its own name at this address (DNS
//! rebinding) still sends that name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use actix_web::dev::RequestHead;
use actix_web::http::header;

/// The names and addresses this server answers for. Ports are not compared: they may be mapped on
/// the way, and another port does not make another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPolicy {
    /// Lower case, without port and final dot.
    names: Vec<String>,
    /// The address listened on, as one that may be asked for.
    address: Option<IpAddr>,
    /// Listening on every address: any address may be asked for (rebinding needs a name).
    any_address: bool,
}

/// Why a host is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostRefusal {
    /// No host is named, or it cannot be read.
    #[error("the request names no valid host")]
    Malformed,
    /// The host named is not served here.
    #[error(
        "this server does not answer for the host named; add it to the allowed hosts if it should"
    )]
    Foreign,
}

impl HostPolicy {
    /// Loopback names, the address listened on, and `configured` names (with or without port).
    pub fn new<'a>(listen: SocketAddr, configured: impl IntoIterator<Item = &'a str>) -> Self {
        let own = configured
            .into_iter()
            .filter_map(|host| split_port(host.trim().as_bytes()));
        let own = own.map(|name| String::from_utf8_lossy(name).to_ascii_lowercase());
        let address = unmapped(listen.ip());
        Self {
            names: std::iter::once("localhost".to_owned()).chain(own).collect(),
            any_address: address.is_unspecified(),
            address: Some(address),
        }
    }

    /// Checks the host of a request: the `Host` header, and the target's authority where the target
    /// is in absolute form.
    ///
    /// # Errors
    /// See [`HostRefusal`].
    pub fn check(&self, head: &RequestHead) -> Result<(), HostRefusal> {
        let header = head
            .headers()
            .get(header::HOST)
            .map(|value| value.as_bytes());
        let authority = head
            .uri
            .authority()
            .map(|authority| authority.as_str().as_bytes());
        // The authority wins (RFC 9112, section 3.2.2), but handlers may read either: check both.
        match (header, authority) {
            (None, None) => Err(HostRefusal::Malformed),
            (Some(one), None) | (None, Some(one)) => self.check_host(one),
            (Some(header), Some(authority)) => self
                .check_host(authority)
                .and_then(|()| self.check_host(header)),
        }
    }

    /// Checks a `host[:port]`.
    ///
    /// # Errors
    /// See [`HostRefusal`].
    pub fn check_host(&self, host: &[u8]) -> Result<(), HostRefusal> {
        let name = split_port(host).ok_or(HostRefusal::Malformed)?;
        if self
            .names
            .iter()
            .any(|own| own.as_bytes().eq_ignore_ascii_case(name))
        {
            return Ok(());
        }
        let address = parse_address(name).ok_or(HostRefusal::Foreign)?;
        let served = self.any_address || address.is_loopback() || self.address == Some(address);
        if served {
            Ok(())
        } else {
            Err(HostRefusal::Foreign)
        }
    }
}

/// The host of a `host[:port]`, without brackets' port and final dot; `None` if it is malformed.
fn split_port(host: &[u8]) -> Option<&[u8]> {
    let (name, port) = if host.first() == Some(&b'[') {
        let end = host.iter().position(|byte| *byte == b']')? + 1;
        (&host[..end], &host[end..])
    } else {
        let end = host
            .iter()
            .position(|byte| *byte == b':')
            .unwrap_or(host.len());
        (&host[..end], &host[end..])
    };
    let port_fits = match port.split_first() {
        None => true,
        Some((b':', digits)) => digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit),
        Some(_) => false,
    };
    let name = name.strip_suffix(b".").unwrap_or(name);
    (port_fits && !name.is_empty() && name.iter().all(u8::is_ascii_graphic)).then_some(name)
}

/// An IPv4 address in dotted form or an IPv6 address in brackets; nothing shorter or odder, as
/// browsers send them normalised.
fn parse_address(name: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(name).ok()?;
    match text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        Some(inside) => inside
            .parse::<Ipv6Addr>()
            .ok()
            .map(|address| unmapped(address.into())),
        None => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    }
}

fn unmapped(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback() -> HostPolicy {
        HostPolicy::new(
            ([127, 0, 0, 1], 8000).into(),
            ["search.example:443", "Box.lan."],
        )
    }

    #[test]
    fn s01_own_hosts_pass() {
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "localhost.",
            "127.0.0.1:8000",
            "127.0.0.1",
            "[::1]:80",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "search.example",
            "search.example:8443",
            "box.lan",
            "BOX.lan:1",
        ] {
            assert_eq!(loopback().check_host(host.as_bytes()), Ok(()), "{host}");
        }
    }

    #[test]
    fn s01_other_hosts_are_refused() {
        for host in [
            "evil.example",
            "localhost.evil.example",
            "evil.example:8000",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "127.1",
            "0x7f000001",
            "2130706433",
            "evil.search.example",
        ] {
            assert_eq!(
                loopback().check_host(host.as_bytes()),
                Err(HostRefusal::Foreign),
                "{host}"
            );
        }
    }

    #[test]
    fn s01_malformed_hosts_are_refused() {
        for host in [
            "",
            ":80",
            ".",
            "localhost:",
            "localhost:80x",
            "localhost:123456",
            "local host",
            "a:b:c",
            "[::1",
            "[::1]x",
            "local\u{e9}",
            "localhost:80:80",
        ] {
            let verdict = loopback().check_host(host.as_bytes());
            if host == "localhost:" {
                assert_eq!(verdict, Ok(()), "an empty port is allowed by RFC 3986");
            } else {
                assert_eq!(verdict, Err(HostRefusal::Malformed), "{host:?}");
            }
        }
    }

    #[test]
    fn s01_listening_everywhere_answers_for_addresses_not_for_names() {
        let policy = HostPolicy::new(([0, 0, 0, 0], 8000).into(), []);
        assert_eq!(policy.check_host(b"192.168.1.5:8000"), Ok(()));
        assert_eq!(policy.check_host(b"[fd00::1]:8000"), Ok(()));
        assert_eq!(
            policy.check_host(b"evil.example"),
            Err(HostRefusal::Foreign)
        );
    }
}
