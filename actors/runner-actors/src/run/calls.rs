//! Concurrency groups of called workflows: a call begins when it has its groups, and keeps them
//! until all its jobs have ended.

use std::collections::HashMap;
use std::sync::Arc;

use runner_core::plan::ConcurrencyGroup;
use tokio::sync::mpsc;

use crate::groups::{ConcurrencyGroups, GroupTicket};

/// Job and copy that call.
pub(super) type CallId = (usize, usize);

/// What happens to the groups of a call.
pub(super) enum CallEvent {
    /// It has all of them.
    Admitted(Vec<GroupTicket>),
    /// A newer one took its place while it waited, or too many wait.
    Superseded,
    /// A newer one wants it ended.
    Cancelled,
}

/// The groups of a run's calls.
pub(super) struct CallGroups {
    sender: mpsc::UnboundedSender<(CallId, CallEvent)>,
    receiver: mpsc::UnboundedReceiver<(CallId, CallEvent)>,
    waiting: HashMap<CallId, actix_rt::task::JoinHandle<()>>,
    held: HashMap<CallId, Vec<GroupTicket>>,
}

impl Default for CallGroups {
    fn default() -> Self {
        #[expect(clippy::disallowed_methods, reason = "two events a call of the run")]
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            sender,
            receiver,
            waiting: HashMap::new(),
            held: HashMap::new(),
        }
    }
}

impl CallGroups {
    /// Waits for the groups of a call, one after the other.
    pub(super) fn enter(
        &mut self,
        call: CallId,
        groups: Vec<ConcurrencyGroup>,
        all: ConcurrencyGroups,
        repository: String,
    ) {
        let sender = self.sender.clone();
        let waiting = actix_rt::spawn(async move {
            let mut tickets = Vec::with_capacity(groups.len());
            let ender = sender.clone();
            // A run that is gone hears nothing.
            let end = Arc::new(move |_| {
                let _ = ender.send((call, CallEvent::Cancelled));
            });
            for group in &groups {
                match all.enter(&repository, group, Arc::clone(&end) as _).await {
                    Ok(ticket) => tickets.push(ticket),
                    Err(_) => {
                        let _ = sender.send((call, CallEvent::Superseded));
                        return;
                    }
                }
            }
            let _ = sender.send((call, CallEvent::Admitted(tickets)));
        });
        self.waiting.insert(call, waiting);
    }

    /// Gives the groups of a call back, or its place before them.
    pub(super) fn leave(&mut self, call: CallId) {
        if let Some(waiting) = self.waiting.remove(&call) {
            waiting.abort();
        }
        self.held.remove(&call);
    }

    /// What happens next; pending for ever while nothing can.
    pub(super) async fn next(&mut self) -> (CallId, CallEvent) {
        match self.receiver.recv().await {
            Some(event) => event,
            // A sender is kept here.
            None => std::future::pending().await,
        }
    }

    /// Takes the groups that a call got; `false`: nobody waits for them any more.
    pub(super) fn keep(&mut self, call: CallId, tickets: Vec<GroupTicket>) -> bool {
        let is_awaited = self.waiting.remove(&call).is_some();
        if is_awaited {
            self.held.insert(call, tickets);
        }
        is_awaited
    }

    /// Whether no call has a group or waits for one.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.waiting.is_empty()
    }
}

impl Drop for CallGroups {
    fn drop(&mut self) {
        self.waiting.values().for_each(|waiting| waiting.abort());
    }
}
