//! What is kept of a body, and what is refused wherever it stands.

use proptest::prelude::*;

use super::field::asked_for;
use super::{Json, parse};

/// A value whose objects may have a key twice.
#[derive(Debug, Clone)]
enum Doc {
    Leaf(&'static str),
    Array(Vec<Doc>),
    Object(Vec<(&'static str, Doc)>),
}

/// Keys as they stand in the text and as they are read; two of them are one.
const KEYS: [(&str, &str); 7] = [
    (r#""ref""#, "ref"),
    (r#""id""#, "id"),
    (r#""\u0069d""#, "id"),
    (r#""other""#, "other"),
    (r#""b""#, "b"),
    (r#""""#, ""),
    (r#""commits""#, "commits"),
];
const LEAVES: [&str; 7] = ["null", "true", "-1", "0.5", r#""a""#, r#""\n\u00e9""#, "{}"];

fn docs() -> impl Strategy<Value = Doc> {
    let leaf = prop::sample::select(&LEAVES[..]).prop_map(Doc::Leaf);
    leaf.prop_recursive(4, 60, 16, |inner| {
        let key = (0..KEYS.len()).prop_map(|at| KEYS[at].0);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Doc::Array),
            prop::collection::vec((key, inner), 0..16).prop_map(Doc::Object),
        ]
    })
}

fn text(doc: &Doc) -> String {
    match doc {
        Doc::Leaf(text) => (*text).to_owned(),
        Doc::Array(items) => {
            let items: Vec<_> = items.iter().map(text).collect();
            format!("[{}]", items.join(","))
        }
        Doc::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(key, value)| format!("{key}:{}", text(value)))
                .collect();
            format!("{{{}}}", members.join(" ,"))
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
    fn a_key_that_stands_twice_is_found_wherever_it_is(doc in docs()) {
        let text = text(&doc);
        let read = parse(text.as_bytes());
        prop_assert_eq!(read.is_err(), has_a_key_twice(&doc), "{}", text);
        if let Ok(kept) = read {
            let all: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert!(same(&kept, &all), "{}: {:?}", text, kept);
        }
    }
}
