//! The orchestrator's part of an actor tree.
//!
//! ```text
//! orchestrator ─┬─ poster       posts statuses and comments (permanent)
//!               ├─ runs ─┬─ <run>  one keeper an agent process (temporary)
//!               │        └─ …
//!               ├─ sweeper      removes worktrees (permanent)
//!               ├─ dispatcher   the tick (permanent)
//!               ├─ intake       makes events durable (permanent)
//!               ├─ poller       asks the forge what was missed (permanent)
//!               └─ desk         answers operators (permanent)
//! ```
//! Stopped in reverse: nothing new comes in, then the runs end, and the poster goes last.

use std::sync::Arc;
use std::time::Duration;

use forge_actors::{ForgePoster, PostEvent, PosterOptions};
use orchestrator_core::config::Config;
use supervision::{ChildRef, ChildSpec, PastLimit, Placement, SupervisorSpec};

use crate::accounts::ConfiguredAccounts;
use crate::desk::Desk;
use crate::dispatcher::{Dispatcher, Workers};
use crate::intake::Intake;
use crate::journal::{Entry, Happened};
use crate::poller::Poller;
use crate::shared::Shared;
use crate::sweeper::Sweeper;

/// More keepers than any `max_running` allows at a time, those of ended runs included: reconciliation keeps to what is
/// configured, which a reload can change.
const MOST_KEEPERS: usize = 20_000;
/// Webhooks that may wait for the disk; one more is answered with 503.
const INTAKE_CAPACITY: usize = 512;
/// The longest a webhook waits for the disk.
const INTAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The orchestrator's part of a tree before it is started: its spec, and what peers hold.
pub struct OrchestratorService {
    /// The supervisor; add it to a root.
    pub supervisor: SupervisorSpec,
    /// What all actors share.
    pub shared: Shared,
    /// Takes events in.
    pub intake: ChildRef<Intake>,
    /// The tick.
    pub dispatcher: ChildRef<Dispatcher>,
    /// Answers operators.
    pub desk: ChildRef<Desk>,
    /// Posts to the forge.
    pub poster: ChildRef<ForgePoster>,
    /// Removes worktrees.
    pub sweeper: ChildRef<Sweeper>,
    /// Asks the forge.
    pub poller: ChildRef<Poller>,
}

impl OrchestratorService {
    /// Puts the orchestrator together.
    #[must_use]
    pub fn new(shared: Shared) -> Self {
        let config = shared.config();
        let poster = poster_spec(&shared);
        let poster_ref = poster.reference();
        let runs = SupervisorSpec::new("runs")
            .past_limit(PastLimit::Park)
            .max_dynamic(MOST_KEEPERS);
        let runs_ref = runs.reference();
        let sweeper = {
            let shared = shared.clone();
            ChildSpec::new("sweeper", move |_| Sweeper::new(shared.clone()))
        };
        let sweeper = sweeper.capacity(4).ask_timeout(Duration::from_secs(120));
        let sweeper_ref = sweeper.reference();
        // These three know each other, so each factory looks its peers up when it is called.
        let peers = Arc::new(parking_lot::Mutex::new(None::<Workers>));
        let dispatcher = {
            let (shared, peers) = (shared.clone(), Arc::clone(&peers));
            ChildSpec::fallible("dispatcher", move |_| {
                let workers = peers.lock().clone().ok_or("the tree is not complete")?;
                Ok::<_, &str>(Dispatcher::new(shared.clone(), workers))
            })
        };
        let dispatcher = dispatcher
            .capacity(1024)
            .ask_timeout(Duration::from_secs(60));
        let dispatcher_ref = dispatcher.reference();
        let intake = intake_spec(&shared, &dispatcher_ref, &poster_ref);
        let intake_ref = intake.reference();
        let poller = {
            let (shared, intake) = (shared.clone(), intake_ref.clone());
            let (dispatcher, poster) = (dispatcher_ref.clone(), poster_ref.clone());
            ChildSpec::new("poller", move |_| {
                Poller::new(
                    shared.clone(),
                    intake.clone(),
                    dispatcher.clone(),
                    poster.clone(),
                )
            })
        };
        let poller = poller.capacity(64).placement(Placement::Own);
        let poller_ref = poller.reference();
        *peers.lock() = Some(Workers {
            runs: runs_ref,
            dispatcher: dispatcher_ref.clone(),
            poster: poster_ref.clone(),
            poller: poller_ref.clone(),
            sweeper: sweeper_ref.clone(),
        });
        let desk = {
            let (shared, dispatcher) = (shared.clone(), dispatcher_ref.clone());
            let poster = poster_ref.clone();
            ChildSpec::new("desk", move |_| {
                Desk::new(shared.clone(), dispatcher.clone(), poster.clone())
            })
        };
        let desk = desk.capacity(64).ask_timeout(Duration::from_secs(30));
        let desk_ref = desk.reference();
        let runs = runs.into_child().shutdown(longest_stop(&config));
        let supervisor = SupervisorSpec::new("orchestrator")
            .child(poster)
            .child(runs)
            .child(sweeper)
            .child(dispatcher)
            .child(intake)
            .child(poller)
            .child(desk);
        Self {
            supervisor,
            shared,
            intake: intake_ref,
            dispatcher: dispatcher_ref,
            desk: desk_ref,
            poster: poster_ref,
            sweeper: sweeper_ref,
            poller: poller_ref,
        }
    }
}

/// What the longest grace of an agent needs, and its last writes.
fn longest_stop(config: &Config) -> Duration {
    let graces = config.agents.values().map(|agent| agent.limits.grace);
    graces.max().unwrap_or_default() + Duration::from_secs(10)
}

fn poster_spec(shared: &Shared) -> ChildSpec<ForgePoster> {
    let shared = shared.clone();
    ChildSpec::new("poster", move |_| {
        let accounts = Arc::new(ConfiguredAccounts(shared.clone()));
        let options = PosterOptions {
            now: shared.clock(),
            listener: Some(Arc::new(journal_of(&shared))),
            ..PosterOptions::new(accounts)
        };
        ForgePoster::new(shared.store().clone(), options)
    })
    .capacity(1024)
    .placement(Placement::Own)
}

/// Keeps what became of each post, as `orchctl` and the page show it.
fn journal_of(shared: &Shared) -> impl Fn(&PostEvent) + Send + Sync + 'static + use<> {
    let shared = shared.clone();
    move |event| {
        let (name, about) = match event {
            PostEvent::Status {
                repo,
                sha,
                context,
                state,
            } => ("status.posted", format!("{state} {repo} {sha} {context}")),
            PostEvent::Comment { key, repo, .. } => ("forge.post.ok", format!("{repo} {key}")),
            PostEvent::Failed {
                subject,
                repo,
                reason,
                ..
            } => ("forge.post.failed", format!("{repo} {subject}: {reason}")),
        };
        let entry = Entry::plain(Happened::Posted(name), about);
        let shared = shared.clone();
        actix_rt::spawn(async move {
            // A store that refuses: the log has the line all the same.
            let _ = shared.write(move |book| book.note(entry)).await;
        });
    }
}

fn intake_spec(
    shared: &Shared,
    dispatcher: &ChildRef<Dispatcher>,
    poster: &ChildRef<ForgePoster>,
) -> ChildSpec<Intake> {
    let (shared, dispatcher, poster) = (shared.clone(), dispatcher.clone(), poster.clone());
    ChildSpec::new("intake", move |_| {
        Intake::new(shared.clone(), dispatcher.clone(), poster.clone())
    })
    .capacity(INTAKE_CAPACITY)
    .ask_timeout(INTAKE_TIMEOUT)
    .placement(Placement::Own)
}
