//! The root of a tree: starts it, stops it, and says how it ended.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::{
    ActorState, ActorTree, ChildRef, Exit, Supervisor, SupervisorSpec, Verdict,
    monitor::{Monitor, Order},
};

/// A running tree of actors. The program awaits its [`verdict`](Root::verdict) and turns it into
/// the exit code.
#[must_use = "the tree is aborted when its root and every handle are dropped"]
#[derive(Debug)]
pub struct Root {
    end: oneshot::Receiver<Exit>,
    handle: RootHandle,
}

/// Stops the tree and looks at it. Cheap to clone; `Send` and `Sync`.
#[derive(Debug, Clone)]
pub struct RootHandle {
    orders: mpsc::UnboundedSender<Order>,
    shutdown: Duration,
    tree: ActorTree,
    supervisor: ChildRef<Supervisor>,
}

impl Root {
    /// Starts the tree on the present arbiter; needs a running actix system. The root itself is
    /// never restarted: when it fails, the verdict says so.
    pub fn start(spec: SupervisorSpec) -> Self {
        let supervisor = spec.reference();
        let cell = spec.into_child().into_cell();
        let (orders, receive) = mpsc::unbounded_channel();
        let (send_end, end) = oneshot::channel();
        let started = cell.start(None);
        let monitor = Monitor {
            life: started.life,
            task: started.task,
            pings: None,
            orders: receive,
        };
        let tree = ActorTree {
            root: cell.node().clone(),
        };
        let shutdown = cell.facts().shutdown;
        actix_rt::spawn(async move {
            let exit = monitor.watch().await;
            cell.node().exited(started.incarnation, &exit);
            cell.node().set_state(ActorState::Ended);
            // Nobody may want the verdict.
            let _ = send_end.send(exit);
        });
        Self {
            end,
            handle: RootHandle {
                orders,
                shutdown,
                tree,
                supervisor,
            },
        }
    }

    /// A handle, to stop the tree from elsewhere and to look at it.
    pub fn handle(&self) -> RootHandle {
        self.handle.clone()
    }

    /// Waits for the end of the tree.
    pub async fn verdict(self) -> Verdict {
        // The monitor goes without a word only when its arbiter does.
        Verdict::from(self.end.await.unwrap_or(Exit::Aborted))
    }
}

impl RootHandle {
    /// Stops the tree: children in reverse start order, each within its shutdown time.
    pub fn stop(&self) {
        self.tree.root.stopping();
        // A tree that has ended needs no order.
        let _ = self.orders.send(Order::Stop(self.shutdown));
    }

    /// The tree as data, for `GET /admin/actors`.
    pub fn tree(&self) -> &ActorTree {
        &self.tree
    }

    /// The root supervisor, to start children at run time.
    pub fn supervisor(&self) -> &ChildRef<Supervisor> {
        &self.supervisor
    }
}
