//! The hosts that VMs may reach, by pattern.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::name::{host_name, port_number};
use super::target::{NetworkTarget, TargetHost};

/// The ports that a pattern without one stands for.
const WEB_PORTS: [u16; 2] = [80, 443];

/// Hosts that may be reached, with a port.
///
/// Text form: a host (`pkg.test`), all below a name (`*.dists.test`, without the name itself), any
/// host (`*`), an address (`10.0.0.5`, `[fd00::5]`) or a network (`10.0.0.0/8`); each may end in
/// `:port`, and means ports 80 and 443 without one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    hosts: Hosts,
    /// `None`: the ports of the web.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    Any,
    Name(String),
    /// With the dot in front.
    Below(String),
    /// The addresses whose first so many bits are these.
    Network(IpAddr, u8),
}

/// A text that is no host pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostPatternError {
    /// A URL, or part of one.
    #[error("`{0}` is a URL: name the host alone, and a port if it is not 80 or 443")]
    Url(String),
    /// Something else.
    #[error(
        "`{0}` is neither a host (`pkg.test`), all below a name (`*.dists.test`), an address nor a network (`10.0.0.0/8`), each with or without `:port`"
    )]
    Unreadable(String),
}

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, HostPatternError> {
        if text.contains("//") {
            return Err(HostPatternError::Url(text.to_owned()));
        }
        parse(text).ok_or_else(|| HostPatternError::Unreadable(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<HostPattern> {
    // An address of many colons has no port unless it stands in brackets.
    if let Some(hosts) = network(text) {
        return Some(HostPattern { hosts, port: None });
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(port_number(port)?)),
        None => (text, None),
    };
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let hosts = match (bare, host) {
        (Some(bare), _) => {
            network(bare).filter(|_| bare.contains(':') && !bare.starts_with('['))?
        }
        (None, "*") => Hosts::Any,
        (None, host) => match host.strip_prefix("*.") {
            Some(below) => Hosts::Below(format!(".{}", host_name(below)?)),
            // Here the address has one colon at most, and that was the port's.
            None => network(host)
                .filter(|_| !host.contains(':'))
                .or_else(|| host_name(host).map(Hosts::Name))?,
        },
    };
    Some(HostPattern { hosts, port })
}

fn network(text: &str) -> Option<Hosts> {
    let text = match text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
    {
        Some(bare) if bare.contains(':') => bare,
        _ => text,
    };
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
        None => (text, None),
    };
    let address = address.parse::<IpAddr>().ok()?;
    let bits = bits.unwrap_or(width(address));
    (bits <= width(address)).then_some(Hosts::Network(address, bits))
}

fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// The first `bits` of an address, as a number.
fn head(address: IpAddr, bits: u8) -> u128 {
    let (value, width) = match address {
        IpAddr::V4(v4) => (u128::from(u32::from(v4)), 32),
        IpAddr::V6(v6) => (u128::from(v6), 128),
    };
    value.checked_shr(width - u32::from(bits)).unwrap_or(0)
}

fn is_within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    // A v4 address written as v6 is the v4 address.
    let address = if network.is_ipv4() {
        address.to_canonical()
    } else {
        address
    };
    address.is_ipv4() == network.is_ipv4() && head(address, bits) == head(network, bits)
}

impl HostPattern {
    fn has_port(&self, port: u16) -> bool {
        self.port
            .map_or_else(|| WEB_PORTS.contains(&port), |own| own == port)
    }

    /// Whether what is asked for is named by this.
    pub(super) fn names(&self, target: &NetworkTarget) -> bool {
        let host = match (&self.hosts, &target.host) {
            (Hosts::Any, _) => true,
            (Hosts::Name(own), TargetHost::Name(name)) => own == name,
            (Hosts::Below(suffix), TargetHost::Name(name)) => {
                name.len() > suffix.len() && name.ends_with(suffix.as_str())
            }
            (Hosts::Network(network, bits), TargetHost::Address(address)) => {
                is_within(*address, *network, *bits)
            }
            _ => false,
        };
        host && self.has_port(target.port)
    }

    /// Whether this names exactly such an address.
    #[must_use]
    pub fn matches(&self, address: IpAddr, port: u16) -> bool {
        match &self.hosts {
            Hosts::Network(network, bits) => {
                is_within(address, *network, *bits) && self.has_port(port)
            }
            _ => false,
        }
    }

    /// Whether all that `other` names is named by this as well.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let hosts = match (&self.hosts, &other.hosts) {
            (Hosts::Any, Hosts::Any | Hosts::Name(_) | Hosts::Below(_)) => true,
            (Hosts::Name(own), Hosts::Name(name)) => own == name,
            (Hosts::Below(own), Hosts::Name(name)) => {
                name.len() > own.len() && name.ends_with(own.as_str())
            }
            (Hosts::Below(own), Hosts::Below(suffix)) => suffix.ends_with(own.as_str()),
            (Hosts::Network(own, few), Hosts::Network(network, many)) => {
                few <= many && is_within(*network, *own, *few)
            }
            _ => false,
        };
        let ports = match other.port {
            Some(port) => self.has_port(port),
            None => self.port.is_none(),
        };
        hosts && ports
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::Any => f.write_str("*")?,
            Hosts::Name(name) => f.write_str(name)?,
            Hosts::Below(suffix) => write!(f, "*{suffix}")?,
            Hosts::Network(address, bits) => {
                let network = if *bits == width(*address) {
                    address.to_string()
                } else {
                    format!("{address}/{bits}")
                };
                if address.is_ipv6() {
                    write!(f, "[{network}]")?;
                } else {
                    f.write_str(&network)?;
                }
            }
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = HostPatternError;

    fn try_from(text: String) -> Result<Self, HostPatternError> {
        text.parse()
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.to_string()
    }
}
