//! What is kept of a body, and what is refused wherever it stands.

use proptest::prelude::*;

use super::field::asked_for;
use super::value::strict;
use super::{Json, fast, parse};

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
/// Read by the fast reader.
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
/// Left to the strict reader.
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
            let wanted = others.keys().filter(|key| asked_for(key).is_some()).count();
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
        fast_is_strict(&text);
        fast_is_strict(&with_more_behind(&text));
        let read = parse(text.as_bytes());
        prop_assert_eq!(read.is_err(), has_a_key_twice(&doc), "{}", text);
        if let Ok(kept) = read {
            let all: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert!(same(&kept, &all), "{}: {:?}", text, kept);
        }
    }
    #[test]
    fn a_body_with_a_mistake_is_read_alike(
        doc in docs(),
        space in prop::sample::select(&SPACES[..]),
        at: prop::sample::Index,
        put in r"[\x00-\x1f]|[ -~]?|\PC",
        gone in 0..3_usize,
    ) {
        let mut text = text(&doc, space);
        let starts: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let from = at.index(starts.len());
        let until = (from + gone).min(starts.len() - 1);
        text.replace_range(starts[from]..starts[until], &put);
        fast_is_strict(&text);
        fast_is_strict(&with_more_behind(&text));
    }

    #[test]
    fn any_text_is_read_alike(text in r#"[\[\]{}:,"\\ua0-9eE.+\-ntl \n]{0,24}"#) {
        fast_is_strict(&text);
    }
}

/// Keys near the end of a body are read in another way than those before.
fn with_more_behind(text: &str) -> String {
    format!(r#"{{"before":{text},"other":"{}"}}"#, "z".repeat(100))
}

/// What the fast reader accepts, the strict one reads alike; says whether it did.
fn fast_is_strict(text: &str) -> bool {
    let Some(tree) = fast::read(text) else {
        return false;
    };
    assert_eq!(strict(text), Ok(tree), "{text}");
    true
}

#[test]
fn ordinary_bodies_are_read_fast() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/payloads");
    let mut number = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let body = std::fs::read_to_string(&path).unwrap();
        assert!(fast_is_strict(&body), "{}", path.display());
        number += 1;
    }
    assert!(number > 10);
    assert!(fast_is_strict(&push()));
}

/// A push of many commits in a repository with as many fields as a forge's has.
fn push() -> String {
    let url =
        |name| format!(r#""{name}_url":"https://api.forge.example/repos/acme/rocket/{name}""#);
    let urls: Vec<_> = (0..80).map(|at| url(format!("stargazers_{at}"))).collect();
    let commit = r#"{"id":"0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c","message":"Fix \"it\"\n\nSigned-off-by: A \u003ca@b.c\u003e","timestamp":"2026-11-12T10:11:12Z","author":{"name":"Ad\u00e9","email":"a@b.c"},"added":[],"removed":[],"modified":["src/lib.rs"]}"#;
    format!(
        r#"{{"ref":"refs/heads/main","forced":false,"commits":[{}],"repository":{{"id":17,{}}}}}"#,
        [commit; 30].join(","),
        urls.join(",")
    )
}

#[test]
fn a_key_twice_among_many_is_left_to_the_strict_reader() {
    let keys: Vec<_> = (0..100)
        .map(|at| format!(r#""a_long_prefix_{at}":0"#))
        .collect();
    let one = keys.join(",");
    assert!(fast_is_strict(&format!("{{{one}}}")));
    for twice in [0, 50, 99] {
        assert!(!fast_is_strict(&format!("{{{one},{}}}", keys[twice])));
    }
}

#[test]
fn what_is_unusual_is_left_to_the_strict_reader() {
    for text in [
        "",
        " ",
        "{",
        "[1",
        r#"{"a"}"#,
        r#"{"a":1,}"#,
        "[1,]",
        "[,1]",
        "[1 2]",
        "01",
        "-",
        "-01",
        "1.",
        "+1",
        "1 1",
        "nul",
        "truee",
        r#"{"\u0061":1}"#,
        r#"{1:1}"#,
        "\"",
        "\"\\",
        "\"\\u12",
        "\"\\u123\"",
        r#""\ud800""#,
        r#""\u0000""#,
        r#""\x""#,
        r#""\u+123""#,
        "\"\t\"",
        "\"a\u{0}\"",
        "0.5",
        "1e3",
        "-0",
        "1000000000000000000",
    ] {
        assert!(!fast_is_strict(text), "{text}");
    }
    let long = "k".repeat(1024);
    assert!(fast_is_strict(&format!(r#"{{"{long}":1}}"#)));
    assert!(!fast_is_strict(&format!(r#"{{"{long}k":1}}"#)));
    for (first, open, close, last) in [
        ("[", "[", "]", "]"),
        (r#"{"a":"#, r#"{"a":"#, "}", "}"),
        (r#"{"body":"#, r#"{"body":"#, "}", "}"),
        (r#"{"a":"#, "[", "]", "}"),
    ] {
        let nested = |depth: usize| {
            let (open, close) = (open.repeat(depth - 1), close.repeat(depth - 1));
            format!("{first}{open}1{close}{last}")
        };
        assert!(fast_is_strict(&nested(32)));
        assert!(
            [33, 127, 128, 100_000]
                .iter()
                .all(|depth| !fast_is_strict(&nested(*depth)))
        );
    }
}

#[test]
fn a_text_ends_right_wherever_it_stands() {
    for before in 0..20 {
        for length in 0..40 {
            let text = format!(
                r#"{}["{}","\n{}"]"#,
                " ".repeat(before),
                "a".repeat(length),
                "\u{e9}".repeat(length)
            );
            assert!(fast_is_strict(&text), "{text}");
            for byte in ["\u{1}", "\u{1f}"] {
                let wrong = text.replacen("a\"", &format!("{byte}\""), 1);
                assert!(length == 0 || !fast_is_strict(&wrong), "{wrong:?}");
            }
        }
    }
}

#[test]
fn keys_and_their_texts_end_right_around_the_borders_of_windows() {
    let wrong = ["\u{1}", "\\", "\"", "\\\":\"", "\":"];
    let keys = || (0..2).chain(6..9).chain(14..17).chain(54..66);
    let values = || [0, 1, 8].into_iter().chain(40..66).chain(510..514);
    for (key, value) in keys().flat_map(|key| values().map(move |value| (key, value))) {
        for before in 0..8 {
            let (key, value) = ("k".repeat(key), "v".repeat(value));
            let text = |key: &str, value: &str| {
                let space = " ".repeat(before);
                with_more_behind(&format!(r#"{{{space}"{key}":"{value}","a":0}}"#))
            };
            assert!(fast_is_strict(&text(&key, &value)));
            assert!(fast_is_strict(&text(&key, &format!("{value}\\\""))));
            for wrong in wrong {
                assert!(!fast_is_strict(&text(&format!("{key}{wrong}"), &value)));
                assert!(!fast_is_strict(&text(&key, &format!("{value}{wrong}"))));
            }
            let twice = format!(r#"{key}":"{value}","{key}"#);
            assert!(!fast_is_strict(&text(&twice, &value)));
        }
    }
}
