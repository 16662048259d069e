//! Stored rows: any bytes decode or are unreadable, and what decodes is stored as the same value.
#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize};
use store::{RawBytes, Row, RowDecodeError, decode_row, encode_row};

/// Length of the schema tag and the checksum in front of a row.
const HEAD: usize = 6;

/// A row with the kinds of field that rows have.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Example {
    id: u64,
    name: String,
    body: RawBytes,
    parts: Vec<(i32, Option<String>)>,
    state: State,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum State {
    Waiting,
    Done { code: i16, share: f32 },
}

impl Row for Example {
    const SCHEMA: u16 = 0x3031;
}

fn check<R: Row + Debug>(bytes: &[u8]) {
    match decode_row::<R>(bytes) {
        Ok(row) => {
            let stored = encode_row(&row).expect("a row that was read can be written");
            let again: R = decode_row(&stored).expect("and read again");
            // Compared as text: a share may be NaN.
            assert_eq!(format!("{again:?}"), format!("{row:?}"));
        }
        Err(reason) => assert!(!reason.to_string().is_empty()),
    }
}

fuzz_target!(|bytes: &[u8]| {
    check::<Example>(bytes);
    if bytes.len() < HEAD {
        assert!(matches!(
            decode_row::<RawBytes>(bytes),
            Err(RowDecodeError::Short(_))
        ));
        return;
    }
    // Chance does not find checksums: the same bytes with the right one.
    let mut whole = bytes.to_vec();
    let mut sum = crc32fast::Hasher::new();
    sum.update(&whole[..2]);
    sum.update(&whole[HEAD..]);
    whole[2..HEAD].copy_from_slice(&sum.finalize().to_be_bytes());
    check::<Example>(&whole);
    check::<RawBytes>(&whole);
    check::<String>(&whole);
    check::<u64>(&whole);
});
