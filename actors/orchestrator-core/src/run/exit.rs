//! How a run's process ended.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Millis;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The stable word: in replies, records, the journal and metrics.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use words;

words! {
    /// What kind of end a run had.
    ExitClass {
        /// Status 0, with output.
        Success = "success",
        /// Status 0, without any output: most likely nothing was done.
        EmptySuccess = "empty_success",
        /// The wall-clock limit or the stall limit was reached.
        Timeout = "timeout",
        /// The provider refused because of its rate limit or quota.
        RateLimit = "rate_limit",
        /// A compiler failed.
        CompilationError = "compilation_error",
        /// A test failed.
        TestFailure = "test_failure",
        /// The model's answer was refused, cut or unusable.
        ModelError = "model_error",
        /// Name resolution, connection or TLS failed.
        NetworkError = "network_error",
        /// Memory, disk or processes ran out.
        ResourceExhaustion = "resource_exhaustion",
        /// The operating system or the forge refused.
        PermissionDenied = "permission_denied",
        /// The agent cannot start as configured: program, key or option is wrong.
        ConfigError = "config_error",
        /// It ended by a fault of its own (a panic, an abort).
        Crash = "crash",
        /// A signal that nobody here sent.
        KilledBySignal = "killed_by_signal",
        /// Somebody cancelled it, or a newer run took its place.
        Cancelled = "cancelled",
        /// The orchestrator ended while it ran.
        OrchestratorRestart = "orchestrator_restart",
        /// It failed, and nothing tells why.
        Unknown = "unknown",
    }
}

impl ExitClass {
    /// Whether the run did what it was asked for, as far as its process can tell.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Success | Self::EmptySuccess)
    }

    /// Whether the failure says something about the provider rather than about the work.
    pub fn blames_provider(self) -> bool {
        matches!(
            self,
            Self::RateLimit | Self::ModelError | Self::NetworkError
        )
    }
}

/// How the process ended, as its actor observed it. Exactly one of the fields is decisive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminal {
    /// It returned this status.
    Code(i32),
    /// A signal that the orchestrator did not send.
    Signal(i32),
    /// The orchestrator ended it at the wall-clock limit.
    WallClock,
    /// The orchestrator ended it after too long a silence.
    Stalled,
    /// The orchestrator ended it on request, or because a newer run took its place.
    Cancelled,
    /// The orchestrator stopped or crashed.
    Restart,
    /// It could not be started at all.
    NotStarted,
    /// The orchestrator ended it because it used more memory, disk or processes than it may.
    Exhausted,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitReport {
    /// The kind of end.
    pub class: ExitClass,
    /// How the process ended.
    pub terminal: Terminal,
    /// From start to end.
    pub wall_millis: u64,
    /// Bytes it printed, kept or not.
    pub output_bytes: u64,
    /// What it cost, in hundredths, if known.
    pub cost_cents: Option<u64>,
    /// The error signature that decided the class, or why it could not be started; one line.
    pub detail: Option<String>,
    /// When.
    pub at: Millis,
}
