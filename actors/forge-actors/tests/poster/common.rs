//! A store, a forge and a outbox_worker between them, with a clock that runs fast.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use actix_rt::System;
use config_core::Secret;
use forge_actors::messages::{VerifyStatuses, Wake};
use forge_actors::outbox::{
    self, EntryState, NewComment, OutboxEntry, StatusAdmission, StatusTarget, UpdateOutcome,
};
use forge_actors::{Accounts, OutboxOptions, OutboxWorker};
use forge_core::{CommitSha, CommitState, CommitStatus, Forge, Marker, RepoName, RunId};
use http_clients::forge::ForgeClient;
use http_clients::http::{HttpClient, HttpOptions};
use scripted_peers::ScriptedForge;
use store::{Store, StoreError, StoreOptions};
use supervision::{ChildRef, ChildSpec, Root, RootHandle, SupervisorSpec};
use tokio::time::timeout;

pub(crate) const SHA: &str = "0123456789abcdef0123456789abcdef01234567";
pub(crate) const REPO: &str = "acme/site";

/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(20);
/// So many times as fast the outbox_worker's clock runs: delays of seconds pass in milliseconds.
const SPEED: u32 = 100;

pub(crate) fn repo() -> RepoName {
    REPO.parse().unwrap()
}

pub(crate) fn sha() -> CommitSha {
    SHA.parse().unwrap()
}

pub(crate) fn run(id: &str) -> RunId {
    id.parse().unwrap()
}

pub(crate) fn status(context: &str, state: CommitState) -> CommitStatus {
    CommitStatus {
        context: context.parse().unwrap(),
        state,
        description: state.to_string(),
        target_url: None,
    }
}

/// One forge, two accounts.
struct Tokens(url::Url);

impl Accounts for Tokens {
    fn client(&self, http: &HttpClient, account: &str) -> Option<ForgeClient> {
        let token = ["bot", "build"]
            .contains(&account)
            .then(|| format!("t-{account}"))?;
        let token = Some(Secret::new(token));
        Some(ForgeClient::new(
            http.clone(),
            Forge::Gitea,
            self.0.clone(),
            token,
        ))
    }
}

pub(crate) struct World {
    pub(crate) forge: ScriptedForge,
    pub(crate) store: Store,
    pub(crate) outbox_worker: ChildRef<OutboxWorker>,
    now: Arc<dyn Fn() -> u64 + Send + Sync>,
    _root: RootHandle,
}

/// Runs a test in a system of its own.
pub(crate) fn test(body: impl AsyncFnOnce()) {
    System::new().block_on(async { timeout(LONG * 3, body()).await.expect("the test ends") });
}

pub(crate) fn open(folder: &Path) -> Store {
    Store::open(folder, &StoreOptions::new("outbox_worker-test")).unwrap()
}

/// A forge with a repository, a commit and an issue.
pub(crate) fn forge() -> ScriptedForge {
    let forge = ScriptedForge::start();
    forge.add_user("bot", "t-bot");
    forge.add_user("build", "t-build");
    forge.add_repo(REPO);
    forge.add_commit(REPO, SHA);
    forge.add_issue(REPO, 1, "the door is stuck");
    forge
}

/// A clock that runs fast, from today.
pub(crate) fn clock() -> Arc<dyn Fn() -> u64 + Send + Sync> {
    let origin = Instant::now();
    let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let start = u64::try_from(start.as_millis()).unwrap();
    Arc::new(move || {
        start + u64::try_from(origin.elapsed().as_millis()).unwrap() * u64::from(SPEED)
    })
}

impl World {
    pub(crate) fn new() -> Self {
        let store = Store::in_memory(&StoreOptions::new("outbox_worker-test")).unwrap();
        Self::with(forge(), store, clock())
    }

    pub(crate) fn with(
        forge: ScriptedForge,
        store: Store,
        now: Arc<dyn Fn() -> u64 + Send + Sync>,
    ) -> Self {
        let mut options = OutboxOptions::new(Arc::new(Tokens(forge.url().parse().unwrap())));
        options.now = now.clone();
        options.speed = SPEED;
        options.http = HttpOptions {
            deadline: Duration::from_millis(400),
            ..HttpOptions::default()
        };
        let of = store.clone();
        let spec = ChildSpec::new("outbox_worker", move |_| {
            OutboxWorker::new(of.clone(), options.clone())
        });
        let outbox_worker = spec.reference();
        let root = Root::start(SupervisorSpec::root("root").child(spec));
        let handle = root.handle();
        actix_rt::spawn(root.verdict());
        Self {
            forge,
            store,
            outbox_worker,
            now,
            _root: handle,
        }
    }

    pub(crate) fn now(&self) -> u64 {
        (self.now)()
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut store::WriteTxn<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        let written = self.store.write(work).await.unwrap();
        self.outbox_worker.ready().await;
        self.outbox_worker.tell(Wake).unwrap();
        written
    }

    pub(crate) async fn begin(&self, owner: &str, status: CommitStatus) -> StatusAdmission {
        let target = StatusTarget {
            account: "bot".into(),
            repo: repo(),
            sha: sha(),
        };
        let (owner, now) = (run(owner), self.now());
        self.write(move |rows| outbox::start_status(rows, &target, &owner, &status, now))
            .await
    }

    pub(crate) async fn update(&self, owner: &str, status: CommitStatus) -> UpdateOutcome {
        let (owner, now) = (run(owner), self.now());
        self.write(move |rows| outbox::update_status(rows, &repo(), &sha(), &owner, &status, now))
            .await
    }

    pub(crate) async fn comment(&self, key: &str, text: &str) {
        let marker = Marker {
            run: run(key),
            depth: 1,
        };
        let comment = NewComment {
            key: key.into(),
            account: "build".into(),
            repo: repo(),
            issue: 1.try_into().unwrap(),
            body: marker.attach(text),
        };
        let now = self.now();
        let wanted = self
            .write(move |rows| outbox::comment(rows, &comment, now))
            .await;
        assert_eq!(wanted, outbox::CommentAdmission::Enqueued);
    }

    pub(crate) async fn verify(&self) -> usize {
        self.outbox_worker.ready().await;
        let verify = VerifyStatuses {
            repo: repo(),
            sha: sha(),
        };
        self.outbox_worker
            .ask_within(verify, LONG)
            .await
            .unwrap()
            .unwrap()
    }

    /// Waits until the forge has this state as the latest of a context.
    pub(crate) async fn latest(&self, context: &str, state: &str) {
        let has = |forge: &ScriptedForge| {
            let latest = forge.status(REPO, SHA, context);
            latest.is_some_and(|latest| latest.state == state)
        };
        let waited = timeout(LONG, self.forge.wait_until(has)).await;
        waited.unwrap_or_else(|_| panic!("{context} {state}: {:?}", self.entries()));
    }

    /// The states the forge got for a context, in order.
    pub(crate) fn states(&self, context: &str) -> Vec<String> {
        let all = self.forge.statuses(REPO, SHA).into_iter();
        all.filter(|status| status.context == context)
            .map(|status| status.state)
            .collect()
    }

    pub(crate) fn entries(&self) -> Vec<OutboxEntry> {
        self.store
            .read_blocking(|rows| outbox::list(rows, 100))
            .unwrap()
    }

    /// Waits until the outbox holds an entry that fits.
    pub(crate) async fn entry(&self, fits: impl Fn(&OutboxEntry) -> bool) -> OutboxEntry {
        let look = async {
            loop {
                let found = self.entries().into_iter().find(|entry| fits(entry));
                if let Some(found) = found {
                    return found;
                }
                actix_rt::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let found = timeout(LONG, look).await;
        found.unwrap_or_else(|_| panic!("{:?}", self.entries()))
    }

    /// Waits until everything is posted.
    pub(crate) async fn quiet(&self) {
        let look = async {
            while self
                .entries()
                .iter()
                .any(|entry| entry.state == EntryState::Waiting)
            {
                actix_rt::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(LONG, look)
            .await
            .unwrap_or_else(|_| panic!("{:?}", self.entries()));
    }
}
