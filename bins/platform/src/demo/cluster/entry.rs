//! The entry: a balancer of TCP connections that asks `GET /readyz` of each process and nothing
//! else, as the one in front of a real cluster does.

use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};

use super::super::http;

const CHECK_INTERVAL: Duration = Duration::from_millis(500);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// One of the processes.
#[derive(Debug)]
struct Backend {
    /// Where connections go.
    to: SocketAddr,
    /// Where it is asked whether it is ready.
    health: SocketAddr,
    is_ready: AtomicBool,
}

/// Listens on this port (0: a free one) until this process ends; connections go to the processes
/// in turn. Gives its address.
///
/// # Errors
/// When the port is taken.
pub(super) fn serve(port: u16, processes: &[(SocketAddr, SocketAddr)]) -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).with_context(|| {
        format!("port {port} of 127.0.0.1 cannot be taken; `--port 0` takes a free one")
    })?;
    let address = listener.local_addr()?;
    let backends = processes.iter().map(|(to, health)| Backend {
        to: *to,
        health: *health,
        is_ready: AtomicBool::new(false),
    });
    let backends: Arc<Vec<Backend>> = Arc::new(backends.collect());
    let watched = Arc::clone(&backends);
    std::thread::spawn(move || {
        loop {
            for backend in watched.iter() {
                let answer = http::get(backend.health, "/readyz");
                let is_ready = answer.is_ok_and(|answer| answer.status == 200);
                backend.is_ready.store(is_ready, Ordering::Relaxed);
            }
            std::thread::park_timeout(CHECK_INTERVAL);
        }
    });
    std::thread::spawn(move || {
        let turn = AtomicUsize::new(0);
        for client in listener.incoming().flatten() {
            let (backends, turn) = (Arc::clone(&backends), turn.fetch_add(1, Ordering::Relaxed));
            std::thread::spawn(move || carry(client, &backends, turn));
        }
    });
    Ok(address)
}

/// Carries a connection to the first process in turn that takes it, one that is ready if any is.
fn carry(client: TcpStream, backends: &[Backend], turn: usize) {
    let count = backends.len().max(1);
    let mut order: Vec<&Backend> = backends.iter().collect();
    order.rotate_left(turn % count);
    order.sort_by_key(|backend| !backend.is_ready.load(Ordering::Relaxed));
    let taken = order.into_iter().find_map(|backend| {
        let server = TcpStream::connect_timeout(&backend.to, CONNECT_TIMEOUT);
        if server.is_err() {
            backend.is_ready.store(false, Ordering::Relaxed);
        }
        server.ok()
    });
    let Some(server) = taken else {
        return;
    };
    let (Ok(from_client), Ok(to_server)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    let up = std::thread::spawn(move || pump(from_client, to_server));
    pump(server, client);
    let _ = up.join();
}

/// Until one side ends; the other one is told.
fn pump(mut from: TcpStream, mut to: TcpStream) {
    // An end of either side is the end.
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    /// A server that answers everything with its name.
    fn named(name: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 512];
                let _ = stream.read(&mut request);
                let _ = write!(stream, "HTTP/1.1 200 OK\r\n\r\n{name}");
            }
        });
        address
    }

    #[test]
    fn i18_connections_go_round_and_past_what_is_gone() {
        let gone = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let nobody = gone.local_addr().expect("it is bound");
        drop(gone);
        let processes = [named("a"), nobody, named("b")].map(|address| (address, address));
        let entry = serve(0, &processes).expect("a free port");
        let answers: Vec<String> = (0..6)
            .map(|_| http::get(entry, "/").expect("somebody answers").body)
            .collect();
        assert!(answers.contains(&"a".to_owned()), "{answers:?}");
        assert!(answers.contains(&"b".to_owned()), "{answers:?}");
    }
}
