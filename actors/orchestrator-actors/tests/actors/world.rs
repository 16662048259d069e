//! An orchestrator, the forge it speaks to, and what comes in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use config_core::{Environment, UnknownKeys};
use forge_actors::deliveries::{Deliveries, DeliveryRetention};
use forge_core::{Delivery, ForgeEvent, ObjectFormats, WebhookHeaders};
use git_engine::Git;
use orchestrator_actors::ledger::LedgerTxn;
use orchestrator_actors::load::{SystemHost, load};
use orchestrator_actors::messages::{Admit, GetJournal, GetRuns, PollProject, Tick};
use orchestrator_actors::{OrchestratorService, OrchestratorSetup, RunQuery};
use orchestrator_core::admin::{JournalEntry, RunView, WebhookReply};
use orchestrator_core::config::{Config, check};
use orchestrator_engine::process::Confinement;
use scripted_peers::ScriptedForge;
use serde_json::{Value, json};
use store::{Store, StoreOptions};
use supervision::{Root, SupervisorSpec};

pub(crate) const REPO: &str = "acme/main";
pub(crate) const SECRET: &str = "a-secret-of-the-tests-0123456789";
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// An orchestrator that is stopped with its store kept, and the forge it speaks to.
pub(crate) struct World {
    pub(crate) service: OrchestratorService,
    root: Root,
}

pub(crate) struct Site {
    pub(crate) forge: ScriptedForge,
    pub(crate) store: Store,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) now: Arc<AtomicU64>,
    top: &'static str,
    agents: String,
}

pub(crate) fn system_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

impl Site {
    pub(crate) fn new(top: &'static str) -> Self {
        Self::with_agents(top, "")
    }

    /// A site with more agents (TOML).
    pub(crate) fn with_agents(top: &'static str, agents: &str) -> Self {
        let forge = ScriptedForge::start();
        forge.add_user("orch-bot", "t-bot");
        forge.add_repo(REPO);
        forge.add_issue(REPO, 1, "the door is stuck");
        forge.set_permission(REPO, "ada", "write");
        let folder = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("git")
            .args(["init", "--quiet"])
            .arg(folder.path().join("repo"))
            .status();
        assert!(made.unwrap().success());
        Self {
            forge,
            store: Store::in_memory(&StoreOptions::new("forge")).unwrap(),
            folder,
            now: Arc::new(AtomicU64::new(system_now())),
            top,
            agents: agents.to_owned(),
        }
    }

    pub(crate) fn config(&self) -> Config {
        let text = format!(
            "tick_interval_secs = 86400\nadmin_socket = \"admin.sock\"\n{}\n[webhook]\nsecret = \"{SECRET}\"\n\
             [forge]\nkind = \"gitea\"\nurl = \"{}\"\ntoken = \"t-bot\"\n\
             [[projects]]\nid = \"main\"\nrepository = \"{REPO}\"\nworking_dir = \"{}/repo\"\n\
             [[agents]]\nproject = \"main\"\nname = \"dev\"\ncli = \"sh\"\nscript = \"echo done\"\nworktree = \"none\"\n\
             [[agents]]\nproject = \"main\"\nname = \"ops\"\ncli = \"sh\"\nscript = \"echo done\"\n{}",
            self.top,
            self.forge.url(),
            self.folder.path().display(),
            self.agents
        );
        let path = self.folder.path().join("orchestrator.toml");
        std::fs::write(&path, text).unwrap();
        let environment = Environment::from_os(std::env::vars_os());
        let files = load(&path, &environment).unwrap();
        let host = SystemHost::new(&environment);
        let checked = check(&files, &environment, &host, UnknownKeys::Refuse);
        checked.unwrap_or_else(|wrong| panic!("{wrong}")).config
    }

    pub(crate) fn start(&self) -> World {
        let now = Arc::clone(&self.now);
        let service = OrchestratorService::new(OrchestratorSetup {
            store: self.store.clone(),
            config: self.config(),
            config_path: self.folder.path().join("orchestrator.toml"),
            environment: Environment::from_os(std::env::vars_os()),
            clock: Arc::new(move || now.load(Ordering::SeqCst)),
            git: Git::new("git", "/usr/local/bin:/usr/bin:/bin"),
            confinement: Confinement::detect("orchestrator-forge-test"),
            warnings: Vec::new(),
        });
        let mut service = service.unwrap();
        let below = SupervisorSpec::new("nothing");
        let supervisor = std::mem::replace(&mut service.supervisor, below);
        let root = Root::start(SupervisorSpec::root("test").supervisor(supervisor));
        World { service, root }
    }

    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut LedgerTxn<'_, '_>) -> T + Send + 'static,
    ) -> T {
        let (config, now) = (self.config(), self.now.load(Ordering::SeqCst));
        let done = self.store.write_blocking(move |rows| {
            Ok::<_, store::StoreError>(work(&mut LedgerTxn::new(rows, &config, now)))
        });
        done.unwrap()
    }

    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    pub(crate) fn deliveries(&self) -> Deliveries {
        Deliveries::open(&self.store, DeliveryRetention::default()).unwrap()
    }

    pub(crate) fn later(&self, seconds: u64) {
        self.now.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

impl World {
    pub(crate) async fn ready(&self) {
        self.service.dispatcher.ready().await;
        self.service.operator_api.ready().await;
        self.service.intake.ready().await;
    }

    pub(crate) async fn tick(&self) {
        self.service.dispatcher.ask(Tick).await.unwrap();
    }

    pub(crate) async fn poll(&self) {
        self.service.poller.ready().await;
        let poll = PollProject("main".parse().unwrap());
        self.service.poller.ask_within(poll, LONG).await.unwrap();
    }

    pub(crate) async fn hook(&self, body: &Value) -> WebhookReply {
        let body = serde_json::to_vec(body).unwrap();
        let signature = forge_core::sign(SECRET, &body).unwrap().hub();
        let headers = WebhookHeaders::collect([("x-hub-signature-256", signature.as_bytes())]);
        let config = self.service.view.config();
        let verified = config.secrets.verify(&headers, &body).unwrap();
        let delivery: Delivery = verified.delivery(&headers, Default::default()).unwrap();
        self.service
            .intake
            .ask(Admit(Box::new(delivery)))
            .await
            .unwrap()
            .unwrap()
    }

    pub(crate) async fn runs(&self) -> Vec<RunView> {
        let query = RunQuery {
            limit: 500,
            ..RunQuery::default()
        };
        let list = self.service.operator_api.ask(GetRuns(query)).await;
        list.unwrap().unwrap().runs
    }

    pub(crate) async fn until(&self, what: &str, holds: impl AsyncFn(&Self) -> bool) {
        let wait = async {
            while !holds(self).await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(LONG, wait).await;
        assert!(waited.is_ok(), "{what}: {:?}", self.runs().await);
    }

    pub(crate) async fn journal(&self) -> Vec<JournalEntry> {
        let asked = GetJournal {
            after: 0,
            limit: 1000,
        };
        let page = self.service.operator_api.ask(asked).await;
        page.unwrap().unwrap().entries
    }

    pub(crate) async fn stop(self) {
        self.root.handle().stop();
        self.root.verdict().await;
    }
}

pub(crate) fn test(body: impl AsyncFnOnce()) {
    actix_rt::System::new().block_on(async {
        tokio::time::timeout(LONG * 2, body())
            .await
            .expect("the test ends");
    });
}

pub(crate) const MENTIONS: &str = "wake_on_dispatch = true\n[mentions]\n";
pub(crate) const FAN_OUT: &str = "[mentions]\n[pr_dispatch]\nproject = \"main\"\nagents = [{ agent = \"dev\", context = \"orch/dev\" }]\n";

pub(crate) fn comment(id: u64, body: &str) -> Value {
    json!({
        "action": "created",
        "comment": {"id": id, "body": body, "user": {"login": "ada"}},
        "issue": {"number": 1, "state": "open"},
        "repository": {"full_name": REPO},
    })
}

/// A mention from the command line: whoever holds the secret may.
pub(crate) fn by_hand(id: u64, body: &str) -> Value {
    let mut value = comment(id, body);
    value["orchctl"] = json!(true);
    value
}

pub(crate) fn event(body: &Value) -> ForgeEvent {
    let bytes = serde_json::to_vec(body).unwrap();
    let none = WebhookHeaders::collect([]);
    ForgeEvent::parse(&none, &bytes, ObjectFormats::Sha1).unwrap()
}

pub(crate) fn sha(number: u8) -> String {
    format!("{number:040x}")
}

pub(crate) fn pull(action: &str, head: &str) -> Value {
    json!({
        "action": action, "number": 3,
        "pull_request": {
            "title": "t", "state": "open", "user": {"login": "ada"},
            "head": {"ref": "topic", "sha": head, "repo": {"full_name": REPO}}, "base": {"ref": "main"},
        },
        "repository": {"full_name": REPO},
    })
}

/// The first poll of a project only remembers where it begins.
pub(crate) async fn first_poll(site: &Site) -> World {
    let world = site.start();
    world.ready().await;
    world.poll().await;
    world
}
