//! Events that jobs cause with the runner's own token: they start nothing, as on GitHub. A workflow
//! that answers comments would answer itself for ever.

use std::sync::Arc;
use std::time::Duration;

use http_clients::forge::{ForgeError, ForgeRefusal};
use runner_core::gateway::{
    CallVerdict, NotedCall, TokenAccount, app_of_calls, concerns_calls, is_caused_by_call,
};
use runner_core::state::RunState;
use store::{ReadTxn, StoreError};

use super::services::RunServices;
use crate::api_changes::{self, NotedEvent};
use crate::clock::now_ms;
use crate::ledger::RunLedger;
use crate::token_pushes;

/// How often it is looked whether a call was answered.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Whether the event is of the account whose token the runner has; then the run has ended.
pub(super) async fn own_activity(services: &RunServices, ledger: &mut RunLedger) -> bool {
    if caused_by_job(services, ledger).await {
        let reason = format!(
            "this {} was made with the token of a job, and starts nothing",
            ledger.event.name()
        );
        tracing::info!(event = "run.ignored", run = %ledger.record.id, reason, "an event that a job's token caused starts nothing");
        ledger.end(RunState::Ignored, Some(reason)).await;
        return true;
    }
    if !ledger.event.kind().is_activity() {
        return false;
    }
    let Account::Of(account) = account(services).await else {
        return false;
    };
    let is_own = account.eq_ignore_ascii_case(&ledger.event.actor);
    if is_own {
        let reason = format!(
            "this {} was made with the runner's own token ({account}), and starts nothing",
            ledger.event.name()
        );
        tracing::info!(event = "run.ignored", run = %ledger.record.id, reason, "an event of the runner's own account starts nothing");
        ledger.end(RunState::Ignored, Some(reason)).await;
    }
    is_own
}

/// Whose the runner's token is.
enum Account {
    Unknown,
    /// Of an app, with its login once an event has told it.
    App(Option<String>),
    Of(String),
}

async fn account(services: &RunServices) -> Account {
    let Some(forge) = services.repositories.forge_client() else {
        return Account::Unknown;
    };
    match forge.whoami().await {
        Ok(account) => Account::Of(account.to_string()),
        Err(error) => {
            // A token of an app has no account; nothing says then whose event it is.
            tracing::debug!(event = "run.account_not_told", %error, "the forge does not tell whose the runner's token is");
            match error {
                ForgeError::Permanent {
                    kind: ForgeRefusal::Forbidden,
                    ..
                } => Account::App(read(services, |rows| api_changes::app(rows)).await),
                _ => Account::Unknown,
            }
        }
    }
}

/// Whether the event tells of what a job has done with its token. A run that somebody repeats by
/// hand is wanted.
async fn caused_by_job(services: &RunServices, ledger: &mut RunLedger) -> bool {
    if ledger.record.attempt > 1 {
        return false;
    }
    let Some(event) = NotedEvent::from_event(&ledger.event, &ledger.record) else {
        return false;
    };
    let event = Arc::new(event);
    let repository = ledger.event.repository.clone();
    let asked = Arc::clone(&event);
    let pushed = read(services, move |rows| {
        token_pushes::caused(rows, &repository, &asked, now_ms())
    });
    pushed.await || caused_by_call(services, ledger, &event).await
}

/// Whether the event tells of what a call of the forge's API has moved; while a call is under way
/// that may have caused it, its answer is waited for.
async fn caused_by_call(
    services: &RunServices,
    ledger: &mut RunLedger,
    event: &NotedEvent,
) -> bool {
    let mut known = None;
    let reason = ledger.record.reason.clone();
    loop {
        let repository = ledger.event.repository.clone();
        let calls = read(services, move |rows| {
            api_changes::list_calls(rows, &repository)
        })
        .await;
        if !event.compared(|event| concerns_calls(&calls, event)) {
            ledger.record.reason = reason;
            return false;
        }
        let account = match &known {
            Some(account) => account,
            None => known.insert(account(services).await),
        };
        match verdict(&calls, event, account) {
            CallVerdict::Wait => log_waiting(ledger).await,
            verdict => {
                if let Account::App(login) = account {
                    record_app_of(services, &calls, event, login.as_deref()).await;
                }
                ledger.record.reason = reason;
                return verdict == CallVerdict::Caused;
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn verdict(calls: &[NotedCall], event: &NotedEvent, account: &Account) -> CallVerdict {
    let account = match account {
        Account::Unknown => TokenAccount::Unknown,
        Account::App(login) => TokenAccount::App(login.as_deref()),
        Account::Of(account) => TokenAccount::Of(account),
    };
    event.compared(|event| is_caused_by_call(calls, event, account, now_ms()))
}

/// Remembers which app the token is of, where the event tells it.
async fn record_app_of(
    services: &RunServices,
    calls: &[NotedCall],
    event: &NotedEvent,
    known: Option<&str>,
) {
    let told = event.compared(|event| app_of_calls(calls, event).map(str::to_owned));
    let Some(login) = told.filter(|told| Some(told.as_str()) != known) else {
        return;
    };
    let store = &services.recorder.store;
    let learnt = store.write(move |rows| api_changes::record_app(rows, &login));
    // The next push tells it again.
    if let Err(error) = learnt.await {
        tracing::debug!(event = "run.app_not_noted", %error, "it is not noted which app the runner's token is of");
    }
}

/// Says once what the run waits for.
async fn log_waiting(ledger: &mut RunLedger) {
    if ledger.record.reason.is_some() {
        return;
    }
    let reason = "it may come from a call of the forge that a job is making: its answer is awaited";
    tracing::debug!(event = "run.call_awaited", run = %ledger.record.id, "an event waits for the answer of a job's call of the forge");
    ledger.record.reason = Some(reason.to_owned());
    ledger.save(Vec::new()).await;
}

/// What the store has of it; where it cannot be read, nothing.
async fn read<T: Default + Send + 'static>(
    services: &RunServices,
    work: impl Fn(&mut ReadTxn<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
) -> T {
    let read = services.recorder.store.read(work).await;
    read.unwrap_or_else(|error| {
        tracing::warn!(event = "run.pushes_unread", %error, "it is not known whether the token of a job caused an event");
        T::default()
    })
}
