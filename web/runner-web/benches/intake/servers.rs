//! The servers that are measured, each in a process of its own.

use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use bytes::Bytes;
use config_core::Environment;
use edge_web::{BodyLimits, ServeOptions};
use http_clients::http::AddressPolicy;
use redb::{Database, ReadableDatabase as _, TableDefinition};
use runner_actors::RunnerService;
use runner_web::config::{RunnerConfig, RunnerFlags};
use runner_web::{RunnerServer, RunnerServerOptions};
use store::{Store, StoreOptions};
use tokio::sync::oneshot;

use super::SECRET;

/// The variable with the address of the runner's store; empty: its folder.
pub(super) const STORE: &str = "ORRERY_BENCH_STORE";
const WORKERS: usize = 2;
const BODIES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("bodies");

/// Serves until it is killed; prints its address.
#[allow(clippy::print_stdout, reason = "its parent reads the address")]
pub(super) fn serve(kind: &str, folder: &Path) {
    let listener = edge_web::bind("127.0.0.1:0".parse().unwrap(), "the benchmark").unwrap();
    println!("{}", listener.local_addr().unwrap());
    actix_rt::System::new().block_on(async {
        match kind {
            "runner" => runner(listener, folder).await,
            "minimal" => receiver(listener, Some(Writer::start(folder))).await,
            _ => receiver(listener, None).await,
        }
    });
}

async fn runner(listener: TcpListener, folder: &Path) {
    // A forge that takes connections and never answers: git waits for its head.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let environment = Environment::from_os([
        ("FORGE_WEBHOOK_SECRET".into(), SECRET.into()),
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
    ]);
    let config = RunnerConfig::parse(None, &RunnerFlags::default(), &environment).unwrap();
    let mut settings = config.runner;
    settings.data = folder.join("runs");
    settings.repositories = folder.join("mirrors");
    settings.addresses = AddressPolicy::Any;
    settings.transports.http = true;
    settings.git = (slow_git(folder, port), settings.git.1);
    settings.max_waiting = 10_000_000;
    settings.keep_runs = 10_000_000;
    let options = StoreOptions::new("workflow-runner");
    let store = match std::env::var(STORE).unwrap_or_default() {
        place if place.is_empty() => Store::open(&settings.data, &options),
        url => Store::open_postgres(&url.parse().unwrap(), &options),
    };
    let store = store.unwrap();
    let service = RunnerService::new(settings, store).unwrap();
    let options = RunnerServerOptions {
        secrets: config.secrets,
        body: BodyLimits::default(),
        hosts: Vec::new(),
        token: None,
        serve: ServeOptions {
            workers: WORKERS,
            ..ServeOptions::default()
        },
    };
    let server = RunnerServer::prepare(service, options).start();
    server
        .serve(listener, std::future::pending())
        .await
        .unwrap();
    drop(silent);
}

/// A git that waits for the silent forge, whatever it is asked: no network of this machine is
/// needed for that.
fn slow_git(folder: &Path, port: u16) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("git");
    std::fs::write(
        &path,
        format!(
            "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{port}\nread -r -u 3 -t 600 line\nexit 1\n"
        ),
    )
    .unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Reads a body, verifies it, stores it if there is a writer.
async fn receiver(listener: TcpListener, writer: Option<Writer>) {
    let writer = web::Data::new(writer);
    let factory = move || {
        App::new()
            .app_data(writer.clone())
            .app_data(web::PayloadConfig::new(1 << 20))
            .route("/webhook", web::post().to(webhook))
    };
    let server = HttpServer::new(factory)
        .workers(WORKERS)
        .listen(listener)
        .unwrap();
    server.run().await.unwrap();
}

async fn webhook(
    request: HttpRequest,
    body: Bytes,
    writer: web::Data<Option<Writer>>,
) -> HttpResponse {
    let signature = request.headers().get("x-hub-signature-256").unwrap();
    let right = forge_core::sign(SECRET, &body).unwrap().hub();
    if signature.as_bytes() != right.as_bytes() {
        return HttpResponse::Forbidden().finish();
    }
    if let Some(writer) = writer.as_ref() {
        writer.store(body).await;
    }
    HttpResponse::Accepted().json(serde_json::json!({"status": "accepted"}))
}

type Order = (Bytes, oneshot::Sender<()>);

/// Group commits, two phases each.
struct Writer(mpsc::SyncSender<Order>);

impl Writer {
    fn start(folder: &Path) -> Self {
        let database = Database::create(folder.join("minimal.redb")).unwrap();
        let (sender, orders) = mpsc::sync_channel::<Order>(4096);
        std::thread::spawn(move || {
            let mut next = 0_u64;
            while let Ok(first) = orders.recv() {
                let mut waiting = vec![first];
                while waiting.len() < 1024 {
                    match orders.try_recv() {
                        Ok(order) => waiting.push(order),
                        Err(_) => break,
                    }
                }
                let mut commit = database.begin_write().unwrap();
                commit.set_two_phase_commit(true);
                {
                    let mut table = commit.open_table(BODIES).unwrap();
                    for (body, _) in &waiting {
                        table.insert(next, body.as_ref()).unwrap();
                        next += 1;
                    }
                }
                commit.commit().unwrap();
                for (_, done) in waiting {
                    let _ = done.send(());
                }
            }
            drop(database.begin_read());
        });
        Self(sender)
    }

    async fn store(&self, body: Bytes) {
        let (done, stored) = oneshot::channel();
        let mut order = (body, done);
        loop {
            match self.0.try_send(order) {
                Ok(()) => break,
                Err(mpsc::TrySendError::Full(back)) => order = back,
                Err(error) => panic!("{error}"),
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        stored.await.unwrap();
    }
}
