//! The proxy with an agent and peers that the tests play.

mod requests;
mod rules;
mod streams;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use vm_core::FailureReason;
use vm_core::guest::{
    CHUNK, Channel, FrameDecoder, Greeting, STREAMS, TarSummary, ToGuest, ToHost, VERSION,
    decode_to_guest, encode_to_host,
};
use vm_core::network::AllowList;

use super::*;
use crate::link::{FIRST, GuestLink};

/// Longer than anything takes that works.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);
const S: Channel = STREAMS;

/// The agent's end of a connection.
struct Agent {
    socket: UnixStream,
    decoder: FrameDecoder,
}

impl Agent {
    fn send(&mut self, channel: Channel, message: &ToHost<'_>) {
        let mut bytes = Vec::new();
        encode_to_host(channel, message, &mut bytes).unwrap();
        // The host may have ended the connection; then its reason is what is looked at.
        let _ = self.socket.write_all(&bytes);
    }

    /// The host's next message; `None` when it has ended the connection.
    fn next(&mut self) -> Option<(Channel, ToGuest<'static>)> {
        loop {
            if let Some(frame) = self.decoder.next_frame().unwrap() {
                let channel = frame.channel;
                return Some((channel, decode_to_guest(frame).unwrap().into_owned()));
            }
            let mut buffer = [0; 4096];
            let count = self.socket.read(&mut buffer).expect("in time");
            if count == 0 {
                return None;
            }
            self.decoder.feed(&buffer[..count]);
        }
    }

    fn open(&mut self, number: Channel, request: &str) {
        self.send(number, &ToHost::Open);
        self.send(number, &ToHost::Data(request.as_bytes().into()));
    }

    /// All that comes of a stream until it is closed, and whether it came to its end.
    fn answer(&mut self, number: Channel) -> (Vec<u8>, bool) {
        let (mut bytes, mut finished) = (Vec::new(), false);
        loop {
            let (channel, message) = self.next().expect("the connection lives");
            assert_eq!(channel, number);
            match message {
                ToGuest::Data(piece) => {
                    assert!(!finished && piece.len() <= CHUNK);
                    bytes.extend_from_slice(&piece);
                    let credit = u32::try_from(piece.len()).unwrap();
                    self.send(number, &ToHost::Credit(credit));
                }
                ToGuest::Finish => {
                    finished = true;
                    self.send(number, &ToHost::Finish);
                }
                ToGuest::Closed => return (bytes, finished),
                _ => {}
            }
        }
    }

    fn text(&mut self, number: Channel) -> String {
        let (bytes, finished) = self.answer(number);
        assert!(finished, "it broke off");
        String::from_utf8(bytes).unwrap()
    }
}

struct World {
    link: GuestLink,
    agent: Agent,
    gone: Receiver<(FailureReason, String)>,
    traffic: Arc<NetworkTraffic>,
    refusals: Receiver<String>,
    lookups: Arc<AtomicUsize>,
}

/// Names of `.test` lead to this machine, `nowhere.test` to nothing, `mixed.test` to two places.
fn looked_up(name: &str) -> io::Result<Vec<IpAddr>> {
    let addresses: &[&str] = match name {
        "nowhere.test" => &[],
        "mixed.test" => &["169.254.169.254", "127.0.0.1"],
        "metadata.test" => &["169.254.169.254"],
        _ => &["127.0.0.1"],
    };
    Ok(addresses.iter().map(|text| text.parse().unwrap()).collect())
}

fn world(allow: &[String], limits: NetworkLimits) -> World {
    world_with(allow, limits, None)
}

fn world_with(allow: &[String], limits: NetworkLimits, services: Option<OwnerServices>) -> World {
    world_of((allow, limits), services, TrustedAuthorities::default())
}

fn world_of(
    (allow, limits): (&[String], NetworkLimits),
    services: Option<OwnerServices>,
    trust: TrustedAuthorities,
) -> World {
    let (host, guest) = UnixStream::pair().unwrap();
    guest.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let (sender, gone) = channel();
    let ends = guest.try_clone().unwrap();
    // As a driver does it: what broke the rules is killed.
    let on_gone = Box::new(move |reason, detail: String| {
        let _ = sender.send((reason, detail.clone()));
        let _ = ends.shutdown(std::net::Shutdown::Both);
        detail
    });
    let (link, hello) = GuestLink::new(host, FIRST, on_gone).unwrap();
    let (traffic, lookups) = (
        Arc::new(NetworkTraffic::default()),
        Arc::new(AtomicUsize::new(0)),
    );
    let (refused, refusals) = channel();
    let count = Arc::clone(&lookups);
    let uplink = Uplink {
        services,
        reach: NetworkPolicy {
            manager: AllowList(allow.iter().map(|text| text.parse().unwrap()).collect()),
            requested: None,
        },
        limits,
        traffic: Arc::clone(&traffic),
        resolve: Arc::new(move |name| {
            count.fetch_add(1, Ordering::SeqCst);
            looked_up(name)
        }),
        trust,
        on_refused: Box::new(move |text, _| drop(refused.send(text.to_owned()))),
    };
    let mut agent = Agent {
        socket: guest,
        decoder: FrameDecoder::default(),
    };
    agent.send(0, &ToHost::Hello(greeting()));
    hello.recv_timeout(TEST_TIMEOUT).unwrap();
    std::thread::scope(|scope| {
        let opened =
            scope.spawn(|| link.open_network(proxy::server(Arc::new(uplink)), TEST_TIMEOUT));
        let (channel, order) = agent.next().unwrap();
        assert_eq!(order, ToGuest::Network(limits.streams));
        agent.send(channel, &ToHost::Finished(TarSummary::default()));
        opened.join().unwrap().unwrap();
    });
    World {
        link,
        agent,
        gone,
        traffic,
        refusals,
        lookups,
    }
}

fn greeting() -> Greeting {
    Greeting {
        version: VERSION,
        uptime_ms: 1,
        kernel: "6".to_owned(),
        cgroups: true,
    }
}

/// A server that serves one connection, and its port.
fn server<T: Send + 'static>(
    serve: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (u16, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || serve(listener.accept().unwrap().0));
    (port, served)
}

fn allowed(port: u16) -> Vec<String> {
    vec![format!("*.test:{port}"), format!("127.0.0.1:{port}")]
}
