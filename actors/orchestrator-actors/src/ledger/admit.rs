//! Taking an event in: the delivery, the runs, the statuses and the journal in one transaction.

use std::collections::BTreeSet;

use forge_actors::deliveries::{Arrival, Deliveries, DeliveryAdmission};
use forge_core::{ForgeEvent, IssueNumber, Login, RepoName, RunId};
use orchestrator_core::admin::{AcceptedView, RejectedView, WebhookOutcome, WebhookReply};
use orchestrator_core::health::{AgentUsage, month};
use orchestrator_core::intake::{
    AgentKey, Dispatch, EventDecision, EventIdentity, Ignored, IntakeContext, Rejection, decide,
    identity_without_request,
};
use orchestrator_core::run::{AgentRunState, Run, Subject};
use store::{ReadRows, StoreError};

use super::event_source::EventSource;
use super::ids::new_run_id;
use super::issue_comments::answer_comment;
use super::pull_heads::{end_others, open_of_pull, take_head};
use super::rows::{CONFIG_ERRORS, Flag, ISSUE_LOG, OPEN, USAGE, folded};
use super::txn::LedgerTxn;
use crate::journal::{JournalEvent, RecordedEvent};

/// Dispatches of an issue are counted over this time.
const RATE_PERIOD: u64 = 3600 * 1000;
/// Most dispatches of an issue that are counted: no limit is larger.
const MAX_COUNTED: usize = 10_000;

/// What became of an admitted event.
#[derive(Debug, Clone)]
pub struct IntakeResult {
    /// The reply.
    pub reply: WebhookReply,
    /// Runs that are active and have to be ended.
    pub kill: Vec<RunId>,
    /// Runs whose author the forge is to be asked about.
    pub check: Vec<RunId>,
    /// The delivery's id came with another body before.
    pub id_reused: bool,
}

/// Takes in an event of the forge, or one that was found by asking it (without a delivery).
///
/// # Errors
/// The store's.
pub fn admit(
    txn: &mut LedgerTxn<'_, '_>,
    deliveries: &Deliveries,
    source: &EventSource<'_>,
    own: &BTreeSet<Login>,
) -> Result<IntakeResult, StoreError> {
    let id = match source {
        EventSource::Delivery(delivery) => delivery.id.to_string(),
        EventSource::Found { .. } => "poll".to_owned(),
    };
    let mut admitted = IntakeResult {
        reply: WebhookReply {
            delivery: id,
            outcome: WebhookOutcome::Duplicate,
            dispatches: Vec::new(),
            rejected: Vec::new(),
            reason: None,
            detail: None,
        },
        kill: Vec::new(),
        check: Vec::new(),
        id_reused: false,
    };
    if let EventSource::Delivery(delivery) = source {
        let arrival = Arrival::new(&delivery.id, &delivery.body);
        let seen = deliveries.admit(txn.rows, &arrival, txn.now)?;
        admitted.id_reused = seen == DeliveryAdmission::SameIdOtherBody;
        if !seen.is_new() {
            admitted.says(Ignored::Duplicate);
            txn.journal(RecordedEvent::plain(
                JournalEvent::DedupHit("delivery".to_owned()),
                "",
            ))?;
            return Ok(admitted);
        }
    }
    let event = source.event();
    match decision(txn, event, own)? {
        EventDecision::Ignored(why) => {
            admitted.reply.outcome = WebhookOutcome::Ignored;
            admitted.says(why);
            if let Some(key) = identity_without_request(event) {
                deliveries.admit_subject(txn.rows, &key, txn.now)?;
            }
            if source.is_delivery() {
                txn.journal(RecordedEvent::plain(
                    JournalEvent::Ignored(why),
                    about(event),
                ))?;
            }
        }
        EventDecision::Dispatch(dispatch) => {
            store(txn, deliveries, *dispatch, source, &mut admitted)?;
        }
    }
    Ok(admitted)
}

impl IntakeResult {
    /// Why nothing was done.
    fn says(&mut self, why: Ignored) {
        self.reply.reason = Some(why.to_string());
        self.reply.detail = Some(why.detail().to_owned());
    }
}

/// What an event is about, for the journal.
fn about(event: &ForgeEvent) -> String {
    let repository = event.repository().map(ToString::to_string);
    let repository = repository.unwrap_or_default();
    match event {
        ForgeEvent::PullRequest(pull) => format!("{repository}#{}", pull.number),
        ForgeEvent::IssueComment(comment) => {
            format!(
                "{repository}#{} comment {}",
                comment.issue.number, comment.comment.id
            )
        }
        other => format!("{} {repository}", other.name())
            .trim_end()
            .to_owned(),
    }
}

/// Asks the pure decision, with everything it wants to know read from this transaction.
fn decision(
    txn: &mut LedgerTxn<'_, '_>,
    event: &ForgeEvent,
    own: &BTreeSet<Login>,
) -> Result<EventDecision, StoreError> {
    let quarantined = {
        let after = txn.config.quarantine_after;
        let rows = txn.rows.range(&CONFIG_ERRORS, .., usize::MAX)?;
        let over = rows.into_iter().filter(|(_, count)| count.0 >= after);
        over.filter_map(|((project, agent), _)| Some((project.parse().ok()?, agent.parse().ok()?)))
            .collect()
    };
    let usage: Vec<(AgentKey, AgentUsage)> = {
        let rows = txn.rows.below(&USAGE, &month(txn.now), None, usize::MAX)?;
        let read =
            |((_, project, agent), row): ((String, String, String), super::rows::UsageRow)| {
                Some(((project.parse().ok()?, agent.parse().ok()?), row.0))
            };
        rows.into_iter().filter_map(read).collect()
    };
    let recent = recent_of(txn, event)?;
    let queued = usize::try_from(txn.rows.len(&OPEN)?).unwrap_or(usize::MAX);
    let context = IntakeContext {
        config: txn.config,
        own_logins: own,
        now: txn.now,
        quarantined: &quarantined,
        usage: &|key| {
            usage
                .iter()
                .find(|(of, _)| of == key)
                .map_or_else(AgentUsage::default, |(_, u)| *u)
        },
        recent: &|_, _| recent,
        queued,
        new_id: &new_run_id,
    };
    Ok(decide(event, &context))
}

/// Dispatches of the event's issue within the last hour.
fn recent_of(txn: &mut LedgerTxn<'_, '_>, event: &ForgeEvent) -> Result<u32, StoreError> {
    let ForgeEvent::IssueComment(comment) = event else {
        return Ok(0);
    };
    // The command line has no such limit, and all of it shares one number.
    if comment.issue.number.is_cli() {
        return Ok(0);
    }
    let prefix = issue_key(&comment.repository.name, comment.issue.number);
    let rows = txn.rows.below(&ISSUE_LOG, &prefix, None, MAX_COUNTED)?;
    let oldest = format!("{:020}", txn.now.saturating_sub(RATE_PERIOD));
    let mut count = 0;
    for (key, _) in rows {
        if key.2 < oldest {
            txn.rows.delete(&ISSUE_LOG, &key)?;
        } else {
            count += 1;
        }
    }
    Ok(count)
}

fn issue_key(repository: &RepoName, issue: IssueNumber) -> (String, u64) {
    (folded(repository), issue.get())
}

fn store(
    txn: &mut LedgerTxn<'_, '_>,
    deliveries: &Deliveries,
    dispatch: Dispatch,
    source: &EventSource<'_>,
    admitted: &mut IntakeResult,
) -> Result<(), StoreError> {
    if let Some(identity) = &dispatch.identity
        && is_known(txn, deliveries, identity, &dispatch, source)?
    {
        admitted.says(Ignored::Duplicate);
        if source.is_delivery() {
            txn.journal(RecordedEvent::plain(
                JournalEvent::DedupHit(identity.key.clone()),
                "",
            ))?;
        }
        return Ok(());
    }
    if let Some(ends) = &dispatch.runs_to_end {
        end_others(txn, ends, &mut admitted.kill)?;
    }
    for new in dispatch.runs {
        accept(txn, &new.run, admitted)?;
        txn.put_context(&new.run, new.context)?;
    }
    let about = dispatch.runs_to_end.as_ref();
    let place = about.map(|ends| format!("{}#{}", ends.repository, ends.number));
    for rejection in dispatch.rejected {
        admitted.reply.rejected.push(RejectedView {
            agent: rejection.agent.clone(),
            reason: rejection.reason.to_string(),
            detail: rejection.reason.detail().to_owned(),
        });
        refuse(txn, &rejection, place.as_deref())?;
        if let ForgeEvent::IssueComment(comment) = source.event() {
            answer_comment(txn, comment, &rejection)?;
        }
    }
    let queued = admitted.reply.dispatches.len();
    if queued > 0
        && let Some(ends) = about
    {
        let number = ends.number.get();
        txn.journal(RecordedEvent::pull(
            &ends.repository,
            number,
            JournalEvent::FanOut { runs: queued },
        ))?;
    }
    admitted.reply.outcome = match (queued, admitted.reply.rejected.len()) {
        (0, 0) => WebhookOutcome::Ignored,
        (0, _) => WebhookOutcome::Rejected,
        _ => WebhookOutcome::Accepted,
    };
    if admitted.reply.outcome == WebhookOutcome::Ignored {
        admitted.says(Ignored::PullRequestClosed);
    }
    Ok(())
}

/// Whether the event was seen before; remembers it.
fn is_known(
    txn: &mut LedgerTxn<'_, '_>,
    deliveries: &Deliveries,
    identity: &EventIdentity,
    dispatch: &Dispatch,
    source: &EventSource<'_>,
) -> Result<bool, StoreError> {
    let keep = dispatch
        .runs_to_end
        .as_ref()
        .and_then(|ends| Some((ends, ends.keep.as_ref()?)));
    let Some((ends, sha)) = keep else {
        return Ok(!deliveries.admit_subject(txn.rows, &identity.key, txn.now)?);
    };
    let (repository, number) = (folded(&ends.repository), ends.number.get());
    let seen = take_head(txn, &repository, number, sha, source)?;
    if identity.once {
        return Ok(seen);
    }
    // Opened again: only a run of this head that still goes on makes it a repetition.
    let open = open_of_pull(txn, &repository, number)?;
    let same =
        |run: &Run| matches!(&run.subject, Subject::PullRequest { sha: of, .. } if of == sha);
    Ok(open.iter().any(same))
}

fn accept(
    txn: &mut LedgerTxn<'_, '_>,
    run: &Run,
    admitted: &mut IntakeResult,
) -> Result<(), StoreError> {
    debug_assert_eq!(run.state, AgentRunState::Queued);
    txn.put(run)?;
    txn.start_status(run)?;
    if run.check_author {
        admitted.check.push(run.id.clone());
    }
    if let Subject::Comment { issue, .. } = &run.subject
        && !issue.is_cli()
    {
        let (repository, number) = issue_key(&run.repository, *issue);
        let place = (repository, number, format!("{:020} {}", txn.now, run.id));
        txn.rows.put(&ISSUE_LOG, &place, &Flag(()))?;
    }
    admitted.reply.dispatches.push(AcceptedView {
        run: run.id.to_string(),
        project: run.project.to_string(),
        agent: run.agent.to_string(),
    });
    txn.journal(RecordedEvent::new(run, JournalEvent::Queued).about(run.trigger.as_str()))
}

/// Records a refusal; `place` is the pull request whose fan-out it is part of.
fn refuse(
    txn: &mut LedgerTxn<'_, '_>,
    rejection: &Rejection,
    place: Option<&str>,
) -> Result<(), StoreError> {
    let reason = rejection.reason;
    if let Some(run) = &rejection.run {
        txn.put(run)?;
        txn.start_status(run)?;
    }
    let (what, about) = match place {
        Some(place) => {
            let about = format!("{place} {}", rejection.agent);
            (JournalEvent::FanOutSkipped(reason), about)
        }
        None => (JournalEvent::Rejected(reason), rejection.agent.clone()),
    };
    let entry = match &rejection.run {
        Some(run) => RecordedEvent::new(run, what).about(about),
        None => RecordedEvent::plain(what, about),
    };
    txn.journal(entry)
}
