//! The JSON shapes of the admin bridge and of the receiver's reply; shared with `orchctl`.
//!
//! | route | answer |
//! |---|---|
//! | `POST /webhook` | [`WebhookReply`] |
//! | `GET /admin/status` | [`StatusView`] |
//! | `GET /admin/agents?project=` | [`AgentList`] |
//! | `GET /admin/agents/{project}/{agent}/prompt` | [`PromptView`] |
//! | `GET /admin/runs?project=&agent=&state=&limit=&before=` | [`RunList`] |
//! | `GET /admin/runs/{id}` | [`RunView`] |
//! | `GET /admin/runs/{id}/log?follow=1&tail=` | `text/plain`, or Server-Sent Events when followed |
//! | `GET /admin/runs/{id}/events` | Server-Sent Events: `run` with a [`RunView`] after each change, `end` at its end |
//! | `GET /admin/events?after=` | Server-Sent Events: `journal` with a [`JournalEntry`], as they are written |
//! | `POST /admin/runs/{id}/cancel` | [`CancelReply`] |
//! | `POST /admin/runs/{id}/retry` | [`RetryReply`] |
//! | `POST /admin/projects/{id}/pause`, `…/resume` | [`ProjectView`] |
//! | `POST /admin/check` | [`CheckView`] |
//! | `POST /admin/reload` | [`CheckView`]; 422 when the files are wrong (nothing changes then) |
//! | `GET /admin/calendar?days=` | [`CalendarView`] |
//! | `POST /admin/route` with a [`RouteQuestion`] | [`RouteAnswer`] |
//! | `GET /admin/actors/events` | Server-Sent Events: `tree` with what `/admin/actors` answers, after each change |
//! | `GET /admin/journal?after=&limit=` | [`JournalPage`] |
//!
//! Times are RFC 3339 in UTC with milliseconds.

mod planning;
mod reply;
mod views;

pub use planning::{CalendarView, RouteAnswer, RouteQuestion, RouteView, ScheduleView};
pub use reply::{
    AcceptedView, CancelReply, RejectedView, RetryReply, WebhookOutcome, WebhookReply,
};
pub use views::{
    AgentList, AgentView, CheckView, ExitView, JournalEntry, JournalPage, ProjectView, PromptView,
    QueueView, RouteRow, RunList, RunView, StatusObligationView, StatusView,
};
