//! What the handlers share.

use orchestrator_actors::{Intake, OperatorApi, OrchestratorView};
use supervision::{ActorTree, ChildRef};

use crate::metrics::OrchestratorMetrics;

/// What the handlers of one orchestrator share.
pub(crate) struct WebState {
    /// Takes events in.
    pub(crate) intake: ChildRef<Intake>,
    /// Answers operators.
    pub(crate) operator_api: ChildRef<OperatorApi>,
    /// For logs, which are files, and for the figures.
    pub(crate) view: OrchestratorView,
    /// The actors.
    pub(crate) tree: ActorTree,
    /// Figures of the orchestrator.
    pub(crate) metrics: OrchestratorMetrics,
}
