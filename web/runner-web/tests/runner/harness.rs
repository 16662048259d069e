//! A site: a repository, a scripted forge and VM manager, and the runner, which can be stopped and
//! started again.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cluster_actors::replica::{RoleAction, RoleControl, RoleEvent};
use config_core::{Environment, Secret};
use edge_web::{BodyLimits, ServeOptions};
use forge_core::{SecretBook, WebhookSecrets};
use runner_actors::{RunnerService, RunnerSettings};
use runner_core::protection::ForkApproval;
use runner_web::config::{RunnerConfig, RunnerFlags, services_at};
use runner_web::{RunnerServer, RunnerServerOptions};
use scripted_peers::{GitRepository, Play, ScriptedForge, ScriptedVmm};
use serde_json::{Value, json};
use store::{SharedStore, Store, StoreOptions};
use tempfile::TempDir;
use tokio::sync::oneshot;

pub(crate) const SECRET: &str = "the webhook's secret";
/// With a machine under load; nothing is measured by it.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(90);
pub(crate) const TOKEN: &str = "forge-token-0123456789";

/// Peers on a thread of their own, where they are served while the test waits; it ends with the
/// process.
pub(crate) fn served<T: Send + 'static>(make: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move {
            sender.send(make()).ok();
            std::future::pending::<()>().await;
        });
    });
    receiver.recv().unwrap()
}

/// What a runner works with.
pub(crate) struct Site {
    pub(crate) folder: TempDir,
    pub(crate) forge: ScriptedForge,
    pub(crate) vmm: ScriptedVmm,
}

/// How a test's runner differs from the usual one.
pub(crate) struct Setup {
    pub(crate) change: fn(&mut RunnerSettings),
    pub(crate) secrets: SecretBook,
    pub(crate) token: Option<&'static str>,
    /// Where its data is; `None`: in the site's folder.
    pub(crate) data: Option<PathBuf>,
    pub(crate) model: Option<runner_actors::ModelServer>,
    /// Where the services of jobs are served.
    pub(crate) services: Option<TcpListener>,
    /// The store that others stand beside, and what this process is to them.
    pub(crate) shared: Option<(SharedStore, RoleControl)>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            change: |_| {},
            secrets: SecretBook::shared(WebhookSecrets::new(SECRET).unwrap()),
            token: None,
            data: None,
            model: None,
            services: None,
            shared: None,
        }
    }
}

/// A runner that serves.
pub(crate) struct Runner {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Site {
    /// With machines in which every command succeeds.
    pub(crate) fn new() -> Self {
        Self::playing(|_| Play::exit(0))
    }

    pub(crate) fn playing(
        plays: impl Fn(&scripted_peers::Command) -> Play + Send + Sync + 'static,
    ) -> Self {
        let (forge, vmm) = served(|| (ScriptedForge::start(), ScriptedVmm::start(plays)));
        forge.add_user("runner", TOKEN);
        forge.add_repo("acme/rocket");
        Self {
            folder: tempfile::tempdir().unwrap(),
            forge,
            vmm,
        }
    }

    pub(crate) fn start(&self) -> Runner {
        self.start_with(Setup::default())
    }

    pub(crate) fn start_with(&self, setup: Setup) -> Runner {
        let (forge, vmm) = (self.forge.url(), self.vmm.url());
        let pairs = [
            ("FORGE_WEBHOOK_SECRET", SECRET),
            ("FORGE_TOKEN", TOKEN),
            ("FORGE_URL", forge.as_str()),
            ("VMM_API_URL", vmm.as_str()),
            ("VMM_AUTH_TOKEN", "vmm-token-0123456789"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ];
        let pairs = pairs.map(|(name, value)| (name.into(), value.into()));
        let config =
            RunnerConfig::parse(None, &RunnerFlags::default(), &Environment::from_os(pairs));
        let mut settings = config.unwrap().runner;
        settings.data = setup
            .data
            .unwrap_or_else(|| self.folder.path().join("runs"));
        settings.repositories = self.folder.path().join("mirrors");
        // The repository is a folder of this machine.
        settings.transports.file = true;
        let secret = |name: &str, text: &str| (name.to_owned(), Secret::new(text.to_owned()));
        settings.secrets = vec![
            secret("KEY", "hunter2-hunter2"),
            secret("OTHER", "p@ss/word+1"),
        ];
        // What is tried of forks is what they may do, but for the tests of approvals.
        settings.scopes.fork_approval = ForkApproval::Never;
        settings.gc_interval = Some(Duration::from_millis(200));
        settings.model = setup.model;
        let services = setup.services.as_ref();
        settings.services = services.map(|one| services_at(one.local_addr().unwrap()));
        (setup.change)(&mut settings);
        let options = RunnerServerOptions {
            secrets: setup.secrets,
            body: BodyLimits {
                max_bytes: 1 << 20,
                deadline: Duration::from_secs(2),
            },
            hosts: Vec::new(),
            token: setup.token.map(|token| Secret::new(token.to_owned())),
            serve: ServeOptions {
                workers: 2,
                ..ServeOptions::default()
            },
        };
        Runner::start(settings, options, (setup.services, setup.shared))
    }

    /// Where the repository's working tree is.
    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn repository(&self) -> GitRepository {
        GitRepository {
            folder: self.tree(),
        }
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        std::fs::create_dir_all(self.tree()).unwrap();
        self.repository().git(arguments)
    }

    /// Makes the working tree a repository, if it is none.
    pub(crate) fn git_init(&self) {
        if !self.tree().join(".git").exists() {
            drop(GitRepository::new(self.tree()));
        }
    }

    /// Writes a file of the working tree.
    pub(crate) fn write(&self, path: &str, text: &str) {
        self.repository().write(path, text);
    }

    /// A commit with this workflow on the branch; gives its id.
    pub(crate) fn commit(&self, workflow: &str) -> String {
        self.git_init();
        self.write(".github/workflows/ci.yml", workflow);
        self.commit_all()
    }

    pub(crate) fn commit_all(&self) -> String {
        let sha = self.repository().commit("a commit");
        self.forge.add_commit("acme/rocket", &sha);
        sha
    }

    pub(crate) fn clone_url(&self) -> String {
        format!("file://{}", self.tree().display())
    }

    pub(crate) fn push(&self, sha: &str) -> Value {
        push(&self.clone_url(), sha)
    }

    /// A pull request from a fork.
    pub(crate) fn fork(&self, head: &str, base: &str) -> Value {
        let repository = |name: &str, owner: &str| {
            json!({"full_name": format!("{owner}/{name}"), "clone_url": self.clone_url(),
            "html_url": format!("http://forge.example/{owner}/{name}"), "default_branch": "main", "fork": owner != "acme"})
        };
        json!({"action": "opened", "number": 7, "sender": {"login": "stranger"}, "repository": repository("rocket", "acme"),
            "pull_request": {"number": 7, "title": "$(touch pwned)`id`", "body": "", "state": "open", "user": {"login": "stranger"}, "merged": false,
                "head": {"ref": "x;curl-evil", "sha": head, "repo": repository("rocket", "stranger")},
                "base": {"ref": "main", "sha": base, "repo": repository("rocket", "acme")}}})
    }
}

pub(crate) fn push(clone_url: &str, sha: &str) -> Value {
    json!({"ref": "refs/heads/main", "before": "0".repeat(40), "after": sha, "created": true, "deleted": false, "commits": [],
        "head_commit": {"id": sha, "message": "a commit", "added": [], "modified": [], "removed": []}, "pusher": {"login": "ada"}, "sender": {"login": "ada"},
        "repository": {"full_name": "acme/rocket", "clone_url": clone_url, "html_url": "http://forge.example/acme/rocket", "default_branch": "main"}})
}

pub(crate) fn sign(body: &[u8]) -> String {
    forge_core::sign(SECRET, body).unwrap().hub()
}

impl Runner {
    fn start(
        settings: RunnerSettings,
        options: RunnerServerOptions,
        (services, shared): (Option<TcpListener>, Option<(SharedStore, RoleControl)>),
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let (started, starts) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async move {
                let store = match &shared {
                    Some((shared, control)) => taken(shared, control).await,
                    None => opened(&settings.data).await,
                };
                let service = RunnerService::new(settings, store.clone()).unwrap();
                let server = match &shared {
                    Some((shared, control)) => {
                        RunnerServer::start_leading(service, options, (shared, control))
                    }
                    None => RunnerServer::prepare(service, options).start(),
                };
                let server = server.services_on(services);
                started.send(()).unwrap();
                let ended = async move {
                    let _ = stopped.await;
                };
                server.serve(listener, ended).await.unwrap();
                store.close();
            });
        });
        starts.recv().expect("the runner starts");
        let runner = Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        };
        assert!(within(|| runner.get("/readyz").code == 200));
        runner
    }

    /// Ends it, and waits for that.
    pub(crate) fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.expect("the runner ends well");
            }
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.end();
    }
}

/// The store in a folder. The lock of a previous incarnation is held until a git that was just
/// started closes what it inherited.
async fn opened(folder: &Path) -> Store {
    let mut store = Store::open(folder, &StoreOptions::new("workflow-runner"));
    let began = Instant::now();
    while store.is_err() && began.elapsed() < TEST_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(50)).await;
        store = Store::open(folder, &StoreOptions::new("workflow-runner"));
    }
    store.unwrap()
}

/// The store of several processes, as soon as no other holds it.
async fn taken(shared: &SharedStore, control: &RoleControl) -> Store {
    let began = Instant::now();
    while began.elapsed() < TEST_TIMEOUT {
        if let Some((store, epoch)) = shared.try_take(|_| true).unwrap() {
            assert_eq!(control.apply(RoleEvent::Took(epoch)), RoleAction::StartTree);
            control.apply(RoleEvent::TreeStarted);
            return store;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the store of several processes is not free");
}

/// Whether it becomes true in time.
pub(crate) fn within(mut check: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if check() {
            return true;
        }
        if begun.elapsed() > TEST_TIMEOUT {
            return false;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Waits for a commit status.
pub(crate) fn status(site: &Site, sha: &str, context: &str, state: &str) -> String {
    let mut last = None;
    let stands = within(|| {
        last = site.forge.status("acme/rocket", sha, context);
        last.as_ref().is_some_and(|status| status.state == state)
    });
    assert!(
        stands,
        "{context} is not {state}: {:?}",
        site.forge.statuses("acme/rocket", sha)
    );
    last.map(|status| status.description).unwrap_or_default()
}

/// Files below a folder, by name.
pub(crate) fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}
