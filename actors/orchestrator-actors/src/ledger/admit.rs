//! Taking an event in: the delivery, the runs, the statuses and the journal in one transaction.

use forge_actors::deliveries::{Admission, Arrival, Deliveries};
use forge_core::{Delivery, Event, IssueNumber, RepoName, RunId};
use orchestrator_core::admin::{AcceptedView, Outcome, RejectedView, WebhookReply};
use orchestrator_core::health::{Usage, month};
use orchestrator_core::intake::{AgentKey, Decision, Dispatch, Ends, Mark, View, decide};
use orchestrator_core::run::{Reason, Run, RunState, Subject};
use store::{ReadRows, StoreError};
use uuid::Uuid;

use super::book::Book;
use super::change::end_early;
use super::rows::{
    At, Flag, ISSUE_LOG, OPEN, PULL_HEADS, PULL_RUNS, RUNS, RunRow, TROUBLE, USAGE, folded,
};
use crate::journal::{Entry, Happened};
use crate::shared::OwnLogins;

/// Dispatches of an issue are counted over this time.
const RATE_PERIOD: u64 = 3600 * 1000;
/// Most dispatches of an issue that are counted: no limit is larger.
const MAX_COUNTED: usize = 10_000;

/// What became of an event.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// The reply.
    pub reply: WebhookReply,
    /// Runs that are active and have to be ended.
    pub kill: Vec<RunId>,
    /// Runs whose author the forge is to be asked about.
    pub check: Vec<RunId>,
    /// To be logged.
    pub entries: Vec<Entry>,
    /// The delivery's id came with another body before.
    pub id_reused: bool,
}

/// Takes in an event of the forge, or one that was found by asking it (without a delivery).
///
/// # Errors
/// The store's.
pub fn admit(
    mut book: Book<'_, '_>,
    deliveries: &Deliveries,
    delivery: Option<&Delivery>,
    event: &Event,
    own: &OwnLogins,
) -> Result<Admitted, StoreError> {
    let id = delivery.map_or_else(|| "poll".to_owned(), |delivery| delivery.id.to_string());
    let mut admitted = Admitted {
        reply: WebhookReply {
            delivery: id,
            outcome: Outcome::Duplicate,
            dispatches: Vec::new(),
            rejected: Vec::new(),
        },
        kill: Vec::new(),
        check: Vec::new(),
        entries: Vec::new(),
        id_reused: false,
    };
    if let Some(delivery) = delivery {
        let arrival = Arrival::new(&delivery.id, &delivery.body);
        let seen = deliveries.admit(book.rows, &arrival, book.now)?;
        admitted.id_reused = seen == Admission::SameIdOtherBody;
        if !seen.is_new() {
            book.tell(Entry::plain(Happened::DedupHit("delivery".to_owned()), ""))?;
            admitted.entries = book.entries();
            return Ok(admitted);
        }
    }
    match decision(&mut book, event, own)? {
        Decision::Ignored(_) => admitted.reply.outcome = Outcome::Ignored,
        Decision::Dispatch(dispatch) => {
            let pull = matches!(event, Event::PullRequest(_));
            store(&mut book, deliveries, *dispatch, pull, &mut admitted)?;
        }
    }
    admitted.entries = book.entries();
    Ok(admitted)
}

/// Asks the pure decision, with everything it wants to know read from this transaction.
fn decision(
    book: &mut Book<'_, '_>,
    event: &Event,
    own: &OwnLogins,
) -> Result<Decision, StoreError> {
    let quarantined = {
        let after = book.config.quarantine_after;
        let rows = book.rows.range(&TROUBLE, .., usize::MAX)?;
        let over = rows.into_iter().filter(|(_, count)| count.0 >= after);
        over.filter_map(|((project, agent), _)| Some((project.parse().ok()?, agent.parse().ok()?)))
            .collect()
    };
    let usage: Vec<(AgentKey, Usage)> = {
        let rows = book
            .rows
            .below(&USAGE, &month(book.now), None, usize::MAX)?;
        let read =
            |((_, project, agent), row): ((String, String, String), super::rows::UsageRow)| {
                Some(((project.parse().ok()?, agent.parse().ok()?), row.0))
            };
        rows.into_iter().filter_map(read).collect()
    };
    let recent = recent_of(book, event)?;
    let queued = usize::try_from(book.rows.len(&OPEN)?).unwrap_or(usize::MAX);
    let view = View {
        config: book.config,
        own_logins: own,
        now: book.now,
        quarantined: &quarantined,
        usage: &|key| {
            usage
                .iter()
                .find(|(of, _)| of == key)
                .map_or_else(Usage::default, |(_, u)| *u)
        },
        recent: &|_, _| recent,
        queued,
        new_id: &new_run_id,
    };
    Ok(decide(event, &view))
}

/// A run id: a UUID of version 7, so that ids sort by time.
pub(crate) fn new_run_id() -> RunId {
    let id = Uuid::now_v7().to_string();
    id.parse().expect("a UUID is a run id")
}

/// Dispatches of the event's issue within the last hour.
fn recent_of(book: &mut Book<'_, '_>, event: &Event) -> Result<u32, StoreError> {
    let Event::IssueComment(comment) = event else {
        return Ok(0);
    };
    // The command line has no such limit, and all of it shares one number.
    if comment.issue.number.is_cli() {
        return Ok(0);
    }
    let prefix = issue_key(&comment.repository.name, comment.issue.number);
    let rows = book.rows.below(&ISSUE_LOG, &prefix, None, MAX_COUNTED)?;
    let oldest = format!("{:020}", book.now.saturating_sub(RATE_PERIOD));
    let mut count = 0;
    for (key, _) in rows {
        if key.2 < oldest {
            book.rows.delete(&ISSUE_LOG, &key)?;
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
    book: &mut Book<'_, '_>,
    deliveries: &Deliveries,
    dispatch: Dispatch,
    pull: bool,
    admitted: &mut Admitted,
) -> Result<(), StoreError> {
    if let Some(mark) = &dispatch.mark
        && is_known(book, deliveries, mark, &dispatch)?
    {
        return book.tell(Entry::plain(Happened::DedupHit(mark.key.clone()), ""));
    }
    if let Some(ends) = &dispatch.ends {
        end_others(book, ends, &mut admitted.kill)?;
    }
    for want in dispatch.wants {
        accept(book, &want.run, admitted)?;
        book.put_context(&want.run, want.context)?;
    }
    for rejection in dispatch.rejected {
        admitted.reply.rejected.push(RejectedView {
            agent: rejection.agent.clone(),
            reason: rejection.reason.to_string(),
            detail: rejection.reason.detail().to_owned(),
        });
        refuse(
            book,
            rejection.run.as_ref(),
            rejection.reason,
            &rejection.agent,
            pull,
        )?;
    }
    let queued = admitted.reply.dispatches.len();
    if pull && queued > 0 {
        let about = dispatch.ends.as_ref();
        let number = about.map_or(0, |ends| ends.number.get());
        if let Some(ends) = about {
            book.tell(Entry::pull(
                &ends.repository,
                number,
                Happened::FanOut { runs: queued },
            ))?;
        }
    }
    admitted.reply.outcome = match (queued, admitted.reply.rejected.len()) {
        (0, 0) => Outcome::Ignored,
        (0, _) => Outcome::Rejected,
        _ => Outcome::Accepted,
    };
    Ok(())
}

/// Whether the event was seen before; remembers it.
fn is_known(
    book: &mut Book<'_, '_>,
    deliveries: &Deliveries,
    mark: &Mark,
    dispatch: &Dispatch,
) -> Result<bool, StoreError> {
    let keep = dispatch
        .ends
        .as_ref()
        .and_then(|ends| Some((ends, ends.keep.as_ref()?)));
    let Some((ends, sha)) = keep else {
        return Ok(!deliveries.admit_subject(book.rows, &mark.key, book.now)?);
    };
    let key = (folded(&ends.repository), ends.number.get(), sha.to_string());
    let seen = book.rows.contains(&PULL_HEADS, &key)?;
    book.rows.put(&PULL_HEADS, &key, &At(book.now))?;
    if mark.once {
        return Ok(seen);
    }
    // Opened again: only a run of this head that still goes on makes it a repetition.
    let open = open_of_pull(book, &key.0, key.1)?;
    let same =
        |run: &Run| matches!(&run.subject, Subject::PullRequest { sha: of, .. } if of == sha);
    Ok(open.iter().any(same))
}

/// The open runs of a pull request.
pub(super) fn open_of_pull(
    book: &mut Book<'_, '_>,
    repository: &str,
    number: u64,
) -> Result<Vec<Run>, StoreError> {
    let prefix = (repository.to_owned(), number);
    let ids = book.rows.below(&PULL_RUNS, &prefix, None, MAX_COUNTED)?;
    let mut runs = Vec::new();
    for ((_, _, id), _) in ids {
        runs.extend(book.rows.get(&RUNS, &id)?.map(|RunRow(run)| run));
    }
    Ok(runs)
}

/// Ends the runs of other heads, or all of a pull request that was closed.
fn end_others(
    book: &mut Book<'_, '_>,
    ends: &Ends,
    kill: &mut Vec<RunId>,
) -> Result<(), StoreError> {
    let (repository, number) = (folded(&ends.repository), ends.number.get());
    for run in open_of_pull(book, &repository, number)? {
        let (_, sha) = run
            .subject
            .pull_request()
            .expect("the index holds pull requests only");
        if ends.keep.as_ref() != Some(sha) && end_early(book, run.clone(), ends.reason)? {
            kill.push(run.id);
        }
    }
    if ends.forget {
        let prefix = (repository, number);
        for (key, _) in book.rows.below(&PULL_HEADS, &prefix, None, MAX_COUNTED)? {
            book.rows.delete(&PULL_HEADS, &key)?;
        }
    }
    Ok(())
}

fn accept(book: &mut Book<'_, '_>, run: &Run, admitted: &mut Admitted) -> Result<(), StoreError> {
    debug_assert_eq!(run.state, RunState::Queued);
    book.put(run)?;
    book.begin_status(run)?;
    if run.check_author {
        admitted.check.push(run.id.clone());
    }
    if let Subject::Comment { issue, .. } = &run.subject
        && !issue.is_cli()
    {
        let (repository, number) = issue_key(&run.repository, *issue);
        let place = (repository, number, format!("{:020} {}", book.now, run.id));
        book.rows.put(&ISSUE_LOG, &place, &Flag(()))?;
    }
    admitted.reply.dispatches.push(AcceptedView {
        run: run.id.to_string(),
        project: run.project.to_string(),
        agent: run.agent.to_string(),
    });
    book.tell(Entry::of(run, Happened::Queued).about(run.trigger.as_str()))
}

fn refuse(
    book: &mut Book<'_, '_>,
    run: Option<&Run>,
    reason: Reason,
    agent: &str,
    pull: bool,
) -> Result<(), StoreError> {
    if let Some(run) = run {
        book.put(run)?;
        book.begin_status(run)?;
    }
    let what = if pull {
        Happened::FanOutSkipped(reason)
    } else {
        Happened::Rejected(reason)
    };
    let entry = run.map_or_else(
        || Entry::plain(what.clone(), agent),
        |run| Entry::of(run, what.clone()).about(agent),
    );
    book.tell(entry)
}
