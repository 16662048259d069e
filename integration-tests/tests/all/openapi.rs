//! The API document says what the server does.

use edge_web::Metrics;
use serde_json::{Value, json};

use crate::harness::Home;

#[test]
fn every_route_is_documented_and_every_documented_one_is_served() {
    let coverage = edge_web::coverage(
        &search_web::openapi(),
        &search_web::routes(&Metrics::new()).table(),
    );
    let undocumented: Vec<_> = coverage
        .undocumented
        .iter()
        .filter(|route| !route.contains("openapi.json"))
        .collect();
    assert!(undocumented.is_empty(), "{undocumented:?}");
    assert!(coverage.unserved.is_empty(), "{:?}", coverage.unserved);
}

fn documents() -> Vec<(&'static str, Value)> {
    let documents = [
        ("search", search_web::openapi()),
        ("runner", runner_web::openapi()),
        ("orchestrator", orchestrator_web::openapi()),
        ("vm-manager", vm_web::openapi()),
    ];
    let documents = documents.into_iter();
    documents
        .map(|(part, document)| (part, serde_json::to_value(document).expect("JSON")))
        .collect()
}

/// Every operation of a document: its address, and what is said of it.
fn operations(document: &Value) -> Vec<(&str, &Value)> {
    let paths = document["paths"].as_object().expect("paths").iter();
    paths
        .flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(_, operation)| (path.as_str(), operation))
        })
        .collect()
}

/// Tools that make clients of a document name their functions by it.
#[test]
fn no_two_operations_of_a_server_have_the_same_id() {
    for (part, document) in documents() {
        let operations = operations(&document);
        let ids = operations.iter();
        let mut ids: Vec<_> = ids
            .map(|(_, operation)| operation["operationId"].as_str().expect("an id"))
            .collect();
        ids.sort_unstable();
        let twice: Vec<_> = ids.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(ids.len() > 10 && twice.is_empty(), "{part}: {twice:?}");
    }
}

/// A parameter of the path stands in the address, and nothing in the address is left unsaid.
#[test]
fn parameters_are_where_the_document_says() {
    for (part, document) in documents() {
        for (path, operation) in operations(&document) {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let mut said: Vec<_> = parameters
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| parameter["name"].as_str().expect("a name"))
                .collect();
            said.sort_unstable();
            let mut there: Vec<_> = path
                .split('/')
                .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
                .collect();
            there.sort_unstable();
            assert_eq!(said, there, "{part} {path}");
        }
    }
}

/// Every field of a real answer is in the schema, and every required field is in the answer.
#[test]
fn answers_are_as_documented() {
    let home = Home::new();
    home.write("a.md", "---\ntags: [x]\n---\n# Title\n\nneedle\n");
    let server = home.start();
    let document = server.get("/api/openapi.json").json();
    assert!(
        document["openapi"]
            .as_str()
            .is_some_and(|version| version.starts_with("3.1")),
        "{}",
        document["openapi"]
    );
    let answer = server.search(&json!({"search_term": "needle"}));
    let id = answer["results"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    for (schema, value) in [
        ("SearchAnswer", answer),
        ("RoleList", server.get("/api/roles").json()),
        ("HealthAnswer", server.get("/health").json()),
        (
            "DocumentView",
            server.get(&format!("/api/documents/{id}")).json(),
        ),
        ("ProblemDocument", server.get("/api/nothing").json()),
    ] {
        matches(
            &document,
            &json!({"$ref": format!("#/components/schemas/{schema}")}),
            &value,
            schema,
        );
    }
}

fn matches(document: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().expect("a name");
        let target = &document["components"]["schemas"][name];
        assert!(target.is_object(), "{place}: {name} is not in the document");
        return matches(document, target, value, place);
    }
    if let Some(options) = schema
        .get("oneOf")
        .or(schema.get("anyOf"))
        .and_then(Value::as_array)
    {
        let fitting = options
            .iter()
            .find(|option| !value.is_null() && option.get("$ref").is_some());
        if let Some(option) = fitting {
            matches(document, option, value, place);
        }
        return;
    }
    match value {
        Value::Object(fields) if schema.get("properties").is_some() => {
            for (name, field) in fields {
                let inner = &schema["properties"][name];
                assert!(inner.is_object(), "{place}.{name} is not documented");
                matches(document, inner, field, &format!("{place}.{name}"));
            }
            for name in schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                assert!(
                    fields.contains_key(name),
                    "{place}.{name} is required and missing"
                );
            }
        }
        Value::Array(items) => {
            let inner = schema.get("items").unwrap_or(&Value::Null);
            for item in items.iter().filter(|_| inner.is_object()) {
                matches(document, inner, item, &format!("{place}[]"));
            }
        }
        _ => assert!(
            type_fits(&schema["type"], value),
            "{place}: {value} is no {}",
            schema["type"]
        ),
    }
}

fn type_fits(kind: &Value, value: &Value) -> bool {
    let fits = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => false,
    };
    match kind {
        Value::String(kind) => fits(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(fits),
        _ => true,
    }
}
