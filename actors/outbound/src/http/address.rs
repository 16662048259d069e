//! Which addresses may be connected to. Asked after names were looked up, about exactly the address
//! that is then connected to, so that a name cannot lead elsewhere in between.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Which addresses a client connects to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AddressPolicy {
    /// Any: for addresses that the operator has configured.
    #[default]
    Any,
    /// Public ones only: for addresses that come from strangers.
    PublicOnly,
    /// Public ones, and these places whatever they resolve to.
    Listed(Vec<Place>),
}

/// A place that is allowed though it may not be public.
///
/// Text form: a host name (`llm.lan`), a host and port (`localhost:11434`), an address
/// (`127.0.0.1`, `::1`, `[::1]:8080`) or a network (`10.0.0.0/8`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A name with all it resolves to; `None`: on any port.
    Host(String, Option<u16>),
    /// The addresses whose first so many bits are these; `None`: on any port.
    Network(IpAddr, u8, Option<u16>),
}

/// A text that names no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is neither a host name, an address nor a network like 10.0.0.0/8")]
pub struct PlaceError {
    text: String,
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let error = || PlaceError {
            text: text.to_owned(),
        };
        if let Some((address, bits)) = text.split_once('/') {
            let address: IpAddr = address.parse().map_err(|_| error())?;
            let bits: u8 = bits.parse().map_err(|_| error())?;
            return (bits <= width(address))
                .then_some(Self::Network(address, bits, None))
                .ok_or_else(error);
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Network(address, width(address), None));
        }
        if let Ok(socket) = text.parse::<std::net::SocketAddr>() {
            let address = socket.ip();
            return Ok(Self::Network(address, width(address), Some(socket.port())));
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| error())?)),
            None => (text, None),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if host.is_empty() || !host.chars().all(plain) {
            return Err(error());
        }
        Ok(Self::Host(host.to_ascii_lowercase(), port))
    }
}

impl Place {
    fn holds(&self, host: &str, address: IpAddr, port: u16) -> bool {
        match self {
            Self::Host(name, at) => {
                name.eq_ignore_ascii_case(host) && at.is_none_or(|at| at == port)
            }
            Self::Network(network, bits, at) => {
                is_within(address.to_canonical(), network.to_canonical(), *bits)
                    && at.is_none_or(|at| at == port)
            }
        }
    }
}

impl AddressPolicy {
    /// Whether a connection to `address`, which `host` resolved to, is allowed.
    #[must_use]
    pub fn allows(&self, host: &str, address: IpAddr, port: u16) -> bool {
        match self {
            Self::Any => true,
            Self::PublicOnly => is_public(address),
            Self::Listed(places) => {
                is_public(address) || places.iter().any(|place| place.holds(host, address, port))
            }
        }
    }
}

fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn is_within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let shifted = |value: u128, width: u32| value.checked_shr(width - u32::from(bits)).unwrap_or(0);
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let bits_of = |ip: Ipv4Addr| shifted(u128::from(u32::from(ip)), 32);
            bits <= 32 && bits_of(a) == bits_of(b)
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => shifted(a.into(), 128) == shifted(b.into(), 128),
        _ => false,
    }
}

/// Whether an address is one of the public internet: neither this machine, nor a local network, nor
/// one of the ranges IANA keeps for special purposes. Addresses that carry another (mapped, 6to4,
/// NAT64, Teredo) are judged by what they carry.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let special = ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_broadcast()
        || ip.is_documentation()
        || a == 0
        || a >= 240
        // Shared by providers (RFC 6598), which also hides some clouds' metadata services.
        || (a == 100 && (64..128).contains(&b))
        // Protocol assignments, the old 6to4 relay, benchmarks.
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19));
    !special
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    if let Some(v4) = ip.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    let parts = ip.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match parts {
        // NAT64 with the well-known prefix.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(v4(high, low)),
        // 6to4.
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Protocol assignments (Teredo among them) and documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // Only 2000::/3 is handed out; the rest is loopback, local, multicast or unassigned.
        [first, ..] => (first & 0xe000) == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn only_public_addresses_are_public() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ] {
            assert!(is_public(ip(public)), "{public}");
        }
        for local in [
            "127.0.0.1",
            "127.255.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "192.0.0.192",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:0:53aa::1",
            "2001:db8::1",
            "3fff::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
        ] {
            assert!(!is_public(ip(local)), "{local}");
            assert!(!AddressPolicy::PublicOnly.allows("x", ip(local), 80));
            assert!(AddressPolicy::Any.allows("x", ip(local), 80));
        }
    }

    #[test]
    fn a_place_is_read_and_holds() {
        let table = [
            ("127.0.0.1", "x", "127.0.0.1", 1, true),
            ("127.0.0.1", "x", "127.0.0.2", 1, false),
            ("127.0.0.1", "x", "::ffff:127.0.0.1", 1, true),
            ("127.0.0.1:80", "x", "127.0.0.1", 80, true),
            ("127.0.0.1:80", "x", "127.0.0.1", 81, false),
            ("10.0.0.0/8", "x", "10.200.1.1", 1, true),
            ("10.0.0.0/8", "x", "192.168.0.1", 1, false),
            ("0.0.0.0/0", "x", "10.0.0.1", 1, true),
            ("fd00::/8", "x", "fd12::1", 1, true),
            ("[::1]:80", "x", "::1", 80, true),
            ("::1", "x", "::1", 5, true),
            ("llm.lan", "LLM.lan", "10.0.0.5", 1, true),
            ("llm.lan", "other.lan", "10.0.0.5", 1, false),
            ("localhost:11434", "localhost", "127.0.0.1", 11434, true),
            ("localhost:11434", "localhost", "127.0.0.1", 22, false),
        ];
        for (place, host, address, port, expected) in table {
            let policy = AddressPolicy::Listed(vec![place.parse().unwrap()]);
            let found = policy.allows(host, ip(address), port);
            assert_eq!(found, expected, "{place} {host} {address}:{port}");
        }
        let nothing = AddressPolicy::Listed(Vec::new());
        assert!(nothing.allows("x", ip("1.1.1.1"), 443), "public ones stay");
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in [
            "",
            "a b",
            "10.0.0.0/33",
            "10.0.0/8",
            "host:port",
            "*",
            "http://x",
        ] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
        assert_eq!(
            "a b".parse::<Place>().unwrap_err().to_string(),
            "\"a b\" is neither a host name, an address nor a network like 10.0.0.0/8"
        );
    }
}
