//! What a standby answers by itself, and what every process of a group says of its role.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use cluster_actors::replica::{
    AcquiredStore, DrainRefusal, ReplicaStatus, RoleControl, leader_watch,
};
use serde::{Deserialize, Serialize};
use store::SharedStore;
use supervision::{ActorNode, ActorTree, ChildRef, Root, SupervisorSpec};
use tokio::sync::mpsc;

use crate::admin::actor_tree;
use crate::guard::ApiToken;
use crate::health::HealthChecks;
use crate::problem::Problem;

/// What programs call the secrets of webhooks among the settings that they compare.
pub const COMPARED_SECRET: &str = "webhook secret";

/// A standby that was started but does not answer yet.
pub struct StandbyParts {
    /// Its actors.
    pub root: Root,
    /// The one that watches the leader.
    pub watch: ChildRef<cluster_actors::replica::LeaderWatch>,
    /// Whether it takes deliveries.
    pub health: HealthChecks,
}

impl StandbyParts {
    /// Starts the actors of a standby; a store that they take is sent to `taken`. Needs a running
    /// actix system.
    #[must_use]
    pub fn start(
        shared: &SharedStore,
        control: &RoleControl,
        taken: mpsc::UnboundedSender<AcquiredStore>,
    ) -> Self {
        let watch = leader_watch(Arc::new(shared.clone()), control, taken, shared.hints());
        let reference = watch.reference();
        let standby = SupervisorSpec::new("standby").child(watch);
        let seen = control.clone();
        let health = HealthChecks::new().check("database", move || match seen.sight() {
            sight if sight.leader.is_some() => Ok(()),
            sight => Err(sight
                .trouble
                .unwrap_or_else(|| "it was not asked yet".to_owned())),
        });
        let stores = control.clone();
        // Whoever chooses between processes sends deliveries where they are stored.
        let health = health.check("deliveries", move || stores.stores_deliveries());
        let compared = control.clone();
        // What the leader would take is refused here with 403, which no forge repeats.
        let health = health.check("settings", move || {
            let differs = compared.warning_of("settings");
            let refuses = |differs: &String| differs.contains(COMPARED_SECRET);
            differs.filter(refuses).map_or(Ok(()), Err)
        });
        Self {
            root: Root::start_named("orrery", vec![standby]),
            watch: reference,
            health,
        }
    }
}

/// What a standby says of itself.
#[derive(Debug, Serialize)]
pub struct StandbyHealth {
    /// `ok` or `degraded`.
    pub status: &'static str,
    /// The program's version.
    pub version: &'static str,
    /// Why it is degraded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its role.
    pub replica: ReplicaStatus,
}

/// `GET /health` of a standby.
pub async fn standby_health(control: web::Data<RoleControl>) -> HttpResponse {
    let sight = control.sight();
    let reason = match (&sight.leader, sight.trouble) {
        (None, Some(trouble)) => Some(format!("the database does not answer: {trouble}")),
        (None, None) => Some("the database was not asked yet".to_owned()),
        (Some(leader), None) if !leader.is_locked => Some("nobody leads at the moment".to_owned()),
        (Some(leader), Some(trouble)) if !leader.is_locked => {
            Some(format!("nobody leads at the moment: {trouble}"))
        }
        (Some(_), _) => None,
    };
    let reason = match (reason, control.warning()) {
        (Some(reason), Some(warning)) => Some(format!("{reason}; {warning}")),
        (reason, warning) => reason.or(warning),
    };
    HttpResponse::Ok().json(StandbyHealth {
        status: if reason.is_some() { "degraded" } else { "ok" },
        version: env!("CARGO_PKG_VERSION"),
        reason,
        replica: control.status(),
    })
}

/// The actors, with the role of the process.
#[derive(Serialize)]
struct TreeWithRole {
    #[serde(flatten)]
    tree: ActorNode,
    #[serde(skip_serializing_if = "Option::is_none")]
    replica: Option<ReplicaStatus>,
}

/// The answer of `GET /admin/actors`: the actors of this process, and its role if it has one.
///
/// # Errors
/// As [`actor_tree`].
pub async fn with_status(
    tree: &ActorTree,
    control: Option<&RoleControl>,
) -> Result<HttpResponse, Problem> {
    let tree = tree.snapshot();
    let replica = control.map(RoleControl::status);
    actor_tree(async move { Ok(TreeWithRole { tree, replica }) }).await
}

/// `GET /admin/actors` of a process that has its tree in the application's data.
///
/// # Errors
/// As [`with_status`].
pub async fn actors(
    tree: web::Data<ActorTree>,
    control: Option<web::Data<RoleControl>>,
) -> Result<HttpResponse, Problem> {
    with_status(&tree, control.as_ref().map(|it| &***it)).await
}

/// What a hand-over that was asked for answers.
#[derive(Debug, Serialize)]
struct DrainAnswer {
    status: &'static str,
}

/// The parameters of a hand-over that is asked for.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrainQuery {
    /// Also where nobody stands by.
    #[serde(default)]
    pub force: bool,
}

/// The answer of `POST /admin/drain`: the process hands over.
///
/// # Errors
/// 409 where there is nobody to hand over to that is well; 503 while it does not lead, or the
/// database does not say who stands by.
pub async fn drain(
    control: Option<&RoleControl>,
    query: DrainQuery,
) -> Result<HttpResponse, Problem> {
    let control = control.ok_or_else(not_shared)?;
    control.drain(query.force).await.map_err(not_drained)?;
    Ok(HttpResponse::Accepted().json(DrainAnswer { status: "draining" }))
}

/// That there is nobody to hand over to: the process has its store for itself.
#[must_use]
pub fn not_shared() -> Problem {
    Problem::conflict("this process shares its store with no other: stop it with SIGTERM")
}

/// Why a process does not hand over.
#[must_use]
pub fn not_drained(refusal: DrainRefusal) -> Problem {
    match refusal {
        DrainRefusal::NotLeading => Problem::unavailable("this process does not lead", 1),
        DrainRefusal::NobodyBeside => Problem::conflict(
            "no other process stands by on this store, so nobody would lead: start another one, \
             or ask with `--force`, which leaves the store to nobody for 30 s",
        ),
        DrainRefusal::NobodyFit => Problem::conflict(
            "every process that stands by says that something is wrong with it: look at `/health` \
             of each, or ask with `--force`",
        ),
        DrainRefusal::Unknown(reason) => Problem::unavailable(
            format!("the database does not say whether another process stands by: {reason}"),
            2,
        ),
    }
}

/// What other processes show to this one once it leads.
#[must_use]
pub fn key_of(shared: &SharedStore) -> Option<ApiToken> {
    ApiToken::new(shared.forward_key())
}
