//! A task for each host, for as long as the host is listed.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, abortable};
use futures_util::stream::FuturesUnordered;

use crate::vm_hosts::registry::VmHosts;

impl VmHosts {
    /// Runs a task for each host, all beside each other, until it is listed no more; anew where
    /// it has another token. Never ends.
    pub async fn run_for_each<F: Future<Output = ()>>(self, task: impl Fn(usize) -> F) {
        let mut changes = self.list_changes();
        let mut tasks = FuturesUnordered::new();
        let mut running: BTreeMap<(usize, u64), AbortHandle> = BTreeMap::new();
        loop {
            changes.mark_unchanged();
            let listed = self.listed_now();
            running.retain(|host, task| {
                let stays = listed.contains(host);
                if !stays {
                    task.abort();
                }
                stays
            });
            for host in listed {
                running.entry(host).or_insert_with(|| {
                    let (task, handle) = abortable(task(host.0));
                    tasks.push(task);
                    handle
                });
            }
            loop {
                tokio::select! {
                    changed = changes.changed() => match changed {
                        Ok(()) => break,
                        // The sender lives as long as this.
                        Err(_) => return,
                    },
                    // One was ended.
                    Some(_) = tasks.next() => {}
                }
            }
        }
    }
}
