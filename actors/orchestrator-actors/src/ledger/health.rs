//! What runs cost, and what their ends say about providers and agents.

use orchestrator_core::config::Provider;
use orchestrator_core::health::{Breaker, BudgetState, config_errors, month};
use orchestrator_core::run::{ExitClass, Run};
use store::{ReadRows, StoreError};

use super::book::Book;
use super::rows::{BREAKERS, BreakerRow, Count, TROUBLE, USAGE, UsageRow};
use crate::journal::{Entry, Happened};

/// Adds to what the agent of a run has used this month.
pub(super) fn count_usage(
    book: &mut Book<'_, '_>,
    run: &Run,
    runs: u64,
    cents: u64,
) -> Result<(), StoreError> {
    let Some(agent) = book.config.agent(&run.home, &run.agent) else {
        return Ok(());
    };
    let key = (month(book.now), run.home.to_string(), run.agent.to_string());
    let mut usage = book
        .rows
        .get(&USAGE, &key)?
        .map(|row| row.0)
        .unwrap_or_default();
    let before = agent.budget.state(usage);
    usage.runs += runs;
    usage.cents += cents;
    book.rows.put(&USAGE, &key, &UsageRow(usage))?;
    if before == BudgetState::Fine && agent.budget.state(usage) != BudgetState::Fine {
        let about = format!("{} runs, {} cents", usage.runs, usage.cents);
        book.tell(Entry::of(run, Happened::BudgetNear).about(about))?;
    }
    Ok(())
}

/// A run was put back before it began: it is not counted.
pub(super) fn uncount_run(book: &mut Book<'_, '_>, run: &Run) -> Result<(), StoreError> {
    let key = (month(book.now), run.home.to_string(), run.agent.to_string());
    let Some(UsageRow(mut usage)) = book.rows.get(&USAGE, &key)? else {
        return Ok(());
    };
    usage.runs = usage.runs.saturating_sub(1);
    book.rows.put(&USAGE, &key, &UsageRow(usage))
}

/// The circuit of a run's provider (the one its task was routed to, else its agent's) and its settings, if it has one.
fn provider_of(book: &Book<'_, '_>, run: &Run) -> Option<(String, Provider)> {
    let agent = book.config.agent(&run.home, &run.agent)?;
    let provider = run.provider.clone().or_else(|| agent.provider.clone())?;
    let settings = book
        .config
        .providers
        .get(&provider)
        .copied()
        .unwrap_or_default();
    Some((provider, settings))
}

/// A provider whose circuit is open is tried by this run.
pub(super) fn start_trial(book: &mut Book<'_, '_>, run: &Run) -> Result<(), StoreError> {
    let Some((provider, settings)) = provider_of(book, run) else {
        return Ok(());
    };
    let Some(BreakerRow(breaker)) = book.rows.get(&BREAKERS, &provider)? else {
        return Ok(());
    };
    let after = breaker.started(settings, book.now);
    if after != breaker {
        book.rows.put(&BREAKERS, &provider, &BreakerRow(after))?;
        let state = after.as_str();
        book.tell(Entry::of(run, Happened::Breaker { provider, state }))?;
    }
    Ok(())
}

/// What a run's end says about its provider and its agent.
pub(super) fn judge_health(
    book: &mut Book<'_, '_>,
    run: &Run,
    class: ExitClass,
) -> Result<(), StoreError> {
    if let Some((provider, settings)) = provider_of(book, run) {
        let before = book
            .rows
            .get(&BREAKERS, &provider)?
            .map(|row| row.0)
            .unwrap_or_default();
        let after = before.ended(settings, class, book.now);
        if after == Breaker::default() {
            book.rows.delete(&BREAKERS, &provider)?;
        } else {
            book.rows.put(&BREAKERS, &provider, &BreakerRow(after))?;
        }
        if after.as_str() != before.as_str() {
            let state = after.as_str();
            book.tell(Entry::of(run, Happened::Breaker { provider, state }))?;
        }
    }
    if matches!(class, ExitClass::Cancelled | ExitClass::OrchestratorRestart) {
        return Ok(());
    }
    let (home, agent) = Book::agent_key(run);
    let key = (home.to_string(), agent.to_string());
    let before = book.rows.get(&TROUBLE, &key)?.map_or(0, |count| count.0);
    let after = config_errors(before, class);
    if after == 0 {
        book.rows.delete(&TROUBLE, &key)?;
        return Ok(());
    }
    book.rows.put(&TROUBLE, &key, &Count(after))?;
    if after == book.config.quarantine_after {
        book.tell(Entry::of(run, Happened::Quarantined).about(format!("{after} in a row")))?;
    }
    Ok(())
}
