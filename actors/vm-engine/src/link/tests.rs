//! A hostile agent against the real connection: whatever it sends or does not read, the host's
//! memory stays within bounds, the VM ends with a reason or goes on, and other VMs notice nothing.

mod tars;

use std::io::{Read as _, Write as _};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;

use vm_core::guest::{
    CHUNK, ClockReading, FailureKind, FrameDecoder, GuestFailure, STREAMS, TarSummary, ToHost,
    VERSION, WINDOW, decode_to_guest, encode_to_host,
};
use vm_core::network::{AllowList, NetworkPolicy};
use vm_core::{ExecEnd, ExecProgram, OutputStream};

use super::*;
use crate::OutputFlow;
use crate::network::{NetworkLimits, NetworkTraffic, Uplink, proxy};

/// Longer than anything takes that works.
const LONG: Duration = Duration::from_secs(60);
/// What one VM may cost the host.
const MOST: usize = 64 << 20;

/// A small generator with a seed: the same guest each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// Counts what comes, and keeps nothing.
struct Counting(Arc<AtomicU64>);

impl ExecSink for Counting {
    fn output(&mut self, _: OutputStream, bytes: &[u8]) -> OutputFlow {
        self.0.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        OutputFlow::Continue
    }

    fn ended(&mut self, _: ExecEnd) {}
}

/// A connection, the guest's end of it, and how it ends.
struct Lab {
    link: GuestLink,
    guest: UnixStream,
    gone: Receiver<(FailureReason, String)>,
}

fn lab(unread: Duration) -> Lab {
    let (host, guest) = UnixStream::pair().unwrap();
    guest.set_read_timeout(Some(LONG)).unwrap();
    // A guest that nobody reads from any more has been ended.
    guest.set_write_timeout(Some(LONG)).unwrap();
    let (sender, gone) = channel();
    let ends = guest.try_clone().unwrap();
    let on_gone = Box::new(move |reason, detail: String| {
        let _ = sender.send((reason, detail.clone()));
        let _ = ends.shutdown(std::net::Shutdown::Both);
        detail
    });
    let (link, _) = GuestLink::with_read_timeout(host, FIRST, unread, on_gone).unwrap();
    Lab { link, guest, gone }
}

impl Lab {
    /// False when the host has hung up.
    fn say(&mut self, channel: Channel, message: &ToHost<'_>) -> bool {
        let mut bytes = Vec::new();
        encode_to_host(channel, message, &mut bytes).unwrap();
        self.guest.write_all(&bytes).is_ok()
    }

    fn until_channels(&self, count: usize) {
        while self.link.connection.channels.lock().len() < count {
            std::thread::yield_now();
        }
    }

    fn hello(&mut self) {
        self.say(0, &ToHost::Hello(greeting()));
    }

    fn ended(&self) -> (FailureReason, String) {
        self.gone.recv_timeout(LONG).expect("it is ended")
    }

    fn breaks(mut self, channel: Channel, message: &ToHost<'_>, word: &str) {
        self.say(channel, message);
        let (reason, detail) = self.ended();
        assert_eq!(reason, FailureReason::BadProtocol, "{detail}");
        assert!(detail.contains(word), "{detail}, not {word}");
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

fn greeted() -> Lab {
    let mut lab = lab(LONG);
    lab.hello();
    lab
}

fn command() -> ExecSpec {
    ExecSpec {
        program: ExecProgram::Argv(vec!["true".to_owned()]),
        cwd: "/".to_owned(),
        env: Default::default(),
        timeout: None,
        terminal: None,
    }
}

/// This process's memory at this moment and at its most.
fn memory() -> (usize, usize) {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let read = |name| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        let kib: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
        kib << 10
    };
    (read("VmRSS:"), read("VmHWM:"))
}

/// Something that answers as it should, in a thread of its own.
fn honest() -> GuestLink {
    let mut lab = greeted();
    let link = lab.link.clone();
    std::thread::spawn(move || {
        let mut decoder = FrameDecoder::default();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = lab.guest.read(&mut buffer) {
            decoder.feed(&buffer[..count]);
            while let Some(frame) = decoder.next_frame().unwrap() {
                let channel = frame.channel;
                if let ToGuest::Ping(number) = decode_to_guest(frame).unwrap() {
                    lab.say(channel, &ToHost::Pong(number));
                }
            }
        }
    });
    link
}

#[test]
fn t5_what_is_out_of_turn_ends_the_vm() {
    lab(LONG).breaks(5, &ToHost::Pong(0), "hello");
    greeted().breaks(0, &ToHost::Hello(greeting()), "hello");
    greeted().breaks(900, &ToHost::Credit(1), "never opened");
    greeted().breaks(STREAMS, &ToHost::Open, "without network");
    greeted().breaks(7, &ToHost::Open, "out of turn");
    let exec = || {
        let lab = greeted();
        let sink = Box::new(Counting(Arc::default()));
        let ticket = lab.link.exec(command(), sink).unwrap();
        (lab, ticket.0)
    };
    let (lab, channel) = exec();
    let output = ToHost::Output(OutputStream::Stdout, b"early"[..].into());
    lab.breaks(channel, &output, "out of turn");
    let (mut lab, channel) = exec();
    lab.say(channel, &ToHost::Started(1));
    lab.breaks(channel, &ToHost::Started(1), "out of turn");
    let (mut lab, channel) = exec();
    lab.say(channel, &ToHost::Ended(ExecEnd::Exited { code: 0 }));
    let output = ToHost::Output(OutputStream::Stdout, b"late"[..].into());
    lab.breaks(channel, &output, "had ended");
    let (mut lab, channel) = exec();
    lab.say(channel, &ToHost::Started(1));
    let empty = ToHost::Output(OutputStream::Stdout, b""[..].into());
    lab.breaks(channel, &empty, "without a byte");
}

#[test]
fn t5_a_frame_is_no_sign_of_life_and_a_guessed_pong_is_none() {
    let mut lab = greeted();
    let sink = Arc::new(AtomicU64::new(0));
    let ticket = lab
        .link
        .exec(command(), Box::new(Counting(Arc::clone(&sink))))
        .unwrap();
    lab.say(ticket.0, &ToHost::Started(1));
    for bytes in 1..3 {
        lab.say(
            ticket.0,
            &ToHost::Output(OutputStream::Stdout, b"x"[..].into()),
        );
        while sink.load(Ordering::SeqCst) < bytes {
            std::thread::yield_now();
        }
        // The hello was a sign of life; what comes now is none.
        if bytes == 1 {
            lab.link.connection.last_seen_ms.store(1, Ordering::SeqCst);
        }
    }
    assert_eq!(lab.link.last_seen(), UnixMs(1));
    let link = lab.link.clone();
    let asked = std::thread::spawn(move || link.ping(LONG));
    // The ping's channel is the one behind the execution's.
    lab.until_channels(2);
    lab.breaks(ticket.0 + 1, &ToHost::Pong(4), "not sent");
    assert!(asked.join().unwrap().is_err());
    let honest = honest();
    honest.connection.last_seen_ms.store(1, Ordering::SeqCst);
    honest.ping(LONG).unwrap();
    assert!(honest.last_seen() > UnixMs(1));
}

#[test]
fn t5_credit_for_what_was_never_sent_ends_the_vm() {
    let mut lab = greeted();
    let link = lab.link.clone();
    let put = std::thread::spawn(move || link.put_tar("/w", &mut std::io::repeat(1), LONG));
    lab.until_channels(1);
    let credit = ToHost::Credit(WINDOW + 1);
    lab.say(FIRST, &credit);
    let (reason, detail) = lab.ended();
    assert_eq!(reason, FailureReason::BadProtocol);
    assert!(detail.contains("credit"), "{detail}");
    assert!(put.join().unwrap().is_err());
}

#[test]
fn t5_an_agent_that_does_not_read_is_ended_with_a_reason() {
    let mut lab = lab(Duration::from_millis(200));
    lab.hello();
    // Orders of the largest kind, until no more fit: the host keeps one, the socket a part.
    let mut spec = command();
    spec.env.insert("A".to_owned(), "x".repeat(500_000));
    let link = lab.link.clone();
    let orders = std::thread::spawn(move || {
        while link
            .exec(spec.clone(), Box::new(Counting(Arc::default())))
            .is_ok()
        {}
    });
    let (reason, detail) = lab.ended();
    assert_eq!(reason, FailureReason::GuestSilent);
    assert!(detail.contains("has read nothing for 200 ms"), "{detail}");
    orders.join().unwrap();
    assert_eq!(lab.link.connection.outbox.waiting(), 0);
}

#[test]
fn t5_a_tar_in_pieces_of_a_byte_costs_its_bytes_and_no_more() {
    let mut lab = greeted();
    let link = lab.link.clone();
    let before = memory().0;
    // Nobody takes what comes: the writer of the tar stands still.
    let (stand, still) = sync_channel::<()>(0);
    struct Standing(Receiver<()>);
    impl std::io::Write for Standing {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let got = std::thread::spawn(move || link.get_tar("/w", &mut Standing(still), LONG));
    lab.until_channels(1);
    let mut frames = Vec::new();
    encode_to_host(FIRST, &ToHost::Data(b"x"[..].into()), &mut frames).unwrap();
    let many = frames.repeat(1000);
    let mut sent = 0;
    while sent < 2 * WINDOW as usize && lab.guest.write_all(&many).is_ok() {
        sent += 1000;
    }
    let (_, detail) = lab.ended();
    assert!(detail.contains("credit"), "{detail}");
    assert!(memory().1.saturating_sub(before) < MOST / 4);
    drop(stand);
    assert!(got.join().unwrap().is_err());
}

/// A message of any kind, on a channel that is in use more often than not.
fn any(dice: &mut Dice) -> (Channel, ToHost<'static>) {
    let stream = STREAMS + u32::try_from(dice.roll(80)).unwrap();
    let channel = match dice.roll(8) {
        0 => u32::MAX,
        1 => 0,
        2 | 3 => stream,
        _ => FIRST + u32::try_from(dice.roll(12)).unwrap(),
    };
    let bytes = match dice.roll(5) {
        0 => vec![b'x'; CHUNK],
        1 => Vec::new(),
        _ => vec![b'y'; 1],
    };
    let credit = [1, 1000, WINDOW / 4, u32::MAX][usize::try_from(dice.roll(4)).unwrap()];
    match dice.roll(16) {
        0 => (stream, ToHost::Open),
        1 => (stream, ToHost::Data(bytes.into())),
        2 => (stream, ToHost::Finish),
        3 => (stream, ToHost::Abort),
        4 | 5 => (stream, ToHost::Credit(credit)),
        6 | 7 => (channel, ToHost::Output(OutputStream::Stdout, bytes.into())),
        8 => (channel, ToHost::Data(bytes.into())),
        9 => (channel, ToHost::Started(1)),
        10 => (channel, ToHost::Pong(dice.roll(3))),
        11 => (channel, ToHost::Finished(TarSummary::default())),
        12 => {
            let kind = FailureKind::System;
            let what = "\u{1b}[31m\n".repeat(5000);
            (channel, ToHost::Failed(GuestFailure { kind, what }))
        }
        13 => (channel, ToHost::Ended(ExecEnd::Exited { code: 0 })),
        14 => (channel, ToHost::Clock(ClockReading::default())),
        _ => (channel, ToHost::Credit(credit)),
    }
}

/// A server that sends without end to whoever connects.
fn fountain() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut socket = socket;
                while socket.write_all(&[7; CHUNK]).is_ok() {}
            });
        }
    });
    port
}

fn open_network(lab: &mut Lab, port: u16) {
    let place = format!("127.0.0.1:{port}").parse().unwrap();
    let uplink = Uplink {
        reach: NetworkPolicy {
            manager: AllowList(vec![place]),
            requested: None,
        },
        services: None,
        limits: NetworkLimits::default(),
        traffic: Arc::new(NetworkTraffic::default()),
        resolve: crate::network::by_the_system(),
        trust: crate::network::TrustedAuthorities::default(),
        on_refused: Box::new(|_, _| {}),
    };
    let link = lab.link.clone();
    let opened =
        std::thread::spawn(move || link.open_network(proxy::server(Arc::new(uplink)), LONG));
    let mut decoder = FrameDecoder::default();
    let mut buffer = [0; 1024];
    loop {
        let count = lab.guest.read(&mut buffer).unwrap();
        decoder.feed(&buffer[..count]);
        if let Some(frame) = decoder.next_frame().unwrap() {
            let channel = frame.channel;
            lab.say(channel, &ToHost::Finished(TarSummary::default()));
            break;
        }
    }
    opened.join().unwrap().unwrap();
}

/// Opens every stream there is to a server that sends without end, gives just the credit that is
/// right, and reads nothing of it: what grew to gigabytes.
#[test]
fn t5_streams_with_credit_for_ever_and_no_reader_stay_within_bounds() {
    let before = memory().0;
    let (honest, port) = (honest(), fountain());
    let mut lab = lab(Duration::from_secs(1));
    lab.hello();
    open_network(&mut lab, port);
    let request = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n");
    for number in 0..64 {
        lab.say(STREAMS + number, &ToHost::Open);
        let bytes = request.as_bytes().into();
        lab.say(STREAMS + number, &ToHost::Data(bytes));
    }
    let mut said = true;
    while said && lab.gone.try_recv().is_err() {
        for number in 0..64 {
            said &= lab.say(STREAMS + number, &ToHost::Credit(1));
        }
        let grown = memory().0.saturating_sub(before);
        assert!(grown < MOST, "{grown} bytes");
        honest.ping(LONG).unwrap();
    }
    assert!(memory().1.saturating_sub(before) < MOST);
}

/// Any messages in any order, many times; some guests read what they are sent.
#[test]
fn t5_a_fuzzing_guest_costs_no_more_than_its_bounds() {
    let before = memory().0;
    let (honest, port) = (honest(), fountain());
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut lab = lab(Duration::from_millis(500));
        lab.hello();
        if seed % 2 == 0 {
            open_network(&mut lab, port);
        }
        if dice.roll(2) == 0 {
            let mut guest = lab.guest.try_clone().unwrap();
            std::thread::spawn(move || while let Ok(1..) = guest.read(&mut [0; 4096]) {});
        }
        // Work of all kinds, whose ends do not matter.
        let mut work = Vec::new();
        for number in 0..6 {
            let link = lab.link.clone();
            let deadline = Duration::from_millis(700);
            work.push(std::thread::spawn(move || match number {
                0 => drop(link.put_tar("/w", &mut std::io::repeat(1), deadline)),
                1 => drop(link.get_tar("/w", &mut std::io::sink(), deadline)),
                2 => drop(link.ping(deadline)),
                _ => drop(link.exec(command(), Box::new(Counting(Arc::default())))),
            }));
        }
        let mut lenient = 0;
        for _ in 0..20_000 {
            let (channel, message) = any(&mut dice);
            // What breaks the rules at once would hide the rest: most of it is left out at first.
            let breaks = matches!(message, ToHost::Credit(u32::MAX) | ToHost::Pong(_))
                || channel == 0
                || channel == u32::MAX;
            if breaks && lenient < 50 {
                lenient += 1;
                continue;
            }
            if !lab.say(channel, &message) {
                break;
            }
        }
        if let Ok((reason, detail)) = lab.gone.try_recv() {
            let known = [FailureReason::BadProtocol, FailureReason::GuestSilent];
            assert!(known.contains(&reason) && !detail.is_empty(), "{detail}");
            assert!(detail.len() < 500, "{detail}");
        }
        lab.link.close("the test is over");
        work.into_iter().for_each(|it| it.join().unwrap());
        assert!(lab.link.connection.channels.lock().is_empty());
        honest.ping(LONG).unwrap();
    }
    let grown = memory().1.saturating_sub(before);
    assert!(grown < MOST, "{grown} bytes");
}
