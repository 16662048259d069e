//! A site: a repository, a scripted forge and VM manager, and the runner's actors, which can be
//! stopped and started again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use config_core::Secret;
use forge_core::{Forge, GitRef, RepoName};
use git_engine::Transports;
use http_clients::http::AddressPolicy;
use runner_actors::messages::StartEvent;
use runner_actors::{
    ArtifactLimits, CheckoutLimits, HandOver, JobRecord, MachineType, RunCoordinator, RunRecord,
    RunnerService, RunnerSettings, RunnerView, ScheduleTime, ScopeSettings, StoredEvent,
    VmHostSettings,
};
use runner_core::event::{EventKind, PullRequestCommit};
use runner_core::hosted_label::OtherSystems;
use runner_core::plan::WorkspaceStart;
use runner_core::workflow::PermissionLevel;
use scripted_peers::{Play, ScriptedForge, ScriptedVmm, git};
use store::{Store, StoreOptions};
use supervision::{ChildRef, Root, SupervisorSpec};
use tempfile::TempDir;

/// With a machine under load; nothing is measured by it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(90);
pub(crate) const REPOSITORY: &str = "acme/rocket";
const TOKEN: &str = "forge-token-0123456789";

/// What the actors work with.
pub(crate) struct Site {
    pub(crate) directory: TempDir,
    pub(crate) forge: ScriptedForge,
    pub(crate) vmm: ScriptedVmm,
}

/// The actors, started.
pub(crate) struct Runner {
    pub(crate) coordinator: ChildRef<RunCoordinator>,
    pub(crate) view: RunnerView,
    pub(crate) hand_over: ChildRef<HandOver>,
    root: Root,
    store: Store,
}

impl Site {
    /// With machines in which every command succeeds.
    pub(crate) fn new() -> Self {
        Self::playing(|_| Play::exit(0))
    }

    pub(crate) fn playing(
        plays: impl Fn(&scripted_peers::Command) -> Play + Send + Sync + 'static,
    ) -> Self {
        let (forge, vmm) = (ScriptedForge::start(), ScriptedVmm::start(plays));
        forge.add_user("runner", TOKEN);
        forge.add_repo(REPOSITORY);
        Self {
            directory: tempfile::tempdir().unwrap(),
            forge,
            vmm,
        }
    }

    pub(crate) fn settings(&self) -> RunnerSettings {
        RunnerSettings {
            data: self.data(),
            repositories: self.directory.path().join("mirrors"),
            images: runner_actors::ImageSettings {
                folder: self.directory.path().join("images"),
                registries: Vec::new(),
                addresses: AddressPolicy::PublicOnly,
            },
            actions: runner_actors::ActionSettings {
                folder: self.directory.path().join("actions"),
                server: url::Url::parse("https://code.example").unwrap(),
                owners: Vec::new(),
                originals: Vec::new(),
                reads_all: false,
            },
            git: ("git".into(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
            forge: Forge::Gitea,
            forge_url: Some(self.forge.url().parse().unwrap()),
            forge_token: Some(Secret::new(TOKEN.to_owned())),
            addresses: AddressPolicy::PublicOnly,
            // The repository is a directory of this machine.
            transports: Transports {
                http: true,
                file: true,
            },
            vm_hosts: vec![VmHostSettings::single(
                self.vmm.url().parse().unwrap(),
                Some(Secret::new("vmm-token-0123456789".to_owned())),
            )],
            machines: vec![("default".to_owned(), MachineType::default())],
            services: None,
            vm_timeout: TIMEOUT,
            max_jobs: 8,
            max_jobs_per_repository: 4,
            max_waiting: 100,
            model: None,
            public_url: None,
            token_permissions: Some(PermissionLevel::Read),
            token_at_forge: None,
            token_approves: false,
            cancel_previous: Some(false),
            vars: Vec::new(),
            secrets: Vec::new(),
            scopes: ScopeSettings::default(),
            checkout_repositories: Vec::new(),
            workspace: WorkspaceStart::Commit,
            other_systems: OtherSystems::Refuse,
            pull_request_commit: PullRequestCommit::Head,
            checkouts: CheckoutLimits::default(),
            artifacts: ArtifactLimits::default(),
            log_step_max: 8 << 20,
            cache_max: 1 << 30,
            cache_bytes: 1 << 20,
            catch_up_every: Duration::from_secs(3600),
            watched: Vec::new(),
            gc_interval: Some(Duration::from_millis(200)),
            schedules: ScheduleTime::default(),
            keep: runner_actors::KeepSettings::default(),
            objects: None,
            rerun_lost: 0,
            keep_runs: 100,
        }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("runs")
    }

    pub(crate) async fn start(&self) -> Runner {
        self.start_with(|_| {}).await
    }

    pub(crate) async fn start_with(&self, change: impl FnOnce(&mut RunnerSettings)) -> Runner {
        let mut settings = self.settings();
        change(&mut settings);
        let begun = Instant::now();
        // The lock of the previous incarnation is held until a git that was just started closes
        // what it inherited.
        let store = loop {
            match Store::open(&self.data(), &StoreOptions::new("workflow-runner")) {
                Ok(store) => break store,
                Err(error) => assert!(begun.elapsed() < TIMEOUT, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let service = RunnerService::new(settings, store.clone()).unwrap();
        let RunnerService {
            supervisor,
            coordinator,
            view,
            hand_over,
            ..
        } = service;
        let root = Root::start(SupervisorSpec::root("orrery").supervisor(supervisor));
        coordinator.ready().await;
        Runner {
            coordinator,
            view,
            hand_over,
            root,
            store,
        }
    }

    /// Where the repository's working tree is.
    fn tree(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        std::fs::create_dir_all(self.tree()).unwrap();
        git(&self.tree(), arguments)
    }

    /// Puts a workflow of that name beside the one of the next commit.
    pub(crate) fn write_workflow(&self, name: &str, workflow: &str) {
        let path = self.tree().join(".github/workflows").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, workflow).unwrap();
    }

    /// A commit with this workflow on the branch `main`; gives its id.
    pub(crate) fn commit(&self, workflow: &str) -> String {
        if !self.tree().join(".git").exists() {
            self.git(&["init", "--quiet", "--initial-branch=main", "."]);
        }
        self.write_workflow("ci.yml", workflow);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "a commit"]);
        let sha = self.git(&["rev-parse", "HEAD"]);
        self.forge.add_commit(REPOSITORY, &sha);
        sha
    }

    /// The push of a commit to a branch.
    pub(crate) fn push(&self, repository: &str, branch: &str, sha: &str) -> StoredEvent {
        let repository: RepoName = repository.parse().unwrap();
        let reference: GitRef = format!("refs/heads/{branch}").parse().unwrap();
        let clone_url = format!("file://{}", self.tree().display());
        let mut event = StoredEvent::local(
            EventKind::Push,
            &repository,
            &reference,
            sha,
            &clone_url,
            None,
        );
        event.default_branch = Some("main".to_owned());
        event
    }
}

impl Runner {
    /// Starts the run of an event; gives its id.
    pub(crate) async fn start_event(&self, event: StoredEvent) -> String {
        let message = StartEvent {
            event,
            workflow: None,
            job: None,
            cause: "test".to_owned(),
        };
        self.coordinator.ask(message).await.unwrap().unwrap()
    }

    /// Commits a workflow, and starts the run of its push.
    pub(crate) async fn run(&self, site: &Site, workflow: &str) -> String {
        let sha = site.commit(workflow);
        self.start_event(site.push(REPOSITORY, "main", &sha)).await
    }

    pub(crate) async fn record(&self, run: &str) -> Option<RunRecord> {
        self.view.run(run).await.unwrap()
    }

    /// The record of a run once it has ended.
    pub(crate) async fn ended(&self, run: &str) -> RunRecord {
        self.reached(run, |record| record.state.is_terminal()).await
    }

    /// The record of a run once something holds of it.
    pub(crate) async fn reached(&self, run: &str, holds: impl Fn(&RunRecord) -> bool) -> RunRecord {
        let begun = Instant::now();
        loop {
            let record = self.record(run).await;
            if let Some(record) = record.clone().filter(|record| holds(record)) {
                return record;
            }
            assert!(begun.elapsed() < TIMEOUT, "{record:#?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) async fn log(&self, run: &str) -> String {
        self.view.logs().flush().await;
        std::fs::read_to_string(self.view.logs().path(run)).unwrap_or_default()
    }

    /// Ends the actors as a restart of the runner does.
    pub(crate) async fn stop(self) {
        self.root.handle().stop();
        self.root.verdict().await;
        self.store.close();
    }
}

/// Waits until something holds.
pub(crate) async fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < TIMEOUT, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits for a commit status; gives its description.
pub(crate) async fn status(site: &Site, sha: &str, context: &str, state: &str) -> String {
    let begun = Instant::now();
    loop {
        let found = site.forge.status(REPOSITORY, sha, context);
        if let Some(status) = found.filter(|status| status.state == state) {
            return status.description;
        }
        let all = site.forge.statuses(REPOSITORY, sha);
        assert!(
            begun.elapsed() < TIMEOUT,
            "{context} is not {state}: {all:?}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A job of a run by its name.
pub(crate) fn job<'r>(record: &'r RunRecord, name: &str) -> &'r JobRecord {
    let job = record.jobs.iter().find(|job| job.name == name);
    job.unwrap_or_else(|| panic!("there is no job {name}: {record:#?}"))
}

/// How many entries a directory has.
pub(crate) fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).map_or(0, Iterator::count)
}
