//! The root of a tree: starts it, stops it, and says how it ended.

use std::{future::Future, time::Duration};

use tokio::sync::{oneshot, watch};

use crate::{
    exit::{Exit, TreeExit},
    messages::{Heartbeat, StartChildError},
    monitor::{IncarnationMonitor, MonitorCommand, MonitorCommands, commands},
    reference::ChildRef,
    supervisor::Supervisor,
    supervisor_spec::SupervisorSpec,
    tree::{ActorState, ActorTree},
};

/// How long the parts of a tree may take to stop, beyond what their supervisors allow themselves.
const PART_STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A running tree of actors, or a part of one ([`Root::start_below`]). The program awaits its
/// [`verdict`](Root::verdict) and turns it into the exit code.
#[must_use = "the tree is aborted when its root and every handle are dropped"]
#[derive(Debug)]
pub struct Root {
    end: oneshot::Receiver<Exit>,
    handle: RootHandle,
}

/// Stops the tree and looks at it. Cheap to clone; `Send` and `Sync`.
#[derive(Debug, Clone)]
pub struct RootHandle {
    commands: MonitorCommands,
    shutdown: Duration,
    tree: ActorTree,
    supervisor: ChildRef<Supervisor>,
    /// Stops a part only.
    part: bool,
    /// How the whole tree has ended; a part sees its tree's.
    ended: watch::Receiver<Option<Exit>>,
}

/// A tree whose end is awaited in the background, for a server that ends together with its actors.
#[must_use = "the tree is aborted when this and every handle are dropped"]
#[derive(Debug)]
pub struct WatchedRoot {
    handle: RootHandle,
    verdict: actix_rt::task::JoinHandle<TreeExit>,
}

impl WatchedRoot {
    /// Stops the tree if it still runs, and waits for its end.
    ///
    /// # Errors
    /// The verdict, when it gave up.
    pub async fn shut_down(self) -> Result<(), TreeExit> {
        self.handle.stop();
        let verdict = self.verdict.await;
        // The task goes without a word only when its arbiter does.
        match verdict.unwrap_or(TreeExit::Failed(Exit::Aborted)) {
            TreeExit::Stopped => Ok(()),
            failed => Err(failed),
        }
    }
}

impl Root {
    /// Starts supervisors below a root of their own; otherwise as [`Root::start`].
    pub fn start_named(name: &str, parts: Vec<SupervisorSpec>) -> Self {
        let root = SupervisorSpec::root(name);
        Self::start(parts.into_iter().fold(root, SupervisorSpec::supervisor))
    }

    /// The tree, watched, and what resolves when `shutdown` does or the tree ends by itself. Needs
    /// a running actix system.
    pub fn watch_until<S>(
        self,
        shutdown: S,
    ) -> (WatchedRoot, impl Future<Output = ()> + Send + use<S>)
    where
        S: Future<Output = ()> + Send,
    {
        let handle = self.handle();
        let (tell, gave_up) = oneshot::channel();
        let verdict = actix_rt::spawn(async move {
            let verdict = self.verdict().await;
            // Nobody may listen any more.
            let _ = tell.send(());
            verdict
        });
        let ended = async move {
            tokio::select! {
                () = shutdown => {}
                _ = gave_up => {}
            }
        };
        (WatchedRoot { handle, verdict }, ended)
    }

    /// Starts the tree on the present arbiter; needs a running actix system. The root itself is
    /// never restarted: when it fails, the verdict says so.
    pub fn start(spec: SupervisorSpec) -> Self {
        let supervisor = spec.reference();
        let cell = spec.into_child().into_cell();
        let (commands, receive) = commands();
        let (send_end, end) = oneshot::channel();
        let (tell_ended, ended) = watch::channel(None);
        let started = cell.start(None);
        let monitor = IncarnationMonitor {
            signals: started.signals,
            task: started.task,
            pings: None,
            commands: receive,
        };
        let tree = ActorTree {
            root: cell.node().clone(),
        };
        let shutdown = cell.options().shutdown;
        actix_rt::spawn(async move {
            let exit = monitor.watch().await;
            cell.node().record_exit(started.incarnation, &exit);
            cell.node().set_state(ActorState::Ended);
            tell_ended.send_replace(Some(exit.clone()));
            // Nobody may want the verdict.
            let _ = send_end.send(exit);
        });
        Self {
            end,
            handle: RootHandle {
                commands,
                shutdown,
                tree,
                supervisor,
                part: false,
                ended,
            },
        }
    }

    /// Starts supervisors below a tree that runs, in their order, and gives what behaves as a root
    /// of their own: stopping it stops these only, the last one first, and leaves the rest as it
    /// is. Its verdict comes when they are down, or is the tree's when that ends before. What it
    /// shows is the whole tree.
    ///
    /// # Errors
    /// When the tree's supervisor refuses one of them, or has ended.
    pub async fn start_below(
        tree: &RootHandle,
        parts: Vec<SupervisorSpec>,
    ) -> Result<Self, StartChildError> {
        let mut ended = tree.ended.clone();
        tokio::select! {
            () = tree.supervisor.ready() => {}
            // It has none any more; asking it says so.
            _ = ended.wait_for(Option::is_some) => {}
        }
        let mut names = Vec::new();
        for part in parts {
            let started = tree.supervisor.start_child(part.into_child()).await?;
            names.push(started.id().to_owned());
        }
        let (commands, mut receive) = commands();
        let (send_end, end) = oneshot::channel();
        let handle = RootHandle {
            commands,
            part: true,
            ..tree.clone()
        };
        let supervisor = tree.supervisor.clone();
        actix_rt::spawn(async move {
            let exit = tokio::select! {
                Some(MonitorCommand::Stop(_)) = receive.recv() => {
                    for name in names.into_iter().rev() {
                        // What is not there any more needs no stop; what does not end is the tree's
                        // to abort.
                        let _ = supervisor.stop_child(name, PART_STOP_TIMEOUT).await;
                    }
                    Exit::Normal
                }
                ended = ended.wait_for(Option::is_some) => {
                    ended.ok().and_then(|exit| exit.clone()).unwrap_or(Exit::Aborted)
                }
            };
            // Nobody may want the verdict.
            let _ = send_end.send(exit);
        });
        Ok(Self { end, handle })
    }

    /// A handle, to stop the tree from elsewhere and to look at it.
    pub fn handle(&self) -> RootHandle {
        self.handle.clone()
    }

    /// Waits for the end of the tree.
    pub async fn verdict(self) -> TreeExit {
        // The monitor goes without a word only when its arbiter does.
        TreeExit::from(self.end.await.unwrap_or(Exit::Aborted))
    }
}

impl RootHandle {
    /// Stops the tree, or this part of it: children in reverse start order, each within its
    /// shutdown time.
    pub fn stop(&self) {
        if !self.part {
            self.tree.root.stopping();
        }
        // A tree that has ended, or was told already, needs no command.
        let _ = self.commands.try_send(MonitorCommand::Stop(self.shutdown));
    }

    /// Whether the root supervisor answers in time: what a watchdog asks.
    pub async fn answers(&self, within: Duration) -> bool {
        self.supervisor.ask_within(Heartbeat, within).await.is_ok()
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
