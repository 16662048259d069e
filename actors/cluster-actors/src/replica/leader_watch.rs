//! Looks who leads, and takes over when nobody does any more.
//!
//! ```text
//! tick (250 ms, hints) ──▶ look ──▶ decision::next_step ──┬─ Wait
//!                            │                            ├─ EndSession ──▶ end_holder
//!                            └──▶ RoleControl::publish    └─ Take ──▶ try_take ──▶ AcquiredStore
//! ```
//! A database that was away has nothing to say against the leader: its silence counts from the
//! moment on at which the database answered again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::replica::decision::{
    HolderSigns, LeaseTerms, TakeoverStep, may_take, next_step, pause_after,
};
use actix::{Actor, AsyncContext, Context, WrapFuture, fut::ActorFutureExt};
use store::Leadership;
use supervision::{ChildSpec, start_tick};
use tokio::sync::{mpsc, watch};

use crate::replica::election::{AcquiredStore, Election};
use crate::replica::role_control::RoleControl;
use crate::replica::sight::StoreSight;

/// Between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// The actor.
pub struct LeaderWatch {
    services: WatchServices,
    /// Since when the server has answered each look.
    answers_since: Option<Duration>,
    /// Why the store could not be taken, until it is.
    refusals: FailedTakeovers,
}

/// Attempts to take a store that nobody has, which failed one after the other.
#[derive(Debug, Clone, Default)]
struct FailedTakeovers {
    count: u32,
    /// When it may be tried again.
    until: Duration,
    reason: Option<String>,
}

#[derive(Clone)]
struct WatchServices {
    election: Arc<dyn Election>,
    terms: LeaseTerms,
    control: RoleControl,
    taken: mpsc::UnboundedSender<AcquiredStore>,
    hints: watch::Receiver<u64>,
    clock: MonotonicClock,
}

/// The time since any fixed moment.
pub type MonotonicClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// What one look came to.
struct LookResult {
    seen: Result<Leadership, String>,
    taken: Option<AcquiredStore>,
    /// Why it could not be taken, though nobody has it; `None`: that was not tried.
    refused: Option<Result<(), String>>,
}

impl FailedTakeovers {
    /// Each attempt may have raised the epoch, and is no sooner right than the one before.
    fn record(&mut self, outcome: Option<Result<(), String>>, now: Duration) {
        match outcome {
            None => {}
            Some(Ok(())) => *self = Self::default(),
            Some(Err(reason)) => {
                if self.reason.as_ref() != Some(&reason) {
                    tracing::warn!(
                        event = "replica.not_taken",
                        reason,
                        "the store could not be taken"
                    );
                }
                self.count += 1;
                self.until = now + pause_after(self.count);
                self.reason = Some(reason);
            }
        }
    }
}

/// The child that watches; a store that it took is sent to `taken`.
pub fn leader_watch(
    election: Arc<dyn Election>,
    control: &RoleControl,
    taken: mpsc::UnboundedSender<AcquiredStore>,
    hints: watch::Receiver<u64>,
) -> ChildSpec<LeaderWatch> {
    let started_at = Instant::now();
    let clock = Arc::new(move || started_at.elapsed());
    leader_watch_by(clock, election, control, taken, hints)
}

/// [`leader_watch`] by a clock of the caller's.
pub fn leader_watch_by(
    clock: MonotonicClock,
    election: Arc<dyn Election>,
    control: &RoleControl,
    taken: mpsc::UnboundedSender<AcquiredStore>,
    hints: watch::Receiver<u64>,
) -> ChildSpec<LeaderWatch> {
    let services = WatchServices {
        clock,
        election,
        terms: LeaseTerms::default(),
        control: control.clone(),
        taken,
        hints,
    };
    ChildSpec::new("leader-watch", move |_| LeaderWatch {
        services: services.clone(),
        answers_since: None,
        refusals: FailedTakeovers::default(),
    })
}

impl Actor for LeaderWatch {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let tick = start_tick(ctx, LOOK_INTERVAL, |watch: &mut Self, _| {
            let services = watch.services.clone();
            let answered_for = watch.answers_since;
            let answered_for = answered_for.map(|since| (services.clock)().saturating_sub(since));
            let tries = (services.clock)() >= watch.refusals.until;
            let look = tokio::task::spawn_blocking(move || services.poll(answered_for, tries));
            Box::pin(look.into_actor(watch).map(|looked, watch, _| {
                // The thread is never cancelled, and does not panic.
                if let Ok(looked) = looked {
                    watch.record(looked);
                }
            }))
        });
        tick.wake();
        let mut hints = self.services.hints.clone();
        let wake = async move {
            while hints.changed().await.is_ok() {
                tick.wake();
            }
        };
        ctx.spawn(wake.into_actor(self));
    }
}

impl LeaderWatch {
    fn record(&mut self, looked: LookResult) {
        let WatchServices { control, taken, .. } = &self.services;
        let before = control.sight();
        let sight = match looked.seen {
            Ok(seen) => {
                self.answers_since
                    .get_or_insert_with(|| (self.services.clock)());
                if before.trouble.is_some() && before.leader.is_none() {
                    tracing::info!(
                        event = "replica.store_answers",
                        "the database answers again"
                    );
                }
                if seen.is_anothers {
                    refuse(control, &seen);
                } else if let Some(reason) = &seen.closed
                    && control.refuse(reason.clone())
                {
                    tracing::error!(event = "replica.store_closed", reason, "this process ends");
                }
                self.refusals
                    .record(looked.refused, (self.services.clock)());
                StoreSight {
                    epoch: seen.epoch,
                    leader: Some(seen).filter(|seen| !seen.is_anothers),
                    trouble: self.refusals.reason.clone(),
                }
            }
            Err(trouble) => {
                self.answers_since = None;
                self.refusals = FailedTakeovers::default();
                if before.trouble.is_none() || before.leader.is_some() {
                    tracing::warn!(
                        event = "replica.store_silent", reason = %trouble,
                        "the database does not say who leads; it is asked on"
                    );
                }
                StoreSight {
                    epoch: before.epoch,
                    leader: None,
                    trouble: Some(trouble),
                }
            }
        };
        control.publish(sight);
        if let Some(store) = looked.taken {
            // Without a receiver the program is ending; the store is given free with its handle.
            let _ = taken.send(store);
        }
    }
}

impl WatchServices {
    /// One look and what follows from it. Blocks.
    fn poll(&self, answered_for: Option<Duration>, tries: bool) -> LookResult {
        let seen = self.election.leadership();
        let Ok(seen) = seen else {
            return LookResult {
                seen,
                taken: None,
                refused: None,
            };
        };
        let (taken, refused) = match self.step(&seen, (answered_for.unwrap_or_default(), tries)) {
            // Nobody knows more than before where it was not tried.
            Ok(None) if !seen.is_locked => (None, None),
            Ok(taken) => (taken, Some(Ok(()))),
            Err(reason) => (None, Some(Err(reason))),
        };
        // Whoever asks who leads should hear of the newest one.
        let newest = taken.as_ref().and_then(|_| self.election.leadership().ok());
        LookResult {
            seen: Ok(newest.unwrap_or(seen)),
            taken,
            refused,
        }
    }

    fn step(
        &self,
        seen: &Leadership,
        (answered_for, tries): (Duration, bool),
    ) -> Result<Option<AcquiredStore>, String> {
        let is_refused = seen.is_anothers || seen.closed.is_some();
        if is_refused || !tries || !self.control.may_take(seen.epoch) {
            return Ok(None);
        }
        let signs = signs_of(seen, answered_for);
        match next_step(&signs, &self.terms) {
            TakeoverStep::Wait => Ok(None),
            TakeoverStep::EndSession => {
                tracing::warn!(
                    event = "replica.leader_silent", leader = %seen.by, epoch = seen.epoch,
                    silent_ms = u64::try_from(seen.silent.as_millis()).unwrap_or(u64::MAX),
                    "the leader says nothing any more; its session is ended"
                );
                self.election.end_holder()?;
                self.take(answered_for)
            }
            TakeoverStep::Take => self.take(answered_for),
        }
    }

    fn take(&self, answered_for: Duration) -> Result<Option<AcquiredStore>, String> {
        let taken = self.election.try_take(&|seen| {
            let signs = signs_of(seen, answered_for);
            self.control.may_take(seen.epoch) && may_take(&signs, &self.terms)
        })?;
        if let Some(taken) = &taken {
            tracing::info!(
                event = "replica.took_over",
                epoch = taken.epoch,
                "this process leads"
            );
        }
        Ok(taken)
    }
}

/// The leader works for another forge, or keeps its files elsewhere: nothing may be passed on to
/// it, nor taken in for it.
fn refuse(control: &RoleControl, seen: &Leadership) {
    let by = seen.by.as_str();
    let whose = match seen.is_locked {
        true => format!("is led by {by}, which is of another installation"),
        false => format!("was led by {by}, and others of its installation stand by, not of this"),
    };
    let reason = format!(
        "the store {whose} (another forge, public_url or main_project, or [objects]): give this one a database of \
         its own, or a schema (`?schema=NAME` at the end of the address), or make their settings \
         equal"
    );
    if control.refuse(reason.clone()) {
        tracing::error!(
            event = "replica.other_installation",
            leader = by,
            "{reason}"
        );
    }
}

/// Nobody can say that it is well to a database that is away.
fn signs_of(seen: &Leadership, answered_for: Duration) -> HolderSigns {
    HolderSigns {
        is_locked: seen.is_locked,
        is_released: seen.is_released,
        silent: seen.silent.min(answered_for),
        worked_for: seen.worked_for,
    }
}
