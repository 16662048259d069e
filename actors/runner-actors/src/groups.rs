//! Concurrency groups: one run or job of a group at a time. One waits, and a newer one takes its
//! place; or many wait (`queue: max`), and the first one comes first.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use runner_core::plan::ConcurrencyGroup;
use runner_core::workflow::ConcurrencyQueue;
use tokio::sync::oneshot;

/// So many wait in one group at most, as on GitHub.
const MAX_WAITING: usize = 100;

/// All groups.
#[derive(Clone, Default)]
pub(crate) struct ConcurrencyGroups {
    groups: Arc<Mutex<HashMap<String, GroupMembers>>>,
}

type EndCallback = Arc<dyn Fn(String) + Send + Sync>;

#[derive(Default)]
struct GroupMembers {
    running: Option<(u64, EndCallback)>,
    waiting: VecDeque<WaitingMember>,
    next: u64,
}

/// One that waits for its turn.
struct WaitingMember {
    sender: oneshot::Sender<GroupTicket>,
    end: EndCallback,
}

/// The right to run in a group; dropped, the next one has it.
pub(crate) struct GroupTicket {
    groups: ConcurrencyGroups,
    name: String,
    number: u64,
}

/// Why one of a group does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupRejection {
    /// A newer one came while it waited.
    Superseded,
    /// As many wait as may.
    Full,
}

/// What one has that asked for its turn.
enum GroupAdmission {
    Now(GroupTicket),
    Later(oneshot::Receiver<GroupTicket>),
    Never(GroupRejection),
}

impl fmt::Display for GroupRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Superseded => f.write_str("a newer one of its concurrency group took its place"),
            Self::Full => write!(
                f,
                "{MAX_WAITING} others of its concurrency group wait already, the most that may"
            ),
        }
    }
}

impl GroupMembers {
    /// Makes the one that holds `end` the one that runs.
    fn admit(&mut self, groups: &ConcurrencyGroups, name: &str, end: EndCallback) -> GroupTicket {
        self.next += 1;
        self.running = Some((self.next, end));
        GroupTicket {
            groups: groups.clone(),
            number: self.next,
            name: name.to_owned(),
        }
    }
}

impl ConcurrencyGroups {
    /// Waits until it is one's turn in the group of `repository`; its place is taken before this
    /// returns. `end` is called with the reason when a newer one wants this one ended.
    pub(crate) fn acquire(
        &self,
        repository: &str,
        group: &ConcurrencyGroup,
        end: EndCallback,
    ) -> impl Future<Output = Result<GroupTicket, GroupRejection>> + use<> {
        let name = format!(
            "{}\n{}",
            repository.to_lowercase(),
            group.name.to_lowercase()
        );
        let turn = self.take_turn(&name, group, end);
        async move {
            match turn {
                GroupAdmission::Now(ticket) => Ok(ticket),
                GroupAdmission::Later(turn) => turn.await.map_err(|_| GroupRejection::Superseded),
                GroupAdmission::Never(reason) => Err(reason),
            }
        }
    }

    fn take_turn(&self, name: &str, group: &ConcurrencyGroup, end: EndCallback) -> GroupAdmission {
        let mut groups = self.groups.lock();
        let members = groups.entry(name.to_owned()).or_default();
        let Some((_, running)) = &members.running else {
            return GroupAdmission::Now(members.admit(self, name, end));
        };
        if group.cancel_in_progress {
            running(format!(
                "a newer one of the group {} takes its place",
                group.name
            ));
        }
        // Those that were cancelled meanwhile wait no more.
        members
            .waiting
            .retain(|waiting| !waiting.sender.is_closed());
        match group.queue {
            ConcurrencyQueue::Single => members.waiting.clear(),
            ConcurrencyQueue::Max if members.waiting.len() >= MAX_WAITING => {
                return GroupAdmission::Never(GroupRejection::Full);
            }
            ConcurrencyQueue::Max => {}
        }
        let (sender, turn) = oneshot::channel();
        members.waiting.push_back(WaitingMember { sender, end });
        GroupAdmission::Later(turn)
    }

    /// Gives the turn of the one with `number` to the next one that waits.
    fn pass_on(
        &self,
        name: &str,
        number: u64,
    ) -> Option<(oneshot::Sender<GroupTicket>, GroupTicket)> {
        let mut groups = self.groups.lock();
        let members = groups.get_mut(name)?;
        members.running.take_if(|(running, _)| *running == number)?;
        let Some(next) = members.waiting.pop_front() else {
            groups.remove(name);
            return None;
        };
        Some((next.sender, members.admit(self, name, next.end)))
    }
}

impl Drop for GroupTicket {
    fn drop(&mut self) {
        let next = self.groups.pass_on(&self.name, self.number);
        if let Some((sender, ticket)) = next {
            // One that waits no more drops it, and the one after that has it.
            let _ = sender.send(ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(cancel_in_progress: bool) -> ConcurrencyGroup {
        ConcurrencyGroup {
            name: "deploy".to_owned(),
            cancel_in_progress,
            queue: ConcurrencyQueue::Single,
        }
    }

    fn queued() -> ConcurrencyGroup {
        ConcurrencyGroup {
            queue: ConcurrencyQueue::Max,
            ..group(false)
        }
    }

    type Entered = actix_rt::task::JoinHandle<Result<GroupTicket, GroupRejection>>;

    /// Enters in the background; it waits already when this returns.
    async fn acquire(groups: &ConcurrencyGroups, group: ConcurrencyGroup) -> Entered {
        let groups = groups.clone();
        let entered =
            actix_rt::spawn(async move { groups.acquire("a/b", &group, Arc::new(|_| {})).await });
        tokio::task::yield_now().await;
        entered
    }

    /// The ticket of one whose turn comes at once.
    async fn admitted(groups: &ConcurrencyGroups, group: ConcurrencyGroup) -> GroupTicket {
        acquire(groups, group).await.await.unwrap().ok().unwrap()
    }

    #[actix_rt::test]
    async fn i17_a_queue_lets_in_the_first_one_first_and_forgets_who_went_away() {
        let groups = ConcurrencyGroups::default();
        let first = admitted(&groups, queued()).await;
        let second = acquire(&groups, queued()).await;
        let third = acquire(&groups, queued()).await;
        let fourth = acquire(&groups, queued()).await;
        third.abort();
        tokio::task::yield_now().await;
        drop(first);
        let second = second.await.unwrap().ok().unwrap();
        assert!(!fourth.is_finished(), "one at a time");
        drop(second);
        drop(fourth.await.unwrap().ok().unwrap());
        assert!(
            groups.groups.lock().is_empty(),
            "nothing is left of a group"
        );
    }

    #[actix_rt::test]
    async fn i17_a_hundred_wait_and_no_more_and_a_single_one_clears_the_queue() {
        let groups = ConcurrencyGroups::default();
        let first = admitted(&groups, queued()).await;
        let mut waiting = Vec::new();
        for _ in 0..MAX_WAITING {
            waiting.push(acquire(&groups, queued()).await);
        }
        let beyond = acquire(&groups, queued()).await.await.unwrap();
        assert_eq!(beyond.err(), Some(GroupRejection::Full));
        let newer = acquire(&groups, group(false)).await;
        for one in waiting {
            assert_eq!(one.await.unwrap().err(), Some(GroupRejection::Superseded));
        }
        drop(first);
        assert!(newer.await.unwrap().is_ok());
    }

    #[actix_rt::test]
    async fn i17_a_turn_that_nobody_takes_goes_to_the_next_one() {
        let groups = ConcurrencyGroups::default();
        let first = admitted(&groups, queued()).await;
        let second = acquire(&groups, queued()).await;
        let third = acquire(&groups, queued()).await;
        // The second one has its turn, and is gone before it hears of it.
        drop(first);
        second.abort();
        assert!(third.await.unwrap().is_ok());
    }

    #[actix_rt::test]
    async fn one_runs_one_waits_and_a_newer_one_takes_its_place() {
        let groups = ConcurrencyGroups::default();
        let nothing: EndCallback = Arc::new(|_| {});
        let first = groups
            .acquire("a/b", &group(false), Arc::clone(&nothing))
            .await
            .ok()
            .unwrap();
        let (g, n) = (groups.clone(), Arc::clone(&nothing));
        let second =
            actix_rt::spawn(async move { g.acquire("A/B", &group(false), n).await.is_ok() });
        tokio::task::yield_now().await;
        let (g, n) = (groups.clone(), Arc::clone(&nothing));
        let third =
            actix_rt::spawn(async move { g.acquire("a/b", &group(false), n).await.is_ok() });
        assert!(!second.await.unwrap(), "the third took its place");
        assert!(
            groups
                .acquire("other/repo", &group(false), nothing)
                .await
                .is_ok()
        );
        drop(first);
        assert!(third.await.unwrap());
    }

    #[actix_rt::test]
    async fn the_one_that_runs_is_ended_when_that_is_asked_for() {
        let groups = ConcurrencyGroups::default();
        let ended: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&ended);
        let first = groups
            .acquire(
                "a/b",
                &group(false),
                Arc::new(move |why| log.lock().push(why)),
            )
            .await
            .ok()
            .unwrap();
        let g = groups.clone();
        let second = actix_rt::spawn(async move {
            g.acquire("a/b", &group(true), Arc::new(|_| {}))
                .await
                .is_ok()
        });
        tokio::task::yield_now().await;
        assert_eq!(ended.lock().len(), 1);
        drop(first);
        assert!(second.await.unwrap());
    }
}
