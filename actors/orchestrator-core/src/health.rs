//! What runs do to providers and agents: circuit breakers, quarantine, budgets.

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::config::{AgentBudget, Provider};
use crate::run::ExitClass;

/// The circuit of one provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Breaker {
    /// Runs go through.
    Closed {
        /// Failures in a row.
        failures: u32,
    },
    /// No run goes through until then.
    Open {
        /// When one is let through to try.
        until: Millis,
    },
    /// One run is trying.
    HalfOpen {
        /// Since when; a trial whose end is never reported is given up after the cool-down.
        since: Millis,
    },
}

impl Default for Breaker {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

impl Breaker {
    /// Whether a run may start now.
    pub fn allows(self, settings: Provider, now: Millis) -> bool {
        match self {
            Self::Closed { .. } => true,
            Self::Open { until } => now >= until,
            Self::HalfOpen { since } => now >= since.saturating_add(millis(settings)),
        }
    }

    /// A run starts.
    #[must_use]
    pub fn started(self, settings: Provider, now: Millis) -> Self {
        match self {
            Self::Open { .. } | Self::HalfOpen { .. } if self.allows(settings, now) => {
                Self::HalfOpen { since: now }
            }
            other => other,
        }
    }

    /// A run ended. Ends that say nothing about the provider change nothing.
    #[must_use]
    pub fn record_end(self, settings: Provider, class: ExitClass, now: Millis) -> Self {
        let open = Self::Open {
            until: now.saturating_add(millis(settings)),
        };
        if class.is_success() {
            return Self::default();
        }
        if !class.blames_provider() {
            return match self {
                // The trial proved nothing; the next run may try at once.
                Self::HalfOpen { .. } => Self::Open { until: now },
                other => other,
            };
        }
        match self {
            Self::Closed { failures } if failures + 1 < settings.failures => Self::Closed {
                failures: failures + 1,
            },
            _ => open,
        }
    }

    /// The state's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed { .. } => "closed",
            Self::Open { .. } => "open",
            Self::HalfOpen { .. } => "half_open",
        }
    }
}

fn millis(settings: Provider) -> Millis {
    u64::try_from(settings.cool_down.as_millis()).unwrap_or(u64::MAX)
}

/// Configuration errors of an agent in a row; anything else resets it.
pub fn config_errors(before: u32, class: ExitClass) -> u32 {
    if class == ExitClass::ConfigError {
        before.saturating_add(1)
    } else {
        0
    }
}

/// What an agent has used in one month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentUsage {
    /// Runs that were started.
    pub runs: u64,
    /// What they cost, in hundredths.
    pub cents: u64,
}

/// How a budget stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetState {
    /// Below 80 percent.
    Fine,
    /// At 80 percent or more.
    Near,
    /// Used up.
    Exhausted,
}

impl AgentBudget {
    /// How it stands after `usage`.
    pub fn state(&self, usage: AgentUsage) -> BudgetState {
        let of = |used: u64, limit: Option<u64>| match limit {
            Some(limit) if used >= limit => BudgetState::Exhausted,
            Some(limit) if used.saturating_mul(10) >= limit.saturating_mul(8) => BudgetState::Near,
            _ => BudgetState::Fine,
        };
        match (of(usage.cents, self.cents), of(usage.runs, self.runs)) {
            (BudgetState::Exhausted, _) | (_, BudgetState::Exhausted) => BudgetState::Exhausted,
            (BudgetState::Near, _) | (_, BudgetState::Near) => BudgetState::Near,
            _ => BudgetState::Fine,
        }
    }
}

/// The month of a time, in UTC: `2026-11`.
pub fn month(at: Millis) -> String {
    let at = i64::try_from(at).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_millisecond(at).unwrap_or(jiff::Timestamp::MAX);
    at.strftime("%Y-%m").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SETTINGS: Provider = Provider {
        failures: 2,
        cool_down: Duration::from_secs(10),
    };

    #[test]
    fn a_circuit_opens_tries_and_closes() {
        let failure = ExitClass::RateLimit;
        let one = Breaker::default().record_end(SETTINGS, failure, 0);
        assert!(one.allows(SETTINGS, 0));
        let open = one.record_end(SETTINGS, failure, 1000);
        assert_eq!(open, Breaker::Open { until: 11_000 });
        assert!(!open.allows(SETTINGS, 10_999));
        assert!(open.allows(SETTINGS, 11_000));
        let trial = open.started(SETTINGS, 11_000);
        assert!(!trial.allows(SETTINGS, 11_001), "one run at a time");
        assert!(
            trial.allows(SETTINGS, 21_000),
            "a trial that never ends is given up"
        );
        assert_eq!(
            trial.record_end(SETTINGS, ExitClass::TestFailure, 12_000),
            Breaker::Open { until: 12_000 }
        );
        assert_eq!(
            trial.record_end(SETTINGS, failure, 12_000),
            Breaker::Open { until: 22_000 }
        );
        assert_eq!(
            trial.record_end(SETTINGS, ExitClass::Success, 12_000),
            Breaker::default()
        );
    }

    #[test]
    fn budgets_warn_at_80_percent_and_stop_at_100() {
        let budget = AgentBudget {
            cents: Some(100),
            runs: Some(10),
            cents_per_run: 0,
        };
        let state = |runs, cents| budget.state(AgentUsage { runs, cents });
        assert_eq!(state(7, 79), BudgetState::Fine);
        assert_eq!(state(8, 0), BudgetState::Near);
        assert_eq!(state(0, 80), BudgetState::Near);
        assert_eq!(state(10, 0), BudgetState::Exhausted);
        assert_eq!(state(0, 100), BudgetState::Exhausted);
        assert_eq!(
            AgentBudget::default().state(AgentUsage {
                runs: u64::MAX,
                cents: u64::MAX
            }),
            BudgetState::Fine
        );
    }

    #[test]
    fn only_configuration_errors_in_a_row_count() {
        let classes = [
            ExitClass::ConfigError,
            ExitClass::ConfigError,
            ExitClass::Unknown,
            ExitClass::ConfigError,
        ];
        let counts = classes.iter().scan(0, |count, class| {
            *count = config_errors(*count, *class);
            Some(*count)
        });
        assert_eq!(counts.collect::<Vec<_>>(), [1, 2, 0, 1]);
        assert_eq!(month(1_795_219_200_000), "2026-11");
    }
}
