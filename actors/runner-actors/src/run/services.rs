//! What a run works with.

use std::sync::Arc;

use http_clients::vmm::NetworkTarget;

use super::arrivals::RunArrivals;
use super::job_launcher::JobLauncher;
use super::parked::ParkedRuns;
use crate::checkouts::CheckoutPermits;
use crate::groups::ConcurrencyGroups;
use crate::job_services::target_of;
use crate::ledger::RunRecorder;
use crate::repositories::Repositories;
use crate::run_queue::RunQueue;
use crate::settings::RunnerSettings;

/// What the coordinator gives to each run.
#[derive(Clone)]
pub(crate) struct RunServices {
    pub(crate) settings: Arc<RunnerSettings>,
    pub(crate) recorder: RunRecorder,
    /// For runs that waited and go on.
    pub(crate) queue: RunQueue,
    pub(crate) repositories: Repositories,
    pub(crate) checkouts: CheckoutPermits,
    pub(crate) groups: ConcurrencyGroups,
    /// The order in which runs come to them.
    pub(crate) arrivals: RunArrivals,
    /// What runs hold that wait.
    pub(crate) parked: ParkedRuns,
    pub(crate) jobs: JobLauncher,
}

impl RunServices {
    /// What the VM manager leads to the services of a run's jobs: the forge's own addresses.
    pub(super) fn forwarded_targets(
        &self,
        clone_url: &str,
        server_url: &str,
        repository: &str,
    ) -> Vec<NetworkTarget> {
        if self.settings.services.is_none() {
            return Vec::new();
        }
        let services = &self.jobs.services;
        let own = services.own_addresses(clone_url, server_url, repository);
        own.iter().filter_map(target_of).collect()
    }
}
