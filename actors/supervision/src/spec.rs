//! Child specs: what a supervisor has to know about a child, and how its lives are made.

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
    ChildContext, ChildKind, ChildRef, PastLimit, Restart, RestartPolicy,
    life::{Life, Pulse, Vital},
    mailbox::Mailbox,
    monitor::{Ending, Task},
    reference::{Shared, millis},
    tree::Node,
};

/// On which thread a child's lives run.
#[derive(Debug, Clone, Default)]
pub enum Placement {
    /// On the arbiter of its supervisor.
    #[default]
    Beside,
    /// On an arbiter of its own. When a life hangs there, the next one gets a new arbiter: the
    /// blocked thread itself cannot be ended from outside.
    Own,
    /// On this arbiter. When a life blocks it, further lives cannot run there either.
    On(ArbiterHandle),
}

/// How a supervisor finds out that a child hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pings {
    /// Time between two pings.
    pub interval: Duration,
    /// The child hangs when this many in a row are unanswered.
    pub misses: u32,
}

impl Pings {
    /// A ping every 5 s, three misses.
    pub const DEFAULT: Self = Self {
        interval: Duration::from_secs(5),
        misses: 3,
    };

    /// Never so short that the monitor does nothing else.
    pub(crate) fn safe_interval(self) -> Duration {
        self.interval.max(Duration::from_millis(1))
    }
}

/// What does not depend on the actor's type.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) restart: Restart,
    pub(crate) shutdown: Duration,
    pub(crate) placement: Placement,
    pub(crate) pings: Option<Pings>,
    /// `None`: as the supervisor has it.
    pub(crate) policy: Option<RestartPolicy>,
    pub(crate) past_limit: Option<PastLimit>,
}

pub(crate) type Factory<A> = Box<dyn FnMut(ChildContext) -> Result<A, String> + Send>;

/// A child: its id, how it is restarted and stopped, and the factory of its lives.
///
/// The factory builds fresh state for each life; nothing of a life that crashed is used again.
pub struct ChildSpec<A: Actor<Context = Context<A>>> {
    facts: Facts,
    shared: Arc<Shared<A>>,
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
        Self::fallible(id, move |life| Ok::<_, String>(factory(life)))
    }

    /// A permanent child whose factory may fail, which is a failed start.
    pub fn fallible<E: Display>(
        id: impl Into<Arc<str>>,
        mut factory: impl FnMut(ChildContext) -> Result<A, E> + Send + 'static,
    ) -> Self {
        let factory = Box::new(move |life| factory(life).map_err(|error| error.to_string()));
        Self::of_kind(id.into(), ChildKind::Worker, factory)
    }

    pub(crate) fn of_kind(id: Arc<str>, kind: ChildKind, factory: Factory<A>) -> Self {
        let facts = Facts {
            restart: Restart::Permanent,
            shutdown: Duration::from_secs(5),
            placement: Placement::default(),
            pings: Some(Pings::DEFAULT),
            policy: None,
            past_limit: None,
        };
        Self {
            facts,
            shared: Arc::new(Shared::new(Arc::new(Node::new(id, kind)))),
            factory,
        }
    }

    /// Which ends are followed by a new life; [`Restart::Permanent`] unless said.
    pub fn restart(mut self, restart: Restart) -> Self {
        self.facts.restart = restart;
        self
    }

    /// How often it is restarted and after which delay; as its supervisor has it unless said.
    pub fn policy(mut self, policy: RestartPolicy) -> Self {
        self.facts.policy = Some(policy);
        self
    }

    /// What happens past the limit; as its supervisor has it unless said.
    pub fn past_limit(mut self, past_limit: PastLimit) -> Self {
        self.facts.past_limit = Some(past_limit);
        self
    }

    /// The time it has to stop before its task is aborted; 5 s unless said.
    pub fn shutdown(mut self, within: Duration) -> Self {
        self.facts.shutdown = within;
        self
    }

    /// On which thread its lives run; beside its supervisor unless said.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.facts.placement = placement;
        self
    }

    /// How it is found to hang; [`Pings::DEFAULT`] unless said, `None` for never.
    pub fn pings(mut self, pings: impl Into<Option<Pings>>) -> Self {
        self.facts.pings = pings.into();
        self
    }

    /// Permits: the most messages that wait, and the most unanswered questions; 64 unless said. With
    /// 0 every message is refused.
    pub fn capacity(self, permits: usize) -> Self {
        self.shared
            .node
            .settings
            .capacity
            .store(permits, Ordering::Relaxed);
        self
    }

    /// How long [`ChildRef::ask`] waits for a reply; 5 s unless said.
    pub fn ask_timeout(self, timeout: Duration) -> Self {
        self.shared
            .node
            .settings
            .ask_timeout_ms
            .store(millis(timeout), Ordering::Relaxed);
        self
    }

    /// What a full child tells those it refuses; 1 s unless said.
    pub fn retry_after(self, retry_after: Duration) -> Self {
        self.shared
            .node
            .settings
            .retry_after_ms
            .store(millis(retry_after), Ordering::Relaxed);
        self
    }

    /// A reference to the child, for its peers; good before the child is started.
    pub fn reference(&self) -> ChildRef<A> {
        ChildRef::new(Arc::clone(&self.shared))
    }

    pub(crate) fn into_cell(self) -> Arc<dyn ChildCell> {
        let factory = Arc::new(Mutex::new(self.factory));
        Arc::new(Cell {
            facts: self.facts,
            shared: self.shared,
            factory,
        })
    }
}

/// A child as its supervisor handles it, without the actor's type.
pub(crate) trait ChildCell: Send + Sync {
    fn facts(&self) -> &Facts;
    fn node(&self) -> &Arc<Node>;
    /// Makes a life on `arbiter`, or on the present one.
    fn start(&self, arbiter: Option<&ArbiterHandle>) -> Started;
    /// Takes the reference from a life that is given up.
    fn vacate(&self, incarnation: u64);
}

/// A life that was just made.
pub(crate) struct Started {
    pub(crate) incarnation: u64,
    pub(crate) life: Arc<dyn Vital>,
    pub(crate) task: Task,
}

struct Cell<A: Actor<Context = Context<A>>> {
    facts: Facts,
    shared: Arc<Shared<A>>,
    factory: Arc<Mutex<Factory<A>>>,
}

impl<A: Actor<Context = Context<A>>> ChildCell for Cell<A> {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn node(&self) -> &Arc<Node> {
        &self.shared.node
    }

    fn start(&self, arbiter: Option<&ArbiterHandle>) -> Started {
        let node = &self.shared.node;
        let incarnation = node.next_incarnation();
        let life = Arc::new(Life {
            incarnation,
            shared: Arc::clone(&self.shared),
            pulse: Pulse::default(),
        });
        let vital: Arc<dyn Vital> = Arc::<Life<A>>::clone(&life);
        node.begin(&vital);
        self.shared.occupy(incarnation);
        let mailbox = Mailbox::new(life);
        let context = ChildContext {
            life: Arc::clone(&vital),
            node: Arc::clone(node),
            incarnation,
        };
        let task = spawn(Arc::clone(&self.factory), mailbox, context, arbiter);
        Started {
            incarnation,
            life: vital,
            task,
        }
    }

    fn vacate(&self, incarnation: u64) {
        self.shared.vacate(incarnation);
    }
}

fn spawn<A: Actor<Context = Context<A>>>(
    factory: Arc<Mutex<Factory<A>>>,
    mailbox: Mailbox<A>,
    context: ChildContext,
    arbiter: Option<&ArbiterHandle>,
) -> Task {
    let Some(arbiter) = arbiter else {
        return Task::Spawned(actix_rt::spawn(live(factory, mailbox, context)));
    };
    let (give, take) = oneshot::channel();
    // When the arbiter is gone, `give` is dropped there and the task reads as aborted.
    arbiter.spawn_fn(move || {
        let task = actix_rt::spawn(live(factory, mailbox, context));
        if let Err(unwanted) = give.send(task) {
            unwanted.abort();
        }
    });
    Task::Sent(take)
}

/// One life from the factory to its end, as a future whose join handle the monitor awaits.
async fn live<A: Actor<Context = Context<A>>>(
    factory: Arc<Mutex<Factory<A>>>,
    mailbox: Mailbox<A>,
    context: ChildContext,
) -> Ending {
    let life = Arc::clone(&context.life);
    // Held by a former life that hangs in the factory: waiting would hang this one, too.
    let built = match factory.try_lock() {
        Some(mut build) => build(context),
        None => Err("a former life still is in the factory".to_owned()),
    };
    match built {
        Err(reason) => Ending::FailedToStart(reason),
        Ok(actor) => {
            let mut ctx = Context::new();
            ctx.spawn(mailbox);
            ctx.into_future(actor).await;
            life.pulse().ending()
        }
    }
}
