//! Hosts, for people.

use http_clients::vmm::Isolation;
use serde::Serialize;
use utoipa::ToSchema;

use super::cordon::Cordon;
use super::registry::VmHosts;

/// A host whose VM manager jobs get their VMs from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct VmHostView {
    /// Its name.
    pub name: String,
    /// The address of its VM manager.
    pub url: String,
    /// What machines can ask for.
    pub labels: Vec<String>,
    /// Since when it takes no new jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cordon: Option<Cordon>,
    /// Why it gives no VMs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Jobs of this runner that have a VM there, or ask for one.
    pub jobs: usize,
    /// What it last said of itself; absent until it has said anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<VmHostFacts>,
}

/// What a host last said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct VmHostFacts {
    /// What separates its VMs from it: `namespace-sandbox`, `emulated-vm`, `hardware-vm`.
    #[schema(value_type = String)]
    pub isolation: Isolation,
    /// What runs them.
    pub driver: String,
    /// Its manager's version.
    pub version: String,
    /// Names and digests of its images.
    pub images: Vec<String>,
    /// Names and digests of images that it fetches when they are asked for.
    pub fetchable: Vec<String>,
    /// VMs that may be started; absent when its manager does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_vms: Option<u32>,
    /// Free memory in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_mem_mib: Option<u64>,
    /// Memory of all VMs together in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mem_mib: Option<u64>,
}

impl VmHosts {
    /// All of them, as they are configured.
    #[must_use]
    pub fn list(&self) -> Vec<VmHostView> {
        (0..self.count()).map(|index| self.show(index)).collect()
    }

    /// The one of this name: its index, for what is asked of it.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<usize> {
        self.find(Some(name))
    }

    /// One of them.
    #[must_use]
    pub fn show(&self, index: usize) -> VmHostView {
        let (host, known) = self.known(index);
        let facts = known.facts.map(|facts| VmHostFacts {
            isolation: facts.isolation,
            driver: facts.driver,
            version: facts.version,
            images: facts.images.here,
            fetchable: facts.images.fetchable,
            free_vms: facts.room.map(|room| room.vms),
            free_mem_mib: facts.room.map(|room| room.mem_mib),
            mem_mib: facts.room.map(|room| room.most_mem_mib),
        });
        VmHostView {
            name: host.name.clone(),
            url: host.url.to_string(),
            labels: host.labels.clone(),
            cordon: known.cordon,
            trouble: known.trouble,
            jobs: known.jobs.len(),
            facts,
        }
    }
}
