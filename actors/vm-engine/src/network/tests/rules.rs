//! Agents that break the rules, and whatever else one may send.

use proptest::prelude::*;

use super::*;
use crate::MachineError;

#[test]
fn an_agent_that_breaks_the_rules_is_ended() {
    let few = NetworkLimits {
        streams: 2,
        ..NetworkLimits::default()
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
    let (_link, _hello) = GuestLink::new(host, FIRST, on_gone).unwrap();
    let mut agent = Agent {
        socket: guest,
        decoder: FrameDecoder::default(),
    };
    agent.send(0, &ToHost::Hello(greeting()));
    agent.send(S, &ToHost::Open);
    let detail = gone.recv_timeout(TEST_TIMEOUT).unwrap();
    assert!(detail.contains("without network"), "{detail}");

    let world = world(&[], NetworkLimits::default());
    let uplink = Uplink {
        reach: NetworkPolicy::default(),
        services: None,
        limits: NetworkLimits::default(),
        traffic: Arc::default(),
        resolve: by_the_system(),
        trust: TrustedAuthorities::default(),
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
        let mut world = world(&[], NetworkLimits { streams: 4, ..NetworkLimits::default() });
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

/// What a services' connection begins with, up to the head that was asked for.
fn led(asked: &str, allow: &[String]) -> (String, String) {
    let (port, served) = server(|mut peer| {
        let mut head = String::new();
        let mut byte = [0];
        while head.matches("\r\n\r\n").count() < 2 {
            peer.read_exact(&mut byte).unwrap();
            head.push(char::from(byte[0]));
        }
        peer.write_all(b"yours").unwrap();
        head
    });
    let target: NetworkTarget = format!("127.0.0.1:{port}").parse().unwrap();
    let services = OwnerServices {
        reach: NetworkPolicy {
            manager: AllowList(vec![target.to_string().parse().unwrap()]),
            requested: None,
        },
        target,
        led: vec!["forge.test:443".parse().unwrap()],
    };
    let mut world = world_with(allow, NetworkLimits::default(), Some(services));
    world.agent.open(S, asked);
    let answer = world.agent.text(S);
    (served.join().unwrap(), answer)
}

#[test]
fn i17_a_place_that_is_led_to_the_services_is_told_and_nothing_else_is_led() {
    let tunnel = "CONNECT Forge.test:443 HTTP/1.1\r\n\r\nHELLO\r\n\r\n";
    let (head, answer) = led(tunnel, &[]);
    assert_eq!(
        head,
        "CONNECT forge.test:443 HTTP/1.1\r\nVm-Reach: forge.test:443 is not on the allow-list of this VM\r\n\r\nHELLO\r\n\r\n"
    );
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("yours"));
    let plain = "GET http://forge.test:443/x HTTP/1.1\r\nHost: evil.test\r\nVm-Reach: yes\r\n\r\n";
    let reached = ["forge.test:443", "127.0.0.1:443"].map(str::to_owned);
    let (head, _) = led(plain, &reached);
    assert!(
        head.starts_with("CONNECT forge.test:443 HTTP/1.1\r\nVm-Reach: yes\r\n\r\nGET /x HTTP/1.1\r\nHost: forge.test:443\r\n"),
        "{head}"
    );
    // Another port of it is another place.
    let services = OwnerServices {
        target: "127.0.0.1:9".parse().unwrap(),
        reach: NetworkPolicy::default(),
        led: vec!["forge.test:443".parse().unwrap()],
    };
    let mut world = world_with(&[], NetworkLimits::default(), Some(services));
    world
        .agent
        .open(S, "CONNECT forge.test:80 HTTP/1.1\r\n\r\n");
    assert!(world.agent.text(S).contains("allow-list"));
}
