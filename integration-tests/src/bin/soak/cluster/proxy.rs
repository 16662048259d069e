//! A TCP proxy between a process and its database, or a VM manager and who asks it: it delays,
//! cuts, or lets one direction through only, as networks do.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;

use crate::daemon::pause;

/// What a proxy does with what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Weather {
    /// It passes it on.
    Fair,
    /// Each packet waits.
    Slow,
    /// Connections are cut, new ones refused.
    Cut,
    /// What the server says does not come through; connections stay.
    HalfOpen,
}

/// How long a packet waits when it is slow.
const DELAY: Duration = Duration::from_millis(60);

#[derive(Debug)]
struct State {
    weather: AtomicU8,
    target: AtomicU16,
    /// Raised to cut what is open.
    generation: AtomicU64,
}

/// A proxy; it ends with the process.
#[derive(Debug, Clone)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

impl Proxy {
    /// To this port of the loopback address.
    pub(crate) fn start(target: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(State {
            weather: AtomicU8::new(Weather::Fair as u8),
            target: AtomicU16::new(target),
            generation: AtomicU64::new(0),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || carry(client, &state));
            }
        });
        Ok(Self { port, state })
    }

    pub(crate) fn set(&self, weather: Weather) {
        self.state.weather.store(weather as u8, Ordering::SeqCst);
        if weather == Weather::Cut {
            self.state.generation.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Leads to another server from now on, as a virtual address does.
    pub(crate) fn lead_to(&self, port: u16) {
        self.state.target.store(port, Ordering::SeqCst);
        self.state.generation.fetch_add(1, Ordering::SeqCst);
    }
}

impl State {
    fn is(&self, weather: Weather) -> bool {
        self.weather.load(Ordering::SeqCst) == weather as u8
    }
}

fn carry(client: TcpStream, state: &Arc<State>) {
    if state.is(Weather::Cut) {
        return;
    }
    let target = SocketAddr::from(([127, 0, 0, 1], state.target.load(Ordering::SeqCst)));
    let Ok(server) = TcpStream::connect(target) else {
        return;
    };
    let born = state.generation.load(Ordering::SeqCst);
    let (Ok(client_in), Ok(server_out)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    let up = Arc::clone(state);
    let upward = std::thread::spawn(move || pump(client_in, server_out, &up, born, false));
    pump(server, client, state, born, true);
    let _ = upward.join();
}

/// Carries one direction until an end closes, or the connection is cut.
fn pump(mut from: TcpStream, mut to: TcpStream, state: &State, born: u64, is_answer: bool) {
    let _ = from.set_read_timeout(Some(Duration::from_millis(100)));
    let _ = to.set_nodelay(true);
    let mut bytes = vec![0; 64 << 10];
    while state.generation.load(Ordering::SeqCst) == born {
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => {
                while is_answer
                    && state.is(Weather::HalfOpen)
                    && state.generation.load(Ordering::SeqCst) == born
                {
                    pause(Duration::from_millis(10));
                }
                if state.is(Weather::Slow) {
                    pause(DELAY);
                }
                if to.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                ) => {}
            Err(_) => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
