//! The addresses of the products, all on loopback.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use anyhow::{Context, Result};

/// Where the products listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ports {
    /// The search server.
    pub(super) search: SocketAddr,
    /// The VM manager.
    pub(super) machines: SocketAddr,
    /// The workflow runner.
    pub(super) runner: SocketAddr,
    /// The orchestrator's receiver.
    pub(super) webhook: SocketAddr,
    /// Its operations page.
    pub(super) operations: SocketAddr,
}

impl Ports {
    /// The usual ports, with this one for the search server; 0 takes free ones for all. Each is
    /// looked at, so that who has to choose others knows before anything is built.
    ///
    /// # Errors
    /// When one is taken.
    pub(super) fn take(search: u16) -> Result<Self> {
        let usual = |port: u16| if search == 0 { 0 } else { port };
        // Held until all are known: a free port is given out once.
        let held = [
            reserve(search)?,
            reserve(usual(3100))?,
            reserve(usual(3000))?,
            reserve(usual(3200))?,
            reserve(usual(3201))?,
        ];
        let mut addresses = held.iter().map(TcpListener::local_addr);
        let mut next = || {
            let address = addresses.next().context("there are five")?;
            address.context("a bound socket has an address")
        };
        Ok(Self {
            search: next()?,
            machines: next()?,
            runner: next()?,
            webhook: next()?,
            operations: next()?,
        })
    }
}

fn reserve(port: u16) -> Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).with_context(|| {
        format!(
            "port {port} of 127.0.0.1 cannot be taken; `--port 0` takes free ones for everything"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_told_with_the_way_out() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = taken.local_addr().expect("it is bound").port();
        let error = Ports::take(port).expect_err("it is taken").to_string();
        assert!(
            error.contains(&format!("port {port}")) && error.contains("--port 0"),
            "{error}"
        );
        let free = Ports::take(0).expect("free ports");
        let all = [
            free.search,
            free.machines,
            free.runner,
            free.webhook,
            free.operations,
        ];
        let different: std::collections::BTreeSet<u16> = all.iter().map(SocketAddr::port).collect();
        assert_eq!(different.len(), 5, "{all:?}");
        assert!(!different.contains(&0));
    }
}
