//! What each incarnation of a supervisor is built from.

use std::sync::Arc;

use crate::{
    policy::{PastLimit, RestartPolicy, RestartStrategy},
    spec::ChildCell,
};

/// See the module.
pub(crate) struct SupervisorConfig {
    pub(crate) strategy: RestartStrategy,
    pub(crate) policy: RestartPolicy,
    pub(crate) past_limit: PastLimit,
    pub(crate) max_dynamic: usize,
    pub(crate) children: Vec<Arc<dyn ChildCell>>,
}
