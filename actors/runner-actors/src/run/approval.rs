//! Pull requests from forks that have to be approved: before that nothing of them is fetched, read
//! or run.

use forge_core::{CommitState, Forge};
use runner_core::event::RunCommit;
use runner_core::plan::run_context;
use runner_core::protection::{APPROVAL_TIMEOUT_MS, ProtectionVerdict};
use runner_core::state::RunState;
use store::StoreError;

use super::services::RunServices;
use crate::clock::now_ms;
use crate::ledger::{RunLedger, StatusChange};
use crate::log::LineKind;
use crate::records::RunApproval;
use crate::review::{self, Review};
use crate::reviews::Contributors;

/// Whether the run may go on; otherwise it waits, or has ended.
pub(super) async fn admit(services: &RunServices, ledger: &mut RunLedger) -> bool {
    let event = &ledger.event;
    let approval = ledger.record.approval.as_ref();
    let verdict = approval.and_then(|approval| approval.review.as_ref());
    let is_approved = verdict.is_some_and(|review| review.verdict == ProtectionVerdict::Approved);
    if !event.untrusted || event.kind().commit() != RunCommit::PullHead || is_approved {
        return true;
    }
    let (asks, review) = match question(services, ledger).await {
        Ok(known) => known,
        Err(error) => {
            let reason = format!("it cannot be told whether it has to be approved: {error}");
            ledger.end(RunState::Failed, Some(reason)).await;
            return false;
        }
    };
    match review {
        Some(review) => take(ledger, review).await,
        None if asks => {
            wait(ledger).await;
            false
        }
        None => true,
    }
}

/// Whether it has to be approved, and what was said.
async fn question(
    services: &RunServices,
    ledger: &RunLedger,
) -> Result<(bool, Option<Review>), StoreError> {
    let (event, run) = (ledger.event.clone(), ledger.record.id.clone());
    let settings = &services.settings;
    let policy = settings.scopes.fork_approval(&event.repository);
    let says_association = settings.forge == Forge::GitHub;
    let known = ledger.recorder.store.read(move |rows| {
        let contributors = Contributors::from_event(&event);
        let association = contributors.association.as_deref();
        let association = association.filter(|_| says_association);
        let before = contributors.were_approved(rows, &event.repository)?;
        let asks = policy.asks(association, contributors.own_event, before);
        Ok::<_, StoreError>((asks, review::get(rows, &run)?.run))
    });
    known.await
}

async fn take(ledger: &mut RunLedger, review: Review) -> bool {
    let asked_at = ledger.record.approval.as_ref().map(|it| it.asked_at);
    let by = review.by.as_deref();
    let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
    let verdict = review.verdict;
    ledger.record.approval = Some(RunApproval {
        asked_at: asked_at.unwrap_or(review.at),
        review: Some(review),
    });
    match verdict {
        ProtectionVerdict::Approved => {
            ledger
                .log_line(LineKind::Info, &format!("approved{by}"))
                .await;
            ledger.save(Vec::new()).await;
            true
        }
        ProtectionVerdict::Rejected => {
            let reason = format!("the pull request from a fork was rejected{by}");
            ledger.end(RunState::Cancelled, Some(reason)).await;
            false
        }
    }
}

async fn wait(ledger: &mut RunLedger) {
    let now = now_ms();
    let known = ledger.record.approval.get_or_insert(RunApproval {
        asked_at: now,
        review: None,
    });
    if now >= known.asked_at.saturating_add(APPROVAL_TIMEOUT_MS) {
        let reason = "nobody approved the pull request from a fork within 30 days".to_owned();
        ledger.end(RunState::Cancelled, Some(reason)).await;
        return;
    }
    let text = format!(
        "waits for approval: a pull request from a fork by {}; nothing of it runs before",
        ledger.record.actor
    );
    if ledger.record.reason.as_ref() != Some(&text) {
        ledger.log_line(LineKind::Warning, &text).await;
    }
    tracing::info!(event = "run.waiting", run = %ledger.record.id, reason = text, "a run waits for an approval");
    ledger.record.reason = Some(text);
    ledger.become_state(RunState::Waiting);
    let status = StatusChange {
        context: run_context(None, &ledger.record.event),
        state: CommitState::Pending,
        description: "waits for an approval of the pull request from a fork".to_owned(),
        of_run: true,
    };
    ledger.save(vec![status]).await;
}
