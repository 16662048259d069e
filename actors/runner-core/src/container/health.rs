//! Whether a service is ready: its health check as Docker counts it, asked more often.

use std::time::Duration;

/// A health check of an image or of `options`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// Between two checks that count.
    pub interval: Duration,
    /// Failures one after the other that make a service unhealthy.
    pub retries: u32,
    /// Failures at the beginning that do not count.
    pub start_period: Duration,
}

/// How a service is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerHealth {
    /// Not known yet: ask again after this.
    Starting(Duration),
    /// Its check succeeded.
    Healthy,
    /// Its check failed too often.
    Unhealthy,
}

/// Longest pause between two looks at a service that is not ready.
const MAX_CHECK_INTERVAL: Duration = Duration::from_secs(2);

impl HealthCheck {
    /// The command of a health check, as the engine says it.
    #[must_use]
    pub fn argv(json: &str) -> Option<Vec<String>> {
        let value: serde_json::Value = serde_json::from_str(json).ok()?;
        let test = value.get("Test")?.as_array()?;
        let words = test
            .iter()
            .filter_map(|word| word.as_str().map(str::to_owned));
        let words: Vec<String> = words.collect();
        match words.split_first()? {
            (first, rest) if first == "CMD" && !rest.is_empty() => Some(rest.to_vec()),
            (first, rest) if first == "CMD-SHELL" && !rest.is_empty() => {
                let shell = ["/bin/sh", "-c"].map(str::to_owned).to_vec();
                Some([shell, vec![rest.join(" ")]].concat())
            }
            (first, _) if first == "NONE" || first.starts_with("CMD") => None,
            _ => Some(words),
        }
    }

    /// Reads what the engine says of a container (`podman inspect`, `.Config.Healthcheck`), times
    /// in nanoseconds; nothing where there is no check.
    #[must_use]
    pub fn of_inspect(json: &str) -> Option<Self> {
        let value: serde_json::Value = serde_json::from_str(json).ok()?;
        let test = value.get("Test")?.as_array()?;
        if test.first()?.as_str()? == "NONE" {
            return None;
        }
        let nanoseconds = |key: &str| value.get(key).and_then(serde_json::Value::as_u64);
        let duration = |key: &str, default: u64| match nanoseconds(key) {
            None | Some(0) => Duration::from_secs(default),
            Some(nanoseconds) => Duration::from_nanos(nanoseconds),
        };
        let retries = nanoseconds("Retries").filter(|retries| *retries > 0);
        Some(Self {
            interval: duration("Interval", 30),
            retries: retries.map_or(3, |retries| u32::try_from(retries).unwrap_or(u32::MAX)),
            start_period: Duration::from_nanos(nanoseconds("StartPeriod").unwrap_or(0)),
        })
    }
}

/// Watches one service. A success is believed at once; a failure counts only when the interval has
/// passed since the last one that counted, so that a service has as long as Docker gives it.
#[derive(Debug, Clone)]
pub struct HealthWatch {
    check: HealthCheck,
    failures: u32,
    last_counted: Duration,
}

impl HealthWatch {
    /// Of a service that has just started.
    #[must_use]
    pub fn new(check: HealthCheck) -> Self {
        Self {
            check,
            failures: 0,
            last_counted: Duration::ZERO,
        }
    }

    /// What a look at `elapsed` after the start found.
    pub fn observe(&mut self, elapsed: Duration, succeeded: bool) -> ContainerHealth {
        if succeeded {
            return ContainerHealth::Healthy;
        }
        let due = elapsed.saturating_sub(self.last_counted) >= self.check.interval;
        if due && elapsed >= self.check.start_period {
            self.failures += 1;
            self.last_counted = elapsed;
        }
        if self.failures >= self.check.retries {
            return ContainerHealth::Unhealthy;
        }
        ContainerHealth::Starting(self.check.interval.min(MAX_CHECK_INTERVAL))
    }
}
