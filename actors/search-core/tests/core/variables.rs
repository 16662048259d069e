//! Whoever changes the role file over the API gets no variable of the server to see, and none sent
//! anywhere.

use config_core::Environment;
use proptest::prelude::*;
use search_core::role::{ReplaceError, RoleDocument};
use serde_json::{Value, json};

const SECRET: &str = "s3cr3t-of-the-process";
const TOKEN: &str = "t0ken-of-the-forge";

fn environment() -> Environment {
    Environment::from_iter([("WEBHOOK_SECRET", SECRET), ("TOKEN", TOKEN), ("HOME", "/h")])
}

/// What the operator wrote.
fn operators() -> Value {
    json!({
        "allowed_roots": {"files": ["/srv"]},
        "roles": [
            {"name": "A", "haystacks": [{"name": "docs", "service": "LocalFiles", "location": "${HOME}/docs"}],
             "extra": {"llm_provider": "cloudllm", "cloudllm_api_key": "${TOKEN}", "cloudllm_model": "m"}},
            {"name": "B", "haystacks": [
                {"name": "tasks", "service": "TaskTracker", "location": "gitea:http://b.example/o/r", "extra_parameters": {"api_token": "${TOKEN}"}},
                {"name": "tool", "service": "MCP", "location": "http://m.example", "extra_parameters": {"api_token": "literal", "tool": "find", "arguments": {"key": "x${TOKEN}"}}}]},
        ],
    })
}

fn stored() -> RoleDocument {
    let text = operators().to_string();
    RoleDocument::parse("s", &text, &environment()).unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn replacing(text: &str) -> Result<RoleDocument, ReplaceError> {
    RoleDocument::replacing("new", text, &environment(), &stored())
}

/// The path of the variable that is refused.
fn refused(text: &str) -> String {
    match replacing(text) {
        Err(ReplaceError::ForeignVariable(path)) => path,
        other => panic!("{text}: {other:?}"),
    }
}

fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut document: Value = serde_json::from_str(&stored().redacted()).expect("JSON");
    change(&mut document);
    document.to_string()
}

#[test]
fn t1_a_name_cannot_smuggle_a_variable() {
    for spelt in [
        r"${WEBHOOK_SECRET}",
        r"\u0024{WEBHOOK_SECRET}",
        r"\u0024\u007bWEBHOOK_SECRET\u007D",
        r"$\u007bWEBHOOK\u005fSECRET}",
        r"a$${b}\u0024{WEBHOOK_SECRET}",
        // Not set: not even that can be found out.
        r"\u0024{NOT_SET}",
    ] {
        for (pointer, path) in [
            ("/roles/0/name", "roles[0].name"),
            ("/roles/0/haystacks/0/name", "roles[0].haystacks[0]"),
            ("/roles/0/theme", "roles[0].theme"),
            ("/roles/0/extra/cloudllm_model", "roles[0].extra"),
            ("/default_role", "default_role"),
            ("/allowed_roots", "allowed_roots"),
            ("/roles/2", "roles[2]"),
            ("/other", "other"),
        ] {
            let text = changed(|document| match pointer.rsplit_once('/').expect("a key") {
                ("/roles", _) => document["roles"]
                    .as_array_mut()
                    .expect("roles")
                    .push("@".into()),
                ("", key) => document[key] = "@".into(),
                (above, key) => document.pointer_mut(above).expect("there")[key] = "@".into(),
            });
            let text = text.replace("\"@\"", &format!("\"{spelt}\""));
            assert_eq!(refused(&text), path, "{text}");
        }
        let alone = format!(
            r#"{{"name": "{spelt}", "haystacks": [{{"name": "H", "service": "LocalFiles", "location": "/srv"}}]}}"#
        );
        assert_eq!(refused(&alone), "name");
    }
}

/// What somebody does to a role file.
type Change = fn(&mut Value);

#[test]
fn t1_a_variable_of_the_file_stays_where_it_is() {
    let moves: [(&str, Change); 8] = [
        ("roles[0].name", |it| {
            it["roles"][0]["name"] = "${TOKEN}".into();
        }),
        ("roles[0].haystacks[0]", |it| {
            it["roles"][0]["haystacks"][0]["location"] = "${TOKEN}".into();
        }),
        // The place it is sent to.
        ("roles[1].haystacks[0]", |it| {
            it["roles"][1]["haystacks"][0]["location"] = "gitea:http://evil.example/o/r".into();
        }),
        // What is done with it there.
        ("roles[1].haystacks[1]", |it| {
            it["roles"][1]["haystacks"][1]["extra_parameters"]["tool"] = "echo".into();
        }),
        ("roles[1].haystacks[1]", |it| {
            it["roles"][1]["haystacks"][1]["extra_parameters"]["arguments"]["query"] =
                "${TOKEN}".into();
        }),
        // Another role.
        ("roles[0].haystacks[1]", |it| {
            let tasks = it["roles"][1]["haystacks"][0].clone();
            it["roles"][0]["haystacks"]
                .as_array_mut()
                .expect("a list")
                .push(tasks);
        }),
        ("roles[0].extra", |it| {
            it["roles"][0]["name"] = "renamed".into();
        }),
        ("default_role", |it| it["default_role"] = "${TOKEN}".into()),
    ];
    for (path, change) in moves {
        let found = refused(&changed(change));
        assert!(path.starts_with(&found) || found == path, "{path}: {found}");
    }
    let sent_back = replacing(&stored().redacted()).expect("nothing is new");
    assert_eq!(sent_back.roles(), stored().roles());
    let reordered = changed(|it| {
        it["roles"].as_array_mut().expect("roles").reverse();
        it["roles"][0]["haystacks"]
            .as_array_mut()
            .expect("haystacks")
            .reverse();
        it["roles"][1]["theme"] = "cerulean".into();
    });
    let reordered = replacing(&reordered).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(reordered.text().matches("${TOKEN}").count(), 3);
}

/// `***` is put back after the first look, so there is a second one.
#[test]
fn t1_a_redacted_secret_brings_no_variable_to_another_role() {
    let mixed = operators()
        .to_string()
        .replace("\"literal\"", "\"Bearer ${TOKEN}\"");
    let stored = RoleDocument::parse("s", &mixed, &environment()).expect("right");
    let mut document: Value = serde_json::from_str(&stored.redacted()).expect("JSON");
    let mut tool = document["roles"][1]["haystacks"][1].clone();
    tool["extra_parameters"] = json!({"api_token": "***"});
    document["roles"][0]["haystacks"]
        .as_array_mut()
        .expect("a list")
        .push(tool);
    let found = RoleDocument::replacing("new", &document.to_string(), &environment(), &stored);
    assert!(
        matches!(&found, Err(ReplaceError::ForeignVariable(path)) if path == "roles[0].haystacks[1]"),
        "{found:?}"
    );
}

#[test]
fn t1_the_api_does_not_change_the_allowed_roots() {
    let changes: [fn(&mut Value); 3] = [
        |it| it["allowed_roots"]["files"] = json!(["/"]),
        |it| it["allowed_roots"] = json!({"files": ["/srv"], "programs": ["/bin"]}),
        |it| {
            it.as_object_mut()
                .expect("an object")
                .remove("allowed_roots");
        },
    ];
    for change in changes {
        let found = replacing(&changed(change));
        assert!(
            matches!(found, Err(ReplaceError::AllowedRoots)),
            "{found:?}"
        );
    }
}

/// A string literal, each character escaped or not as `bits` says.
fn literal(text: &str, bits: u64) -> String {
    let mut literal = String::from("\"");
    for (index, character) in text.chars().enumerate() {
        let (escape, upper) = (
            bits >> (index % 32) & 1 == 1,
            bits >> (32 + index % 32) & 1 == 1,
        );
        match character {
            '"' | '\\' if !escape => literal.extend(['\\', character]),
            _ if escape || character < ' ' => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    let digits = if upper {
                        format!("{unit:04X}")
                    } else {
                        format!("{unit:04x}")
                    };
                    literal += &format!("\\u{digits}");
                }
            }
            _ => literal.push(character),
        }
    }
    literal + "\""
}

/// The document with other strings, arrays and objects in places that a number chooses.
fn written(value: &Value, changes: &[(usize, String, u64, u8)], at: &mut usize) -> String {
    let here = *at;
    *at += 1;
    let change = changes.iter().find(|(place, ..)| *place == here);
    match (value, change) {
        (_, Some((_, text, bits, kind))) => {
            let text = literal(text, *bits);
            match kind % 4 {
                0 => format!("[{text}]"),
                1 => format!("{{{text}: {text}}}"),
                _ => text,
            }
        }
        (Value::Array(items), None) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| written(item, changes, at))
                .collect();
            format!("[{}]", items.join(","))
        }
        (Value::Object(entries), None) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(key, value)| {
                    format!(
                        "{}:{}",
                        literal(key, here as u64),
                        written(value, changes, at)
                    )
                })
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        (Value::String(text), None) => {
            literal(text, (here as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        }
        (other, None) => other.to_string(),
    }
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("${WEBHOOK_SECRET}".to_owned()),
        Just("${TOKEN}".to_owned()),
        Just("$".to_owned()),
        Just("$$".to_owned()),
        Just("{TOKEN}".to_owned()),
        Just("***".to_owned()),
        Just("A".to_owned()),
        Just("x\"\\é😀\u{1}".to_owned()),
        Just("http://m.example".to_owned()),
        Just("/srv/docs".to_owned()),
    ];
    proptest::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn t1_no_spelling_and_no_nesting_lets_a_variable_through(
        changes in proptest::collection::vec((0_usize..45, text(), any::<u64>(), any::<u8>()), 0..4)
    ) {
        let shown: Value = serde_json::from_str(&stored().redacted()).expect("JSON");
        let text = written(&shown, &changes, &mut 0);
        match replacing(&text) {
            Err(error) => {
                let error = error.to_string();
                prop_assert!(!error.contains(SECRET) && !error.contains(TOKEN), "{}", error);
            }
            Ok(document) => {
                let roles = serde_json::to_string(document.roles()).expect("JSON");
                prop_assert!(!roles.contains(SECRET), "{}", text);
                // Only the argument of the operator's own tool holds it in the open.
                prop_assert!(roles.matches(TOKEN).count() <= 1, "{}", text);
                // The next start, or a look at the file, reads the same.
                let again = RoleDocument::parse("s", document.text(), &environment());
                let again = again.expect("it was right before");
                prop_assert_eq!(again.roles(), document.roles());
            }
        }
    }
}
