//! The described body of a webhook against the one who reads it.

use edge_web::WebhookBody;
use forge_core::{ForgeEvent, ObjectFormats, WebhookHeaders};
use serde_json::{Value, json};
use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(components(schemas(WebhookBody)))]
struct Document;

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

/// A value that fits a schema, every field filled in.
fn filled(schemas: &Value, schema: &Value, name: &str) -> Value {
    if let Some(options) = schema.get("oneOf").and_then(Value::as_array) {
        let some = options.iter().find(|option| option["type"] != "null");
        return filled(schemas, some.expect("more than null"), name);
    }
    if let Some(target) = schema["$ref"].as_str() {
        let target = target.rsplit('/').next().expect("a name");
        return filled(schemas, &schemas[target], name);
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[0].as_str(),
        kind => kind.as_str(),
    };
    match kind.expect("a type") {
        "object" => {
            let fields = schema["properties"].as_object();
            let fields = fields.into_iter().flatten();
            fields
                .map(|(name, schema)| (name.clone(), filled(schemas, schema, name)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        "array" => json!([filled(schemas, &schema["items"], name)]),
        "integer" => json!(7),
        "boolean" => json!(false),
        _ if schema.get("pattern").is_some() => json!(SHA),
        _ => match (schema.get("example"), name) {
            (Some(example), _) => example.clone(),
            (None, "full_name") => json!("acme/site"),
            _ => json!("text"),
        },
    }
}

/// The paths of all fields of a schema, and whether each is required where its parent is there.
fn fields(schemas: &Value, schema: &Value, at: &[String], found: &mut Vec<(Vec<String>, bool)>) {
    if let Some(target) = schema["$ref"].as_str() {
        let target = target.rsplit('/').next().expect("a name");
        return fields(schemas, &schemas[target], at, found);
    }
    for option in schema["oneOf"].as_array().into_iter().flatten() {
        fields(schemas, option, at, found);
    }
    if schema["items"].is_object() {
        let first = [at, &["0".to_owned()]].concat();
        return fields(schemas, &schema["items"], &first, found);
    }
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = [at, std::slice::from_ref(name)].concat();
        found.push((path.clone(), required.contains(&json!(name))));
        fields(schemas, inner, &path, found);
    }
}

/// The body without one field, or with another value in its place.
fn with(body: &Value, path: &[String], value: Option<&Value>) -> Value {
    let mut body = body.clone();
    let (last, parents) = path.split_last().expect("a field");
    let parent = parents.iter().fold(&mut body, |at, name| match at {
        Value::Array(items) => &mut items[0],
        at => &mut at[name],
    });
    let parent = parent.as_object_mut().expect("an object");
    match value {
        Some(value) => parent.insert(last.clone(), value.clone()),
        None => parent.remove(last),
    };
    body
}

fn read(kind: &str, body: &Value) -> Result<ForgeEvent, String> {
    let headers = WebhookHeaders::collect([("X-GitHub-Event", kind.as_bytes())]);
    let bytes = serde_json::to_vec(body).expect("JSON");
    ForgeEvent::parse(&headers, &bytes, ObjectFormats::Sha1).map_err(|error| error.to_string())
}

#[test]
fn the_documented_body_is_the_one_that_is_read() {
    let document = serde_json::to_value(Document::openapi()).expect("JSON");
    let schemas = &document["components"]["schemas"];
    let options = schemas["WebhookBody"]["oneOf"].as_array().expect("options");
    let kinds = ["issue_comment", "pull_request", "push", "ping"];
    assert_eq!(options.len(), kinds.len());
    let mut compared = 0;
    for (kind, option) in kinds.into_iter().zip(options) {
        let whole = filled(schemas, option, "");
        let event = read(kind, &whole).unwrap_or_else(|error| panic!("{kind}: {error}: {whole}"));
        assert_eq!(event.name(), kind);
        let mut all = Vec::new();
        fields(schemas, option, &[], &mut all);
        for (path, required) in all {
            // A greeting is known by its words alone, which need not be there when a header says
            // what it is.
            if kind == "ping" && path == ["zen"] {
                continue;
            }
            let without = read(kind, &with(&whole, &path, None));
            assert_eq!(
                without.is_err(),
                required,
                "{kind} without {path:?}: {without:?}"
            );
            // What is described has a type, and another one is refused: the field is read, where
            // nothing else has said the same before.
            let odd = with(&whole, &path, Some(&json!([[1]])));
            let alone = ["pull_request", "compare_url", "pusher"];
            let alone = alone.iter().fold(odd.clone(), |mut body, name| {
                let at = if *name == "pull_request" {
                    &mut body["issue"]
                } else {
                    &mut body
                };
                if path != [*name]
                    && let Some(fields) = at.as_object_mut()
                {
                    fields.remove(*name);
                }
                body
            });
            let refused = [odd, alone].iter().any(|body| read(kind, body).is_err());
            assert!(refused, "{kind}: {path:?} is described and not read");
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared} fields");
}
