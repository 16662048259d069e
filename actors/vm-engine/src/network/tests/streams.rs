//! Bytes both ways: how many at once, and how a stream ends.

use vm_core::guest::STREAM_WINDOW;

use super::*;

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
    let mut world = world(&allowed(port), NetworkLimits::default());
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
    let limits = NetworkLimits {
        // Nobody takes anything: that is what ends it.
        idle: Duration::from_millis(300),
        ..NetworkLimits::default()
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
    let limits = NetworkLimits {
        idle: Duration::from_millis(50),
        ..NetworkLimits::default()
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
        let mut world = world(&allowed(port), NetworkLimits::default());
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
