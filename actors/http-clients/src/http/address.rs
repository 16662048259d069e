//! Which addresses may be connected to. Asked after names were looked up, about exactly the address
//! that is then connected to, so that a name cannot lead elsewhere in between.

use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use config_core::is_public;

/// Which addresses a client connects to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AddressPolicy {
    /// Any: for addresses that the operator has configured.
    #[default]
    Any,
    /// Public ones only: for addresses that come from strangers.
    PublicOnly,
    /// Public ones, and these places whatever they resolve to.
    Listed(Vec<AllowedAddress>),
}

/// A place that is allowed though it may not be public.
///
/// Text form: a host name (`llm.lan`), a host and port (`localhost:11434`), an address
/// (`127.0.0.1`, `::1`, `[::1]:8080`) or a network (`10.0.0.0/8`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedAddress {
    /// A name with all it resolves to; `None`: on any port.
    Host(String, Option<u16>),
    /// The addresses whose first so many bits are these; `None`: on any port.
    Network(IpAddr, u8, Option<u16>),
}

/// A text that names no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is neither a host name, an address nor a network like 10.0.0.0/8")]
pub struct AllowedAddressError {
    text: String,
}

impl FromStr for AllowedAddress {
    type Err = AllowedAddressError;

    fn from_str(text: &str) -> Result<Self, AllowedAddressError> {
        let error = || AllowedAddressError {
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

impl AllowedAddress {
    fn matches(&self, host: &str, address: IpAddr, port: u16) -> bool {
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
                is_public(address)
                    || places
                        .iter()
                        .any(|place| place.matches(host, address, port))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn strangers_lead_to_public_addresses_only() {
        let stranger = |text| AddressPolicy::PublicOnly.allows("x", ip(text), 80);
        assert!(stranger("1.1.1.1") && stranger("2606:4700::1111"));
        for local in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1"] {
            assert!(!stranger(local), "{local}");
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
            assert!(text.parse::<AllowedAddress>().is_err(), "{text}");
        }
        assert_eq!(
            "a b".parse::<AllowedAddress>().unwrap_err().to_string(),
            "\"a b\" is neither a host name, an address nor a network like 10.0.0.0/8"
        );
    }
}
