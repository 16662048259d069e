//! What would happen, for operators: the calendar, and a text tried.

use actix::{Context, Handler};
use forge_core::Login;
use orchestrator_core::admin::{CalendarView, RouteAnswer};

use super::{OperatorApi, Reply};
use crate::ledger;
use crate::messages::{GetCalendar, OperatorError, TryRoute};

/// Farthest day that is looked at.
const MAX_DAYS: u64 = 366;
const DAY_MS: u64 = 86_400_000;
/// Longest text that is tried, in bytes: a comment of a forge is shorter.
const MAX_TEXT: usize = 64 << 10;

impl Handler<GetCalendar> for OperatorApi {
    type Result = Reply<CalendarView>;

    fn handle(&mut self, GetCalendar { days }: GetCalendar, _: &mut Context<Self>) -> Self::Result {
        let (config, now) = (self.ledger.config(), self.ledger.now());
        let to = now.saturating_add(days.clamp(1, MAX_DAYS) * DAY_MS);
        let read = self
            .ledger
            .read(move |rows| ledger::calendar(rows, &config, (now, to)));
        Box::pin(async move { Ok(read.await?) })
    }
}

impl Handler<TryRoute> for OperatorApi {
    type Result = Reply<RouteAnswer>;

    fn handle(&mut self, TryRoute(question): TryRoute, _: &mut Context<Self>) -> Self::Result {
        let (config, now) = (self.ledger.config(), self.ledger.now());
        let author = question.author.as_deref().map(str::trim);
        let author = author
            .filter(|author| !author.is_empty())
            .map(str::parse::<Login>);
        let ledger = self.ledger.clone();
        Box::pin(async move {
            let author = author.transpose().map_err(|error| {
                OperatorError::Invalid(format!("the author is no name of an account: {error}"))
            })?;
            if question.text.len() > MAX_TEXT {
                let most = format!("a text of at most {MAX_TEXT} bytes can be tried");
                return Err(OperatorError::Invalid(most));
            }
            let wanted = question.project.clone().unwrap_or_default();
            let read =
                ledger.read(move |rows| ledger::try_route(rows, &config, (&question, author), now));
            let none = || OperatorError::NotFound(format!("there is no project {wanted}"));
            read.await?.ok_or_else(none)
        })
    }
}
