//! Ticks over queues of several lengths, with the caps of the contract: 3 starts a tick, 8 at a
//! time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use config_core::{Environment, UnknownKeys};
use forge_core::{Event, ObjectFormats, WebhookHeaders};
use git_engine::Git;
use orchestrator_actors::load::{SystemHost, load};
use orchestrator_actors::messages::{AdmitFound, GetStatus, Tick};
use orchestrator_actors::{OrchestratorService, OrchestratorSetup};
use orchestrator_core::config::check;
use orchestrator_engine::process::Confinement;
use store::{Options, Store};
use supervision::{Root, SupervisorSpec};

use crate::{AGENTS, agents, at, comment, millis};

/// Ticks measured at each length.
const TICKS: usize = 200;
/// Mentions of one comment.
const MENTIONS: usize = 100;

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
    let mut service = service(folder);
    let store = service.store.clone();
    let supervisor = std::mem::replace(&mut service.supervisor, SupervisorSpec::new("nothing"));
    let root = Root::start(SupervisorSpec::root("bench").supervisor(supervisor));
    service.intake.ready().await;
    service.dispatcher.ready().await;
    service.operator_api.ready().await;
    for id in 0..queued / MENTIONS {
        let body = serde_json::to_vec(&comment(id as u64, MENTIONS)).expect("JSON");
        let event = Event::parse(&WebhookHeaders::collect([]), &body, ObjectFormats::Sha1);
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
    root.handle().stop();
    root.verdict().await;
    store.close();
    format!(
        "                                  {queued:>8} {:>8} {:>8} {:>9} {:>15}",
        millis(at(&ticks, 0.5)),
        millis(at(&ticks, 0.99)),
        millis(*ticks.last().unwrap_or(&Duration::ZERO)),
        millis(at(&looks, 0.5)),
    )
}

fn service(folder: &Path) -> OrchestratorService {
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
    let now = || {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    };
    OrchestratorService::new(OrchestratorSetup {
        store: Store::open(&folder.join("data"), &Options::new("orchestrator")).expect("a store"),
        config: checked.config,
        config_path: path,
        environment,
        clock: Arc::new(now),
        git: Git::new("git", "/usr/local/bin:/usr/bin:/bin"),
        confinement: Confinement::detect("orchestrator-bench"),
        warnings: Vec::new(),
    })
    .expect("a store")
}
