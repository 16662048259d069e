//! A proxy in front of the server that makes faults.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What the proxy does with connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weather {
    /// It lets all pass.
    Fair,
    /// It answers each request with 503, and no server is asked.
    Busy,
    /// It takes requests and says nothing.
    Silent,
    /// It ends each connection after so many bytes of an answer.
    Cut(u64),
    /// It passes half of the body of each request on, and then nothing more.
    Half,
    /// It passes requests on, and no answers.
    Unanswered,
}

/// The proxy. Dropped, it takes no more.
#[derive(Debug)]
pub struct FaultProxy {
    port: u16,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    weather: Mutex<Weather>,
    ended: AtomicBool,
    /// Connections that came.
    connections: AtomicU64,
    /// Requests with a body that were held by [`Weather::Half`] or [`Weather::Unanswered`].
    held: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

impl FaultProxy {
    /// A proxy on a port of its own that leads to this one.
    #[must_use]
    pub fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State {
            weather: Mutex::new(Weather::Fair),
            ended: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            held: AtomicU64::new(0),
            open: Mutex::default(),
        });
        let of_thread = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if of_thread.ended.load(Ordering::SeqCst) {
                    return;
                }
                of_thread.connections.fetch_add(1, Ordering::SeqCst);
                of_thread.remember(&client);
                let state = Arc::clone(&of_thread);
                std::thread::spawn(move || serve(client, target, &state));
            }
        });
        Self { port, state }
    }

    /// Its address.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Changes the weather; connections that are open end.
    pub fn set(&self, weather: Weather) {
        *lock(&self.state.weather) = weather;
        for open in lock(&self.state.open).drain(..) {
            let _ = open.shutdown(Shutdown::Both);
        }
    }

    /// Connections that came so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }
}

impl FaultProxy {
    /// Uploads of which half was passed on, or all of it, and which will not be answered.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.state.held.load(Ordering::SeqCst)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::SeqCst);
        self.set(Weather::Fair);
        // So that the thread sees it.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl State {
    fn remember(&self, stream: &TcpStream) {
        lock(&self.open).extend(stream.try_clone());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut client: TcpStream, target: u16, state: &Arc<State>) {
    let weather = *lock(&state.weather);
    match weather {
        Weather::Busy => {
            let mut begun = [0; 1];
            let _ = client.read(&mut begun);
            let _ = client.write_all(
                b"HTTP/1.1 503 Slow Down\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
        }
        Weather::Silent => {
            let mut taken = [0; 1 << 14];
            while client.read(&mut taken).is_ok_and(|count| count > 0) {}
        }
        Weather::Fair => pass(&client, target, state, u64::MAX),
        Weather::Cut(bytes) => pass(&client, target, state, bytes),
        Weather::Half => hold(&mut client, target, state, 2),
        Weather::Unanswered => hold(&mut client, target, state, 1),
    }
    let _ = client.shutdown(Shutdown::Both);
}

/// Passes one request on, of its body only this part, and gives its sender no answer.
fn hold(client: &mut TcpStream, target: u16, state: &State, part: usize) {
    let Some((head, body)) = request(client) else {
        return;
    };
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", target)) else {
        return;
    };
    state.remember(&server);
    let sent = server
        .write_all(&head)
        .and_then(|()| server.write_all(&body[..body.len() / part]));
    // The server has taken the whole of it when it answers.
    let mut answer = [0; 1];
    let has_answered = part > 1 || server.read(&mut answer).is_ok_and(|count| count > 0);
    if sent.is_ok() && has_answered && !body.is_empty() {
        state.held.fetch_add(1, Ordering::SeqCst);
    }
    // Until the client goes, or the weather changes.
    let _ = client.read(&mut answer);
    let _ = server.shutdown(Shutdown::Both);
}

/// One request: its head, and its body.
fn request(client: &mut TcpStream) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 1 << 14];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        let count = client.read(&mut chunk).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.map_or(Some(0), |length| length.trim().parse().ok())?;
    let mut body = bytes.split_off(end);
    while body.len() < length {
        let count = client.read(&mut chunk).ok().filter(|count| *count > 0)?;
        body.extend_from_slice(&chunk[..count]);
    }
    Some((bytes, body))
}

fn pass(client: &TcpStream, target: u16, state: &State, most: u64) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else {
        return;
    };
    state.remember(&server);
    let (Ok(mut from_client), Ok(mut to_server)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    let requests = std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let _ = std::io::copy(&mut (&server).take(most), &mut &*client);
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
    let _ = requests.join();
}
