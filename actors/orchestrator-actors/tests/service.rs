//! All actors of an orchestrator under a clock that the test sets.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use config_core::{Environment, UnknownKeys};
use git_engine::Git;
use orchestrator_actors::load::{SystemHost, load};
use orchestrator_actors::messages::{GetAgents, GetRuns, GetStatus, Tick};
use orchestrator_actors::{OrchestratorService, OrchestratorSetup, RunQuery};
use orchestrator_core::admin::RunView;
use orchestrator_core::config::check;
use orchestrator_engine::process::Confinement;
use store::{Store, StoreOptions};
use supervision::{Root, SupervisorSpec};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

/// Milliseconds of a time as people write it.
fn at(text: &str) -> u64 {
    let time: jiff::Timestamp = text.parse().expect("a time");
    u64::try_from(time.as_millisecond()).expect("after 1970")
}

/// An orchestrator, and its clock.
struct World {
    service: OrchestratorService,
    root: Root,
    now: Arc<AtomicU64>,
    _folder: tempfile::TempDir,
}

impl World {
    fn start(agents: &str, now: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (clock, mut service) = service(folder.path(), agents, now);
        let below = SupervisorSpec::new("nothing");
        let supervisor = std::mem::replace(&mut service.supervisor, below);
        let root = Root::start(SupervisorSpec::root("test").supervisor(supervisor));
        Self {
            service,
            root,
            now: clock,
            _folder: folder,
        }
    }

    async fn ready(&self) {
        self.service.dispatcher.ready().await;
        self.service.operator_api.ready().await;
    }

    /// One whole tick at `now`, and everything that follows from it.
    async fn tick_at(&self, now: u64) {
        self.now.store(now, Ordering::SeqCst);
        self.service.dispatcher.ask(Tick).await.expect("a tick");
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let status = self.service.operator_api.ask(GetStatus).await;
            let queue = status.expect("the operator API").expect("the store").queue;
            if queue.queued + queue.starting + queue.running == 0 {
                return;
            }
            assert!(Instant::now() < until, "runs do not end: {queue:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn runs(&self) -> Vec<RunView> {
        let query = RunQuery {
            limit: 500,
            ..RunQuery::default()
        };
        let list = self.service.operator_api.ask(GetRuns(query)).await;
        list.expect("the operator API").expect("the store").runs
    }

    async fn stop(self) {
        self.root.handle().stop();
        self.root.verdict().await;
    }
}

fn service(folder: &Path, agents: &str, now: u64) -> (Arc<AtomicU64>, OrchestratorService) {
    let repository = folder.join("repo");
    let made = std::process::Command::new("git")
        .args(["init", "--quiet"])
        .arg(&repository)
        .status();
    assert!(made.expect("git is installed").success());
    let text = format!(
        "wake_on_dispatch = true\nadmin_socket = \"admin.sock\"\n[webhook]\nsecret = \"a-secret-of-the-tests-0123456789\"\n[mentions]\n\
         [[projects]]\nid = \"main\"\nrepository = \"acme/main\"\nworking_dir = \"{}\"\n{agents}\n",
        repository.display()
    );
    let path = folder.join("orchestrator.toml");
    std::fs::write(&path, text).expect("a file");
    let environment = Environment::from_os(std::env::vars_os());
    let files = load(&path, &environment).expect("it can be read");
    let host = SystemHost::new(&environment);
    let checked = check(&files, &environment, &host, UnknownKeys::Refuse);
    let checked = checked.unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let clock = Arc::new(AtomicU64::new(now));
    let reading = Arc::clone(&clock);
    let service = OrchestratorService::new(OrchestratorSetup {
        store: Store::in_memory(&StoreOptions::new("service")).expect("a store"),
        config: checked.config,
        config_path: path,
        environment,
        clock: Arc::new(move || reading.load(Ordering::SeqCst)),
        git: Git::new("git", "/usr/local/bin:/usr/bin:/bin"),
        confinement: Confinement::detect("orchestrator-service-test"),
        warnings: Vec::new(),
    });
    (clock, service.expect("a store"))
}

const NIGHTLY: &str = "[[agents]]\nproject = \"main\"\nname = \"nightly\"\ncli = \"sh\"\nscript = \"echo done\"\n\
    schedule = \"30 2 * * *\"\ntime_zone = \"Europe/Berlin\"\n";

/// F09: half past two in the morning comes once a day, also on the days that have it twice or not
/// at all; and whatever the clock does, nothing is scheduled twice and what was missed is caught up
/// with once.
#[test]
fn f09_schedules_with_a_time_zone_survive_daylight_saving_jumps_and_suspends() {
    actix_rt::System::new().block_on(async {
        let mut now = at("2026-03-28T12:00:00Z");
        let world = World::start(NIGHTLY, now);
        world.ready().await;
        // Spring: 02:30 of the 29th does not exist, and is due right after the change.
        let mut expected = 0;
        for wanted in [1, 1, 1] {
            for _ in 0..24 {
                now += HOUR;
                world.tick_at(now).await;
            }
            expected += wanted;
            assert_eq!(world.runs().await.len(), expected, "by {now}");
        }
        // A suspend of five days: one run makes up for all of them.
        now += 5 * DAY;
        world.tick_at(now).await;
        expected += 1;
        assert_eq!(world.runs().await.len(), expected, "after a suspend");
        // An hour back, over a due time that was seen to: nothing again.
        let due = at("2026-04-06T00:30:00Z");
        now = due + HOUR / 2;
        world.tick_at(now).await;
        expected = world.runs().await.len();
        for back in [HOUR, HOUR / 2, 10] {
            world.tick_at(now - back).await;
        }
        world.tick_at(now + 1).await;
        assert_eq!(world.runs().await.len(), expected, "after an hour back");
        // Autumn: 02:30 of the 25th comes twice, and is due once.
        now = at("2026-10-24T12:00:00Z");
        world.tick_at(now).await;
        let before = world.runs().await.len();
        assert!(before <= expected + 1, "half a year is caught up with once");
        for _ in 0..24 {
            now += HOUR;
            world.tick_at(now).await;
        }
        assert_eq!(
            world.runs().await.len(),
            before + 1,
            "the night of two half past twos"
        );
        // A year ahead and back again: at most one run for the jump, and the nights go on.
        world.tick_at(now + 365 * DAY).await;
        world.tick_at(now + 1).await;
        assert!(world.runs().await.len() <= before + 2);
        let after = world.runs().await.len();
        for _ in 0..48 {
            now += HOUR;
            world.tick_at(now).await;
        }
        assert_eq!(world.runs().await.len(), after + 2, "two more nights");
        let agents = world
            .service
            .operator_api
            .ask(GetAgents { project: None })
            .await;
        let agents = agents.expect("the operator API").expect("the store").agents;
        let next = agents[0].next_due.clone().expect("it is scheduled");
        assert!(next.ends_with("T01:30:00.000Z"), "winter time: {next}");
        for run in world.runs().await {
            assert_eq!(
                (run.trigger.as_str(), run.state.as_str()),
                ("schedule", "exited")
            );
        }
        world.stop().await;
    });
}
