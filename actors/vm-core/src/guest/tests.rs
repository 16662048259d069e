//! The protocol: every message there and back, cut at every byte, and what is none.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{ExecEnd, ExecProgram, ExecSpec, OutputStream, TerminalSize};

fn to_guest() -> Vec<ToGuest<'static>> {
    let exec = ExecSpec {
        program: ExecProgram::Script {
            text: "make\n".to_owned(),
            shell: vec!["sh".to_owned(), "{0}".to_owned()],
        },
        cwd: "/workspace".to_owned(),
        env: BTreeMap::from([("A".to_owned(), "ä".to_owned())]),
        timeout: Some(Duration::from_millis(1500)),
        terminal: Some(TerminalSize::USUAL),
    };
    vec![
        ToGuest::Ping(0x0102_0304_0506_0708),
        ToGuest::Exec(exec),
        ToGuest::Kill,
        ToGuest::Terminate(10_000),
        ToGuest::Credit(7),
        ToGuest::TarIn("/workspace".to_owned()),
        ToGuest::Data(Cow::Borrowed(b"\0\x01\xff")),
        ToGuest::Finish,
        ToGuest::Abort,
        ToGuest::TarOut("/workspace/a".to_owned()),
        ToGuest::SetClock(u64::MAX),
        ToGuest::Reseed(Cow::Borrowed(&[5; 32])),
        ToGuest::Hostname("vm-1".to_owned()),
        ToGuest::PowerOff,
        ToGuest::Network(64),
        ToGuest::Closed,
        ToGuest::Clock,
        ToGuest::Resize(TerminalSize {
            columns: 132,
            rows: 50,
        }),
        ToGuest::Hold,
        ToGuest::Release,
    ]
}

fn to_host() -> Vec<ToHost<'static>> {
    let failure = GuestFailure {
        kind: FailureKind::DiskFull,
        what: "no space left".to_owned(),
    };
    vec![
        ToHost::Hello(Greeting {
            version: VERSION,
            uptime_ms: 900,
            kernel: "6.1".to_owned(),
            cgroups: true,
        }),
        ToHost::Pong(u64::MAX),
        ToHost::Started(17),
        ToHost::Output(OutputStream::Stdout, Cow::Borrowed(b"out")),
        ToHost::Output(OutputStream::Stderr, Cow::Borrowed(b"")),
        ToHost::Ended(ExecEnd::Exited { code: 3 }),
        ToHost::Ended(ExecEnd::Signalled { signal: 9 }),
        ToHost::Ended(ExecEnd::Lost {
            reason: "no such program".to_owned(),
        }),
        ToHost::Data(Cow::Borrowed(b"tar")),
        ToHost::Credit(u32::MAX),
        ToHost::Finished(TarSummary {
            entries: 1,
            bytes: 2,
        }),
        ToHost::Failed(failure),
        ToHost::Open,
        ToHost::Finish,
        ToHost::Abort,
        ToHost::Clock(ClockReading {
            wall_ns: u64::MAX,
            steady_ns: 5,
        }),
    ]
}

/// All messages to the host in one stream, each on a channel of its own.
fn stream_to_host() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (channel, message) in (0..).zip(to_host()) {
        encode_to_host(channel, &message, &mut bytes).unwrap();
    }
    bytes
}

fn read_to_host(pieces: &[&[u8]]) -> Vec<(u32, String)> {
    let mut decoder = FrameDecoder::default();
    let mut seen = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        while let Some(frame) = decoder.next_frame().unwrap() {
            seen.push((
                frame.channel,
                format!("{:?}", decode_to_host(frame).unwrap()),
            ));
        }
    }
    assert_eq!(decoder.pending(), 0);
    seen
}

fn wanted_to_host() -> Vec<(u32, String)> {
    (0..)
        .zip(to_host().iter().map(|message| format!("{message:?}")))
        .collect()
}

#[test]
fn every_message_to_the_guest_there_and_back() {
    for message in to_guest() {
        let mut bytes = Vec::new();
        encode_to_guest(9, &message, &mut bytes).unwrap();
        let mut decoder = FrameDecoder::default();
        decoder.feed(&bytes);
        let frame = decoder.next_frame().unwrap().expect("it is whole");
        assert_eq!(frame.channel, 9);
        assert_eq!(decode_to_guest(frame).unwrap(), message);
        assert!(decoder.next_frame().unwrap().is_none());
    }
}

#[test]
fn a_stream_cut_at_any_byte_is_the_same_stream() {
    let bytes = stream_to_host();
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(read_to_host(&[head, tail]), wanted_to_host(), "cut at {at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read_to_host(&single), wanted_to_host());
}

#[test]
fn the_length_is_judged_before_anything_is_kept_for_it() {
    let mut decoder = FrameDecoder::default();
    decoder.feed(&u32::MAX.to_le_bytes());
    let error = decoder.next_frame().unwrap_err();
    assert!(matches!(error, FrameError::TooLong(_)));
    assert_eq!(decoder.next_frame(), Err(error), "there is no way on");
    let mut decoder = FrameDecoder::default();
    decoder.feed(&[4, 0, 0, 0]);
    assert_eq!(decoder.next_frame(), Err(FrameError::TooShort(8)));
}

#[test]
fn the_longest_frame_fits_and_one_byte_more_does_not() {
    let longest = ToGuest::Data(Cow::Owned(vec![1; MAX_PAYLOAD]));
    let mut bytes = Vec::new();
    encode_to_guest(1, &longest, &mut bytes).unwrap();
    assert_eq!(bytes.len(), MAX_FRAME);
    let mut decoder = FrameDecoder::default();
    decoder.feed(&bytes);
    assert!(decoder.next_frame().unwrap().is_some());
    let longer = ToGuest::Data(Cow::Owned(vec![1; MAX_PAYLOAD + 1]));
    assert!(encode_to_guest(1, &longer, &mut bytes).is_err());
    assert_eq!(bytes.len(), MAX_FRAME, "nothing of it was written");
}

#[test]
fn kinds_of_the_other_direction_and_odd_contents_are_refused() {
    let frame = |kind, payload| RawFrame {
        kind,
        channel: 1,
        payload,
    };
    assert_eq!(decode_to_guest(frame(129, b"")), Err(CodecError::Kind(129)));
    assert_eq!(decode_to_host(frame(1, b"")), Err(CodecError::Kind(1)));
    assert_eq!(decode_to_guest(frame(1, b"x")), Err(CodecError::Content(1)));
    assert_eq!(
        decode_to_guest(frame(4, b"123")),
        Err(CodecError::Content(4))
    );
    assert_eq!(
        decode_to_guest(frame(12, &[0xff])),
        Err(CodecError::Content(12))
    );
    assert_eq!(
        decode_to_host(frame(134, b"")),
        Err(CodecError::Content(134))
    );
    assert_eq!(
        decode_to_host(frame(137, &[1, 2, 3])),
        Err(CodecError::Content(137)),
        "a byte too many"
    );
}

#[test]
fn credit_bounds_what_is_under_way() {
    let mut credits = Credits::default();
    let window = WINDOW as usize;
    assert_eq!(credits.take(window + 5), window);
    assert_eq!(credits.take(1), 0);
    credits.add(10).unwrap();
    assert_eq!(credits.take(4), 4);
    assert_eq!(
        credits.consume(7),
        Err(crate::guest::message::WindowOverrun)
    );
    for _ in 0..3 {
        assert_eq!(credits.add(u32::MAX), Err(ExcessCredit));
    }
    assert_eq!(credits.take(usize::MAX), window, "credit does not pile up");
    let mut stream = Credits::new(STREAM_WINDOW);
    assert_eq!(stream.take(window), STREAM_WINDOW as usize);
    assert_eq!(stream.add(WINDOW), Err(ExcessCredit));
    assert_eq!(stream.take(window), STREAM_WINDOW as usize);
}

proptest! {
    /// However the stream is cut, the frames are the same.
    #[test]
    fn any_cuts(cuts in prop::collection::vec(0usize..400, 0..20)) {
        let bytes = stream_to_host();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(read_to_host(&pieces), wanted_to_host());
    }

    /// No bytes make the decoders panic, and what decodes encodes to a frame that decodes the same.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in any::<u8>()) {
        let mut decoder = FrameDecoder::default();
        decoder.feed(&bytes);
        while let Ok(Some(frame)) = decoder.next_frame() {
            let _ = (decode_to_guest(frame), decode_to_host(frame));
        }
        let frame = RawFrame { kind, channel: 3, payload: &bytes };
        if let Ok(message) = decode_to_host(frame) {
            let mut again = Vec::new();
            encode_to_host(3, &message, &mut again).unwrap();
            let mut decoder = FrameDecoder::default();
            decoder.feed(&again);
            prop_assert_eq!(decode_to_host(decoder.next_frame().unwrap().unwrap()).unwrap(), message);
        }
        if let Ok(message) = decode_to_guest(frame) {
            let mut again = Vec::new();
            encode_to_guest(3, &message, &mut again).unwrap();
            let mut decoder = FrameDecoder::default();
            decoder.feed(&again);
            prop_assert_eq!(decode_to_guest(decoder.next_frame().unwrap().unwrap()).unwrap(), message);
        }
    }
}
