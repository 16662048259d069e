//! What would happen: the calendar of schedules, and where a text would lead.

use actix_web::{HttpResponse, web};
use edge_web::{ApiJson, Problem};
use orchestrator_actors::messages::{GetCalendar, TryRoute};
use orchestrator_core::admin::{CalendarView, RouteAnswer, RouteQuestion};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::admin::answered;
use crate::state::WebState;

/// How far is looked.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct CalendarQuery {
    /// So many days from now on (7; at most 366).
    days: Option<u64>,
}

/// When which agent starts by itself.
#[utoipa::path(get, path = "/admin/calendar", tag = "admin", params(CalendarQuery),
    responses((status = 200, description = "The schedules with their next dates, at most 200 of each.", body = CalendarView)))]
pub(crate) async fn calendar(
    state: web::Data<WebState>,
    query: web::Query<CalendarQuery>,
) -> Result<HttpResponse, Problem> {
    let days = query.days.unwrap_or(7);
    answered(state.operator_api.ask(GetCalendar { days }).await)
}

/// Tries a text: which agents would run, why, and with which model. Nothing is stored or started.
#[utoipa::path(post, path = "/admin/route", tag = "admin", request_body = RouteQuestion,
    responses((status = 200, description = "Where it would lead.", body = RouteAnswer)))]
pub(crate) async fn route(
    state: web::Data<WebState>,
    question: ApiJson<RouteQuestion>,
) -> Result<HttpResponse, Problem> {
    answered(state.operator_api.ask(TryRoute(question.0)).await)
}
