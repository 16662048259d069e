//! What runs cost, and what their ends say about providers and agents.

use orchestrator_core::config::Provider;
use orchestrator_core::health::{Breaker, BudgetState, config_errors, month};
use orchestrator_core::run::{ExitClass, Run};
use store::{ReadRows, StoreError};

use super::rows::{BREAKERS, BreakerRow, CONFIG_ERRORS, Count, USAGE, UsageRow};
use super::txn::LedgerTxn;
use crate::journal::{JournalEvent, RecordedEvent};

/// Adds to what the agent of a run has used this month.
pub(super) fn count_usage(
    txn: &mut LedgerTxn<'_, '_>,
    run: &Run,
    runs: u64,
    cents: u64,
) -> Result<(), StoreError> {
    let Some(agent) = txn.config.agent(&run.home, &run.agent) else {
        return Ok(());
    };
    let key = (month(txn.now), run.home.to_string(), run.agent.to_string());
    let mut usage = txn
        .rows
        .get(&USAGE, &key)?
        .map(|row| row.0)
        .unwrap_or_default();
    let before = agent.budget.state(usage);
    usage.runs += runs;
    usage.cents += cents;
    txn.rows.put(&USAGE, &key, &UsageRow(usage))?;
    if before == BudgetState::Fine && agent.budget.state(usage) != BudgetState::Fine {
        let about = format!("{} runs, {} cents", usage.runs, usage.cents);
        txn.journal(RecordedEvent::new(run, JournalEvent::BudgetNear).about(about))?;
    }
    Ok(())
}

/// A run was put back before it began: it is not counted.
pub(super) fn uncount_run(txn: &mut LedgerTxn<'_, '_>, run: &Run) -> Result<(), StoreError> {
    let key = (month(txn.now), run.home.to_string(), run.agent.to_string());
    let Some(UsageRow(mut usage)) = txn.rows.get(&USAGE, &key)? else {
        return Ok(());
    };
    usage.runs = usage.runs.saturating_sub(1);
    txn.rows.put(&USAGE, &key, &UsageRow(usage))
}

/// The circuit of a run's provider (the one its task was routed to, else its agent's) and its
/// settings, if it has one.
fn provider_of(txn: &LedgerTxn<'_, '_>, run: &Run) -> Option<(String, Provider)> {
    let agent = txn.config.agent(&run.home, &run.agent)?;
    let provider = run.provider.clone().or_else(|| agent.provider.clone())?;
    let settings = txn
        .config
        .providers
        .get(&provider)
        .copied()
        .unwrap_or_default();
    Some((provider, settings))
}

/// A provider whose circuit is open is tried by this run.
pub(super) fn start_trial(txn: &mut LedgerTxn<'_, '_>, run: &Run) -> Result<(), StoreError> {
    let Some((provider, settings)) = provider_of(txn, run) else {
        return Ok(());
    };
    let Some(BreakerRow(breaker)) = txn.rows.get(&BREAKERS, &provider)? else {
        return Ok(());
    };
    let after = breaker.started(settings, txn.now);
    if after != breaker {
        txn.rows.put(&BREAKERS, &provider, &BreakerRow(after))?;
        let state = after.as_str();
        txn.journal(RecordedEvent::new(
            run,
            JournalEvent::Breaker { provider, state },
        ))?;
    }
    Ok(())
}

/// What a run's end says about its provider and its agent.
pub(super) fn update_health(
    txn: &mut LedgerTxn<'_, '_>,
    run: &Run,
    class: ExitClass,
) -> Result<(), StoreError> {
    if let Some((provider, settings)) = provider_of(txn, run) {
        let before = txn
            .rows
            .get(&BREAKERS, &provider)?
            .map(|row| row.0)
            .unwrap_or_default();
        let after = before.record_end(settings, class, txn.now);
        if after == Breaker::default() {
            txn.rows.delete(&BREAKERS, &provider)?;
        } else {
            txn.rows.put(&BREAKERS, &provider, &BreakerRow(after))?;
        }
        if after.as_str() != before.as_str() {
            let state = after.as_str();
            txn.journal(RecordedEvent::new(
                run,
                JournalEvent::Breaker { provider, state },
            ))?;
        }
    }
    if matches!(class, ExitClass::Cancelled | ExitClass::OrchestratorRestart) {
        return Ok(());
    }
    let (home, agent) = LedgerTxn::agent_key(run);
    let key = (home.to_string(), agent.to_string());
    let before = txn
        .rows
        .get(&CONFIG_ERRORS, &key)?
        .map_or(0, |count| count.0);
    let after = config_errors(before, class);
    if after == 0 {
        txn.rows.delete(&CONFIG_ERRORS, &key)?;
        return Ok(());
    }
    txn.rows.put(&CONFIG_ERRORS, &key, &Count(after))?;
    if after == txn.config.quarantine_after {
        txn.journal(
            RecordedEvent::new(run, JournalEvent::Quarantined).about(format!("{after} in a row")),
        )?;
    }
    Ok(())
}
