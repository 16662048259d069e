//! Who may do what: tokens, scopes, whose VMs.

use std::time::Duration;

use vm_actors::wall;
use vm_core::token::{Claims, TokenKey, TokenScope};

use crate::client::Server;

#[test]
fn without_a_token_only_health_is_open() {
    let server = Server::start();
    for line in [
        "GET /health",
        "GET /livez",
        "GET /readyz",
        "GET /api/openapi.json",
    ] {
        assert_eq!(server.call_as(None, line, "").status, 200, "{line}");
    }
    for line in [
        "GET /images",
        "GET /pool",
        "GET /vms",
        "POST /vms",
        "GET /vms/vm-1",
        "DELETE /vms/vm-1",
        "DELETE /vms/stuck",
        "POST /vms/vm-1/lease",
        "PUT /vms/vm-1/files?path=/x",
        "GET /vms/vm-1/files?path=/x",
        "POST /vms/vm-1/exec",
        "GET /vms/vm-1/exec/ex-1",
        "DELETE /vms/vm-1/exec/ex-1",
        "GET /metrics",
        "GET /admin/actors",
    ] {
        let refused = server.call_as(None, line, "");
        assert_eq!(refused.status, 401, "{line}");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"), "{line}");
    }
}

#[test]
fn a_token_of_another_key_or_time_or_scope_is_refused() {
    let server = Server::start();
    let other = TokenKey::new(&[8; 32]).unwrap();
    let claims = Claims::new(
        "runner",
        &[TokenScope::Admin],
        wall(),
        Duration::from_secs(60),
    );
    let forged = other.sign(&claims);
    assert_eq!(server.call_as(Some(&forged), "GET /vms", "").status, 401);
    let reader = server.token("runner", TokenScope::Read);
    assert_eq!(server.call_as(Some(&reader), "GET /vms", "").status, 200);
    for line in ["POST /vms", "DELETE /vms/stuck", "DELETE /vms/vm-1"] {
        assert_eq!(
            server.call_as(Some(&reader), line, "{}").status,
            403,
            "{line}"
        );
    }
}

#[test]
fn r14_vms_of_another_subject_do_not_exist() {
    let server = Server::start();
    let vm = server.created();
    let exec = server.exec(&vm, &["echo", "secret"]);
    let other = server.token("other", TokenScope::Write);
    let call = |line: String, body: &str| server.call_as(Some(&other), &line, body);
    assert_eq!(
        call("GET /vms".to_owned(), "").json(),
        serde_json::json!([])
    );
    for line in [
        format!("GET /vms/{vm}"),
        format!("GET /vms/{vm}/exec/{exec}?follow=1"),
        format!("DELETE /vms/{vm}/exec/{exec}"),
        format!("GET /vms/{vm}/files?path=/workspace"),
        format!("PUT /vms/{vm}/files?path=/workspace"),
    ] {
        assert_eq!(call(line.clone(), "").status, 404, "{line}");
    }
    assert_eq!(
        call(format!("POST /vms/{vm}/exec"), r#"{"script":"x"}"#).status,
        404
    );
    assert_eq!(
        call(format!("POST /vms/{vm}/lease"), r#"{"lease_s":5}"#).status,
        404
    );
    // Nothing to release, as for any id that is not there; and nothing happens.
    assert_eq!(call(format!("DELETE /vms/{vm}"), "").status, 204);
    assert_eq!(server.lab.alive().len(), 1);
    let admin = server.token("operator", TokenScope::Admin);
    let listed = server.call_as(Some(&admin), "GET /vms", "").json();
    assert_eq!(listed[0]["id"], vm.as_str());
}

#[test]
fn r15_ids_that_climb_are_unknown() {
    let server = Server::start();
    let vm = server.created();
    for line in [
        "GET /vms/..%2f..%2fetc".to_owned(),
        "GET /vms/%2e%2e".to_owned(),
        "GET /vms/vm-A".to_owned(),
        format!("GET /vms/{vm}/exec/..%2f..%2fx"),
        format!("GET /vms/{vm}/exec/ex-99"),
        format!("DELETE /vms/{vm}/exec/ex-99"),
    ] {
        let answer = server.call(&line, "");
        assert_eq!(answer.status, 404, "{line}");
    }
}

#[test]
fn pages_of_other_hosts_are_turned_away() {
    let server = Server::start();
    let token = server.token("runner", TokenScope::Write);
    let headers = format!("Authorization: Bearer {token}\r\nOrigin: http://evil.example\r\n");
    assert_eq!(server.send("POST /vms", &headers, b"{}").status, 403);
}
