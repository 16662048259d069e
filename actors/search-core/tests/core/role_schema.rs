//! The JSON schema of the role file agrees with what is read.

use std::path::Path;

use config_core::Environment;
use search_core::role;
use serde_json::Value;

/// Whether `value` fits `schema`, for the keywords the schema uses; any other one is an error of
/// this test.
fn fits(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let no = |why: &str| Err(format!("{value} {why}"));
    for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "examples"
            | "writeOnly" | "readOnly" | "format" => {}
            "$ref" => {
                let place = wanted.as_str().and_then(|text| text.strip_prefix('#'));
                let part = place
                    .and_then(|place| root.pointer(place))
                    .expect("a known part");
                fits(root, part, value)?;
            }
            "anyOf" => {
                let parts = wanted.as_array().expect("a list");
                if parts.iter().all(|part| fits(root, part, value).is_err()) {
                    return no("fits no form");
                }
            }
            "enum" => {
                if !wanted.as_array().expect("a list").contains(value) {
                    return no("is none of the choices");
                }
            }
            "type" => {
                let right = match wanted.as_str().expect("a name") {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    other => panic!("type {other}"),
                };
                if !right {
                    return no("has another type");
                }
            }
            "required" => {
                for key in wanted.as_array().expect("a list") {
                    if value.get(key.as_str().expect("a name")).is_none() {
                        return no("lacks a key");
                    }
                }
            }
            "properties" => {
                for (key, part) in wanted.as_object().expect("an object") {
                    value
                        .get(key)
                        .map_or(Ok(()), |value| fits(root, part, value))?;
                }
            }
            "additionalProperties" => {
                let known = schema["properties"].as_object().expect("properties");
                let keys = value.as_object().expect("an object").keys();
                if let Some(key) = keys.clone().find(|key| !known.contains_key(*key)) {
                    return no(&format!("has the unknown key {key}"));
                }
            }
            "items" => {
                for item in value.as_array().expect("an array") {
                    fits(root, wanted, item)?;
                }
            }
            "minItems" | "minLength" => {
                let empty = |list: &Vec<Value>| list.is_empty();
                if value.as_array().is_some_and(empty) || value == "" {
                    return no("is empty");
                }
            }
            "maxLength" => {
                let length = value.as_str().map_or(0, |text| text.chars().count());
                if length as u64 > wanted.as_u64().expect("a number") {
                    return no("is too long");
                }
            }
            other => panic!("the test does not know the keyword {other}"),
        }
    }
    Ok(())
}

fn check(text: &str) -> Result<(), String> {
    let schema = role::schema();
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    fits(&schema, &schema, &value)
}

#[test]
fn every_sample_and_the_default_file_fit_the_schema() {
    let folder = std::path::absolute("../../config-samples/search").expect("a folder to work in");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("samples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "json") {
            seen += 1;
            let text = std::fs::read_to_string(&path).expect("a text");
            check(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        }
    }
    assert!(seen > 1);
    let default = role::default_role_file(Path::new("/home/me/Documents"));
    check(&default).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn what_the_schema_refuses_is_refused_when_read() {
    let environment = Environment::from_iter([("HOME", "/home/me")]);
    for text in [
        r#"{}"#,
        r#"{"name": "R"}"#,
        r#"{"name": "R", "haystacks": []}"#,
        r#"{"name": "R", "haystacks": [{"name": "H", "service": "LocalFiles"}]}"#,
        r#"{"name": "R", "haystacks": [{"name": "H", "service": "Files", "location": "x"}]}"#,
        r#"{"name": "R", "haystack": [], "haystacks": [{"name": "H", "service": "LocalFiles", "location": "x"}]}"#,
        r#"{"name": "R", "theme": "pink", "haystacks": [{"name": "H", "service": "LocalFiles", "location": "x"}]}"#,
        r#"{"name": "R", "extra": {"model": "m"}, "haystacks": [{"name": "H", "service": "LocalFiles", "location": "x"}]}"#,
        r#"{"roles": [], "default_role": "R"}"#,
    ] {
        assert!(check(text).is_err(), "{text}");
        assert!(role::parse("x", text, &environment).is_err(), "{text}");
    }
}

/// Each key that the schema names is one that is read: an unknown one would be told as unknown.
#[test]
fn every_key_of_the_schema_is_read() {
    let schema = role::schema();
    let environment = Environment::from_iter([("HOME", "/home/me")]);
    for (part, wrap) in [
        ("role", "KEY"),
        ("one_role", "KEY"),
        ("extra", r#"{"name": "R", "haystacks": [], "extra": KEY}"#),
        ("haystack", r#"{"name": "R", "haystacks": [KEY]}"#),
        ("roles", "KEY"),
    ] {
        let keys = schema["$defs"][part]["properties"]
            .as_object()
            .expect("keys");
        for key in keys.keys() {
            // Never a right value, so that there are errors to look at.
            let inner = match part {
                "roles" => format!(r#"{{"roles": 1, "{key}": [1]}}"#),
                _ => format!(r#"{{"{key}": [1]}}"#),
            };
            let wrong = role::parse("x", &wrap.replace("KEY", &inner), &environment);
            let wrong = wrong.expect_err("never right");
            let unknown = wrong
                .iter()
                .find(|one| one.message.contains(&format!("unknown key `{key}`")));
            assert!(unknown.is_none(), "{part}.{key}: {wrong}");
        }
    }
}

/// docs/CONFIG.md has each key, and each choice as a file of today writes it.
#[test]
fn the_reference_names_every_key_and_choice() {
    let path = std::path::absolute("../../docs/CONFIG.md").expect("a folder to work in");
    let reference = std::fs::read_to_string(path).expect("docs/CONFIG.md exists");
    let mut missing = Vec::new();
    let mut parts = vec![role::schema()];
    while let Some(part) = parts.pop() {
        let keys = part["properties"].as_object().into_iter().flatten();
        let mut names: Vec<&str> = keys.map(|(key, _)| key.as_str()).collect();
        let choices = part["enum"].as_array().into_iter().flatten();
        let choices = choices.filter_map(Value::as_str);
        // The older spellings are all small.
        names.extend(choices.filter(|one| one.contains(char::is_uppercase)));
        let unnamed = |name: &&str| !reference.contains(&format!("`{name}`"));
        let unnamed = names.into_iter().filter(unnamed);
        missing.extend(unnamed.map(str::to_owned));
        parts.extend(
            part.as_object()
                .into_iter()
                .flatten()
                .map(|(_, part)| part.clone()),
        );
    }
    assert_eq!(missing, [""; 0], "docs/CONFIG.md lacks them");
}
