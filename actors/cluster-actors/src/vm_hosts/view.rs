//! Hosts, for people.

use vmm_api_core::placement::FreeResources;
use vmm_api_core::{VmHostFacts, VmHostView};

use crate::vm_hosts::registry::{UNLISTED, VmHosts};

/// The room of a host whose manager knows its processors.
fn with_processors(room: Option<FreeResources>) -> Option<FreeResources> {
    room.filter(|room| room.most_vcpus > 0)
}

impl VmHosts {
    /// All of them, as they are configured, and those that are listed no more as long as something
    /// of ours has a VM there.
    #[must_use]
    pub fn list(&self) -> Vec<VmHostView> {
        let indices = self.indices().into_iter();
        indices.map(|index| self.show(index)).collect()
    }

    /// Those that are listed, and whether each gives VMs.
    #[must_use]
    pub fn answering(&self) -> Vec<(String, bool)> {
        let listed = self.listed_now().into_iter();
        let answers = listed.map(|(index, _)| (self.name(index), !self.is_troubled(index)));
        answers.collect()
    }

    /// One of them.
    #[must_use]
    pub fn show(&self, index: usize) -> VmHostView {
        let host = self.entry(index);
        let known = host.known();
        let trouble = match self.is_listed(index) {
            true => known.trouble,
            false => Some(UNLISTED.to_owned()),
        };
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
            name: host.name().to_owned(),
            url: host.url().to_string(),
            labels: host.labels(),
            cordon: known.cordon,
            trouble,
            token_notice: self.token_notice(index),
            jobs: known.jobs.len(),
            facts,
        }
    }
}
