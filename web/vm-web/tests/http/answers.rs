//! What each call answers.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use vm_actors::VmSettings;
use vm_core::admission::Capacity;
use vm_core::token::TokenScope;

use crate::client::{Server, read_answer};
use crate::scripted::{Lab, Next};

#[test]
fn a_vm_from_order_to_release() {
    let server = Server::start();
    let created = server.call("POST /vms", r#"{"owner":"octo/repo#7","vcpus":2}"#);
    assert_eq!(created.status, 201);
    let created = created.json();
    assert_eq!(
        (created["state"].as_str(), created["source"].as_str()),
        (Some("ready"), Some("cold"))
    );
    assert!(created["alloc_ms"].is_u64());
    let id = created["id"].as_str().unwrap();
    let listed = server.call("GET /vms", "").json();
    assert_eq!(listed[0]["id"], id);
    let shown = server.call(&format!("GET /vms/{id}"), "").json();
    assert_eq!(
        (shown["owner"].as_str(), shown["vcpus"].as_u64()),
        (Some("octo/repo#7"), Some(2))
    );
    assert_eq!(shown, listed[0]);
    let images = server.call("GET /images", "").json();
    assert_eq!(images[0]["names"][0], "default");
    let stock = server.call("GET /pool", "").json();
    assert_eq!(
        (&stock[0]["image"], &stock[0]["mem_mib"]),
        (&"default".into(), &256.into())
    );
    let lease = server.call(&format!("POST /vms/{id}/lease"), r#"{"lease_s":3000}"#);
    assert!(lease.json()["lease_until"].as_str() > shown["lease_until"].as_str());
    assert_eq!(server.call(&format!("DELETE /vms/{id}"), "").status, 204);
    assert_eq!(server.lab.alive(), []);
    assert_eq!(
        server.call(&format!("DELETE /vms/{id}"), "").status,
        204,
        "again"
    );
    assert_eq!(server.call(&format!("GET /vms/{id}"), "").status, 404);
    assert_eq!(
        server
            .call(&format!("POST /vms/{id}/lease"), r#"{"lease_s":1}"#)
            .status,
        404
    );
    assert_eq!(server.call("GET /vms", "").json(), serde_json::json!([]));
}

#[test]
fn a_command_is_followed_to_its_end() {
    let server = Server::start();
    let vm = server.created();
    let exec = server.exec(&vm, &["echo", "hello"]);
    let followed = server.call(&format!("GET /vms/{vm}/exec/{exec}?follow=1"), "");
    assert_eq!(
        followed.header("content-type"),
        Some("application/x-ndjson")
    );
    assert!(followed.whole);
    let lines = followed.lines();
    assert_eq!(
        lines[0],
        serde_json::json!({"stream": "stdout", "data": "hello"})
    );
    assert_eq!(
        lines[1],
        serde_json::json!({"state": "exited", "exit_code": 0, "signal": null, "dropped_bytes": 0})
    );
    let shown = server
        .call(&format!("GET /vms/{vm}/exec/{exec}"), "")
        .json();
    assert_eq!(shown, lines[1]);
    let sleep = server.exec(&vm, &["sleep"]);
    let shown = server
        .call(&format!("GET /vms/{vm}/exec/{sleep}"), "")
        .json();
    assert_eq!(
        (shown["state"].as_str(), shown["exit_code"].is_null()),
        (Some("running"), true)
    );
    let mut following = server.connect();
    let token = server.token("runner", TokenScope::Read);
    write!(
        following,
        "GET /vms/{vm}/exec/{sleep}?follow=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    .unwrap();
    assert_eq!(
        server
            .call(&format!("DELETE /vms/{vm}/exec/{sleep}"), "")
            .status,
        204
    );
    let lines = read_answer(&mut following).lines();
    assert_eq!(lines.last().unwrap()["state"], "killed");
    assert_eq!(
        server
            .call(&format!("DELETE /vms/{vm}/exec/{sleep}"), "")
            .status,
        204
    );
}

#[test]
fn r12_a_machine_that_dies_ends_a_followed_command_as_lost() {
    let server = Server::start();
    let vm = server.created();
    let exec = server.exec(&vm, &["sleep"]);
    let id = vm.parse().unwrap();
    let mut following = server.connect();
    let token = server.token("runner", TokenScope::Read);
    write!(
        following,
        "GET /vms/{vm}/exec/{exec}?follow=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    .unwrap();
    server.lab.machine(&id).crash();
    let lines = read_answer(&mut following).lines();
    let end = lines.last().unwrap();
    assert_eq!(
        (end["state"].as_str(), end["exit_code"].is_null()),
        (Some("lost"), true)
    );
    let refused = server.call(&format!("POST /vms/{vm}/exec"), r#"{"script":"x"}"#);
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(
        server.call(&format!("GET /vms/{vm}"), "").json()["reason"],
        "process_gone"
    );
    let released = server.call("DELETE /vms/stuck", "").json();
    assert_eq!(
        released,
        serde_json::json!({"released": [{"id": vm, "reason": "process_gone"}], "kept": 0})
    );
}

#[test]
fn files_go_in_and_come_out() {
    let server = Server::start();
    let vm = server.created();
    let tar: Vec<u8> = (0..3_000_000_u32)
        .map(|number| (number % 251) as u8)
        .collect();
    let token = format!(
        "Authorization: Bearer {}\r\n",
        server.token("runner", TokenScope::Write)
    );
    let put = server.send(
        &format!("PUT /vms/{vm}/files?path=/workspace"),
        &token,
        &tar,
    );
    assert_eq!(
        put.json(),
        serde_json::json!({"entries": 1, "bytes": 3_000_000})
    );
    let got = server.call(&format!("GET /vms/{vm}/files?path=/workspace"), "");
    assert_eq!(got.header("content-type"), Some("application/x-tar"));
    assert!(got.whole && got.body == tar);
    let none = server.call(&format!("GET /vms/{vm}/files?path=/none"), "");
    assert_eq!(none.status, 404);
    for path in ["relative", "/a/../b", "", "/a%00b"] {
        let refused = server.call(&format!("GET /vms/{vm}/files?path={path}"), "");
        assert_eq!(refused.status, 422, "{path}");
    }
    assert_eq!(server.call(&format!("GET /vms/{vm}/files"), "").status, 400);
    // Half a tar, and then silence: nothing of it counts.
    let mut broken = server.connect();
    write!(
        broken,
        "PUT /vms/{vm}/files?path=/half HTTP/1.1\r\nHost: localhost\r\n{token}Content-Length: 1000\r\n\r\nhalf"
    )
    .unwrap();
    drop(broken);
    let none = server.call(&format!("GET /vms/{vm}/files?path=/half"), "");
    assert_eq!(none.status, 404);
}

#[test]
fn what_cannot_be_had_is_said_with_its_status() {
    let settings = VmSettings {
        capacity: Capacity {
            mem_mib: 100_000,
            vcpus: 100,
            vms: 1,
            queue: 0,
        },
        ..VmSettings::default()
    };
    let server = Server::with(&Lab::new(), settings);
    let isolation = server.call("POST /vms", r#"{"isolation_min":"hardware-vm"}"#);
    assert_eq!(
        (isolation.status, isolation.json()["type"].as_str()),
        (409, Some("urn:orrery:problem:isolation"))
    );
    assert_eq!(
        isolation.header("content-type"),
        Some("application/problem+json")
    );
    for (body, field) in [
        (r#"{"mem_mib":99999}"#, "mem_mib"),
        (r#"{"vcpus":0}"#, "vcpus"),
        (r#"{"image":"unknown"}"#, "image"),
    ] {
        let refused = server.call("POST /vms", body);
        assert_eq!(refused.status, 422, "{refused:?}");
        assert_eq!(refused.json()["errors"][0]["field"], field);
    }
    assert_eq!(server.call("POST /vms", r#"{"memory":5}"#).status, 400);
    for list in ["[]", " [\"default\", 1]"] {
        let refused = server.call("POST /vms", list);
        assert_eq!(refused.status, 400, "{refused:?}");
        let said = refused.json()["detail"].to_string();
        assert!(said.contains("an object is expected"), "{said}");
    }
    assert_eq!(server.call("GET /vms", "").json(), serde_json::json!([]));
    server.lab.next(Next::Dies);
    let died = server.call("POST /vms", "{}");
    assert_eq!(
        (
            died.status,
            died.json()["detail"]
                .as_str()
                .unwrap()
                .contains("a planned death")
        ),
        (502, true)
    );
    *server.lab.making.lock() = Some("packages".to_owned());
    let making = server.call("POST /vms", "{}");
    assert_eq!(
        (making.status, making.header("retry-after")),
        (503, Some("10"))
    );
    assert_eq!(
        server.call_as(None, "GET /health", "").json()["status"],
        "degraded"
    );
    assert_eq!(server.call_as(None, "GET /readyz", "").status, 503);
    *server.lab.making.lock() = None;
    let vm = server.created();
    let full = server.call("POST /vms", "{}");
    assert_eq!((full.status, full.header("retry-after")), (503, Some("1")));
    for body in [
        "{}",
        r#"{"argv":[]}"#,
        r#"{"script":"x","cwd":"y"}"#,
        r#"{"script":"x","shell":"zsh"}"#,
    ] {
        let refused = server.call(&format!("POST /vms/{vm}/exec"), body);
        assert_eq!(refused.status, 422, "{body}");
    }
    assert_eq!(server.call("PATCH /vms", "{}").status, 405);
}

#[test]
fn an_order_sent_twice_is_one_vm() {
    let server = Server::start();
    let token = server.token("runner", TokenScope::Write);
    let send = |key: &str, body: &str| {
        let headers = format!("Authorization: Bearer {token}\r\nIdempotency-Key: {key}\r\n");
        server.send("POST /vms", &headers, body.as_bytes())
    };
    let one = send("a", "{}").json()["id"].clone();
    assert_eq!(send("a", "{}").json()["id"], one);
    assert_eq!(send("a", r#"{"vcpus":2}"#).status, 422);
    assert_ne!(send("b", "{}").json()["id"], one);
    assert_eq!(send(&"k".repeat(201), "{}").status, 422);
    server.call(&format!("DELETE /vms/{}", one.as_str().unwrap()), "");
    assert_eq!(send("a", "{}").status, 410);
    assert_eq!(server.lab.started.load(Ordering::SeqCst), 2);
}

#[test]
fn health_says_what_vms_are() {
    let server = Server::start();
    let health = server.call_as(None, "GET /health", "").json();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["isolation"], "emulated-vm");
    assert_eq!(health["driver"], "scripted");
    assert_eq!(
        health["pool"],
        serde_json::json!({"ready": 0, "target": 0, "in_use": 0})
    );
    let vm = server.created();
    server.exec(&vm, &["echo", "abc"]);
    assert_eq!(
        server.call_as(None, "GET /health", "").json()["pool"]["in_use"],
        1
    );
    let metrics = server.call("GET /metrics", "");
    let text = String::from_utf8_lossy(&metrics.body).into_owned();
    for line in [
        "vm_vms{state=\"ready\"} 1",
        "vm_allocations_total{source=\"cold\"} 1",
        "vm_execs_total 1",
        "vm_output_bytes_total 3",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    let actors = server.call("GET /admin/actors", "").json();
    assert!(actors.to_string().contains(&vm));
}

#[test]
fn a_body_that_is_too_large_or_a_wait_that_is_too_long_is_refused() {
    let settings = VmSettings {
        wait: Duration::from_millis(50),
        ..VmSettings::default()
    };
    let server = Server::with(&Lab::new(), settings);
    let huge = format!(r#"{{"owner":"{}"}}"#, "x".repeat(3_000_000));
    assert_eq!(server.call("POST /vms", &huge).status, 413);
    let vm = server.created();
    let script = format!(r#"{{"script":"{}"}}"#, "x".repeat(1_100_000));
    assert_eq!(
        server.call(&format!("POST /vms/{vm}/exec"), &script).status,
        422
    );
}

#[test]
fn r13_a_network_beyond_the_configuration_is_refused_by_its_field() {
    let settings = VmSettings {
        allow: serde_json::from_str(r#"["*.dists.test"]"#).unwrap(),
        ..VmSettings::default()
    };
    let server = Server::with(&Lab::new(), settings);
    let fields = |body: &str| {
        let refused = server.call("POST /vms", body);
        assert_eq!(refused.status, 422, "{body}");
        refused.json()["errors"][0]["field"].clone()
    };
    assert_eq!(
        fields(r#"{"network":"user","allow":["pkg.test"]}"#),
        "allow"
    );
    assert_eq!(fields(r#"{"allow":["deb.dists.test"]}"#), "allow");
    let unreadable = server.call("POST /vms", r#"{"network":"user","allow":["http://x"]}"#);
    assert!(
        (400..=422).contains(&unreadable.status),
        "{}",
        unreadable.status
    );
    let order = r#"{"network":"user","allow":["deb.dists.test"]}"#;
    let created = server.call("POST /vms", order);
    assert_eq!(created.status, 201);
    let shown = server.call("GET /vms", "").json();
    assert_eq!(shown[0]["network"], "user");
    assert_eq!(shown[0]["allow"], serde_json::json!(["deb.dists.test"]));
    let metrics = server.call("GET /metrics", "");
    let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
    for name in [
        "connections_total 0",
        "refused_total{reason=\"not_listed\"} 0",
        "bytes_total{direction=\"sent\"} 0",
    ] {
        assert!(metrics.contains(&format!("vm_network_{name}")), "{metrics}");
    }

    let none = Server::start().call("POST /vms", r#"{"network":"user"}"#);
    assert_eq!(none.json()["errors"][0]["field"], "network");
}
