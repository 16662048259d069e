//! Hosts, for people.

use vmm_api_core::placement::Room;
use vmm_api_core::{VmHostFacts, VmHostView};

use crate::vm_hosts::registry::VmHosts;

/// The room of a host whose manager knows its processors.
fn with_processors(room: Option<Room>) -> Option<Room> {
    room.filter(|room| room.most_vcpus > 0)
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
            free_vcpus: with_processors(facts.room).map(|room| room.vcpus),
            vcpus: with_processors(facts.room).map(|room| room.most_vcpus),
        });
        VmHostView {
            name: host.name.clone(),
            url: host.url.to_string(),
            labels: host.labels.clone(),
            cordon: known.cordon,
            trouble: known.trouble,
            token_notice: self.token_notice(index),
            jobs: known.jobs.len(),
            facts,
        }
    }
}
