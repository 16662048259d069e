//! Ticks over queues of several lengths, with the caps of the contract: 3 starts a tick, 8 at a
//! time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use config_core::{Environment, UnknownKeys};
use forge_core::{ForgeEvent, ObjectFormats, RunId, WebhookHeaders};
use git_engine::Git;
use orchestrator_actors::load::{SystemHost, load};
use orchestrator_actors::messages::{AdmitFound, GetStatus, Tick};
use orchestrator_actors::{OrchestratorService, OrchestratorSetup};
use orchestrator_core::config::{Config, check};
use orchestrator_engine::process::Confinement;
use store::{Store, StoreOptions};
use supervision::{Root, SupervisorSpec};

use crate::{AGENTS, MENTIONS, agents, at, comment, millis};

/// Ticks measured at each length.
const TICKS: usize = 200;

/// Prints the table.
pub(crate) fn measure() {
    println!(
        "ticks, {AGENTS} agents                queued   p50 ms   p99 ms   most ms   status p50 ms"
    );
    for queued in [100, 1_000, 10_000] {
        let folder = tempfile::tempdir().expect("a folder");
        let line = actix_rt::System::new().block_on(one(folder.path(), queued));
        println!("{line}");
    }
}

async fn one(folder: &Path, queued: usize) -> String {
    let store = Store::open(&folder.join("data"), &StoreOptions::new("orchestrator"));
    let store = store.expect("a store");
    let bench = Bench::start(folder, store.clone()).await;
    let service = &bench.service;
    for id in 0..queued / MENTIONS {
        admit(service, id as u64).await;
    }
    let (mut ticks, mut looks) = (Vec::new(), Vec::new());
    for round in 0..TICKS + 10 {
        let before = service.view.ticks().count;
        service.dispatcher.ask(Tick).await.expect("a tick");
        let stats = service.view.ticks();
        assert!(stats.count > before);
        let began = Instant::now();
        service
            .operator_api
            .ask(GetStatus)
            .await
            .expect("the operator API")
            .expect("the store");
        // The first ticks start what may start, and read everything once.
        if round >= 10 {
            ticks.push(stats.last_took);
            looks.push(began.elapsed());
        }
        service.ticks.request();
    }
    ticks.sort();
    looks.sort();
    bench.stop().await;
    store.close();
    format!(
        "                                  {queued:>8} {:>8} {:>8} {:>9} {:>15}",
        millis(at(&ticks, 0.5)),
        millis(at(&ticks, 0.99)),
        millis(*ticks.last().unwrap_or(&Duration::ZERO)),
        millis(at(&looks, 0.5)),
    )
}

/// The orchestrator's actors in this process.
pub(crate) struct Bench {
    pub(crate) service: OrchestratorService,
    pub(crate) config: Arc<Config>,
    root: Root,
}

impl Bench {
    pub(crate) async fn start(folder: &Path, store: Store) -> Self {
        let (mut service, config) = service(folder, store);
        let supervisor = std::mem::replace(&mut service.supervisor, SupervisorSpec::new("nothing"));
        let root = Root::start(SupervisorSpec::root("bench").supervisor(supervisor));
        service.intake.ready().await;
        service.dispatcher.ready().await;
        service.operator_api.ready().await;
        Self {
            service,
            config: Arc::new(config),
            root,
        }
    }

    pub(crate) async fn stop(self) {
        self.root.handle().stop();
        self.root.verdict().await;
    }
}

/// Queues the runs of one comment; what they are called.
pub(crate) async fn admit(service: &OrchestratorService, id: u64) -> Vec<RunId> {
    let body = serde_json::to_vec(&comment(id, MENTIONS)).expect("JSON");
    let event = ForgeEvent::parse(&WebhookHeaders::collect([]), &body, ObjectFormats::Sha1);
    let event = event.expect("an event");
    let admitted = service
        .intake
        .ask(AdmitFound {
            event: Box::new(event),
            asked_at: u64::MAX,
        })
        .await;
    let reply = admitted.expect("the intake").expect("the store");
    assert_eq!(reply.dispatches.len(), MENTIONS, "{reply:?}");
    let runs = reply.dispatches.iter();
    runs.map(|one| one.run.parse().expect("an id")).collect()
}

/// The clock: milliseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

fn service(folder: &Path, store: Store) -> (OrchestratorService, Config) {
    let repository = folder.join("repo");
    let made = std::process::Command::new("git")
        .args(["init", "--quiet"])
        .arg(&repository)
        .status();
    assert!(made.expect("git is installed").success());
    let text = format!(
        "admin_socket = \"admin.sock\"\nmax_queued = 100000\n[webhook]\nsecret = \"a-secret-of-the-bench-0123456789\"\n\
         [mentions]\nmax_per_comment = 100\n\
         [[projects]]\nid = \"main\"\nrepository = \"acme/main\"\nworking_dir = \"{}\"\nmax_concurrent_agents = 1000\n{}\n",
        repository.display(),
        agents()
    );
    let path = folder.join("orchestrator.toml");
    std::fs::write(&path, text).expect("a file");
    let environment = Environment::from_os(std::env::vars_os());
    let files = load(&path, &environment).expect("it can be read");
    let host = SystemHost::new(&environment);
    let checked = check(&files, &environment, &host, UnknownKeys::Refuse);
    let checked = checked.unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let config = checked.config.clone();
    let service = OrchestratorService::new(OrchestratorSetup {
        store,
        config: checked.config,
        config_path: path,
        environment,
        clock: Arc::new(now),
        git: Git::new("git", "/usr/local/bin:/usr/bin:/bin"),
        confinement: Confinement::detect("orchestrator-bench"),
        warnings: Vec::new(),
    });
    (service.expect("a store"), config)
}
