//! `/livez`, `/readyz` and `/metrics`.

use std::fmt;
use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use serde::Serialize;
use utoipa::ToSchema;

use crate::metrics::Metrics;
use crate::problem::Problem;

/// Looks at one condition; must answer at once (read a flag, do not do the work).
type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The named conditions under which this program takes work. Clones share them.
#[derive(Clone, Default)]
pub struct HealthChecks {
    checks: Vec<(&'static str, Check)>,
}

impl HealthChecks {
    /// No condition: ready as soon as it answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a condition; the error says what is missing.
    #[must_use]
    pub fn check(
        mut self,
        name: &'static str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push((name, Arc::new(check)));
        self
    }

    /// Looks at every condition.
    pub fn report(&self) -> Readiness {
        let checks: Vec<CheckReport> = self.checks.iter().map(report).collect();
        Readiness {
            ready: checks.iter().all(|check| check.ok),
            checks,
        }
    }
}

fn report((name, check): &(&'static str, Check)) -> CheckReport {
    let outcome = check();
    CheckReport {
        name,
        ok: outcome.is_ok(),
        detail: outcome.err(),
    }
}

impl fmt::Debug for HealthChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.checks.iter().map(|(name, _)| name))
            .finish()
    }
}

/// What `/readyz` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Readiness {
    /// Whether all conditions hold.
    pub ready: bool,
    /// The conditions.
    pub checks: Vec<CheckReport>,
}

/// One condition of [`Readiness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CheckReport {
    /// What was looked at.
    pub name: &'static str,
    /// Whether it holds.
    pub ok: bool,
    /// What is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// `GET /livez`: 200 while the process answers at all.
pub async fn livez() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body("ok\n")
}

/// `GET /readyz`: 200 when every condition of the [`HealthChecks`] in the application's data holds,
/// else 503 with `Retry-After`; the conditions as JSON either way.
pub async fn readyz(health: web::Data<HealthChecks>) -> HttpResponse {
    let report = health.report();
    let mut answer = if report.ready {
        HttpResponse::Ok()
    } else {
        HttpResponse::ServiceUnavailable()
    };
    if !report.ready {
        answer.insert_header((header::RETRY_AFTER, 5));
    }
    answer
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(report)
}

/// `GET /metrics`: the [`Metrics`] in the application's data, in Prometheus' text format.
///
/// # Errors
/// 500 when a collector is inconsistent.
pub async fn metrics_text(metrics: web::Data<Metrics>) -> Result<HttpResponse, Problem> {
    let text = metrics.render().map_err(|error| {
        tracing::error!(event = "metrics.failed", %error, "metrics cannot be rendered");
        Problem::internal()
    })?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, Metrics::content_type()))
        .body(text))
}
