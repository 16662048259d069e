//! Decides in the leader's process what the standbys took in.
//!
//! ```text
//! hint, or 500 ms ──▶ undecided, oldest first ──▶ Decide, all of a page at once
//!                                                    └──▶ outcomes ──▶ the standbys that wait for them
//! ```
//! What this version of the program cannot read stays where it is, for another that leads: what
//! waits behind it is decided. While the product takes nothing, one entry is asked about at a time.
//!
//! An outcome that cannot be noted, because the database is away just then, is remembered and noted
//! at the next look: nothing is decided twice. What another leader decides again, because this one
//! died in between, is found to be known by the product's own deliveries: nothing is done twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::{Actor, AsyncContext, Context, WrapFuture, fut::ActorFutureExt};
use forge_core::Delivery;
use futures_util::future::{LocalBoxFuture, join_all, ready};
use store::IntakeHandle;
use supervision::{ChildSpec, start_tick};
use tokio::sync::watch;

use crate::replica::delivery::{IntakeDecision, StoredDelivery, UndecodableDelivery};

/// Between two looks; hints make them earlier.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Most entries that are decided together.
const PAGE: usize = 128;
/// How long it is known what was decided: forges send again within minutes.
const DECISION_RETENTION: Duration = Duration::from_secs(3600);
/// Between two removals of what is older.
const PRUNE_INTERVAL: Duration = Duration::from_secs(60);

/// Decides a delivery that another process took in.
pub trait DeliveryDecider: Send + Sync + 'static {
    /// What becomes of it; `body` is the JSON that was signed. `again`: it was asked before, and
    /// could not say; if it is known now, it is by that.
    fn decide(
        &self,
        delivery: Delivery,
        body: &[u8],
        again: bool,
    ) -> LocalBoxFuture<'static, IntakeDecision>;

    /// The outcome of one that nobody will ever read.
    fn lost(&self) -> Vec<u8>;
}

/// What becomes of the content of an entry.
fn decide_content(
    decide: &dyn DeliveryDecider,
    content: &[u8],
    again: bool,
) -> LocalBoxFuture<'static, IntakeDecision> {
    let read = || -> Result<_, UndecodableDelivery> {
        let stored = StoredDelivery::from_bytes(content)?;
        Ok((stored.delivery()?, stored))
    };
    match read() {
        Ok((delivery, stored)) => decide.decide(delivery, stored.body(), again),
        Err(error) => Box::pin(ready(error.decision(decide.lost()))),
    }
}

/// The actor.
pub struct IntakeFollower {
    intake: IntakeHandle,
    decide: Arc<dyn DeliveryDecider>,
    hints: watch::Receiver<u64>,
    pruned_at: Option<Instant>,
    progress: Progress,
}

/// How far the deciding has come.
#[derive(Debug, Default)]
struct Progress {
    /// Numbers of the entries that another version has to decide.
    passed_over: Vec<u64>,
    /// What was decided and is not known to be noted: of one page at most, as nothing further is
    /// read before.
    not_noted: Vec<(u64, Vec<u8>)>,
    /// Numbers of those that the product was asked about, and could not say.
    unsaid: BTreeSet<u64>,
    /// Whether the product took nothing when it was asked last.
    waits: bool,
}

/// The child of the leader's tree.
pub fn intake_follower(
    intake: &IntakeHandle,
    hints: &watch::Receiver<u64>,
    decide: Arc<dyn DeliveryDecider>,
) -> ChildSpec<IntakeFollower> {
    let (intake, hints) = (intake.clone(), hints.clone());
    ChildSpec::new("intake-follower", move |_| IntakeFollower {
        intake: intake.clone(),
        decide: Arc::clone(&decide),
        hints: hints.clone(),
        pruned_at: None,
        progress: Progress::default(),
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
            let mut progress = std::mem::take(&mut follower.progress);
            let run = async move {
                progress.decide_all(&intake, &*decide).await;
                if prunes && let Err(error) = intake.prune(DECISION_RETENTION).await {
                    tracing::debug!(event = "intake.not_pruned", %error);
                }
                (progress, prunes)
            };
            Box::pin(
                run.into_actor(follower)
                    .map(|(progress, prunes), follower, _| {
                        follower.progress = progress;
                        if prunes {
                            follower.pruned_at = Some(Instant::now());
                        }
                    }),
            )
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

impl Progress {
    async fn decide_all(&mut self, intake: &IntakeHandle, decide: &dyn DeliveryDecider) {
        loop {
            if !self.record(intake).await {
                return;
            }
            let limit = if self.waits { 1 } else { PAGE };
            let page = match intake.undecided(limit, self.passed_over.clone()).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::debug!(event = "intake.not_read", %error);
                    return;
                }
            };
            let deciding = page.entries.into_iter().map(|entry| {
                let again = self.unsaid.contains(&entry.seq);
                let decided = decide_content(decide, &entry.content, again);
                async move { (entry.seq, entry.delivery, decided.await) }
            });
            self.not_noted = self.sort(join_all(deciding).await);
            if !self.record(intake).await || self.waits || !page.may_have_more {
                return;
            }
        }
    }

    /// Whether everything that was decided is noted. Noted twice, the first counts.
    async fn record(&mut self, intake: &IntakeHandle) -> bool {
        if self.not_noted.is_empty() {
            return true;
        }
        if let Err(error) = intake.decide(self.not_noted.clone()).await {
            tracing::warn!(event = "intake.outcome_not_noted", %error);
            return false;
        }
        tracing::debug!(event = "intake.decided", count = self.not_noted.len());
        self.not_noted.clear();
        true
    }

    /// The outcomes to note; the rest is remembered here.
    fn sort(&mut self, decided: Vec<(u64, String, IntakeDecision)>) -> Vec<(u64, Vec<u8>)> {
        self.waits = false;
        let mut outcomes = Vec::new();
        for (seq, delivery, decision) in decided {
            self.unsaid.remove(&seq);
            match decision {
                IntakeDecision::Outcome(outcome) => outcomes.push((seq, outcome)),
                IntakeDecision::NotNow => {
                    self.unsaid.insert(seq);
                    self.waits = true;
                }
                IntakeDecision::NotHere(reason) => {
                    tracing::warn!(
                        event = "intake.passed_over",
                        delivery,
                        reason,
                        "this version of the program cannot decide a delivery that another one \
                         acknowledged: it waits until that one leads"
                    );
                    self.passed_over.push(seq);
                }
            }
        }
        outcomes
    }
}
