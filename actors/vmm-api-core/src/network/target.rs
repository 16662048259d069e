//! What a program asks for.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::name::{host_name, port_number};

/// A host and port that a program in a VM asks for. Text form: `host:port`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkTarget {
    /// The host.
    pub host: TargetHost,
    /// The port.
    pub port: u16,
}

/// A host as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetHost {
    /// By name, in lower case.
    Name(String),
    /// By address.
    Address(IpAddr),
}

/// What is no host and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host or port that is asked for cannot be read")]
pub struct TargetError;

impl NetworkTarget {
    /// Reads `host:port`, `[v6]:port`, or, where there is a `default` port, the host alone. User
    /// names, zones of addresses, and numbers that only a resolver takes for addresses are refused.
    ///
    /// # Errors
    /// [`TargetError`].
    pub fn parse(authority: &str, default: Option<u16>) -> Result<Self, TargetError> {
        let (host, port) = match authority.rsplit_once(':') {
            // The colons of an address in brackets without a port.
            Some(_) if authority.ends_with(']') => (authority, None),
            Some((host, port)) => (host, Some(port_number(port).ok_or(TargetError)?)),
            None => (authority, None),
        };
        let port = port.or(default).ok_or(TargetError)?;
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = match bare {
            Some(bare) => bare.parse().map(IpAddr::V6).ok().map(TargetHost::Address),
            None => match host.parse() {
                Ok(address) => Some(TargetHost::Address(IpAddr::V4(address))),
                Err(_) => host_name(host).map(TargetHost::Name),
            },
        };
        let host = host.ok_or(TargetError)?;
        Ok(Self { host, port })
    }
}

impl FromStr for NetworkTarget {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        Self::parse(text, None)
    }
}

impl TryFrom<String> for NetworkTarget {
    type Error = TargetError;

    fn try_from(text: String) -> Result<Self, TargetError> {
        text.parse()
    }
}

impl From<NetworkTarget> for String {
    fn from(target: NetworkTarget) -> Self {
        target.to_string()
    }
}

impl fmt::Display for NetworkTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            TargetHost::Name(name) => f.write_str(name)?,
            TargetHost::Address(IpAddr::V4(address)) => write!(f, "{address}")?,
            TargetHost::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
        }
        write!(f, ":{}", self.port)
    }
}
