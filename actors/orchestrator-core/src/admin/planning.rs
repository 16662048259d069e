//! What would happen: the next dates of schedules, and where a text would lead.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::RejectedView;

/// `GET /admin/calendar`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CalendarView {
    /// The first moment that is looked at.
    pub from: String,
    /// The last.
    pub to: String,
    /// One for each agent with a schedule, by project and name.
    pub schedules: Vec<ScheduleView>,
}

/// A schedule and its next dates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleView {
    /// The project.
    pub project: String,
    /// The agent.
    pub agent: String,
    /// Whether it would start: the agent is enabled and its project not paused.
    pub active: bool,
    /// The cron expression as written.
    pub expression: String,
    /// The time zone it is read in.
    pub time_zone: String,
    /// When it is due, oldest first.
    pub due: Vec<String>,
    /// Whether there are more dates in this time than are listed.
    pub more: bool,
}

/// `POST /admin/route`: a text as a comment would bring it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteQuestion {
    /// The comment's text, with its mentions.
    #[schema(example = "@orch:reviewer please look at the migration")]
    pub text: String,
    /// The project whose repository it would stand in; the main project unless said.
    #[serde(default)]
    pub project: Option<String>,
    /// Who would write it; somebody on the orchestrator's command line unless said.
    #[serde(default)]
    pub author: Option<String>,
    /// The title of the issue, which the routing tables read as well.
    #[serde(default)]
    pub title: Option<String>,
}

/// Where a text would lead. Nothing was stored or started. Limits of one issue within an hour and
/// what only the forge knows of an author are not looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RouteAnswer {
    /// Why nothing is asked for: a word of [`crate::intake::Ignored`].
    pub ignored: Option<String>,
    /// The same for people.
    pub detail: Option<String>,
    /// Runs that would be queued.
    pub runs: Vec<RouteView>,
    /// What would be refused.
    pub rejected: Vec<RejectedView>,
}

/// A run that would be queued, and where it would go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RouteView {
    /// The project it would run in.
    pub project: String,
    /// The project that the agent is defined in.
    pub home: String,
    /// The agent.
    pub agent: String,
    /// What decides over its model: `agent` (it names one), `table`, `default` (the program's own)
    /// or `none` (it needs no model).
    pub rule: String,
    /// The routing table that decides.
    pub table: Option<String>,
    /// The provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Whether the forge would be asked first whether the author may write.
    pub asks_forge: bool,
}
