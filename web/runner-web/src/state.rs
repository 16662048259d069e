//! What the handlers of one server share.

use runner_actors::{HandOver, RunCoordinator, RunnerIntake, RunnerView, SettingsReloader};
use supervision::ChildRef;

/// What the handlers share.
pub(crate) struct RunnerState {
    pub(crate) coordinator: ChildRef<RunCoordinator>,
    pub(crate) hand_over: ChildRef<HandOver>,
    /// Who reads the settings again, where they can be.
    pub(crate) settings: Option<ChildRef<SettingsReloader>>,
    pub(crate) intake: RunnerIntake,
    pub(crate) view: RunnerView,
    /// Whether an API token is configured.
    pub(crate) has_token: bool,
}
