//! A process beside others that share its store: it stands by, leads when it gets the store, and
//! stands by again when it has lost it or was asked to hand over.
//!
//! ```text
//! stand_by ── AcquiredStore ──▶ lead ── store lost, drain ──▶ stand_by, while the former tree ends
//!     └──────────────── SIGTERM ─────────────────────▶ the tree ends, the store is free, exit 0
//! ```
//! Both answer on the same listener: while one takes over from the other, both accept.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::task::JoinHandle;
use cluster_actors::replica::{AcquiredStore, RoleAction, RoleControl, RoleEvent};
use store::{PostgresUrl, SharedStore, Store};
use tokio::sync::{mpsc, oneshot};

use crate::lifecycle::ShutdownSignal;
use crate::signs::{record_primaries, record_signs};

pub use crate::signs::probe_as_standby;

/// Something that serves in the background until it is told to stop.
struct BackgroundServer {
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<anyhow::Result<()>>,
}

impl BackgroundServer {
    fn start<F>(serve: impl FnOnce(ShutdownSignal) -> F) -> Self
    where
        F: Future<Output = anyhow::Result<()>> + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        let stopped = Box::pin(async move {
            // Whoever has gone wants nothing served either.
            let _ = stopped.await;
        });
        Self {
            stop: Some(stop),
            served: actix_rt::spawn(serve(stopped)),
        }
    }

    fn request_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // One that has ended already hears nothing.
            let _ = stop.send(());
        }
    }

    async fn ended(&mut self) -> anyhow::Result<()> {
        (&mut self.served).await.map_err(anyhow::Error::from)?
    }

    async fn stop(mut self) -> anyhow::Result<()> {
        self.request_stop();
        self.ended().await
    }
}

/// A shared store at `url`, and the role of this process beside the others. `advertise` is where
/// the others reach it; without it, `bound`, unless that stands for all addresses.
///
/// # Errors
/// When there can be no further thread.
pub fn open(
    url: &PostgresUrl,
    options: &store::StoreOptions,
    advertise: Option<&str>,
    bound: std::net::SocketAddr,
) -> anyhow::Result<(SharedStore, RoleControl)> {
    let address = match advertise {
        Some(address) => address.to_owned(),
        None if bound.ip().is_unspecified() => {
            tracing::warn!(
                event = "config.not_advertised",
                "the process listens on all addresses and `advertise` in [store] names none: while it leads, the others cannot pass requests on to it"
            );
            String::new()
        }
        None => bound.to_string(),
    };
    let half = || uuid::Uuid::new_v4().simple().to_string();
    let key = format!("{}{}", half(), half());
    let shared = SharedStore::new(url, options, (&address, &key))?;
    let control = RoleControl::with_standbys(&address, Arc::new(shared.clone()));
    Ok((shared, control))
}

/// Between two looks at what waits in the intake, for the figures.
const BACKLOG_INTERVAL: Duration = Duration::from_secs(5);

/// How long after its standby side was told to stop a process leads for those who wait for a
/// leader: until then that side may still accept, and what it passed on to this process would come
/// back to it.
const ACCEPT_TIME: Duration = Duration::from_millis(200);

/// How many looks go by between two questions to all servers of the database's address: a former
/// primary that was started again is found before somebody has to take over.
const LOOKS_BETWEEN_SURVEYS: u32 = 12;

/// Notes what waits in the intake, in either role (where nobody leads it is a standby that knows),
/// until it is dropped.
struct BacklogWatch(JoinHandle<()>);

impl BacklogWatch {
    fn start(shared: &SharedStore, control: &RoleControl) -> Self {
        let (shared, control) = (shared.clone(), control.clone());
        Self(actix_rt::spawn(async move {
            for look in 0u32.. {
                let of_thread = shared.clone();
                // Who leads is asked for others only; a store is handed over to who is well.
                let is_fit = control.warning().is_none();
                let surveys = look % LOOKS_BETWEEN_SURVEYS == 0;
                let asked = tokio::task::spawn_blocking(move || {
                    let primaries = surveys.then(|| of_thread.two_primaries());
                    // Whoever is not noted is asked again at the next look.
                    let _ = of_thread.record_fitness(is_fit);
                    (
                        of_thread.backlog().ok(),
                        of_thread.server_signs().ok(),
                        primaries,
                    )
                });
                let (backlog, signs, primaries) = asked.await.unwrap_or_default();
                control.record_backlog(backlog);
                if let Some(complaint) = primaries {
                    record_primaries(&control, complaint);
                }
                if let Some(signs) = signs {
                    record_signs(&control, &signs);
                }
                tokio::time::sleep(BACKLOG_INTERVAL).await;
            }
        }))
    }
}

impl Drop for BacklogWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Stands by and leads until `stop` resolves. `stand_by` serves as a standby and sends a store that
/// it took; `lead` starts what leads with that store, and gives what serves it.
///
/// # Errors
/// When what serves ends by itself.
pub async fn run<S, L, LF>(
    (shared, control): (&SharedStore, &RoleControl),
    stop: ShutdownSignal,
    stand_by: impl Fn(mpsc::UnboundedSender<AcquiredStore>, ShutdownSignal) -> S,
    lead: impl Fn(Store) -> anyhow::Result<L>,
) -> anyhow::Result<()>
where
    S: Future<Output = anyhow::Result<()>> + 'static,
    L: FnOnce(ShutdownSignal) -> LF,
    LF: Future<Output = anyhow::Result<()>> + 'static,
{
    let _watch = BacklogWatch::start(shared, control);
    #[expect(clippy::disallowed_methods, reason = "a standby takes the store once")]
    let (taken_sender, mut taken) = mpsc::unbounded_channel();
    let mut stop = stop;
    let mut former: Option<BackgroundServer> = None;
    loop {
        let mut standby = BackgroundServer::start(|stop| stand_by(taken_sender.clone(), stop));
        let waiting = (&mut standby, &mut former);
        let store = match until_taken(control, &mut stop, waiting, &mut taken).await {
            StandbyEnd::Took(store) => store,
            StandbyEnd::Stopped => {
                control.apply(RoleEvent::StopAsked);
                standby.stop().await?;
                return end(former).await;
            }
            StandbyEnd::Ended(ended) => return ended,
            StandbyEnd::Refused(reason) => {
                standby.stop().await?;
                end(former).await?;
                anyhow::bail!(reason);
            }
        };
        let serve = match lead(store.clone()) {
            Ok(serve) => serve,
            Err(error) => {
                tracing::error!(
                    event = "replica.cannot_lead",
                    error = crate::error_chain(error.as_ref()),
                    "this process took the store and cannot start with it; it leaves it to others for a while"
                );
                close(store).await;
                control.apply(RoleEvent::DrainAsked);
                control.apply(RoleEvent::TreeEnded);
                standby.stop().await?;
                continue;
            }
        };
        // It accepts no more before the leader does: what was passed on to this process must not
        // meet a standby. Connections wait with the system meanwhile.
        standby.request_stop();
        tokio::task::yield_now().await;
        let mut leader = BackgroundServer::start(serve);
        actix_rt::spawn(async move { log_end(standby.stop().await) });
        match until_over(control, &mut stop, (&mut leader, &store)).await {
            LeaderEnd::HandsOver(event) => {
                control.apply(event);
            }
            LeaderEnd::Stopped => {
                control.apply(RoleEvent::StopAsked);
                let ended = leader.stop().await;
                close(store).await;
                return ended;
            }
            LeaderEnd::Ended(ended) => {
                close(store).await;
                return ended;
            }
        }
        leader.request_stop();
        former = Some(BackgroundServer::start(|_| async move {
            let ended = leader.ended().await;
            close(store).await;
            ended
        }));
    }
}

/// Why a process leads no longer.
enum LeaderEnd {
    /// It stands by from now on.
    HandsOver(RoleEvent),
    /// It is to end.
    Stopped,
    /// What serves ended by itself.
    Ended(anyhow::Result<()>),
}

/// Waits as the leader, which it is for those who wait for one as soon as its standby side accepts
/// no more.
async fn until_over(
    control: &RoleControl,
    stop: &mut ShutdownSignal,
    (leader, store): (&mut BackgroundServer, &Store),
) -> LeaderEnd {
    let mut accepts = pin!(tokio::time::sleep(ACCEPT_TIME));
    let mut leads = false;
    loop {
        tokio::select! {
            () = &mut *stop => return LeaderEnd::Stopped,
            ended = leader.ended() => return LeaderEnd::Ended(ended),
            by = store.taken_over() => {
                tracing::error!(
                    event = "replica.store_lost", %by,
                    "this process does not lead any more; its actors are ended, and it stands by"
                );
                return LeaderEnd::HandsOver(RoleEvent::StoreLost);
            }
            () = control.drain_asked() => {
                tracing::info!(event = "replica.draining", "this process hands over");
                return LeaderEnd::HandsOver(RoleEvent::DrainAsked);
            }
            () = &mut accepts, if !leads => {
                leads = true;
                control.apply(RoleEvent::TreeStarted);
            }
        }
    }
}

/// Why a process stands by no longer.
enum StandbyEnd {
    /// It has the store.
    Took(Store),
    /// It is to end.
    Stopped,
    /// What serves ended by itself.
    Ended(anyhow::Result<()>),
    /// It may not stand beside this store.
    Refused(String),
}

/// Waits as a standby, while the tree of the former role ends.
async fn until_taken(
    control: &RoleControl,
    stop: &mut ShutdownSignal,
    (standby, former): (&mut BackgroundServer, &mut Option<BackgroundServer>),
    taken: &mut mpsc::UnboundedReceiver<AcquiredStore>,
) -> StandbyEnd {
    loop {
        tokio::select! {
            () = &mut *stop => return StandbyEnd::Stopped,
            ended = standby.ended() => return StandbyEnd::Ended(ended),
            reason = control.refused() => return StandbyEnd::Refused(reason),
            ended = ended(former) => {
                log_end(ended);
                control.apply(RoleEvent::TreeEnded);
            }
            Some(AcquiredStore { store, epoch }) = taken.recv() => {
                if control.apply(RoleEvent::Took(epoch)) == RoleAction::StartTree {
                    return StandbyEnd::Took(store);
                }
                close(store).await;
            }
        }
    }
}

async fn ended(former: &mut Option<BackgroundServer>) -> anyhow::Result<()> {
    let Some(serving) = former else {
        return pending().await;
    };
    let ended = serving.ended().await;
    *former = None;
    ended
}

async fn end(former: Option<BackgroundServer>) -> anyhow::Result<()> {
    match former {
        Some(mut former) => former.ended().await,
        None => Ok(()),
    }
}

fn log_end(ended: anyhow::Result<()>) {
    if let Err(error) = ended {
        let error = crate::error_chain(error.as_ref());
        tracing::warn!(
            event = "replica.ended_badly",
            error,
            "what this process did in its former role ended with an error"
        );
    }
}

/// Closing waits for the server.
async fn close(store: Store) {
    // The thread is never cancelled.
    let _ = tokio::task::spawn_blocking(move || store.close()).await;
}
