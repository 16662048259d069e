//! Concurrency groups: one run or job of a group at a time, one that waits; a newer one takes the
//! place of the one that waits.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use runner_core::plan::ConcurrencyGroup;
use tokio::sync::oneshot;

/// All groups.
#[derive(Clone, Default)]
pub(crate) struct ConcurrencyGroups {
    groups: Arc<Mutex<HashMap<String, GroupMembers>>>,
}

type EndCallback = Arc<dyn Fn(String) + Send + Sync>;

#[derive(Default)]
struct GroupMembers {
    running: Option<(u64, EndCallback)>,
    waiting: Option<oneshot::Sender<bool>>,
    next: u64,
}

/// The right to run in a group; dropped, the next one has it.
pub(crate) struct GroupTicket {
    groups: ConcurrencyGroups,
    name: String,
    number: u64,
}

impl ConcurrencyGroups {
    /// Waits until the group of `repository` is free. `None`: a newer one came while this one
    /// waited. `end` is called with the reason when a newer one wants this one ended.
    pub(crate) async fn enter(
        &self,
        repository: &str,
        group: &ConcurrencyGroup,
        end: EndCallback,
    ) -> Option<GroupTicket> {
        let name = format!(
            "{}\n{}",
            repository.to_lowercase(),
            group.name.to_lowercase()
        );
        loop {
            let turn = {
                let mut groups = self.groups.lock();
                let members = groups.entry(name.clone()).or_default();
                match &members.running {
                    None => {
                        members.next += 1;
                        members.running = Some((members.next, Arc::clone(&end)));
                        return Some(GroupTicket {
                            groups: self.clone(),
                            number: members.next,
                            name,
                        });
                    }
                    Some((_, running)) => {
                        if group.cancel_in_progress {
                            running(format!(
                                "a newer one of the group {} takes its place",
                                group.name
                            ));
                        }
                        let (sender, receiver) = oneshot::channel();
                        if let Some(older) = members.waiting.replace(sender) {
                            let _ = older.send(false);
                        }
                        receiver
                    }
                }
            };
            if !turn.await.unwrap_or(false) {
                return None;
            }
        }
    }
}

impl Drop for GroupTicket {
    fn drop(&mut self) {
        let mut groups = self.groups.groups.lock();
        let Some(members) = groups.get_mut(&self.name) else {
            return;
        };
        if members
            .running
            .as_ref()
            .is_some_and(|(number, _)| *number == self.number)
        {
            members.running = None;
        }
        match members.waiting.take() {
            Some(next) => {
                let _ = next.send(true);
            }
            None => {
                groups.remove(&self.name);
            }
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
        }
    }

    #[actix_rt::test]
    async fn one_runs_one_waits_and_a_newer_one_takes_its_place() {
        let groups = ConcurrencyGroups::default();
        let nothing: EndCallback = Arc::new(|_| {});
        let first = groups
            .enter("a/b", &group(false), Arc::clone(&nothing))
            .await
            .unwrap();
        let (g, n) = (groups.clone(), Arc::clone(&nothing));
        let second =
            actix_rt::spawn(async move { g.enter("A/B", &group(false), n).await.is_some() });
        tokio::task::yield_now().await;
        let (g, n) = (groups.clone(), Arc::clone(&nothing));
        let third =
            actix_rt::spawn(async move { g.enter("a/b", &group(false), n).await.is_some() });
        assert!(!second.await.unwrap(), "the third took its place");
        assert!(
            groups
                .enter("other/repo", &group(false), nothing)
                .await
                .is_some()
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
            .enter(
                "a/b",
                &group(false),
                Arc::new(move |why| log.lock().push(why)),
            )
            .await
            .unwrap();
        let g = groups.clone();
        let second = actix_rt::spawn(async move {
            g.enter("a/b", &group(true), Arc::new(|_| {}))
                .await
                .is_some()
        });
        tokio::task::yield_now().await;
        assert_eq!(ended.lock().len(), 1);
        drop(first);
        assert!(second.await.unwrap());
    }
}
