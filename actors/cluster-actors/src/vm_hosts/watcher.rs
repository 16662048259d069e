//! Asks the hosts how they are, each by itself: one that says nothing delays no other.

use std::time::{Duration, Instant};

use actix::{Actor, AsyncContext as _, Context, WrapFuture as _};
use http_clients::vmm::{HealthStatus, VmmError};

use crate::vm_hosts::known_host::ReportedImages;
use crate::vm_hosts::registry::VmHosts;

/// Longest time between two questions.
const INTERVAL: Duration = Duration::from_secs(5);
/// A host that does not answer for so long gives no VMs either.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two words about a token that ends.
const TOKEN_INTERVAL: Duration = Duration::from_secs(86_400);

/// Asks the hosts how they are.
#[derive(Clone)]
pub struct VmHostWatcher {
    hosts: VmHosts,
    every: Duration,
}

impl VmHostWatcher {
    /// It asks as often as VMs that are left over are looked for, if that is more often than
    /// usual.
    #[must_use]
    pub fn new(hosts: VmHosts, gc_interval: Option<Duration>) -> Self {
        let every = gc_interval.map_or(INTERVAL, |interval| interval.min(INTERVAL));
        Self { hosts, every }
    }
}

impl Actor for VmHostWatcher {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (hosts, every) = (self.hosts.clone(), self.every);
        let looks = self.hosts.clone().run_for_each(move |index| {
            let hosts = hosts.clone();
            async move {
                let mut token = TokenWatch::default();
                loop {
                    poll_host(&hosts, index).await;
                    token.check(&hosts, index);
                    tokio::time::sleep(every).await;
                }
            }
        });
        ctx.spawn(looks.into_actor(self));
    }
}

/// Tells of a host's token before it ends.
#[derive(Default)]
struct TokenWatch {
    noticed: Option<Instant>,
}

impl TokenWatch {
    fn check(&mut self, hosts: &VmHosts, index: usize) {
        if self.noticed.is_some_and(|at| at.elapsed() < TOKEN_INTERVAL) {
            return;
        }
        if let Some(notice) = hosts.token_notice(index) {
            tracing::warn!(event = "vm_host.token_ends", host = hosts.name(index), %notice, "a VM host's token is to be replaced");
            self.noticed = Some(Instant::now());
        }
    }
}

/// Asks one host.
async fn poll_host(hosts: &VmHosts, index: usize) {
    let was_troubled = hosts.is_troubled(index);
    let asked = tokio::time::timeout(ANSWER_TIMEOUT, ask(hosts, index)).await;
    let asked = asked.unwrap_or_else(|_| {
        let limit = ANSWER_TIMEOUT.as_secs();
        Err(VmmError::Failed(format!("no answer within {limit} s")))
    });
    match asked {
        Ok(()) => {
            hosts.record_trouble(index, None);
            if was_troubled {
                tracing::info!(
                    event = "vm_host.answers",
                    host = hosts.name(index),
                    "a VM host answers again"
                );
            }
        }
        Err(error) => {
            if !was_troubled {
                tracing::warn!(event = "vm_host.silent", host = hosts.name(index), %error, "a VM host does not answer");
            }
            hosts.record_silence(index, error.to_string());
        }
    }
}

async fn ask(hosts: &VmHosts, index: usize) -> Result<(), VmmError> {
    let vmm = hosts.client(index);
    let health = vmm.health().await?;
    if health.status == HealthStatus::Failed {
        return Err(VmmError::Failed("it can give no VMs now".to_owned()));
    }
    let images = match vmm.images().await {
        Ok(images) => images,
        // The question that needs the token.
        Err(error @ VmmError::Unauthorised(_)) => return Err(error),
        // A manager that does not list its images has any, as far as is known.
        Err(_) => Vec::new(),
    };
    hosts.record_facts(index, &health, ReportedImages::from_views(images));
    Ok(())
}
