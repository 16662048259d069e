//! A hand-over that is asked for: at once, or once no job is under way.

use std::time::Duration;

use actix_web::{HttpResponse, web};
use edge_web::Problem;
use edge_web::replica::{not_drained, not_shared};
use runner_actors::{DrainNow, DrainWhenIdle, HandOverNote};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::handlers::ReplicaControl;
use crate::problems::{of_ask, of_store};
use crate::state::RunnerState;

/// The parameters of a hand-over that is asked for.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct DrainParameters {
    /// Also where nobody stands by.
    #[serde(default)]
    #[param(required = false)]
    force: bool,
    /// First wait until no job has a machine, and begin none: where this is not asked again within
    /// so many seconds jobs begin again, and nothing is handed over. At once without.
    hold_s: Option<u64>,
    /// The epoch of an answer before: where another leads since, nothing is done.
    epoch: Option<u64>,
}

/// How far a hand-over is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DrainStatus {
    /// It hands over now; the jobs that have a machine end as at a restart.
    Draining,
    /// It begins no jobs, and waits for those that have a machine.
    Waiting,
    /// It has handed over: another process leads, or is about to.
    Over,
    /// It ended or lost the store before it handed over, and another process leads: jobs that had a
    /// machine are lost, or run again.
    Lost,
}

/// How far a hand-over is, and what it is about.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Drain {
    /// How far.
    status: DrainStatus,
    /// The epoch that the process leads under.
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
    /// Jobs that have a machine, or had one when it handed over.
    jobs: usize,
}

/// Has the process that leads hand over to another one.
#[utoipa::path(post, path = "/admin/drain", tag = "operation", params(DrainParameters),
    responses((status = 202, body = Drain, description = "It hands over, and another process leads within seconds: at once, its jobs end as at a restart; or when none has a machine any more"), (status = 409, description = "The store is shared with no other process, or none stands by"), (status = 503, description = "Nobody leads at the moment")))]
pub(crate) async fn drain(
    state: web::Data<RunnerState>,
    control: ReplicaControl,
    query: web::Query<DrainParameters>,
) -> Result<HttpResponse, Problem> {
    let control = control.ok_or_else(not_shared)?;
    let DrainParameters {
        force,
        hold_s,
        epoch,
    } = query.into_inner();
    let leads_under = control.leads_under();
    let under_way = || state.view.job_admission().under_way();
    let (status, jobs) = if let Some(asked) = epoch.filter(|_| epoch != leads_under) {
        let note = state.view.hand_over_of(asked).await;
        end_status(note.map_err(|error| of_store(&error))?)
    } else if let Some(seconds) = hold_s {
        let message = DrainWhenIdle {
            control: control.as_ref().clone(),
            hold: Duration::from_secs(seconds),
            force,
        };
        let asked = state
            .hand_over
            .ask(message)
            .await
            .map_err(|error| of_ask(&error))?;
        asked.map_err(not_drained)?;
        (DrainStatus::Waiting, under_way())
    } else {
        let control = control.as_ref().clone();
        let asked = state.hand_over.ask(DrainNow { control, force }).await;
        let drained = asked.map_err(|error| of_ask(&error))?;
        (DrainStatus::Draining, drained.map_err(not_drained)?)
    };
    Ok(HttpResponse::Accepted().json(Drain {
        status,
        epoch: leads_under,
        jobs,
    }))
}

/// What became of a leader that was asked to hand over and leads no more. One of an earlier version
/// notes nothing: it is not said to be lost.
fn end_status(note: Option<HandOverNote>) -> (DrainStatus, usize) {
    match note {
        Some(HandOverNote::Leaving { jobs }) => (DrainStatus::Over, jobs),
        Some(HandOverNote::Asked) => (DrainStatus::Lost, 0),
        None => (DrainStatus::Over, 0),
    }
}
