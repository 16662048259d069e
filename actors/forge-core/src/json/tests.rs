//! What is kept of a body, and what is refused wherever it stands.

use proptest::prelude::*;

use super::field::known_field;
use super::{Json, JsonError, parse};

/// A value whose objects may have a key twice.
#[derive(Debug, Clone)]
enum Doc {
    Leaf(&'static str),
    Array(Vec<Doc>),
    Object(Vec<(&'static str, Doc)>),
}

/// Keys as they stand in the text and as they are read; two of them are one.
const KEYS: [(&str, &str); 16] = [
    (r#""\u0069d""#, "id"),
    (r#""ref""#, "ref"),
    (r#""id""#, "id"),
    (r#""other""#, "other"),
    (r#""b""#, "b"),
    (r#""""#, ""),
    (r#""commits""#, "commits"),
    (r#""message""#, "message"),
    (r#""head_commit""#, "head_commit"),
    (r#""repository""#, "repository"),
    (r#""before""#, "before"),
    (r#""eight..8""#, "eight..8"),
    (r#""a_name_of_fifteen""#, "a_name_of_fifteen"),
    (r#""a_name_of_fifteem""#, "a_name_of_fifteem"),
    ("\"\u{e9}\"", "\u{e9}"),
    (r#""modified""#, "modified"),
];
/// What ordinary bodies hold.
const PLAIN: [&str; 16] = [
    "null",
    "true",
    "false",
    "0",
    "7",
    "-1",
    "100000000000000000",
    "-999999999999999999",
    r#""a""#,
    r#""""#,
    r#""\n\u00e9""#,
    r#""\"\\\/\b\f\n\r\t\u0001\uFFFF\u003C""#,
    "\"\u{e9} and \u{1f600}, \u{7f}\u{80}\"",
    "\"seven..\"",
    "\"eight.. and more than sixteen\"",
    "{}",
];
/// What is rare and right.
const UNUSUAL: [&str; 10] = [
    "-0",
    "0.5",
    "-0.0",
    "1e3",
    "2E-400",
    "1000000000000000000",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    r#""\ud83d\ude00""#,
];
/// What may stand between two tokens.
const SPACES: [&str; 4] = ["", " ", "\n\t", "\r\n        "];

fn docs() -> impl Strategy<Value = Doc> {
    let leaf = prop_oneof![
        40 => prop::sample::select(&PLAIN[..]),
        1 => prop::sample::select(&UNUSUAL[..]),
    ];
    leaf.prop_map(Doc::Leaf).prop_recursive(4, 60, 16, |inner| {
        // The key with an escape stands first, and is rare.
        let key = prop_oneof![40 => 1..KEYS.len(), 1 => 0..KEYS.len()];
        let key = key.prop_map(|at| KEYS[at].0);
        prop_oneof![
            8 => prop::collection::vec(inner.clone(), 0..4).prop_map(Doc::Array),
            8 => prop::collection::vec((key.clone(), inner.clone()), 0..6).prop_map(Doc::Object),
            1 => prop::collection::vec((key, inner), 12..24).prop_map(Doc::Object),
        ]
    })
}

fn text(doc: &Doc, space: &str) -> String {
    match doc {
        Doc::Leaf(text) => format!("{space}{text}{space}"),
        Doc::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| text(item, space)).collect();
            format!("{space}[{space}{}]{space}", items.join(","))
        }
        Doc::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(key, value)| format!("{space}{key}{space}:{}", text(value, space)))
                .collect();
            format!("{space}{{{space}{}}}{space}", members.join(","))
        }
    }
}

fn name(key: &str) -> &'static str {
    KEYS.into_iter().find(|known| known.0 == key).unwrap().1
}

fn has_a_key_twice(doc: &Doc) -> bool {
    match doc {
        Doc::Leaf(_) => false,
        Doc::Array(items) => items.iter().any(has_a_key_twice),
        Doc::Object(members) => {
            let names: std::collections::HashSet<_> =
                members.iter().map(|(key, _)| name(key)).collect();
            names.len() < members.len() || members.iter().any(|(_, value)| has_a_key_twice(value))
        }
    }
}

/// What is kept is what serde_json reads there; the rest is not kept.
fn same(kept: &Json<'_>, all: &serde_json::Value) -> bool {
    match (kept, all) {
        (Json::Null, serde_json::Value::Null) => true,
        (Json::Bool(one), serde_json::Value::Bool(other)) => one == other,
        (Json::Text(one), serde_json::Value::String(other)) => one == other,
        (Json::Unsigned(one), other) => other.as_u64() == Some(*one),
        (Json::Negative(one), other) => other.as_i64() == Some(*one),
        (Json::Float(one), other) => other.as_f64() == Some(*one),
        (Json::Array(items), serde_json::Value::Array(others)) => {
            items.len() == others.len()
                && items
                    .iter()
                    .zip(others)
                    .all(|(one, other)| same(one, other))
        }
        (Json::Object(members), serde_json::Value::Object(others)) => {
            let wanted = others
                .keys()
                .filter(|key| known_field(key).is_some())
                .count();
            members.len() == wanted
                && members
                    .iter()
                    .all(|(key, value)| same(value, &others[*key]))
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn a_key_that_stands_twice_is_found_wherever_it_is(doc in docs(), space in prop::sample::select(&SPACES[..])) {
        let text = text(&doc, space);
        let read = parse(text.as_bytes());
        prop_assert_eq!(read.is_err(), has_a_key_twice(&doc), "{}", text);
        if let Ok(kept) = read {
            let all: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert!(same(&kept, &all), "{}: {:?}", text, kept);
        }
    }

    #[test]
    fn a_body_with_a_mistake_is_refused_or_read_as_serde_json_reads_it(
        doc in docs(),
        space in prop::sample::select(&SPACES[..]),
        at: prop::sample::Index,
        inserted in r"[\x00-\x1f]|[ -~]?|\PC",
        removed in 0..3_usize,
    ) {
        let mut text = text(&doc, space);
        let starts: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let from = at.index(starts.len());
        let until = (from + removed).min(starts.len() - 1);
        text.replace_range(starts[from]..starts[until], &inserted);
        is_as_strict_as_serde_json(&text);
    }

    #[test]
    fn any_text_is_refused_or_read_as_serde_json_reads_it(text in r#"[\[\]{}:,"\\ua0-9eE.+\-ntl \n]{0,24}"#) {
        is_as_strict_as_serde_json(&text);
    }
}

/// What is accepted, serde_json accepts with the same values.
fn is_as_strict_as_serde_json(text: &str) {
    if let Ok(kept) = parse(text.as_bytes()) {
        let all: serde_json::Value = serde_json::from_str(text).unwrap();
        assert!(same(&kept, &all), "{text}: {kept:?}");
    }
}

#[test]
fn a_key_twice_among_many_is_found() {
    let keys: Vec<_> = (0..100)
        .map(|at| format!(r#""a_long_prefix_{at}":0"#))
        .collect();
    let one = keys.join(",");
    assert!(parse(format!("{{{one}}}").as_bytes()).is_ok());
    for twice in [0, 50, 99] {
        assert!(parse(format!("{{{one},{}}}", keys[twice]).as_bytes()).is_err());
    }
}

#[test]
fn keys_and_depth_end_at_their_limits() {
    let key = |length: usize| format!(r#"{{"{}":1}}"#, "k".repeat(length));
    assert!(parse(key(1024).as_bytes()).is_ok());
    assert!(parse(key(1025).as_bytes()).is_err());
    for (open, close) in [
        ("[", "]"),
        (r#"{"a":"#, "}"),
        (r#"{"body":"#, "}"),
        (r#"{"body":["#, "]}"),
    ] {
        let levels = open.matches(['[', '{']).count();
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(parse(nested(126 / levels).as_bytes()).is_ok(), "{open}");
        for depth in [128, 100_000] {
            assert!(parse(nested(depth).as_bytes()).is_err(), "{open} {depth}");
        }
    }
}

#[test]
fn an_error_says_where() {
    for (body, place) in [
        ("{\"a\": 1,\n \"b\": }", "line 2 column 7"),
        ("{\"a\": 1,\n \"a\": 2}", "line 2 column 8"),
        ("{\"a\": \"\\u0000\"}", "line 1 column 14"),
        ("[1] 2", "line 1 column 5"),
    ] {
        let Err(JsonError::Invalid { reason }) = parse(body.as_bytes()) else {
            panic!("{body} must be refused");
        };
        assert!(reason.ends_with(place), "{body}: {reason}");
    }
}
