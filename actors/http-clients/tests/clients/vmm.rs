//! The VM manager client against servers that behave, and that misbehave.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use config_core::Secret;
use futures_util::{StreamExt, stream};
use http_clients::http::{HttpClient, HttpOptions};
use http_clients::vmm::{
    ExecReport, ExecState, FollowEvent, HealthStatus, Isolation, NewExec, NewVm, OutputStream,
    VmSource, VmmClient, VmmError,
};
use serde_json::json;
use tokio::time::timeout;

use crate::common::{LONG, options, raw, serve};

fn client(server: SocketAddr) -> VmmClient {
    let http = HttpClient::new(HttpOptions {
        deadline: Duration::from_millis(500),
        idle: Duration::from_millis(300),
        ..options()
    });
    let token = Some(Secret::new("jwt".to_owned()));
    VmmClient::new(http, format!("http://{server}").parse().unwrap(), token)
}

/// A manager with one VM that answers as the module's documentation says.
fn manager() -> SocketAddr {
    serve(|app| {
        app.default_service(web::to(answer));
    })
}

async fn answer(request: HttpRequest, body: Bytes) -> HttpResponse {
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap())
    };
    let path = request.path();
    if path != "/health" && header("authorization") != Some("Bearer jwt") {
        return HttpResponse::Unauthorized().json(json!({"detail": "no token"}));
    }
    let json: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    match (request.method().as_str(), path) {
        ("GET", "/health") => HttpResponse::Ok().json(json!({
            "status": "ok", "isolation": "emulated-vm", "driver": "qemu", "version": "1",
            "kvm": {"device": true, "usable": false, "reason": "the canary did not boot"},
            "pool": {"ready": 2, "target": 2, "in_use": 1}, "later": "field",
        })),
        ("GET", "/vms") => HttpResponse::Ok().json(json!([vm()])),
        ("GET", "/vms/v1") => HttpResponse::Ok().json(vm()),
        ("POST", "/vms") if json["isolation_min"] == "hardware-vm" => {
            HttpResponse::Conflict().json(json!({"detail": "only emulated-vm here"}))
        }
        ("POST", "/vms") if json["mem_mib"] == 1_000_000 => HttpResponse::ServiceUnavailable()
            .insert_header(("retry-after", "4"))
            .json(json!({"detail": "no memory"})),
        ("POST", "/vms") => {
            assert_eq!(header("idempotency-key"), Some("job-1"));
            HttpResponse::Created()
                .json(json!({"id": "v1", "state": "ready", "source": "pool", "alloc_ms": 12}))
        }
        ("PUT", "/vms/v1/files") => {
            assert_eq!(request.query_string(), "path=%2Fwork+space");
            assert_eq!(body, "tar-bytes");
            HttpResponse::NoContent().finish()
        }
        ("GET", "/vms/v1/files") => HttpResponse::Ok().body("tar-bytes"),
        ("POST", "/vms/v1/exec") => {
            assert_eq!(json["script"], "echo $A");
            assert_eq!(json["env"]["A"], "b");
            HttpResponse::Accepted().json(json!({"exec_id": "e1"}))
        }
        ("GET", "/vms/v1/exec/e1") if request.query_string() == "follow=1" => {
            let lines = [
                "{\"stream\":\"stdout\",\"data\":\"one\\n\"}\n{}\n{\"stream\":\"std",
                "err\",\"b64\":\"/w==\"}\n{\"dropped\":5}\n",
                "{\"state\":\"exited\",\"exit_code\":3,\"signal\":null}\n",
            ];
            let lines = stream::iter(lines.map(|line| Ok::<_, std::io::Error>(line.into())));
            HttpResponse::Ok().streaming::<_, std::io::Error>(lines)
        }
        ("GET", "/vms/v1/exec/e1") => {
            HttpResponse::Ok().json(json!({"state": "running", "exit_code": null}))
        }
        ("POST", "/vms/v1/lease") => {
            assert_eq!(json["lease_s"], 60);
            HttpResponse::Ok().json(json!({"lease_until": "2026-11-21T12:00:00Z"}))
        }
        ("DELETE", "/vms/stuck") => HttpResponse::Ok()
            .json(json!({"released": [{"id": "v2", "reason": "lease over"}], "kept": 1})),
        ("DELETE", "/vms/v1" | "/vms/v1/exec/e1") => HttpResponse::NoContent().finish(),
        _ => HttpResponse::NotFound().json(json!({"detail": format!("no {path}")})),
    }
}

fn vm() -> serde_json::Value {
    json!({
        "id": "v1", "state": "ready", "driver": "qemu", "isolation": "emulated-vm", "image": "base",
        "mem_mib": 256, "vcpus": 1, "created_at": "2026-11-21T11:00:00Z", "lease_until": null,
        "owner": "runner", "last_seen": "2026-11-21T11:00:01Z", "source": "clone",
    })
}

#[actix_rt::test]
async fn every_call_of_the_table_works() {
    let client = client(manager());
    let health = client.health().await.unwrap();
    assert_eq!(
        (health.status, health.isolation),
        (HealthStatus::Ok, Isolation::EmulatedVm)
    );
    assert!(!health.kvm.usable);
    assert_eq!(
        client.list().await.unwrap(),
        [client.get("v1").await.unwrap()]
    );
    let vm = client
        .create("job-1", &NewVm::default(), LONG)
        .await
        .unwrap();
    assert_eq!((&*vm.id, vm.source), ("v1", VmSource::Pool));
    let tar = stream::iter(["tar-", "bytes"].map(|part| Ok(Bytes::from_static(part.as_bytes()))));
    client
        .put_files("v1", "/work space", tar, LONG)
        .await
        .unwrap();
    let tar: Vec<_> = client.get_files("v1", "/x").await.unwrap().collect().await;
    assert_eq!(tar[0].as_ref().unwrap(), "tar-bytes");
    let exec = NewExec {
        script: Some("echo $A".into()),
        env: BTreeMap::from([("A".into(), "b".into())]),
        ..NewExec::default()
    };
    assert_eq!(client.exec("v1", &exec).await.unwrap(), "e1");
    let report = client.exec_report("v1", "e1").await.unwrap();
    assert_eq!((report.state, report.exit_code), (ExecState::Running, None));
    client.kill("v1", "e1").await.unwrap();
    client.kill("v1", "gone").await.unwrap();
    let until = client.lease("v1", 60).await.unwrap();
    assert_eq!(until.to_string(), "2026-11-21T12:00:00.000Z");
    let released = client.release_stuck().await.unwrap();
    assert_eq!((&*released.released[0].id, released.kept), ("v2", 1));
    client.delete("v1").await.unwrap();
    client.delete("gone").await.unwrap();
}

#[actix_rt::test]
async fn an_execution_is_followed_to_its_end() {
    let mut follow = client(manager()).follow("v1", "e1").await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = follow.next().await {
        events.push(event.unwrap());
    }
    let report = ExecReport {
        state: ExecState::Exited,
        exit_code: Some(3),
        signal: None,
        reason: None,
        dropped_bytes: 0,
    };
    assert!(!report.is_success());
    assert_eq!(
        events,
        [
            FollowEvent::Output(OutputStream::Stdout, "one\n".into()),
            FollowEvent::Output(OutputStream::Stderr, Bytes::from_static(b"\xff")),
            FollowEvent::Dropped(5),
            FollowEvent::Ended(report),
        ]
    );
}

#[actix_rt::test]
async fn refusals_have_their_class_and_the_managers_words() {
    let client = client(manager());
    let strict = NewVm {
        isolation_min: Some(Isolation::HardwareVm),
        ..NewVm::default()
    };
    let error = client.create("job-1", &strict, LONG).await.unwrap_err();
    assert_eq!(error, VmmError::Isolation("only emulated-vm here".into()));
    let large = NewVm {
        mem_mib: Some(1_000_000),
        ..NewVm::default()
    };
    let error = client.create("job-1", &large, LONG).await.unwrap_err();
    let expected = VmmError::Full {
        reason: "no memory".into(),
        after: Some(Duration::from_secs(4)),
    };
    assert_eq!(error, expected);
    let error = client.get("../x").await.unwrap_err();
    assert!(matches!(error, VmmError::NotFound(_)), "{error}");
    let error = client.follow("v1", "gone").await.unwrap_err();
    assert_eq!(error, VmmError::NotFound("no /vms/v1/exec/gone".into()));
}

#[actix_rt::test]
async fn r12_a_manager_that_misbehaves_ends_in_an_error_in_time() {
    let huge = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n[{}",
        "{},".repeat(100_000)
    );
    type Expected = fn(&VmmError) -> bool;
    let table: [(String, Duration, Expected); 6] = [
        (String::new(), LONG, |error| {
            matches!(error, VmmError::TimedOut(_))
        }),
        (String::new(), Duration::ZERO, |error| {
            matches!(error, VmmError::Unavailable(_))
        }),
        (
            "HTTP/1.1 500 X\r\ncontent-length: 4\r\n\r\noops".into(),
            Duration::ZERO,
            |error| matches!(error, VmmError::Failed(_)),
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n[{\"id\":".into(),
            Duration::ZERO,
            |error| matches!(error, VmmError::BadReply(_)),
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n[{\"id\":".into(),
            Duration::ZERO,
            |error| matches!(error, VmmError::BadReply(_)),
        ),
        (huge, Duration::ZERO, |error| {
            matches!(error, VmmError::BadReply(_))
        }),
    ];
    for (answer, wait, expected) in table {
        let client = client(raw(answer.clone(), wait).await);
        let error = timeout(LONG, client.list()).await.unwrap().unwrap_err();
        let shown = &answer[..answer.len().min(60)];
        assert!(expected(&error), "{shown:?}: {error:?}");
    }
}

#[actix_rt::test]
async fn r12_an_execution_whose_manager_dies_is_lost_and_has_no_exit_code() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let line = "{\"stream\":\"stdout\",\"data\":\"one\"}\n";
    let chunk = format!("{:x}\r\n{line}\r\n", line.len());
    let table = [
        // It dies; it ends the stream without the last line; it hangs.
        (format!("{head}{chunk}"), Duration::ZERO),
        (format!("{head}{chunk}0\r\n\r\n"), Duration::ZERO),
        (format!("{head}{chunk}"), LONG),
    ];
    for (answer, wait) in table {
        let client = client(raw(answer.clone(), wait).await);
        let mut follow = client.follow("v1", "e1").await.unwrap();
        let first = follow.next().await.unwrap().unwrap();
        assert_eq!(
            first,
            FollowEvent::Output(OutputStream::Stdout, "one".into())
        );
        let end = timeout(LONG, follow.next()).await.unwrap().unwrap();
        assert!(matches!(end, Err(VmmError::Lost(_))), "{answer:?}: {end:?}");
        assert!(follow.next().await.is_none());
    }
}

#[actix_rt::test]
async fn r18_the_token_stays_with_the_manager() {
    let elsewhere = serve(|app| {
        app.default_service(web::to(async |request: HttpRequest| {
            assert!(request.headers().get("authorization").is_none());
            HttpResponse::Ok().json(json!([]))
        }));
    });
    let answer =
        format!("HTTP/1.1 302 Found\r\nlocation: http://{elsewhere}/\r\ncontent-length: 0\r\n\r\n");
    let manager = raw(answer, Duration::ZERO).await;
    let error = client(manager).list().await.unwrap_err();
    assert!(matches!(error, VmmError::BadReply(_)), "{error:?}");
}

/// A total deadline ended what was large on a slow disk, however well it went.
#[actix_rt::test]
async fn i17_an_upload_that_moves_takes_as_long_as_it_takes_and_one_that_stands_still_ends() {
    let idle = Duration::from_secs(3);
    // The pieces are a second apart, and longer together than any pause may be.
    let slow = stream::iter(["tar", "-", "by", "te", "s"]).then(async |part| {
        actix_rt::time::sleep(Duration::from_secs(1)).await;
        Ok(Bytes::from_static(part.as_bytes()))
    });
    let moves = client(manager());
    let moves = moves.put_files("v1", "/work space", slow, idle);
    // It takes what the sockets hold of it, and no more.
    let mute = raw("", LONG).await;
    let endless = stream::repeat_with(|| Ok(Bytes::from(vec![0; 1 << 16])));
    let stands = client(mute);
    let stands = stands.put_files("v1", "/work space", endless, idle);
    let (moves, stands) = futures_util::future::join(moves, stands).await;
    moves.unwrap();
    let error = stands.unwrap_err();
    assert_eq!(
        error,
        VmmError::TimedOut("nothing of the files was taken for 3s".to_owned())
    );
}

#[actix_rt::test]
async fn an_upload_that_cannot_be_read_is_the_callers_fault() {
    let tar = stream::iter([Err(std::io::Error::other("no such file"))]);
    let error = client(manager())
        .put_files("v1", "/x", tar, LONG)
        .await
        .unwrap_err();
    assert!(matches!(error, VmmError::Upload(_)), "{error:?}");
}
