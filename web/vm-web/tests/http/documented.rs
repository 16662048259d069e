//! The API document says what the server does.

use edge_web::Metrics;
use serde_json::Value;

use crate::client::Server;

#[test]
fn every_route_is_documented_and_every_documented_one_is_served() {
    let table = vm_web::routes(&Metrics::new()).table();
    let coverage = edge_web::coverage(&vm_web::openapi(), &table);
    assert!(coverage.unserved.is_empty(), "{:?}", coverage.unserved);
    let document = serde_json::to_value(vm_web::openapi()).unwrap();
    for (method, path) in table {
        let described = document["paths"][&path][method.as_str().to_ascii_lowercase()].is_object();
        let internal = [
            "/livez",
            "/readyz",
            "/metrics",
            "/admin/actors",
            "/admin/actors/events",
            "/api/openapi.json",
        ];
        assert!(
            described || internal.contains(&path.as_str()) || path.starts_with("/ui"),
            "{method} {path}"
        );
    }
}

/// Every field of a real answer is in the schema, and every required field is in the answer.
#[test]
fn answers_are_as_documented() {
    let server = Server::start();
    let document = server.call_as(None, "GET /api/openapi.json", "").json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let created = server.call("POST /vms", "{}").json();
    let vm = created["id"].as_str().unwrap().to_owned();
    let exec = server.exec(&vm, &["echo", "x"]);
    let followed = server
        .call(&format!("GET /vms/{vm}/exec/{exec}?follow=1"), "")
        .lines();
    for (schema, value) in [
        ("Created", created),
        ("Vm", server.call(&format!("GET /vms/{vm}"), "").json()),
        ("Chunk", followed[0].clone()),
        ("Exec", followed[1].clone()),
        ("Health", server.call_as(None, "GET /health", "").json()),
        (
            "LeaseView",
            server
                .call(&format!("POST /vms/{vm}/lease"), r#"{"lease_s":900}"#)
                .json(),
        ),
        (
            "ImageView",
            server.call("GET /images", "").json()[0].clone(),
        ),
        ("PoolStock", server.call("GET /pool", "").json()[0].clone()),
        ("Released", server.call("DELETE /vms/stuck", "").json()),
        ("ProblemDocument", server.call("GET /vms/vm-0", "").json()),
    ] {
        matches(
            &document,
            &document["components"]["schemas"][schema],
            &value,
            schema,
        );
    }
}

fn matches(document: &Value, schema: &Value, value: &Value, at: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        let found = document.pointer(pointer);
        return matches(
            document,
            found.unwrap_or_else(|| panic!("{at}: {reference}")),
            value,
            at,
        );
    }
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    let object = value
        .as_object()
        .unwrap_or_else(|| panic!("{at} is no object: {value}"));
    for (name, value) in object {
        let schema = properties.get(name);
        let schema = schema.unwrap_or_else(|| panic!("{at}.{name} is not documented"));
        matches(document, schema, value, &format!("{at}.{name}"));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        assert!(
            object.contains_key(name),
            "{at}.{name} is required and absent"
        );
    }
}
