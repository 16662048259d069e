//! Concurrency groups of called workflows: a call begins when it has its groups, and keeps them
//! until all its jobs have ended. They outlive the actor of a run that is parked meanwhile.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use runner_core::plan::ConcurrencyGroup;
use tokio::sync::mpsc;

use super::group_line::{CopyKey, TurnWatch};
use crate::groups::{ConcurrencyGroups, GroupTicket};
use crate::records::LeftCall;

/// Job and copy that call.
pub(super) type CallId = (usize, usize);

/// What happens to the groups of a call.
pub(super) enum CallGroupEvent {
    /// It has all of them.
    Admitted(Vec<GroupTicket>),
    /// A newer one took its place while it waited, or too many wait.
    Superseded,
    /// A newer one wants it ended.
    Cancelled,
}

/// A call that asks for its groups.
pub(super) struct EnteringCall {
    pub(super) id: CallId,
    /// Whichever incarnation of its run asks.
    pub(super) key: CopyKey,
    pub(super) groups: Vec<ConcurrencyGroup>,
}

/// The groups of a run's calls.
pub(super) struct CallGroups {
    sender: mpsc::UnboundedSender<(CopyKey, CallGroupEvent)>,
    receiver: mpsc::UnboundedReceiver<(CopyKey, CallGroupEvent)>,
    /// What comes before that: of calls that a former incarnation of the run knew.
    known: VecDeque<(CallId, CallGroupEvent)>,
    ids: HashMap<CopyKey, CallId>,
    waiting: HashMap<CopyKey, TurnWatch>,
    held: HashMap<CopyKey, Vec<GroupTicket>>,
    /// Those that have left them, in a former incarnation too; whether they had been admitted.
    left: HashMap<CopyKey, bool>,
}

impl Default for CallGroups {
    fn default() -> Self {
        #[expect(clippy::disallowed_methods, reason = "two events a call of the run")]
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            sender,
            receiver,
            known: VecDeque::new(),
            ids: HashMap::new(),
            waiting: HashMap::new(),
            held: HashMap::new(),
            left: HashMap::new(),
        }
    }
}

impl CallGroups {
    /// With the calls that left their groups before, as the run's record says.
    #[must_use]
    pub(super) fn with_left(mut self, left: &[LeftCall]) -> Self {
        for call in left {
            let key = (call.key.clone(), call.copy);
            self.left.entry(key).or_insert(call.was_admitted);
        }
        self
    }

    /// The calls that have left their groups, for the run's record.
    pub(super) fn left(&self) -> Vec<LeftCall> {
        let left = self
            .left
            .iter()
            .map(|((key, copy), was_admitted)| LeftCall {
                key: key.clone(),
                copy: *copy,
                was_admitted: *was_admitted,
            });
        let mut left: Vec<LeftCall> = left.collect();
        left.sort_unstable();
        left
    }

    /// Waits for the groups of a call, one after the other; `told` is called when something has
    /// happened to them. One that has its place from before the run was parked goes on with it.
    pub(super) fn acquire(
        &mut self,
        call: EnteringCall,
        (all, repository): (ConcurrencyGroups, String),
        told: impl Fn() + Send + Sync + 'static,
    ) {
        let EnteringCall { id, key, groups } = call;
        self.ids.insert(key.clone(), id);
        if let Some(tickets) = self.held.remove(&key) {
            self.keep_waiting(&key);
            self.known
                .push_back((id, CallGroupEvent::Admitted(tickets)));
            return;
        }
        if let Some(was_admitted) = self.left.get(&key).copied() {
            self.keep_waiting(&key);
            let event = match was_admitted {
                true => CallGroupEvent::Admitted(Vec::new()),
                false => CallGroupEvent::Superseded,
            };
            self.known.push_back((id, event));
            return;
        }
        if self.waiting.contains_key(&key) {
            return;
        }
        let (sender, told) = (self.sender.clone(), Arc::new(told));
        let own = key.clone();
        let send = move |event| {
            // A run that is gone hears nothing.
            let _ = sender.send((own.clone(), event));
            told();
        };
        let end = {
            let send = send.clone();
            Arc::new(move |_| send(CallGroupEvent::Cancelled))
        };
        let waits = TurnWatch::spawn(async move {
            let mut tickets = Vec::with_capacity(groups.len());
            for group in &groups {
                match all.acquire(&repository, group, Arc::clone(&end) as _).await {
                    Ok(ticket) => tickets.push(ticket),
                    Err(_) => return send(CallGroupEvent::Superseded),
                }
            }
            send(CallGroupEvent::Admitted(tickets));
        });
        self.waiting.insert(key, waits);
    }

    /// A call whose answer is known is awaited all the same, until the run has taken it.
    fn keep_waiting(&mut self, key: &CopyKey) {
        let waits = TurnWatch::spawn(std::future::ready(()));
        self.waiting.insert(key.clone(), waits);
    }

    /// Gives the groups of a call back, or its place before them.
    pub(super) fn release(&mut self, call: CallId) {
        let Some(key) = self.key_of(call) else {
            return;
        };
        self.waiting.remove(&key);
        let was_admitted = self.held.remove(&key).is_some();
        self.left.insert(key, was_admitted);
    }

    fn key_of(&self, call: CallId) -> Option<CopyKey> {
        let mut ids = self.ids.iter();
        let found = ids.find(|(_, id)| **id == call);
        found.map(|(key, _)| key.clone())
    }

    /// What happens next; pending for ever while nothing can.
    pub(super) async fn next(&mut self) -> (CallId, CallGroupEvent) {
        if let Some(known) = self.known.pop_front() {
            return known;
        }
        loop {
            match self.receiver.recv().await {
                Some((key, event)) => match self.ids.get(&key) {
                    Some(id) => return (*id, event),
                    // The run has not come to it again: it asks anew when it does.
                    None => drop(self.waiting.remove(&key)),
                },
                // A sender is kept here.
                None => std::future::pending().await,
            }
        }
    }

    /// Takes the groups that a call got; `false`: nobody waits for them any more.
    pub(super) fn keep(&mut self, call: CallId, tickets: Vec<GroupTicket>) -> bool {
        let Some(key) = self.key_of(call) else {
            return false;
        };
        let is_awaited = self.waiting.remove(&key).is_some();
        if is_awaited {
            self.held.insert(key, tickets);
        }
        is_awaited
    }

    /// The calls that wait for their groups.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &CopyKey> {
        self.waiting.keys()
    }

    /// Whether something has happened that the run does not know of.
    pub(super) fn is_due(&self) -> bool {
        !self.known.is_empty() || !self.receiver.is_empty()
    }

    /// Whether a call waits for its groups.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether no call has a group or waits for one.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.waiting.is_empty()
    }

    /// The run's actor ends: whoever drives it again comes to its calls again.
    pub(super) fn forget_ids(&mut self) {
        self.ids.clear();
    }
}
