//! What the handlers share.

use orchestrator_actors::{Desk, Intake, Shared};
use supervision::{ActorTree, ChildRef};

use crate::metrics::OrchestratorMetrics;

/// What the handlers of one orchestrator share.
pub(crate) struct WebState {
    /// Takes events in.
    pub(crate) intake: ChildRef<Intake>,
    /// Answers operators.
    pub(crate) desk: ChildRef<Desk>,
    /// For logs, which are files, and for the figures.
    pub(crate) shared: Shared,
    /// The actors.
    pub(crate) tree: ActorTree,
    /// Figures of the orchestrator.
    pub(crate) metrics: OrchestratorMetrics,
}
