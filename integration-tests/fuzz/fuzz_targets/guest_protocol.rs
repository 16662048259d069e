//! The protocol with the agent in a VM: any bytes are frames or an error, however they are cut, and
//! what decodes is encoded to what decodes the same. The guest is a stranger: its bytes are these.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vm_core::guest::{
    FrameDecoder, HEADER, MAX_FRAME, RawFrame, decode_to_guest, decode_to_host, encode_to_guest,
    encode_to_host,
};

/// Every frame of `bytes` fed in pieces of `step`, and whether they end in an error.
fn frames(bytes: &[u8], step: usize) -> (Vec<(u8, u32, Vec<u8>)>, bool) {
    let mut decoder = FrameDecoder::default();
    let mut seen = Vec::new();
    for piece in bytes.chunks(step) {
        decoder.feed(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => seen.push((frame.kind, frame.channel, frame.payload.to_vec())),
                Ok(None) => break,
                Err(_) => return (seen, true),
            }
        }
        assert!(decoder.pending() < MAX_FRAME);
    }
    (seen, false)
}

/// The one frame in `bytes`.
fn read_frame(bytes: &[u8], act: impl FnOnce(RawFrame<'_>)) {
    let mut decoder = FrameDecoder::default();
    decoder.feed(bytes);
    act(decoder
        .next_frame()
        .expect("it was encoded")
        .expect("it is whole"));
}

fn check(frame: RawFrame<'_>) {
    if let Ok(message) = decode_to_guest(frame) {
        let mut bytes = Vec::new();
        encode_to_guest(frame.channel, &message, &mut bytes).expect("it came in a frame");
        read_frame(&bytes, |again| {
            assert_eq!(decode_to_guest(again).as_ref(), Ok(&message))
        });
    }
    if let Ok(message) = decode_to_host(frame) {
        let mut bytes = Vec::new();
        encode_to_host(frame.channel, &message, &mut bytes).expect("it came in a frame");
        read_frame(&bytes, |again| {
            assert_eq!(decode_to_host(again).as_ref(), Ok(&message))
        });
    }
}

fuzz_target!(|bytes: &[u8]| {
    let (seen, wrong) = frames(bytes, bytes.len().max(1));
    assert_eq!((&seen, wrong), (&frames(bytes, 1).0, frames(bytes, 1).1));
    for (kind, channel, payload) in &seen {
        check(RawFrame {
            kind: *kind,
            channel: *channel,
            payload,
        });
    }
    // Chance seldom finds a length: the same bytes as one frame of each kind.
    if let [kind, payload @ ..] = bytes {
        check(RawFrame {
            kind: *kind,
            channel: 7,
            payload,
        });
        assert!(HEADER > 0);
    }
});
