//! Ports for the members of a cluster.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, bail};

/// Below those that the system gives to connections and to whoever asks for any, from 32768 on.
const PORTS: Range<u16> = 20_000..32_000;

/// A port that is free now, another one each time. No connection takes it before its member does.
///
/// # Errors
/// When there is none.
pub(super) fn free_port() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Two clusters on one machine begin at different places.
    let begin = std::process::id().wrapping_mul(101);
    for _ in PORTS {
        let number = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + (number % u32::from(PORTS.end - PORTS.start)) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!(
        "no port of 127.0.0.1 from {} to {} is free",
        PORTS.start,
        PORTS.end
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_member_has_a_port_that_no_connection_takes() {
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
        let range = range.expect("Linux says it");
        let first: u16 = range
            .split_whitespace()
            .next()
            .expect("two")
            .parse()
            .expect("a port");
        let [one, other] = [(); 2].map(|()| free_port().expect("a free port"));
        assert!(
            one != other && one < first && other < first,
            "{one} {other} {range}"
        );
    }
}
