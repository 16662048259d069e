//! The spec of a supervisor: its strategy, its children, and their defaults.

use std::{collections::HashSet, sync::Arc, time::Duration};

use actix::{Actor, Context};
use parking_lot::Mutex;

use crate::{
    context::ChildContext,
    policy::{PastLimit, RestartPolicy, RestartStrategy},
    reference::ChildRef,
    spec::{ChildSpec, Factory},
    supervisor::Supervisor,
    supervisor_config::SupervisorConfig,
    tree::ChildKind,
};

/// A supervisor and its children, in start order.
pub struct SupervisorSpec {
    id: Arc<str>,
    config: SupervisorConfig,
    /// What the factory builds from, once the spec is complete.
    complete: Arc<Mutex<Option<Arc<SupervisorConfig>>>>,
    child: ChildSpec<Supervisor>,
}

impl SupervisorSpec {
    /// A supervisor without children: one-for-one, [`RestartPolicy::WORKER`], escalating, at most
    /// 1,024 children at run time, 30 s to stop.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        let id = id.into();
        let complete = Arc::new(Mutex::new(None));
        let child =
            ChildSpec::with_kind(Arc::clone(&id), ChildKind::Supervisor, factory(&complete))
                .shutdown(Duration::from_secs(30))
                .capacity(1024);
        let config = SupervisorConfig {
            strategy: RestartStrategy::default(),
            policy: RestartPolicy::default(),
            past_limit: PastLimit::default(),
            max_dynamic: 1024,
            children: Vec::new(),
        };
        Self {
            id,
            config,
            complete,
            child,
        }
    }

    /// The root of a program: as [`new`](Self::new), with [`RestartPolicy::ROOT`].
    pub fn root(id: impl Into<Arc<str>>) -> Self {
        Self::new(id).policy(RestartPolicy::ROOT)
    }

    /// Which siblings are restarted together.
    pub fn strategy(mut self, strategy: RestartStrategy) -> Self {
        self.config.strategy = strategy;
        self
    }

    /// The restart policy of children that have none of their own.
    pub fn policy(mut self, policy: RestartPolicy) -> Self {
        self.config.policy = policy;
        self
    }

    /// What happens past the limit to children that say nothing of their own.
    pub fn past_limit(mut self, past_limit: PastLimit) -> Self {
        self.config.past_limit = past_limit;
        self
    }

    /// The most children at run time.
    pub fn max_dynamic(mut self, limit: usize) -> Self {
        self.config.max_dynamic = limit;
        self
    }

    /// Adds a child; it is started after those added before, and stopped before them.
    pub fn child<A: Actor<Context = Context<A>>>(mut self, spec: ChildSpec<A>) -> Self {
        self.config.children.push(spec.into_cell());
        self
    }

    /// Adds a supervisor as a child.
    pub fn supervisor(self, spec: Self) -> Self {
        self.child(spec.into_child())
    }

    /// A reference, to start children at run time.
    pub fn reference(&self) -> ChildRef<Supervisor> {
        self.child.reference()
    }

    /// The supervisor as a child, to say how it is itself restarted, stopped and placed. When it
    /// is restarted, the children of its spec are started anew and keep their references; those
    /// started at run time are gone.
    pub fn into_child(self) -> ChildSpec<Supervisor> {
        *self.complete.lock() = Some(Arc::new(self.config));
        self.child
    }
}

impl std::fmt::Debug for SupervisorSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SupervisorSpec")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The configuration is complete only when the spec becomes a child, so the factory looks it up.
fn factory(complete: &Arc<Mutex<Option<Arc<SupervisorConfig>>>>) -> Factory<Supervisor> {
    let complete = Arc::clone(complete);
    Box::new(move |context: ChildContext| {
        let config = complete
            .lock()
            .clone()
            .ok_or("the supervisor's spec is not complete")?;
        let mut names = HashSet::new();
        for cell in &config.children {
            if !names.insert(cell.node().shared_name()) {
                return Err(format!("two children are named {}", cell.node().name()));
            }
        }
        Ok(Supervisor::new(context, config))
    })
}
