//! What the scripted manager answers.

use std::io::Read;
use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::stream;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::script::{Command, Misbehaviour, Play, Script};
use crate::server::{Recorded, broken};

pub(super) async fn serve(
    request: HttpRequest,
    body: Bytes,
    script: web::Data<Mutex<Script>>,
) -> HttpResponse {
    let label = format!("{} {}", request.method(), request.path());
    let planned = {
        let mut script = script.lock();
        script
            .requests
            .push(Recorded::from_request(&request, &body));
        let at = script
            .planned
            .iter()
            .position(|(of, _)| label.starts_with(of.as_str()));
        at.and_then(|at| script.planned.remove(at))
    };
    if let Some((_, misbehaviour)) = planned {
        return misbehave(misbehaviour).await;
    }
    let path: Vec<&str> = request.path().trim_matches('/').split('/').collect();
    let query = request.query_string().to_owned();
    let script = script.into_inner();
    match (request.method().as_str(), path.as_slice()) {
        ("GET", ["health"]) => {
            let usual = json!({"status": "ok", "isolation": "emulated-vm", "driver": "scripted"});
            HttpResponse::Ok().json(script.lock().health.as_ref().unwrap_or(&usual))
        }
        ("GET", ["images"]) if script.lock().images.is_some() => {
            HttpResponse::Ok().json(&script.lock().images)
        }
        ("GET", ["vms"]) => HttpResponse::Ok().json(script.lock().vms.values().collect::<Vec<_>>()),
        ("POST", ["vms"]) => order(&script, &request, &body),
        ("DELETE", ["vms", "stuck"]) => HttpResponse::Ok().json(json!({"released": [], "kept": 0})),
        ("DELETE", ["vms", id]) => {
            script.lock().vms.remove(*id);
            HttpResponse::NoContent().finish()
        }
        ("POST", ["vms", id, "lease"]) if script.lock().vms.contains_key(*id) => {
            HttpResponse::Ok().json(json!({"lease_until": "2030-01-01T00:00:00Z"}))
        }
        ("GET", ["vms", id]) if script.lock().vms.contains_key(*id) => {
            HttpResponse::Ok().json(&script.lock().vms[*id])
        }
        ("POST", ["vms", id, "pause" | "resume"]) if script.lock().vms.contains_key(*id) => {
            HttpResponse::NoContent().finish()
        }
        ("POST", ["vms", id, "snapshots"]) if script.lock().vms.contains_key(*id) => {
            let wish: Value = serde_json::from_slice(&body).unwrap_or_default();
            let view = json!({"name": wish["name"], "taken": "2026-01-01T00:00:00Z", "bytes": 1 << 20, "took_ms": 1});
            HttpResponse::Created().json(view)
        }
        ("POST", ["vms", id, "snapshots", _, "restore"])
        | ("DELETE", ["vms", id, "snapshots", _])
            if script.lock().vms.contains_key(*id) =>
        {
            HttpResponse::NoContent().finish()
        }
        (method, ["vms", id, rest @ ..]) if script.lock().vms.contains_key(*id) => {
            in_vm(&script, method, id, rest, &query, &body)
        }
        _ => HttpResponse::NotFound().json(json!({"detail": "there is no such VM"})),
    }
}

async fn misbehave(misbehaviour: Misbehaviour) -> HttpResponse {
    match misbehaviour {
        Misbehaviour::Hang => std::future::pending().await,
        Misbehaviour::Status(code) => {
            HttpResponse::build(StatusCode::from_u16(code).expect("a planned status is one"))
                .finish()
        }
        Misbehaviour::Body(body) => HttpResponse::Ok()
            .content_type("application/json")
            .body(body),
        Misbehaviour::EndlessList => {
            let piece = Bytes::from(format!(
                "{},",
                json!({"id": "x".repeat(1000), "state": "ready", "isolation": "emulated-vm"})
            ));
            let chunks = std::iter::once(Bytes::from_static(b"[")).chain(std::iter::repeat(piece));
            HttpResponse::Ok().streaming(stream::iter(chunks.map(Ok::<_, std::io::Error>)))
        }
        Misbehaviour::Break => {
            HttpResponse::Ok().streaming(stream::once(async { Err::<Bytes, _>(broken().await) }))
        }
    }
}

fn order(script: &Mutex<Script>, request: &HttpRequest, body: &Bytes) -> HttpResponse {
    let key = request.headers().get("idempotency-key");
    let key = key
        .and_then(|key| key.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let mut script = script.lock();
    let id = match script.keys.get(&key) {
        Some(id) => id.clone(),
        None => {
            script.ordered += 1;
            let id = format!("vm-{}", script.ordered);
            let wish: Value = serde_json::from_slice(body).unwrap_or_default();
            let vm = json!({"id": id, "state": "ready", "isolation": "emulated-vm", "owner": wish["owner"]});
            script.vms.insert(id.clone(), vm);
            script.keys.insert(key, id.clone());
            id
        }
    };
    HttpResponse::Created().json(json!({"id": id, "state": "ready", "source": "pool", "alloc_ms": 1, "isolation": "emulated-vm"}))
}

fn in_vm(
    script: &Arc<Mutex<Script>>,
    method: &str,
    vm: &str,
    rest: &[&str],
    query: &str,
    body: &Bytes,
) -> HttpResponse {
    match (method, rest) {
        ("PUT", ["files"]) => {
            upload(&mut script.lock(), vm, query, body);
            HttpResponse::NoContent().finish()
        }
        ("GET", ["files"]) => {
            HttpResponse::Ok().body(download(&script.lock(), vm, &path_of(query)))
        }
        ("POST", ["exec"]) => {
            let mut script = script.lock();
            let command = command(&script, vm, body);
            let play = if command.lists_reports() {
                let listed = script.reports.iter();
                let listed = listed.map(|(path, text)| format!("{}\t{path}\0", text.len()));
                Play::exit(0).out(listed.collect::<String>())
            } else {
                script.plays.as_ref().expect("set at the start")(&command)
            };
            script.commands.push((command, play, Arc::default()));
            let number = script.commands.len() - 1;
            script.last.insert(vm.to_owned(), number);
            HttpResponse::Accepted().json(json!({"exec_id": number.to_string()}))
        }
        ("GET", ["exec", id]) => follow(script, id.parse().unwrap_or(usize::MAX)),
        ("DELETE", ["exec", id]) => {
            let mut script = script.lock();
            let number: usize = id.parse().unwrap_or(usize::MAX);
            if let Some((_, play, wake)) = script.commands.get_mut(number) {
                let killed = json!({"state": "killed", "exit_code": null, "signal": 9});
                play.end.get_or_insert(killed);
                wake.notify_waiters();
            }
            HttpResponse::NoContent().finish()
        }
        _ => HttpResponse::NotFound().finish(),
    }
}

fn path_of(query: &str) -> String {
    let path = query.split('&').find_map(|pair| pair.strip_prefix("path="));
    path.unwrap_or_default()
        .replace("%2F", "/")
        .replace("%2f", "/")
}

fn upload(script: &mut Script, vm: &str, query: &str, tar: &[u8]) {
    let folder = path_of(query);
    let mut archive = tar::Archive::new(tar);
    for entry in archive.entries().into_iter().flatten().flatten() {
        let mut entry = entry;
        let name = entry
            .path()
            .map(|path| path.display().to_string())
            .unwrap_or_default();
        let mut bytes = Vec::new();
        let _ = entry.read_to_end(&mut bytes);
        let path = format!("{folder}/{}", name.trim_start_matches("./"));
        script.uploads.insert((vm.to_owned(), path), bytes.into());
    }
}

/// A report of tests, or the files that the machine's last command left.
fn download(script: &Script, vm: &str, path: &str) -> Bytes {
    let inside = path.strip_prefix("/workspace/");
    if let Some(report) = script
        .reports
        .iter()
        .find(|(known, _)| Some(known.as_str()) == inside)
    {
        let name = report.0.rsplit('/').next().unwrap_or_default().to_owned();
        return packed(&[(name, report.1.clone())]);
    }
    let last = script
        .last
        .get(vm)
        .map(|number| &script.commands[*number].1);
    packed(last.map(|play| play.files.as_slice()).unwrap_or_default())
}

fn packed(files: &[(String, String)]) -> Bytes {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, name, text.as_bytes())
            .expect("a tar in memory is written");
    }
    builder
        .into_inner()
        .expect("a tar in memory is written")
        .into()
}

fn command(script: &Script, vm: &str, body: &Bytes) -> Command {
    let wish: Value = serde_json::from_slice(body).unwrap_or_default();
    let argv: Vec<String> = serde_json::from_value(wish["argv"].clone()).unwrap_or_default();
    let uploaded = argv
        .iter()
        .find_map(|argument| script.uploads.get(&(vm.to_owned(), argument.clone())));
    Command {
        vm: vm.to_owned(),
        script: uploaded
            .map(|text| String::from_utf8_lossy(text).into_owned())
            .unwrap_or_default(),
        env: serde_json::from_value(wish["env"].clone()).unwrap_or_default(),
        cwd: wish["cwd"].as_str().unwrap_or_default().to_owned(),
        timeout_ms: wish["timeout_ms"].as_u64(),
        argv,
    }
}

fn follow(script: &Arc<Mutex<Script>>, number: usize) -> HttpResponse {
    let found = script
        .lock()
        .commands
        .get(number)
        .map(|(_, play, wake)| (play.clone(), wake.clone()));
    let Some((play, wake)) = found else {
        return HttpResponse::NotFound().finish();
    };
    let chunks = play.chunks.clone().into_iter().flat_map(|(stream, bytes, times)| {
        let line = match std::str::from_utf8(&bytes) {
            Ok(text) => json!({"stream": stream, "data": text}),
            Err(_) => json!({"stream": stream, "b64": base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &bytes)}),
        };
        let line = Bytes::from(format!("{line}\n"));
        (0..times).map(move |_| Ok(line.clone()))
    });
    let script = Arc::clone(script);
    let end = stream::once(async move {
        if play.cut {
            return Err(broken().await);
        }
        tokio::time::sleep(play.after).await;
        loop {
            // Asked for before the look, so that no word is missed.
            let woken = wake.notified();
            let end = script.lock().commands[number].1.end.clone();
            if let Some(end) = end {
                return Ok(Bytes::from(format!("{end}\n")));
            }
            woken.await;
        }
    });
    let all = futures_util::StreamExt::chain(stream::iter(chunks), end);
    HttpResponse::Ok()
        .content_type("application/x-ndjson")
        .streaming(all)
}
