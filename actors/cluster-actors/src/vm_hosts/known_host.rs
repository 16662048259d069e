//! What is known of one host.

use http_clients::vmm::{ImageView, Isolation, ManagerHealth};
use vmm_api_core::placement::{FreeResources, HostCapabilities, PlacementHost, VmSize};

use vmm_api_core::Cordon;

/// What is known of one host.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownHost {
    /// What it last said of itself.
    pub(crate) facts: Option<ReportedFacts>,
    /// Why it gives no VMs.
    pub(crate) trouble: Option<String>,
    /// That is what its watcher found: it does not answer when it is asked how it is.
    pub(crate) is_silent: bool,
    /// A VM could not be given back.
    pub(crate) has_leak: bool,
    /// It takes no new jobs.
    pub(crate) cordon: Option<Cordon>,
    /// Repositories of our jobs that have a VM there, or ask for one.
    pub(crate) jobs: Vec<String>,
}

/// What a host last said of itself.
#[derive(Debug, Clone)]
pub(crate) struct ReportedFacts {
    pub(crate) isolation: Isolation,
    /// The host prepares itself: its isolation is not known yet.
    pub(crate) is_preparing: bool,
    pub(crate) driver: String,
    pub(crate) version: String,
    pub(crate) images: ReportedImages,
    pub(crate) room: Option<FreeResources>,
}

/// Names and digests of images.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReportedImages {
    /// Those that are there.
    pub(crate) here: Vec<String>,
    /// Those that the host fetches when they are asked for.
    pub(crate) fetchable: Vec<String>,
}

impl ReportedImages {
    /// What a host lists.
    pub(crate) fn from_views(listed: Vec<ImageView>) -> Self {
        let mut images = Self::default();
        for image in listed {
            let known = match image.here {
                true => &mut images.here,
                false => &mut images.fetchable,
            };
            known.extend(image.names);
            known.push(image.digest);
        }
        images
    }
}

impl KnownHost {
    pub(crate) fn record_facts(&mut self, health: &ManagerHealth, images: ReportedImages) {
        self.facts = Some(ReportedFacts {
            isolation: health.isolation,
            is_preparing: health.preparing.is_some(),
            driver: health.driver.clone(),
            version: health.version.clone(),
            images,
            room: health.capacity.map(|capacity| FreeResources {
                vms: capacity.free_vms,
                mem_mib: capacity.free_mem_mib,
                most_mem_mib: capacity.mem_mib,
                overhead_mib: capacity.overhead_mib,
                vcpus: capacity.free_vcpus,
                most_vcpus: capacity.vcpus,
            }),
        });
    }

    /// A job asks for a VM there: what the host said does not know of it.
    pub(crate) fn spend(&mut self, size: VmSize, repository: String) {
        self.jobs.push(repository);
        if let Some(room) = self.room_mut() {
            room.reserve(size);
        }
    }

    /// A job has given its VM back.
    pub(crate) fn release(&mut self, size: VmSize, repository: &str) {
        if let Some(at) = self.jobs.iter().position(|of| of == repository) {
            self.jobs.swap_remove(at);
        }
        if let Some(room) = self.room_mut() {
            room.release(size);
        }
    }

    fn room_mut(&mut self) -> Option<&mut FreeResources> {
        self.facts.as_mut()?.room.as_mut()
    }

    /// As a placement sees it.
    pub(crate) fn for_placement<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [String],
    ) -> PlacementHost<'a> {
        PlacementHost {
            name,
            labels,
            is_cordoned: self.cordon.is_some(),
            trouble: self.trouble.as_deref(),
            facts: self.facts.as_ref().map(|facts| HostCapabilities {
                isolation: (!facts.is_preparing).then_some(facts.isolation),
                images: &facts.images.here,
                fetchable: &facts.images.fetchable,
                room: facts.room,
            }),
            jobs: &self.jobs,
        }
    }
}
