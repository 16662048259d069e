//! The proxy with an agent and peers that the tests play.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use proptest::prelude::*;
use vm_core::FailureReason;
use vm_core::guest::{
    CHUNK, Channel, FrameDecoder, STREAM_WINDOW, STREAMS, TarSummary, ToGuest, ToHost,
    decode_to_guest, encode_to_host,
};
use vm_core::network::AllowList;

use super::*;
use crate::MachineError;
use crate::link::{FIRST, Link};

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(60);
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
    link: Link,
    agent: Agent,
    gone: Receiver<(FailureReason, String)>,
    traffic: Arc<Traffic>,
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

fn world(allow: &[String], limits: Limits) -> World {
    let (host, guest) = UnixStream::pair().unwrap();
    guest.set_read_timeout(Some(PATIENCE)).unwrap();
    let (sender, gone) = channel();
    let ends = guest.try_clone().unwrap();
    // As a driver does it: what broke the rules is killed.
    let on_gone = Box::new(move |reason, detail: String| {
        let _ = sender.send((reason, detail.clone()));
        let _ = ends.shutdown(std::net::Shutdown::Both);
        detail
    });
    let (link, _hello) = Link::new(host, FIRST, on_gone).unwrap();
    let (traffic, lookups) = (Arc::new(Traffic::default()), Arc::new(AtomicUsize::new(0)));
    let (refused, refusals) = channel();
    let count = Arc::clone(&lookups);
    let uplink = Uplink {
        reach: Reach {
            manager: AllowList(allow.iter().map(|text| text.parse().unwrap()).collect()),
            order: None,
        },
        limits,
        traffic: Arc::clone(&traffic),
        resolve: Arc::new(move |name| {
            count.fetch_add(1, Ordering::SeqCst);
            looked_up(name)
        }),
        on_refused: Box::new(move |text, _| drop(refused.send(text.to_owned()))),
    };
    let mut agent = Agent {
        socket: guest,
        decoder: FrameDecoder::default(),
    };
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| link.open_network(Arc::new(uplink), PATIENCE));
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

#[test]
fn a_plain_request_reaches_the_host_that_is_named() {
    let (port, served) = server(|mut peer| {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\nbody") {
            peer.read_exact(&mut byte).unwrap();
            head.extend_from_slice(&byte);
        }
        peer.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
            .unwrap();
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        // What came behind the request, if it was passed on.
        let mut rest = Vec::new();
        peer.read_to_end(&mut rest).unwrap();
        (String::from_utf8(head).unwrap(), rest)
    });
    let mut world = world(&allowed(port), Limits::default());
    let request = format!(
        "POST http://files.test:{port}/x HTTP/1.1\r\nHost: other\r\nContent-Length: 4\r\n\r\nbodyGET http://169.254.169.254/ HTTP/1.1\r\n\r\n"
    );
    world.agent.open(S, &request);
    assert!(world.agent.text(S).ends_with("\r\n\r\nhello"));
    let (head, rest) = served.join().unwrap();
    assert!(
        head.starts_with(&format!("POST /x HTTP/1.1\r\nHost: files.test:{port}\r\n")),
        "{head}"
    );
    assert!(head.contains("Connection: close\r\n"), "{head}");
    assert_eq!(rest, b"", "only the request that was checked is passed on");
    let view = world.traffic.view();
    assert_eq!((view.connections, view.sent), (1, head.len() as u64));
    assert!(view.received > 0);
    assert_eq!(world.lookups.load(Ordering::SeqCst), 1, "looked up once");
}

#[test]
fn what_no_list_names_is_refused_with_the_reason() {
    let (port, _served) = server(drop);
    let other = port.wrapping_add(1).max(1);
    let allow = [
        allowed(port),
        vec![
            "*".to_owned(),
            "metadata.test".to_owned(),
            "gone.test:1".to_owned(),
            "127.0.0.1:1".to_owned(),
        ],
    ];
    let mut world = world(&allow.concat(), Limits::default());
    let table = [
        (
            format!("CONNECT example.org:{port} HTTP/1.1\r\n\r\n"),
            "403",
            "not_listed",
        ),
        (
            format!("CONNECT a.test:{other} HTTP/1.1\r\n\r\n"),
            "403",
            "not_listed",
        ),
        (
            format!("GET http://10.0.0.1:{port}/ HTTP/1.1\r\n\r\n"),
            "403",
            "not_listed",
        ),
        // Names that lead into the machine or its network, and addresses of it.
        (
            "CONNECT metadata.test:80 HTTP/1.1\r\n\r\n".to_owned(),
            "403",
            "address",
        ),
        (
            "CONNECT rebound.example:443 HTTP/1.1\r\n\r\n".to_owned(),
            "403",
            "address",
        ),
        (
            "GET http://169.254.169.254/latest HTTP/1.1\r\n\r\n".to_owned(),
            "403",
            "address",
        ),
        (
            "CONNECT [::1]:443 HTTP/1.1\r\n\r\n".to_owned(),
            "403",
            "address",
        ),
        (
            "CONNECT [::ffff:7f00:1]:443 HTTP/1.1\r\n\r\n".to_owned(),
            "403",
            "address",
        ),
        (
            "CONNECT 127.1:443 HTTP/1.1\r\n\r\n".to_owned(),
            "400",
            "bad_request",
        ),
        (
            "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n".to_owned(),
            "400",
            "bad_request",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n".to_owned(),
            "400",
            "bad_request",
        ),
        (
            "\x16\x03\x01 not HTTP at all\r\n\r\n".to_owned(),
            "400",
            "bad_request",
        ),
        (
            "CONNECT nowhere.test:443 HTTP/1.1\r\n\r\n".to_owned(),
            "502",
            "unresolved",
        ),
        (
            "CONNECT gone.test:1 HTTP/1.1\r\n\r\n".to_owned(),
            "502",
            "unreachable",
        ),
    ];
    for (number, (request, status, label)) in (S..).zip(table) {
        let before = world.traffic.view();
        world.agent.open(number, &request);
        let text = world.agent.text(number);
        assert!(
            text.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {text}"
        );
        let reason = world.refusals.recv_timeout(PATIENCE).unwrap();
        assert!(text.ends_with(&format!("\r\n\r\n{reason}\n")), "{text}");
        let counted = |view: &TrafficView| view.refused.iter().find(|it| it.0 == label).unwrap().1;
        assert_eq!(
            counted(&world.traffic.view()),
            counted(&before) + 1,
            "{request}"
        );
    }
    assert_eq!(world.traffic.view().connections, 0);
}

#[test]
fn of_several_addresses_only_those_that_are_allowed_are_tried() {
    let (port, served) = server(|mut peer| peer.write_all(b"here").unwrap());
    let mut world = world(&allowed(port), Limits::default());
    world
        .agent
        .open(S, &format!("CONNECT mixed.test:{port} HTTP/1.1\r\n\r\n"));
    assert!(world.agent.text(S).ends_with("\r\n\r\nhere"));
    served.join().unwrap();
}

#[test]
fn a_tunnel_carries_more_than_its_window_both_ways() {
    const BYTES: usize = 5 * STREAM_WINDOW as usize + 7;
    let (port, served) = server(|mut peer| {
        let mut sending = peer.try_clone().unwrap();
        let sender = std::thread::spawn(move || {
            sending.write_all(&vec![b'd'; BYTES]).unwrap();
        });
        let mut got = Vec::new();
        peer.read_to_end(&mut got).unwrap();
        sender.join().unwrap();
        got
    });
    let mut world = world(&allowed(port), Limits::default());
    world
        .agent
        .open(S, &format!("CONNECT a.test:{port} HTTP/1.1\r\n\r\n"));
    let (mut to_send, mut credit, mut received) = (BYTES, STREAM_WINDOW as usize, 0);
    let mut ended = false;
    // The request took of the credit.
    credit -= format!("CONNECT a.test:{port} HTTP/1.1\r\n\r\n").len();
    loop {
        while to_send > 0 && credit > 0 {
            let count = to_send.min(credit).min(CHUNK);
            world.agent.send(S, &ToHost::Data(vec![b'u'; count].into()));
            (to_send, credit) = (to_send - count, credit - count);
        }
        if to_send == 0 && !ended {
            ended = true;
            world.agent.send(S, &ToHost::Finish);
        }
        match world.agent.next().unwrap().1 {
            ToGuest::Data(bytes) => {
                received += bytes.len();
                let count = u32::try_from(bytes.len()).unwrap();
                world.agent.send(S, &ToHost::Credit(count));
            }
            ToGuest::Credit(more) => credit += more as usize,
            ToGuest::Closed => break,
            _ => {}
        }
    }
    let established = "HTTP/1.1 200 Connection established\r\n\r\n".len();
    assert_eq!(received, established + BYTES);
    assert_eq!(served.join().unwrap(), vec![b'u'; BYTES]);
    let view = world.traffic.view();
    assert_eq!((view.sent, view.received), (BYTES as u64, BYTES as u64));
}

#[test]
fn a_peer_that_sends_without_end_gets_no_further_than_the_window() {
    let (port, served) = server(|mut peer| while peer.write_all(&[0; CHUNK]).is_ok() {});
    let limits = Limits {
        // Nobody takes anything: that is what ends it.
        idle: Duration::from_millis(300),
        ..Limits::default()
    };
    let mut world = world(&allowed(port), limits);
    world
        .agent
        .open(S, &format!("CONNECT a.test:{port} HTTP/1.1\r\n\r\n"));
    let mut received = 0;
    loop {
        match world.agent.next().unwrap().1 {
            ToGuest::Data(bytes) => received += bytes.len(),
            ToGuest::Finish => panic!("it did not come to its end"),
            ToGuest::Closed => break,
            _ => {}
        }
    }
    assert_eq!(received, STREAM_WINDOW as usize);
    served.join().unwrap();
}

#[test]
fn a_stream_on_which_nothing_moves_ends_and_so_does_its_connection() {
    let (port, served) = server(|mut peer| peer.read(&mut [0]).unwrap_or(0));
    let limits = Limits {
        idle: Duration::from_millis(50),
        ..Limits::default()
    };
    let mut world = world(&allowed(port), limits);
    world
        .agent
        .open(S, &format!("CONNECT a.test:{port} HTTP/1.1\r\n\r\n"));
    let (bytes, finished) = world.agent.answer(S);
    assert!(bytes.starts_with(b"HTTP/1.1 200 ") && !finished);
    assert_eq!(served.join().unwrap(), 0);
    // A program that connects and says nothing.
    world.agent.send(S + 1, &ToHost::Open);
    assert_eq!(world.agent.answer(S + 1), (Vec::new(), false));
    assert!(world.traffic.view().refused.iter().all(|it| it.1 == 0));
}

#[test]
fn who_breaks_off_ends_the_connection_and_so_does_the_end_of_the_vm() {
    for by_vm in [false, true] {
        let (port, served) = server(|mut peer| {
            let mut got = Vec::new();
            let _ = peer.read_to_end(&mut got);
            got
        });
        let mut world = world(&allowed(port), Limits::default());
        world
            .agent
            .open(S, &format!("CONNECT a.test:{port} HTTP/1.1\r\n\r\nearly"));
        let (_, established) = world.agent.next().unwrap();
        assert!(matches!(established, ToGuest::Data(_)), "{established:?}");
        if by_vm {
            world.link.close("it was killed");
        } else {
            world.agent.send(S, &ToHost::Abort);
            assert_eq!(world.agent.next(), Some((S, ToGuest::Closed)));
        }
        assert!(b"early".starts_with(&served.join().unwrap()[..]));
    }
}

#[test]
fn an_agent_that_breaks_the_rules_is_ended() {
    let few = Limits {
        streams: 2,
        ..Limits::default()
    };
    let ended = |world: &World, word: &str| {
        let (reason, detail) = world.gone.recv_timeout(PATIENCE).unwrap();
        assert_eq!(reason, FailureReason::BadProtocol);
        assert!(detail.contains(word), "{detail}");
    };
    let mut many = world(&[], few);
    for number in 0..3 {
        many.agent.send(S + number, &ToHost::Open);
    }
    ended(&many, "more than 2 streams");

    let mut twice = world(&[], few);
    twice.agent.send(S, &ToHost::Open);
    twice.agent.send(S, &ToHost::Open);
    ended(&twice, "number");

    let mut low = world(&[], few);
    low.agent.send(7, &ToHost::Open);
    ended(&low, "number 7");

    // More than its credit, to a peer that reads nothing.
    let (port, served) = server(|peer| peer);
    let mut flood = world(&allowed(port), few);
    flood
        .agent
        .open(S, &format!("CONNECT a.test:{port} HTTP/1.1\r\n\r\n"));
    let _peer = served.join().unwrap();
    let piece = vec![0; CHUNK];
    while flood
        .gone
        .try_recv()
        .map(|(_, detail)| assert!(detail.contains("credit")))
        .is_err()
    {
        flood.agent.send(S, &ToHost::Data(piece.as_slice().into()));
    }
}

#[test]
fn a_vm_without_network_opens_no_stream_and_none_has_two() {
    let (host, guest) = UnixStream::pair().unwrap();
    let (sender, gone) = channel();
    let on_gone = Box::new(move |_, detail: String| {
        let _ = sender.send(detail.clone());
        detail
    });
    let (_link, _hello) = Link::new(host, FIRST, on_gone).unwrap();
    let mut agent = Agent {
        socket: guest,
        decoder: FrameDecoder::default(),
    };
    agent.send(S, &ToHost::Open);
    let detail = gone.recv_timeout(PATIENCE).unwrap();
    assert!(detail.contains("without network"), "{detail}");

    let world = world(&[], Limits::default());
    let uplink = Uplink {
        reach: Reach::default(),
        limits: Limits::default(),
        traffic: Arc::default(),
        resolve: by_the_system(),
        on_refused: Box::new(|_, _| {}),
    };
    let second = world.link.open_network(Arc::new(uplink), PATIENCE);
    assert!(matches!(second, Err(MachineError::Unsupported(_))));
}

#[test]
fn the_machines_own_addresses_are_not_foreign() {
    for own in [
        "127.0.0.1",
        "::1",
        "10.0.0.1",
        "169.254.169.254",
        "::ffff:127.0.0.1",
        "fd00::1",
    ] {
        assert!(!is_foreign(own.parse().unwrap()), "{own}");
    }
}

/// What an agent may send of a stream.
#[derive(Debug, Clone)]
enum Sent {
    Open,
    Data(Vec<u8>),
    Finish,
    Abort,
    Credit(u32),
}

fn sent() -> impl Strategy<Value = (u32, Sent)> {
    let message = prop_oneof![
        3 => Just(Sent::Open),
        3 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Sent::Data),
        2 => Just(Sent::Data(b"CONNECT a.test:443 HTTP/1.1\r\n\r\n".to_vec())),
        1 => Just(Sent::Finish),
        1 => Just(Sent::Abort),
        1 => any::<u32>().prop_map(Sent::Credit),
    ];
    (0u32..4, message)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever an agent sends of its streams: each that the host took is closed once, nothing comes
    /// of it after that, and none is left when the connection ends.
    #[test]
    fn any_streams(messages in prop::collection::vec(sent(), 0..30)) {
        let mut world = world(&[], Limits { streams: 4, ..Limits::default() });
        for (number, message) in messages {
            let message = match message {
                Sent::Open => ToHost::Open,
                Sent::Data(bytes) => ToHost::Data(bytes.into()),
                Sent::Finish => ToHost::Finish,
                Sent::Abort => ToHost::Abort,
                Sent::Credit(bytes) => ToHost::Credit(bytes),
            };
            world.agent.send(S + number, &message);
        }
        world.agent.socket.shutdown(std::net::Shutdown::Write).unwrap();
        prop_assert!(world.gone.recv_timeout(PATIENCE).is_ok());
        while world.link.open_streams() > 0 {
            std::thread::yield_now();
        }
    }
}
