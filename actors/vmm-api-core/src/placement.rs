//! Which VM host a job's VM is asked of. No clock, no hosts.
//!
//! A host fits when it takes work, has the labels that the machine asks for, separates well enough
//! and has the image or can fetch it. Of those that fit, in this order: those that answer, those
//! with room, those with fewer jobs of the same repository, those with more room left, those with
//! fewer jobs, those that have the image already, and by name.
//!
//! What is known of images is some seconds old, and less than there is where a host could not ask
//! the storage. So that a host lacks one is no last word: where no other fits, it is asked.

use std::cmp::Reverse;
use std::fmt;

use crate::{Isolation, NewVm};

/// What a job wants of a host.
#[derive(Debug, Clone, Copy)]
pub struct HostRequest<'a> {
    /// Labels that the host must have, without regard to case.
    pub labels: &'a [String],
    /// The image, by name or digest.
    pub image: &'a str,
    /// The least isolation.
    pub isolation: Isolation,
    /// How large its VM is.
    pub size: VmSize,
    /// Whose job it is, in lower case.
    pub repository: &'a str,
}

/// What a VM takes of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VmSize {
    /// Memory in MiB, without what its monitor takes.
    pub mem_mib: u64,
    /// Virtual processors.
    pub vcpus: u32,
}

impl From<&NewVm> for VmSize {
    fn from(vm: &NewVm) -> Self {
        Self {
            mem_mib: vm.mem_mib.unwrap_or(NewVm::MEM_MIB).into(),
            vcpus: vm.vcpus.unwrap_or(NewVm::VCPUS).into(),
        }
    }
}

/// A host, as it is known now.
#[derive(Debug, Clone)]
pub struct PlacementHost<'a> {
    /// Its name.
    pub name: &'a str,
    /// What the operator calls it beside.
    pub labels: &'a [String],
    /// It takes no new jobs.
    pub is_cordoned: bool,
    /// Why it does not answer.
    pub trouble: Option<&'a str>,
    /// What it last said of itself; `None`: nothing yet.
    pub facts: Option<HostCapabilities<'a>>,
    /// The repositories of our jobs there, each in lower case.
    pub jobs: &'a [String],
}

/// What a host says of itself.
#[derive(Debug, Clone, Copy)]
pub struct HostCapabilities<'a> {
    /// What separates its VMs from it; `None`: it does not know it yet.
    pub isolation: Option<Isolation>,
    /// Names and digests of its images; empty, and none to fetch: it does not say.
    pub images: &'a [String],
    /// Names and digests of images that it fetches when they are asked for.
    pub fetchable: &'a [String],
    /// What is free there; `None`: it does not say.
    pub room: Option<FreeResources>,
}

impl HostCapabilities<'_> {
    /// Whether the image is there, as far as is known.
    fn has_image(&self, image: &str) -> bool {
        let is_silent = self.images.is_empty() && self.fetchable.is_empty();
        is_silent || self.images.iter().any(|known| known == image)
    }
}

/// What is free on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeResources {
    /// VMs that may be started.
    pub vms: u32,
    /// Free memory in MiB.
    pub mem_mib: u64,
    /// Memory of all VMs together in MiB.
    pub most_mem_mib: u64,
    /// What a VM takes of it beside its own.
    pub overhead_mib: u64,
    /// Free virtual processors.
    pub vcpus: u32,
    /// Virtual processors of all VMs together; 0: it does not say.
    pub most_vcpus: u32,
}

impl FreeResources {
    /// Whether such a VM can be had at once. A clone that waits is no room: it is given out within
    /// the same limits.
    #[must_use]
    pub fn fits(self, size: VmSize) -> bool {
        let needed = size.mem_mib.saturating_add(self.overhead_mib);
        let has_processors = self.most_vcpus == 0 || self.vcpus >= size.vcpus;
        self.vms > 0 && self.mem_mib >= needed && has_processors
    }

    /// Takes such a VM of what is free.
    pub fn reserve(&mut self, size: VmSize) {
        let taken = size.mem_mib.saturating_add(self.overhead_mib);
        self.vms = self.vms.saturating_sub(1);
        self.mem_mib = self.mem_mib.saturating_sub(taken);
        self.vcpus = self.vcpus.saturating_sub(size.vcpus);
    }

    /// Such a VM has ended.
    pub fn release(&mut self, size: VmSize) {
        let given = size.mem_mib.saturating_add(self.overhead_mib);
        self.vms = self.vms.saturating_add(1);
        self.mem_mib = self.mem_mib.saturating_add(given).min(self.most_mem_mib);
        self.vcpus = self.vcpus.saturating_add(size.vcpus).min(self.most_vcpus);
    }

    /// Why it could never give such a VM.
    fn too_small_for(self, size: VmSize) -> Option<HostRejection> {
        let most = self.most_mem_mib.saturating_sub(self.overhead_mib);
        if most < size.mem_mib {
            return Some(HostRejection::Small(most));
        }
        let is_known = self.most_vcpus > 0;
        (is_known && self.most_vcpus < size.vcpus)
            .then_some(HostRejection::Processors(self.most_vcpus))
    }

    /// The free part of what is scarcest, in thousandths.
    fn free_share(self) -> u64 {
        let of = |free: u64, all: u64| free.saturating_mul(1000) / all.max(1);
        let memory = of(self.mem_mib, self.most_mem_mib);
        match self.most_vcpus {
            0 => memory,
            all => memory.min(of(self.vcpus.into(), all.into())),
        }
    }
}

/// Why a host is not asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRejection {
    /// It lacks a label.
    Label(String),
    /// It separates less.
    Isolation(Isolation),
    /// It does not have the image, and cannot fetch it.
    Image,
    /// It never has as much memory; it has so many MiB for a VM.
    Small(u64),
    /// It never has as many processors; it has so many for all VMs.
    Processors(u32),
    /// It takes no new jobs.
    Cordoned,
}

impl fmt::Display for HostRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(label) => write!(f, "it has no label {label}"),
            Self::Isolation(offered) => write!(f, "it offers {offered} only"),
            Self::Image => f.write_str("it does not have the image"),
            Self::Small(most) => write!(f, "its largest VM has {most} MiB of memory"),
            Self::Processors(all) => write!(f, "it has {all} virtual processors for VMs"),
            Self::Cordoned => f.write_str("it is cordoned"),
        }
    }
}

impl HostRejection {
    /// Whether waiting can help.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Cordoned)
    }
}

/// Where a job may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Indices of the hosts to be asked, the best first.
    pub order: Vec<usize>,
    /// Those that fit and have no room, as far as is known.
    pub full: Vec<usize>,
    /// Those that do not fit, and why.
    pub unfit: Vec<(usize, HostRejection)>,
    /// Those of them that lack the image, as far as is known, and nothing else.
    doubtful: Vec<usize>,
}

impl Placement {
    /// The same with other numbers for the hosts.
    #[must_use]
    pub fn renumbered(self, number: impl Fn(usize) -> usize) -> Self {
        let numbers = |hosts: Vec<usize>| hosts.into_iter().map(&number).collect();
        let unfit = self.unfit.into_iter();
        Self {
            order: numbers(self.order),
            full: numbers(self.full),
            unfit: unfit.map(|(index, why)| (number(index), why)).collect(),
            doubtful: numbers(self.doubtful),
        }
    }

    /// Has the hosts asked of which it is known only that they lacked the image, where no other
    /// fits: a host that is asked looks anew. Whether it is so.
    pub fn retry_images(&mut self) -> bool {
        if !self.order.is_empty() || !self.full.is_empty() {
            return false;
        }
        self.order = std::mem::take(&mut self.doubtful);
        self.unfit.retain(|(index, _)| !self.order.contains(index));
        !self.order.is_empty()
    }
}

/// Where a job goes.
#[must_use]
pub fn place(hosts: &[PlacementHost<'_>], wanted: &HostRequest<'_>) -> Placement {
    let mut placement = Placement {
        order: Vec::new(),
        full: Vec::new(),
        unfit: Vec::new(),
        doubtful: Vec::new(),
    };
    for (index, host) in hosts.iter().enumerate() {
        let room = host.facts.and_then(|facts| facts.room);
        match unfit(host, wanted) {
            Some(why) => {
                if why == HostRejection::Image && !host.is_cordoned {
                    placement.doubtful.push(index);
                }
                placement.unfit.push((index, why));
            }
            None if room.is_some_and(|room| !room.fits(wanted.size)) => {
                placement.full.push(index);
            }
            None => placement.order.push(index),
        }
    }
    let rank = |index: &usize| {
        let host = &hosts[*index];
        let same = host.jobs.iter().filter(|of| *of == wanted.repository);
        let share = host
            .facts
            .and_then(|facts| facts.room)
            .map(FreeResources::free_share);
        (
            host.trouble.is_some(),
            same.count(),
            Reverse(share.unwrap_or_default()),
            host.jobs.len(),
            !host.facts.is_none_or(|facts| facts.has_image(wanted.image)),
            host.name,
        )
    };
    placement.order.sort_by_key(rank);
    placement.full.sort_by_key(rank);
    placement.doubtful.sort_by_key(rank);
    placement
}

/// The first of the labels that are asked for which a host with `own` lacks.
#[must_use]
pub fn first_missing_label<'a>(own: &[String], asked: &'a [String]) -> Option<&'a str> {
    let has = |label: &&String| own.iter().any(|own| own.eq_ignore_ascii_case(label));
    asked.iter().find(|label| !has(label)).map(String::as_str)
}

/// Why a host is not asked at all. What is not known is no reason.
fn unfit(host: &PlacementHost<'_>, wanted: &HostRequest<'_>) -> Option<HostRejection> {
    if let Some(label) = first_missing_label(host.labels, wanted.labels) {
        return Some(HostRejection::Label(label.to_owned()));
    }
    if let Some(facts) = host.facts {
        if let Some(offered) = facts.isolation.filter(|it| *it < wanted.isolation) {
            return Some(HostRejection::Isolation(offered));
        }
        let small = facts.room.and_then(|room| room.too_small_for(wanted.size));
        if small.is_some() {
            return small;
        }
        let is_named = |image: &String| image == wanted.image;
        if !facts.has_image(wanted.image) && !facts.fetchable.iter().any(is_named) {
            return Some(HostRejection::Image);
        }
    }
    host.is_cordoned.then_some(HostRejection::Cordoned)
}

#[cfg(test)]
mod tests;
