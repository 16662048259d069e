//! A manager that listens, and plain HTTP to speak to it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use edge_web::ServeOptions;
use serde_json::Value;
use store::{Store, StoreOptions};
use tokio::sync::oneshot;
use vm_actors::{VmService, VmSettings, wall};
use vm_core::token::{Claims, TokenKey, TokenScope};
use vm_web::{ManagerServerOptions, VmServer};

use crate::scripted::{DEADLINE, Lab};

pub(crate) struct Server {
    pub(crate) lab: Arc<Lab>,
    pub(crate) address: SocketAddr,
    key: TokenKey,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
    /// Whether a chunked body came to its end.
    pub(crate) whole: bool,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8_lossy(&self.body);
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(&Lab::new(), VmSettings::default())
    }

    pub(crate) fn with(lab: &Arc<Lab>, settings: VmSettings) -> Self {
        let key = TokenKey::new(&[7; 32]).unwrap();
        let (stop, stopped) = oneshot::channel();
        let (send_address, address) = mpsc::channel();
        let (own_lab, own_key) = (Arc::clone(lab), key.clone());
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async move {
                let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
                let service = VmService::new(
                    settings,
                    own_lab.driver(),
                    own_lab.images(),
                    store,
                    vm_actors::Clock::start(),
                )
                .unwrap();
                let options = ManagerServerOptions {
                    key: own_key,
                    hosts: Vec::new(),
                    serve: ServeOptions {
                        workers: 2,
                        shutdown_timeout: Duration::from_secs(1),
                        ..ServeOptions::default()
                    },
                };
                let server = VmServer::prepare(service, options).start();
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                send_address.send(listener.local_addr().unwrap()).unwrap();
                let ended = async move {
                    let _ = stopped.await;
                };
                server.serve(listener, ended).await.unwrap();
            });
        });
        Self {
            lab: Arc::clone(lab),
            address: address.recv_timeout(DEADLINE).unwrap(),
            key,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(crate) fn token(&self, subject: &str, scope: TokenScope) -> String {
        let claims = Claims::new(subject, &[scope], wall(), Duration::from_secs(600));
        self.key.sign(&claims)
    }

    /// A request of the subject `runner`, which may write.
    pub(crate) fn call(&self, line: &str, body: &str) -> Answer {
        let token = self.token("runner", TokenScope::Write);
        self.call_as(Some(&token), line, body)
    }

    pub(crate) fn call_as(&self, token: Option<&str>, line: &str, body: &str) -> Answer {
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        self.send(line, &token.unwrap_or_default(), body.as_bytes())
    }

    /// `line` is a method and a target; `headers` end with their line breaks.
    pub(crate) fn send(&self, line: &str, headers: &str, body: &[u8]) -> Answer {
        let kind = if body.is_empty() {
            String::new()
        } else {
            "Content-Type: application/json\r\n".to_owned()
        };
        let head = format!(
            "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}{kind}Content-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = self.connect();
        stream.write_all(head.as_bytes()).unwrap();
        // A refusal may come before the whole body is taken.
        let _ = stream.write_all(body);
        read_answer(&mut stream)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    /// A VM's id.
    pub(crate) fn created(&self) -> String {
        let answer = self.call("POST /vms", "{}");
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// The id of a command.
    pub(crate) fn exec(&self, vm: &str, words: &[&str]) -> String {
        let body = serde_json::json!({ "argv": words }).to_string();
        let answer = self.call(&format!("POST /vms/{vm}/exec"), &body);
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["exec_id"].as_str().unwrap().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().expect("joined once").join();
        if !std::thread::panicking() {
            ended.unwrap();
            assert_eq!(self.lab.alive(), [], "machines outlived their manager");
        }
    }
}

pub(crate) fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A connection that is cut in the middle is an answer as well.
    let _ = stream.read_to_end(&mut bytes);
    let at = bytes
        .windows(4)
        .position(|part| part == b"\r\n\r\n")
        .expect("a head")
        + 4;
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    let (body, whole) = if chunked {
        dechunked(&bytes[at..])
    } else {
        (bytes[at..].to_vec(), true)
    };
    Answer {
        status,
        head,
        body,
        whole,
    }
}

fn dechunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(at) = rest.windows(2).position(|part| part == b"\r\n") {
        let size = std::str::from_utf8(&rest[..at]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        let end = (at + 2 + size).min(rest.len());
        body.extend_from_slice(&rest[at + 2..end]);
        rest = &rest[(end + 2).min(rest.len())..];
    }
    (body, false)
}
