//! Decides in the leader's process what the standbys took in.
//!
//! ```text
//! hint, or 500 ms ──▶ undecided, oldest first ──▶ Decide, all of a page at once
//!                                                    └──▶ outcomes ──▶ the standbys that wait for them
//! ```
//! What was decided twice, because a leader died in between, is found to be known by the product's
//! own deliveries: nothing is done twice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::{Actor, AsyncContext, Context, WrapFuture, fut::ActorFutureExt};
use futures_util::future::{LocalBoxFuture, join_all};
use store::IntakeHandle;
use supervision::{ChildSpec, start_tick};
use tokio::sync::watch;

/// Between two looks; hints make them earlier.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Entries that are decided together.
const PAGE: usize = 128;
/// How long it is known what was decided: forges send again within minutes.
const KEEP: Duration = Duration::from_secs(3600);
/// Between two removals of what is older.
const PRUNE_INTERVAL: Duration = Duration::from_secs(60);

/// Decides a delivery that another process took in.
pub trait Decide: Send + Sync + 'static {
    /// What became of it, for the process that took it in; `None`: not now, ask again.
    fn decide(&self, content: Vec<u8>) -> LocalBoxFuture<'static, Option<Vec<u8>>>;
}

/// The actor.
pub struct IntakeFollower {
    intake: IntakeHandle,
    decide: Arc<dyn Decide>,
    hints: watch::Receiver<u64>,
    pruned_at: Option<Instant>,
}

/// The child of the leader's tree.
pub fn intake_follower(
    intake: &IntakeHandle,
    hints: &watch::Receiver<u64>,
    decide: Arc<dyn Decide>,
) -> ChildSpec<IntakeFollower> {
    let (intake, hints) = (intake.clone(), hints.clone());
    ChildSpec::new("intake-follower", move |_| IntakeFollower {
        intake: intake.clone(),
        decide: Arc::clone(&decide),
        hints: hints.clone(),
        pruned_at: None,
    })
}

impl Actor for IntakeFollower {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let tick = start_tick(ctx, LOOK_INTERVAL, |follower: &mut Self, _| {
            let prunes = follower
                .pruned_at
                .is_none_or(|at| at.elapsed() >= PRUNE_INTERVAL);
            let (intake, decide) = (follower.intake.clone(), Arc::clone(&follower.decide));
            let run = async move {
                decide_all(&intake, &*decide).await;
                if prunes && let Err(error) = intake.prune(KEEP).await {
                    tracing::debug!(event = "intake.not_pruned", %error);
                }
                prunes
            };
            Box::pin(run.into_actor(follower).map(|prunes, follower, _| {
                if prunes {
                    follower.pruned_at = Some(Instant::now());
                }
            }))
        });
        tick.wake();
        let mut hints = self.hints.clone();
        let wake = async move {
            while hints.changed().await.is_ok() {
                tick.wake();
            }
        };
        ctx.spawn(wake.into_actor(self));
    }
}

async fn decide_all(intake: &IntakeHandle, decide: &dyn Decide) {
    loop {
        let entries = match intake.undecided(PAGE).await {
            Ok(entries) => entries,
            Err(error) => {
                tracing::debug!(event = "intake.not_read", %error);
                return;
            }
        };
        let is_last = entries.len() < PAGE;
        let deciding = entries.into_iter().map(|entry| {
            let decided = decide.decide(entry.content);
            async move { Some((entry.seq, decided.await?)) }
        });
        let decided = join_all(deciding).await;
        let waits = decided.iter().any(Option::is_none);
        let outcomes: Vec<(u64, Vec<u8>)> = decided.into_iter().flatten().collect();
        if !outcomes.is_empty() {
            let count = outcomes.len();
            // Decided again at the next look, and then found to be known.
            if let Err(error) = intake.decide(outcomes).await {
                tracing::warn!(event = "intake.outcome_not_noted", %error);
                return;
            }
            tracing::debug!(event = "intake.decided", count);
        }
        if is_last || waits {
            return;
        }
    }
}
