//! Taking an event in: the delivery, the runs, the statuses and the journal in one transaction.

use forge_actors::deliveries::{Admission, Arrival, Deliveries};
use forge_core::{Delivery, Event, IssueNumber, RepoName, RunId};
use orchestrator_core::Millis;
use orchestrator_core::admin::{AcceptedView, Outcome, RejectedView, WebhookReply};
use orchestrator_core::health::{Usage, month};
use orchestrator_core::intake::{
    AgentKey, Decision, Dispatch, Ignored, Mark, Rejection, View, decide, seen,
};
use orchestrator_core::run::{Run, RunState, Subject};
use store::{ReadRows, StoreError};
use uuid::Uuid;

use super::answer::answer_comment;
use super::book::Book;
use super::heads::{end_others, open_of_pull, take_head};
use super::rows::{Flag, ISSUE_LOG, OPEN, TROUBLE, USAGE, folded};
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

/// How an event came.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// By a webhook.
    Delivery(&'a Delivery),
    /// By asking the forge.
    Found {
        /// What a webhook would have said.
        event: &'a Event,
        /// When the forge was asked.
        asked_at: Millis,
    },
}

impl Source<'_> {
    fn event(&self) -> &Event {
        match self {
            Self::Delivery(delivery) => &delivery.event,
            Self::Found { event, .. } => event,
        }
    }

    /// A poll tells of most things again and again; only a webhook that does so is worth a word.
    fn is_delivery(&self) -> bool {
        matches!(self, Self::Delivery(_))
    }
}

/// Takes in an event of the forge, or one that was found by asking it (without a delivery).
///
/// # Errors
/// The store's.
pub fn admit(
    mut book: Book<'_, '_>,
    deliveries: &Deliveries,
    source: &Source<'_>,
    own: &OwnLogins,
) -> Result<Admitted, StoreError> {
    let id = match source {
        Source::Delivery(delivery) => delivery.id.to_string(),
        Source::Found { .. } => "poll".to_owned(),
    };
    let mut admitted = Admitted {
        reply: WebhookReply {
            delivery: id,
            outcome: Outcome::Duplicate,
            dispatches: Vec::new(),
            rejected: Vec::new(),
            reason: None,
            detail: None,
        },
        kill: Vec::new(),
        check: Vec::new(),
        entries: Vec::new(),
        id_reused: false,
    };
    if let Source::Delivery(delivery) = source {
        let arrival = Arrival::new(&delivery.id, &delivery.body);
        let seen = deliveries.admit(book.rows, &arrival, book.now)?;
        admitted.id_reused = seen == Admission::SameIdOtherBody;
        if !seen.is_new() {
            admitted.says(Ignored::Duplicate);
            book.tell(Entry::plain(Happened::DedupHit("delivery".to_owned()), ""))?;
            admitted.entries = book.entries();
            return Ok(admitted);
        }
    }
    let event = source.event();
    match decision(&mut book, event, own)? {
        Decision::Ignored(why) => {
            admitted.reply.outcome = Outcome::Ignored;
            admitted.says(why);
            if let Some(key) = seen(event) {
                deliveries.admit_subject(book.rows, &key, book.now)?;
            }
            if source.is_delivery() {
                book.tell(Entry::plain(Happened::Ignored(why), about(event)))?;
            }
        }
        Decision::Dispatch(dispatch) => {
            store(&mut book, deliveries, *dispatch, source, &mut admitted)?;
        }
    }
    admitted.entries = book.entries();
    Ok(admitted)
}

impl Admitted {
    /// Why nothing was done.
    fn says(&mut self, why: Ignored) {
        self.reply.reason = Some(why.to_string());
        self.reply.detail = Some(why.detail().to_owned());
    }
}

/// What an event is about, for the journal.
fn about(event: &Event) -> String {
    let repository = event.repository().map(ToString::to_string);
    let repository = repository.unwrap_or_default();
    match event {
        Event::PullRequest(pull) => format!("{repository}#{}", pull.number),
        Event::IssueComment(comment) => {
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
    source: &Source<'_>,
    admitted: &mut Admitted,
) -> Result<(), StoreError> {
    if let Some(mark) = &dispatch.mark
        && is_known(book, deliveries, mark, &dispatch, source)?
    {
        admitted.says(Ignored::Duplicate);
        if source.is_delivery() {
            book.tell(Entry::plain(Happened::DedupHit(mark.key.clone()), ""))?;
        }
        return Ok(());
    }
    if let Some(ends) = &dispatch.ends {
        end_others(book, ends, &mut admitted.kill)?;
    }
    for want in dispatch.wants {
        accept(book, &want.run, admitted)?;
        book.put_context(&want.run, want.context)?;
    }
    let about = dispatch.ends.as_ref();
    let place = about.map(|ends| format!("{}#{}", ends.repository, ends.number));
    for rejection in dispatch.rejected {
        admitted.reply.rejected.push(RejectedView {
            agent: rejection.agent.clone(),
            reason: rejection.reason.to_string(),
            detail: rejection.reason.detail().to_owned(),
        });
        refuse(book, &rejection, place.as_deref())?;
        if let Event::IssueComment(comment) = source.event() {
            answer_comment(book, comment, &rejection)?;
        }
    }
    let queued = admitted.reply.dispatches.len();
    if queued > 0
        && let Some(ends) = about
    {
        let number = ends.number.get();
        book.tell(Entry::pull(
            &ends.repository,
            number,
            Happened::FanOut { runs: queued },
        ))?;
    }
    admitted.reply.outcome = match (queued, admitted.reply.rejected.len()) {
        (0, 0) => Outcome::Ignored,
        (0, _) => Outcome::Rejected,
        _ => Outcome::Accepted,
    };
    if admitted.reply.outcome == Outcome::Ignored {
        admitted.says(Ignored::PullRequestClosed);
    }
    Ok(())
}

/// Whether the event was seen before; remembers it.
fn is_known(
    book: &mut Book<'_, '_>,
    deliveries: &Deliveries,
    mark: &Mark,
    dispatch: &Dispatch,
    source: &Source<'_>,
) -> Result<bool, StoreError> {
    let keep = dispatch
        .ends
        .as_ref()
        .and_then(|ends| Some((ends, ends.keep.as_ref()?)));
    let Some((ends, sha)) = keep else {
        return Ok(!deliveries.admit_subject(book.rows, &mark.key, book.now)?);
    };
    let (repository, number) = (folded(&ends.repository), ends.number.get());
    let seen = take_head(book, &repository, number, sha, source)?;
    if mark.once {
        return Ok(seen);
    }
    // Opened again: only a run of this head that still goes on makes it a repetition.
    let open = open_of_pull(book, &repository, number)?;
    let same =
        |run: &Run| matches!(&run.subject, Subject::PullRequest { sha: of, .. } if of == sha);
    Ok(open.iter().any(same))
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

/// Records a refusal; `place` is the pull request whose fan-out it is part of.
fn refuse(
    book: &mut Book<'_, '_>,
    rejection: &Rejection,
    place: Option<&str>,
) -> Result<(), StoreError> {
    let reason = rejection.reason;
    if let Some(run) = &rejection.run {
        book.put(run)?;
        book.begin_status(run)?;
    }
    let (what, about) = match place {
        Some(place) => {
            let about = format!("{place} {}", rejection.agent);
            (Happened::FanOutSkipped(reason), about)
        }
        None => (Happened::Rejected(reason), rejection.agent.clone()),
    };
    let entry = match &rejection.run {
        Some(run) => Entry::of(run, what).about(about),
        None => Entry::plain(what, about),
    };
    book.tell(entry)
}
