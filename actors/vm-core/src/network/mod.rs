//! What a VM with `network = "user"` may reach: a list of places, and requests to the proxy that
//! stands before it.
//!
//! ```text
//! program in the VM ─▶ 127.0.0.1:PROXY_PORT (agent) ─stream─▶ manager
//!                                request::read ─▶ Target ─Reach::names─▶ addresses ─Reach::connects─▶ peer
//! ```
//!
//! A VM has no network device. What asks for a host is checked by the name it asks for; then the
//! name is looked up once, and each address is checked before exactly that one is connected to, so
//! a name cannot lead elsewhere in between.

mod place;
mod reach;
pub mod request;
mod target;

pub use place::{Place, PlaceError};
pub use reach::{AllowList, Reach};
pub use target::{Target, TargetError, TargetHost};

/// Where the agent takes connections for the proxy, on the VM's own loopback interface.
pub const PROXY_PORT: u16 = 3128;

/// The ports that a place without one stands for.
pub const WEB_PORTS: [u16; 2] = [80, 443];

/// Longest host name, in bytes (RFC 1035).
const MAX_NAME: usize = 253;

/// A host name in lower case without the dot of the root, or `None` when it is none. What ends in a
/// number is none: resolvers read `127.1` and `0x7f000001` as addresses.
fn host_name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let labels = || text.split('.');
    let plain = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let last = labels().next_back().unwrap_or_default();
    let numeric = last.bytes().all(|byte| byte.is_ascii_digit())
        || last
            .get(..2)
            .is_some_and(|head| head.eq_ignore_ascii_case("0x"));
    (text.len() <= MAX_NAME && labels().all(plain) && !numeric).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
