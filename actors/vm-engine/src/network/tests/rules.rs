//! Agents that break the rules, and whatever else one may send.

use proptest::prelude::*;

use super::*;
use crate::MachineError;

#[test]
fn an_agent_that_breaks_the_rules_is_ended() {
    let few = Limits {
        streams: 2,
        ..Limits::default()
    };
    let ended = |world: &World, word: &str| {
        let (reason, detail) = world.gone.recv_timeout(TEST_TIMEOUT).unwrap();
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
    ended(&low, "`open` out of turn");

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
    agent.send(0, &ToHost::Hello(greeting()));
    agent.send(S, &ToHost::Open);
    let detail = gone.recv_timeout(TEST_TIMEOUT).unwrap();
    assert!(detail.contains("without network"), "{detail}");

    let world = world(&[], Limits::default());
    let uplink = Uplink {
        reach: Reach::default(),
        services: None,
        limits: Limits::default(),
        traffic: Arc::default(),
        resolve: by_the_system(),
        trust: Trust::default(),
        on_refused: Box::new(|_, _| {}),
    };
    let second = world
        .link
        .open_network(proxy::server(Arc::new(uplink)), TEST_TIMEOUT);
    assert!(matches!(second, Err(MachineError::Unsupported(_))));
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

    /// Whatever an agent sends of its streams: each that the host took is closed once, nothing
    /// comes of it after that, and none is left when the connection ends.
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
        prop_assert!(world.gone.recv_timeout(TEST_TIMEOUT).is_ok());
        while world.link.open_streams() > 0 {
            std::thread::yield_now();
        }
    }
}
