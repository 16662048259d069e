//! The words for a VM's state, its source and its failure.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a VM is in its lifecycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VmState {
    /// Its process starts, or its agent has not said hello yet.
    Starting,
    /// It can be given work.
    Ready,
    /// Something runs in it.
    Busy,
    /// It is being killed and its files removed.
    Stopping,
    /// Nothing of it is left. Terminal.
    Gone,
    /// It ended in a way nobody asked for; what is left of it must still be removed.
    Failed,
}

impl VmState {
    /// The word in JSON, metrics and logs.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Busy => "busy",
            Self::Stopping => "stopping",
            Self::Gone => "gone",
            Self::Failed => "failed",
        }
    }

    /// Whether it holds memory and processors.
    #[must_use]
    pub fn is_alive(self) -> bool {
        matches!(
            self,
            Self::Starting | Self::Ready | Self::Busy | Self::Stopping
        )
    }

    /// Whether work can be given to it.
    #[must_use]
    pub fn takes_work(self) -> bool {
        matches!(self, Self::Ready | Self::Busy)
    }
}

/// Where a VM came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Source)]
pub enum VmSource {
    /// It waited, booted, in the warm pool.
    Pool,
    /// It was cloned from a template on demand.
    Clone,
    /// It was booted from nothing.
    Cold,
}

impl VmSource {
    /// The word in JSON, metrics and logs.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Pool => "pool",
            Self::Clone => "clone",
            Self::Cold => "cold",
        }
    }
}

/// Why a VM failed, or was released as stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureReason {
    /// Its process could not be started.
    NotStarted,
    /// Its agent said nothing within the deadline for booting.
    BootDeadline,
    /// Its agent does not answer any more.
    GuestSilent,
    /// Its process has ended by itself or was killed by somebody else.
    ProcessGone,
    /// Its agent broke the rules of the protocol: what it sent is none, is out of turn, or it does
    /// not read what it is sent.
    BadProtocol,
    /// Its clock does not go as the host's does.
    ClockWrong,
    /// Its lease was not extended in time.
    LeaseOver,
    /// A previous incarnation of the manager left it behind.
    LeftBehind,
    /// It was paused, and others needed its room.
    Reclaimed,
}

impl FailureReason {
    /// The word in JSON, metrics and logs.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::BootDeadline => "boot_deadline",
            Self::GuestSilent => "guest_silent",
            Self::ProcessGone => "process_gone",
            Self::BadProtocol => "bad_protocol",
            Self::ClockWrong => "clock_wrong",
            Self::LeaseOver => "lease_over",
            Self::LeftBehind => "left_behind",
            Self::Reclaimed => "reclaimed",
        }
    }
}
