//! A scripted orchestrator: the receiver and the admin bridge, with the shapes of
//! orchestrator-core.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use forge_core::{WebhookHeaders, WebhookSecrets};
use orchestrator_core::admin::{
    AcceptedView, CancelReply, ExitView, ProjectView, PromptView, QueueView, RejectedView, RunView,
    StatusView, WebhookOutcome, WebhookReply,
};
use serde_json::{Value, json};

/// The webhook secret of the scripted orchestrator.
pub(crate) const SECRET: &str = "webhook-secret-0123456789";

/// What the scripted orchestrator does, and what it saw.
#[derive(Default)]
pub(crate) struct Script {
    /// How many looks at a run find it running before it has ended.
    pub(crate) looks: u32,
    /// How the run ends: class, code, signal.
    pub(crate) exit: Option<(&'static str, Option<i32>, Option<i32>)>,
    /// The reason each trigger is refused for.
    pub(crate) rejected: Option<&'static str>,
    /// The token the admin bridge wants.
    pub(crate) token: Option<&'static str>,
    /// What the agent has printed; `None`: there is no log.
    pub(crate) words: Option<&'static str>,
    /// There are two runs, not one.
    pub(crate) more_runs: bool,
    /// Bodies of accepted webhooks.
    pub(crate) seen: Vec<Value>,
    /// Paths of all admin requests.
    pub(crate) asked: Vec<String>,
    /// The secret on somebody's command line while a webhook was handled.
    pub(crate) exposed: Option<String>,
}

pub(crate) struct Bridge {
    pub(crate) address: SocketAddr,
    pub(crate) socket: PathBuf,
    pub(crate) script: Arc<Mutex<Script>>,
    stop: Option<actix_web::dev::ServerHandle>,
}

impl Bridge {
    pub(crate) fn start(folder: &Path, script: Script) -> Self {
        let script = Arc::new(Mutex::new(script));
        let socket = folder.join("admin.sock");
        let (sender, receiver) = mpsc::channel();
        let (shared, path) = (script.clone(), socket.clone());
        std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let data = web::Data::from(shared);
                let app = move || {
                    App::new()
                        .app_data(data.clone())
                        .default_service(web::to(handle))
                };
                let server = HttpServer::new(app).workers(1).disable_signals();
                let server = server
                    .bind(("127.0.0.1", 0))
                    .unwrap()
                    .bind_uds(path)
                    .unwrap();
                let address = server.addrs()[0];
                let server = server.run();
                sender.send((address, server.handle())).unwrap();
                server.await.unwrap();
            });
        });
        let (address, stop) = receiver.recv().unwrap();
        Self {
            address,
            socket,
            script,
            stop: Some(stop),
        }
    }

    /// Options that lead here.
    pub(crate) fn place(&self) -> Vec<String> {
        vec![
            format!("--receiver={}", self.address),
            format!("--admin={}", self.socket.display()),
        ]
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let stop = self.stop.take().unwrap();
        actix_web::rt::System::new().block_on(stop.stop(false));
    }
}

async fn handle(
    request: HttpRequest,
    body: web::Bytes,
    script: web::Data<Mutex<Script>>,
) -> HttpResponse {
    let path = request.uri().to_string();
    if path == "/webhook" {
        return webhook(&request, &body, &mut script.lock().unwrap());
    }
    let mut script = script.lock().unwrap();
    script.asked.push(format!("{} {path}", request.method()));
    if let Some(token) = script.token {
        let given = request
            .headers()
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        if given != Some(&format!("Bearer {token}")) {
            return problem(401, "the token is missing or wrong");
        }
    }
    admin(&path, &mut script)
}

fn webhook(request: &HttpRequest, body: &[u8], script: &mut Script) -> HttpResponse {
    let headers = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()));
    let secrets = WebhookSecrets::new(SECRET).unwrap();
    let signed = secrets.verify(&WebhookHeaders::collect(headers), body).ok();
    if signed.is_none() {
        return problem(403, "the signature does not match the body");
    }
    script.exposed = super::on_a_command_line(SECRET);
    let body: Value = serde_json::from_slice(body).unwrap();
    let mention = body["comment"]["body"].as_str().unwrap().to_owned();
    let agent = mention
        .trim_start_matches("@orch:")
        .split_whitespace()
        .next()
        .unwrap()
        .to_owned();
    script.seen.push(body);
    let mut reply = WebhookReply {
        delivery: "d-1".into(),
        outcome: WebhookOutcome::Accepted,
        dispatches: vec![],
        rejected: vec![],
        reason: None,
        detail: None,
    };
    if let Some(reason) = script.rejected {
        reply.outcome = WebhookOutcome::Rejected;
        reply.rejected.push(RejectedView {
            agent,
            reason: reason.into(),
            detail: "so it is".into(),
        });
    } else {
        reply.dispatches.push(AcceptedView {
            run: "run-1".into(),
            project: "main".into(),
            agent,
        });
    }
    HttpResponse::Accepted().json(reply)
}

fn admin(path: &str, script: &mut Script) -> HttpResponse {
    let ok = |value: Value| HttpResponse::Ok().json(value);
    match path {
        "/admin/status" => HttpResponse::Ok().json(status()),
        "/admin/runs/run-1" => {
            let ended = script.looks == 0;
            script.looks = script.looks.saturating_sub(1);
            HttpResponse::Ok().json(run(ended.then_some(script.exit.unwrap_or(("success", Some(0), None)))))
        }
        "/admin/runs/run-1/cancel" => HttpResponse::Ok().json(CancelReply { run: "run-1".into(), state: "running".into(), cancelled: true }),
        "/admin/runs/run-1/retry" => ok(json!({"of": "run-1", "run": "run-2"})),
        "/admin/runs/run-1/log?follow=1" => HttpResponse::Ok()
            .content_type("text/event-stream")
            .body(": alive\n\ndata: {\"text\":\"agent.exited run=run-1 class=success\\n\"}\n\nevent: skipped\ndata: 12\n\ndata: {\"text\":\"end\\n\"}\n\nevent: end\ndata: {}\n\n"),
        "/admin/runs/run-1/log?follow=0&tail=2" => HttpResponse::Ok().content_type("text/plain").body("two\nlines\n"),
        "/admin/runs/run-1/log?follow=0&tail=200" => match script.words {
            Some(words) => HttpResponse::Ok().content_type("text/plain").body(words),
            None => problem(404, "the run has no log"),
        },
        "/admin/agents/main/developer/prompt" => HttpResponse::Ok().json(PromptView {
            project: "main".into(),
            agent: "developer".into(),
            persona: None,
            skills: vec![],
            model: None,
            prompt: "Do it\u{1b}[31m well.".into(),
        }),
        "/admin/agents" | "/admin/agents?project=second" => ok(json!({"agents": []})),
        "/admin/projects/main/pause" => HttpResponse::Ok().json(project(true)),
        "/admin/drain" => problem(409, "no other process stands by on this store"),
        "/admin/drain?force=true" => HttpResponse::Accepted().json(json!({"status": "draining"})),
        "/admin/projects/main/resume" => HttpResponse::Ok().json(project(false)),
        "/admin/actors" => ok(json!({"name": "orrery", "state": "running", "restarts": 0, "mailbox": 0, "capacity": 16,
            "children": [{"name": "dispatcher\u{1b}[2J", "state": "parked", "restarts": 5, "mailbox": 2, "capacity": 64,
                "last_exit": {"panicked": "on purpose"}, "children": []}]})),
        "/admin/check" => ok(json!({"valid": false, "diagnostics": [
            {"severity": "error", "file": "orchestrator.toml", "line": 3, "col": 1, "message": "unknown key"}], "routes": []})),
        "/admin/reload" => HttpResponse::UnprocessableEntity().json(json!({"valid": false, "diagnostics": [
            {"severity": "error", "file": "orchestrator.toml", "line": 4, "col": 1, "message": "unknown key"}], "routes": []})),
        "/admin/journal?after=18446744073709551614&limit=1" => ok(json!({"entries": [], "next": null, "last": 9})),
        "/admin/journal?after=7&limit=2" => ok(json!({"entries": [entry(8, "run.queued"), entry(9, "agent.spawned")], "next": 9, "last": 9})),
        "/admin/journal?after=3&limit=50" => ok(json!({"entries": [entry(4, "agent.exited")], "next": null, "last": 9})),
        "/admin/events" => HttpResponse::Ok()
            .content_type("text/event-stream")
            .body(format!(": alive\n\nevent: journal\nid: 10\ndata: {}\n\n", entry(10, "run.ended"))),
        path if path.starts_with("/admin/runs?") && script.more_runs => {
            let mut older = run(None);
            older.id = "run-0".into();
            ok(json!({"runs": [run(None), older], "next": null}))
        }
        path if path.starts_with("/admin/runs?") => ok(json!({"runs": [run(None)], "next": null})),
        _ => problem(404, "there is no such run"),
    }
}

fn entry(seq: u64, event: &str) -> Value {
    json!({"seq": seq, "at": "2026-11-21T10:00:00.000Z", "event": event, "run": "run-1", "agent": "developer", "project": "main",
        "detail": "pid 7\u{1b}[31m"})
}

fn problem(status: u16, detail: &str) -> HttpResponse {
    let status = actix_web::http::StatusCode::from_u16(status).unwrap();
    HttpResponse::build(status)
        .content_type("application/problem+json")
        .json(json!({"detail": detail}))
}

fn project(paused: bool) -> ProjectView {
    ProjectView {
        id: "main".into(),
        repository: "acme/main".into(),
        paused,
        agents: 25,
    }
}

fn status() -> StatusView {
    let second = ProjectView {
        id: "second".into(),
        repository: "acme/second".into(),
        paused: true,
        agents: 2,
    };
    StatusView {
        version: "0.1.0".into(),
        started_at: "2026-11-21T10:00:00.000Z".into(),
        configured_at: "2026-11-21T10:00:00.000Z".into(),
        tick_interval_secs: 300,
        last_tick_at: None,
        last_tick_ms: None,
        ticks: 4,
        next_tick_at: None,
        main_project: "main".into(),
        mentions: true,
        queue: QueueView {
            queued: 1,
            starting: 0,
            running: 0,
            oldest_secs: 5,
        },
        projects: vec![project(false), second],
        running: vec![],
        statuses: vec![],
        outbox: 0,
        parked: 0,
        breakers: vec![],
        quarantined: vec![],
        warnings: vec![],
    }
}

fn run(exit: Option<(&str, Option<i32>, Option<i32>)>) -> RunView {
    let exit = exit.map(|(class, code, signal)| ExitView {
        class: class.into(),
        code,
        signal,
        wall_ms: 1200,
        output_bytes: 10,
        cost_cents: None,
        detail: None,
    });
    RunView {
        id: "run-1".into(),
        project: "main".into(),
        agent: "developer".into(),
        repository: "acme/main".into(),
        trigger: "cli".into(),
        subject: "trigger by hand".into(),
        issue: None,
        state: if exit.is_some() { "exited" } else { "running" }.into(),
        ended: exit.is_some(),
        hold: None,
        reason: None,
        detail: None,
        context: None,
        sha: None,
        queued_at: "2026-11-21T10:00:01.000Z".into(),
        started_at: None,
        ended_at: None,
        pid: None,
        isolation: None,
        worktree: None,
        branch: None,
        exit,
    }
}
