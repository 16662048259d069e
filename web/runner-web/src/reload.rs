//! The settings are read again because somebody asks for it.

use actix_web::{HttpResponse, web};
use edge_web::Problem;
use runner_actors::{ReloadError, ReloadSettings, SettingsReport};

use crate::handlers::ReplicaControl;
use crate::problems::{of_ask, of_store};
use crate::state::RunnerState;

/// Reads the settings again, and puts in force what may change while the runner works: the list of
/// VM hosts. Processes that stand by beside this one read theirs again, too.
#[utoipa::path(post, path = "/admin/reload", tag = "operation",
    responses((status = 200, body = SettingsReport, description = "What is in force now, and what waits for a restart"), (status = 409, description = "The settings are of a program that reads them at its start only"), (status = 422, description = "The settings are wrong, and where; nothing was changed")))]
pub(crate) async fn reload(
    state: web::Data<RunnerState>,
    control: ReplicaControl,
) -> Result<HttpResponse, Problem> {
    let settings = state.settings.as_ref().ok_or_else(read_once)?;
    let asked = settings.ask(ReloadSettings).await;
    let reloaded = asked.map_err(|error| of_ask(&error))?;
    let report = reloaded.map_err(|error| match error {
        ReloadError::Wrong(_) => Problem::unprocessable(error.to_string(), Vec::new()),
        ReloadError::Store(error) => of_store(&error),
        ReloadError::Stopping => Problem::unavailable(error.to_string(), 5),
    })?;
    if let Some(control) = control
        && let Err(reason) = control.broadcast_settings_reload().await
    {
        tracing::error!(
            event = "config.others_not_told",
            reason,
            "the processes that stand by read no settings again: send each of them SIGHUP"
        );
    }
    Ok(HttpResponse::Ok().json(report))
}

fn read_once() -> Problem {
    Problem::conflict(
        "the program that this runner is a part of reads its settings at its start only",
    )
}
