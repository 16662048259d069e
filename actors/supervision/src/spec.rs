//! Child specs: what a supervisor has to know about a child, and how its incarnations are made.

use std::{
    fmt::Display,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use actix::{Actor, AsyncContext, Context};
use actix_rt::ArbiterHandle;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::{
    context::ChildContext,
    endpoint::Endpoint,
    exit::TaskEnd,
    inbox::Inbox,
    mailbox::Mailbox,
    monitor::Task,
    pings::Pings,
    policy::{PastLimit, Restart, RestartPolicy},
    reference::ChildRef,
    settings::millis,
    signals::ChildSignals,
    tree::{Backlog, ChildKind, ChildNode},
};

/// On which thread a child's incarnations run.
#[derive(Debug, Clone, Default)]
pub enum ThreadPlacement {
    /// On the arbiter of its supervisor.
    #[default]
    Beside,
    /// On an arbiter of its own. When an incarnation hangs there, the next one gets a new
    /// arbiter: the blocked thread itself cannot be ended from outside.
    Own,
    /// On this arbiter. When an incarnation blocks it, further ones cannot run there either.
    On(ArbiterHandle),
}

/// What does not depend on the actor's type.
#[derive(Debug, Clone)]
pub(crate) struct ChildOptions {
    pub(crate) restart: Restart,
    pub(crate) shutdown: Duration,
    pub(crate) placement: ThreadPlacement,
    pub(crate) pings: Option<Pings>,
    /// `None`: as the supervisor has it.
    pub(crate) policy: Option<RestartPolicy>,
    pub(crate) past_limit: Option<PastLimit>,
}

pub(crate) type Factory<A> = Box<dyn FnMut(ChildContext) -> Result<A, String> + Send>;

/// A child: its id, how it is restarted and stopped, and the factory of its incarnations.
///
/// The factory builds fresh state for each incarnation; nothing of one that crashed is used again.
pub struct ChildSpec<A: Actor<Context = Context<A>>> {
    options: ChildOptions,
    endpoint: Arc<Endpoint<A>>,
    factory: Factory<A>,
}

impl<A: Actor<Context = Context<A>>> ChildSpec<A> {
    /// A permanent child whose factory cannot fail (a panic in it is a failed start).
    ///
    /// `id` is unique among its siblings; it names the child in the tree and in logs.
    pub fn new(
        id: impl Into<Arc<str>>,
        mut factory: impl FnMut(ChildContext) -> A + Send + 'static,
    ) -> Self {
        Self::fallible(id, move |context| Ok::<_, String>(factory(context)))
    }

    /// A permanent child whose factory may fail, which is a failed start.
    pub fn fallible<E: Display>(
        id: impl Into<Arc<str>>,
        mut factory: impl FnMut(ChildContext) -> Result<A, E> + Send + 'static,
    ) -> Self {
        let factory = Box::new(move |context| factory(context).map_err(|error| error.to_string()));
        Self::with_kind(id.into(), ChildKind::Worker, factory)
    }

    pub(crate) fn with_kind(id: Arc<str>, kind: ChildKind, factory: Factory<A>) -> Self {
        let options = ChildOptions {
            restart: Restart::Permanent,
            shutdown: Duration::from_secs(5),
            placement: ThreadPlacement::default(),
            pings: Some(Pings::DEFAULT),
            policy: None,
            past_limit: None,
        };
        Self {
            options,
            endpoint: Arc::new(Endpoint::new(Arc::new(ChildNode::new(id, kind)))),
            factory,
        }
    }

    /// Which ends are followed by a restart; [`Restart::Permanent`] unless said.
    pub fn restart(mut self, restart: Restart) -> Self {
        self.options.restart = restart;
        self
    }

    /// How often it is restarted and after which delay; as its supervisor has it unless said.
    pub fn policy(mut self, policy: RestartPolicy) -> Self {
        self.options.policy = Some(policy);
        self
    }

    /// What happens past the limit; as its supervisor has it unless said.
    pub fn past_limit(mut self, past_limit: PastLimit) -> Self {
        self.options.past_limit = Some(past_limit);
        self
    }

    /// The time it has to stop before its task is aborted; 5 s unless said.
    pub fn shutdown(mut self, within: Duration) -> Self {
        self.options.shutdown = within;
        self
    }

    /// On which thread its incarnations run; beside its supervisor unless said.
    pub fn placement(mut self, placement: ThreadPlacement) -> Self {
        self.options.placement = placement;
        self
    }

    /// How it is found to hang; [`Pings::DEFAULT`] unless said, `None` for never.
    pub fn pings(mut self, pings: impl Into<Option<Pings>>) -> Self {
        self.options.pings = pings.into();
        self
    }

    /// Permits: the most messages that wait, and the most unanswered questions; 64 unless said.
    /// With 0 every message is refused.
    pub fn capacity(self, permits: usize) -> Self {
        self.endpoint
            .node
            .settings
            .capacity
            .store(permits, Ordering::Relaxed);
        self
    }

    /// How long [`ChildRef::ask`] waits for a reply; 5 s unless said.
    pub fn ask_timeout(self, timeout: Duration) -> Self {
        self.endpoint
            .node
            .settings
            .ask_timeout_ms
            .store(millis(timeout), Ordering::Relaxed);
        self
    }

    /// What a full child tells those it refuses; 1 s unless said.
    pub fn retry_after(self, retry_after: Duration) -> Self {
        self.endpoint
            .node
            .settings
            .retry_after_ms
            .store(millis(retry_after), Ordering::Relaxed);
        self
    }

    /// A reference to the child, for its peers; good before the child is started.
    pub fn reference(&self) -> ChildRef<A> {
        ChildRef::new(Arc::clone(&self.endpoint))
    }

    pub(crate) fn into_cell(self) -> Arc<dyn ChildCell> {
        let factory = Arc::new(Mutex::new(self.factory));
        Arc::new(Cell {
            options: self.options,
            endpoint: self.endpoint,
            factory,
        })
    }
}

/// A child as its supervisor handles it, without the actor's type.
pub(crate) trait ChildCell: Send + Sync {
    fn options(&self) -> &ChildOptions;
    fn node(&self) -> &Arc<ChildNode>;
    /// Makes an incarnation on `arbiter`, or on the present one.
    fn start(&self, arbiter: Option<&ArbiterHandle>) -> StartedChild;
    /// Takes the reference from an incarnation that is given up.
    fn vacate(&self, incarnation: u64);
}

/// An incarnation that was just made.
pub(crate) struct StartedChild {
    pub(crate) incarnation: u64,
    pub(crate) signals: Arc<ChildSignals>,
    pub(crate) task: Task,
}

struct Cell<A: Actor<Context = Context<A>>> {
    options: ChildOptions,
    endpoint: Arc<Endpoint<A>>,
    factory: Arc<Mutex<Factory<A>>>,
}

impl<A: Actor<Context = Context<A>>> ChildCell for Cell<A> {
    fn options(&self) -> &ChildOptions {
        &self.options
    }

    fn node(&self) -> &Arc<ChildNode> {
        &self.endpoint.node
    }

    fn start(&self, arbiter: Option<&ArbiterHandle>) -> StartedChild {
        let node = &self.endpoint.node;
        let incarnation = node.next_incarnation();
        let inbox = self.endpoint.occupy(incarnation);
        let backlog: Arc<dyn Backlog> = Arc::<Inbox<A>>::clone(&inbox);
        node.start_incarnation(&backlog);
        let signals = Arc::<ChildSignals>::default();
        let mailbox = Mailbox {
            endpoint: Arc::clone(&self.endpoint),
            inbox,
            signals: Arc::clone(&signals),
        };
        let context = ChildContext {
            signals: Arc::clone(&signals),
            node: Arc::clone(node),
            incarnation,
        };
        let task = spawn(Arc::clone(&self.factory), mailbox, context, arbiter);
        StartedChild {
            incarnation,
            signals,
            task,
        }
    }

    fn vacate(&self, incarnation: u64) {
        self.endpoint.vacate(incarnation);
    }
}

fn spawn<A: Actor<Context = Context<A>>>(
    factory: Arc<Mutex<Factory<A>>>,
    mailbox: Mailbox<A>,
    context: ChildContext,
    arbiter: Option<&ArbiterHandle>,
) -> Task {
    let Some(arbiter) = arbiter else {
        return Task::Spawned(actix_rt::spawn(run(factory, mailbox, context)));
    };
    let (give, take) = oneshot::channel();
    // When the arbiter is gone, `give` is dropped there and the task reads as aborted.
    arbiter.spawn_fn(move || {
        let task = actix_rt::spawn(run(factory, mailbox, context));
        if let Err(unwanted) = give.send(task) {
            unwanted.abort();
        }
    });
    Task::Sent(take)
}

/// One incarnation from the factory to its end, as a future whose join handle the monitor awaits.
async fn run<A: Actor<Context = Context<A>>>(
    factory: Arc<Mutex<Factory<A>>>,
    mailbox: Mailbox<A>,
    context: ChildContext,
) -> TaskEnd {
    let signals = Arc::clone(&context.signals);
    // Held by a previous incarnation that hangs in the factory: waiting would hang this one, too.
    let built = match factory.try_lock() {
        Some(mut build) => build(context),
        None => Err("a previous incarnation still is in the factory".to_owned()),
    };
    match built {
        Err(reason) => TaskEnd::FailedToStart(reason),
        Ok(actor) => {
            let mut ctx = Context::new();
            ctx.spawn(mailbox);
            ctx.into_future(actor).await;
            signals.ending()
        }
    }
}
