//! W12: bodies that two JSON readers could understand in two ways, or that would exhaust one.

use forge_core::{EventError, ForgeEvent, JsonError, ObjectFormats};

use crate::support::event_header;

/// Reads a body as an event that nothing acts on, so that only the JSON itself can be refused.
fn json(body: &[u8]) -> Result<(), JsonError> {
    match ForgeEvent::parse(&event_header("release"), body, ObjectFormats::Sha1) {
        Ok(_) => Ok(()),
        Err(EventError::Json(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

fn reason(body: &[u8]) -> String {
    json(body)
        .expect_err("the body must be refused")
        .to_string()
}

/// An object with `value` in a field nobody knows.
fn unknown_field(value: &str) -> Vec<u8> {
    format!(r#"{{"unknown":{value}}}"#).into_bytes()
}

#[test]
fn ordinary_json_is_accepted() {
    for value in [
        "1",
        "-1",
        "1.5e3",
        "\"\\ud83d\\ude80 \\u00e9\"",
        "[]",
        "{}",
        "null",
        "[[[1]]]",
    ] {
        assert_eq!(json(&unknown_field(value)), Ok(()), "{value}");
    }
}

#[test]
fn w12_depth_of_100_000() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert!(reason(&unknown_field(&deep)).contains("recursion limit"));
        assert!(reason(&unknown_field(&open.repeat(100_000))).contains("recursion limit"));
    }
}

#[test]
fn w12_number_beyond_a_double() {
    for number in ["1e999", "-1e999", &"9".repeat(400)] {
        assert!(
            reason(&unknown_field(number)).contains("number out of range"),
            "{number}"
        );
    }
}

#[test]
fn w12_duplicate_keys_even_in_unknown_fields() {
    for body in [
        &br#"{"action":"a","action":"b"}"#[..],
        br#"{"unknown":{"x":1,"y":2,"x":1}}"#,
        br#"{"unknown":[{"x":1,"\u0078":1}]}"#,
    ] {
        assert!(reason(body).contains("occurs twice"), "{}", reason(body));
    }
}

#[test]
fn w12_lone_surrogates() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\ud800x""#,
    ] {
        assert!(
            matches!(json(&unknown_field(text)), Err(JsonError::Invalid { .. })),
            "{text}"
        );
    }
}

#[test]
fn w12_byte_order_mark() {
    assert_eq!(json(b"\xef\xbb\xbf{}"), Err(JsonError::ByteOrderMark));
    assert!(json(b"\xff\xfe{\0}\0").is_err());
}

#[test]
fn w12_nul() {
    assert!(json(b"{\"a\":\"\0\"}").is_err());
    assert!(json(b"{}\0").is_err());
    assert!(reason(br#"{"a":"\u0000"}"#).contains("NUL"));
    assert!(reason(br#"{"\u0000":1}"#).contains("NUL"));
}

#[test]
fn w12_not_utf_8() {
    assert_eq!(json(b"{\"a\":\"\xff\"}"), Err(JsonError::NotUtf8 { at: 6 }));
    assert_eq!(
        json(b"{\"a\":\"\xed\xa0\x80\"}"),
        Err(JsonError::NotUtf8 { at: 6 })
    );
}

#[test]
fn w12_key_of_a_megabyte() {
    let body = format!(r#"{{"{}":1}}"#, "k".repeat(1 << 20));
    let reason = reason(body.as_bytes());
    assert!(reason.contains("key is longer than 1024 bytes"), "{reason}");
    let twice = format!(r#"{{"{0}":1,"{0}":1}}"#, "k".repeat(1000));
    assert!(
        self::reason(twice.as_bytes()).len() < 300,
        "a key is not repeated at length"
    );
}

#[test]
fn w12_broken_syntax() {
    for body in [
        "{",
        "}",
        "{'a':1}",
        "{\"a\":1,}",
        "[1,]",
        "nul",
        "{}{}",
        "{\"a\":01}",
        "// x",
        "NaN",
    ] {
        assert!(
            matches!(json(body.as_bytes()), Err(JsonError::Invalid { .. })),
            "{body}"
        );
    }
    for body in ["", " ", "\n\t\r "] {
        assert_eq!(json(body.as_bytes()), Err(JsonError::Empty), "{body:?}");
    }
}

#[test]
fn w12_wide_bodies_are_read() {
    let many = format!("[{}1]", "1,".repeat(500_000));
    assert_eq!(json(&unknown_field(&many)), Ok(()));
    let keys: Vec<_> = (0..50_000).map(|n| format!(r#""k{n}":1"#)).collect();
    assert_eq!(
        json(&unknown_field(&format!("{{{}}}", keys.join(",")))),
        Ok(())
    );
}
