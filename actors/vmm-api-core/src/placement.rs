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

use crate::Isolation;

/// What a job wants of a host.
#[derive(Debug, Clone, Copy)]
pub struct HostRequest<'a> {
    /// Labels that the host must have, without regard to case.
    pub labels: &'a [String],
    /// The image, by name or digest.
    pub image: &'a str,
    /// The least isolation.
    pub isolation: Isolation,
    /// Memory in MiB.
    pub mem_mib: u64,
    /// Whose job it is, in lower case.
    pub repository: &'a str,
}

/// A host, as it is known now.
#[derive(Debug, Clone)]
pub struct Host<'a> {
    /// Its name.
    pub name: &'a str,
    /// What the operator calls it beside.
    pub labels: &'a [String],
    /// It takes no new jobs.
    pub is_cordoned: bool,
    /// Why it does not answer.
    pub trouble: Option<&'a str>,
    /// What it last said of itself; `None`: nothing yet.
    pub facts: Option<Facts<'a>>,
    /// The repositories of our jobs there, each in lower case.
    pub jobs: &'a [String],
}

/// What a host says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// What separates its VMs from it.
    pub isolation: Isolation,
    /// Names and digests of its images; empty, and none to fetch: it does not say.
    pub images: &'a [String],
    /// Names and digests of images that it fetches when they are asked for.
    pub fetchable: &'a [String],
    /// What is free there; `None`: it does not say.
    pub room: Option<Room>,
}

impl Facts<'_> {
    /// Whether the image is there, as far as is known.
    fn has(&self, image: &str) -> bool {
        let is_silent = self.images.is_empty() && self.fetchable.is_empty();
        is_silent || self.images.iter().any(|known| known == image)
    }
}

/// What is free on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// VMs that may be started.
    pub vms: u32,
    /// Clones that wait to be given out.
    pub ready: u32,
    /// Free memory in MiB.
    pub mem_mib: u64,
    /// Memory of all VMs together in MiB.
    pub most_mem_mib: u64,
}

impl Room {
    /// Whether a VM of so many MiB can be had at once.
    #[must_use]
    pub fn fits(self, mem_mib: u64) -> bool {
        self.ready > 0 || (self.vms > 0 && self.mem_mib >= mem_mib)
    }

    /// The free part of the memory, in thousandths.
    fn share(self) -> u64 {
        self.mem_mib.saturating_mul(1000) / self.most_mem_mib.max(1)
    }
}

/// Why a host is not asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// It lacks a label.
    Label(String),
    /// It separates less.
    Isolation(Isolation),
    /// It does not have the image, and cannot fetch it.
    Image,
    /// It takes no new jobs.
    Cordoned,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(label) => write!(f, "it has no label {label}"),
            Self::Isolation(offered) => write!(f, "it offers {offered} only"),
            Self::Image => f.write_str("it does not have the image"),
            Self::Cordoned => f.write_str("it is cordoned"),
        }
    }
}

impl Unfit {
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
    pub unfit: Vec<(usize, Unfit)>,
    /// Those of them that lack the image, as far as is known, and nothing else.
    doubtful: Vec<usize>,
}

impl Placement {
    /// Has the hosts asked of which it is known only that they lacked the image, where no other
    /// fits: a host that is asked looks anew. Whether it is so.
    pub fn doubt_images(&mut self) -> bool {
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
pub fn place(hosts: &[Host<'_>], wanted: &HostRequest<'_>) -> Placement {
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
                if why == Unfit::Image && !host.is_cordoned {
                    placement.doubtful.push(index);
                }
                placement.unfit.push((index, why));
            }
            None if room.is_some_and(|room| !room.fits(wanted.mem_mib)) => {
                placement.full.push(index);
            }
            None => placement.order.push(index),
        }
    }
    let rank = |index: &usize| {
        let host = &hosts[*index];
        let same = host.jobs.iter().filter(|of| *of == wanted.repository);
        let share = host.facts.and_then(|facts| facts.room).map(Room::share);
        (
            host.trouble.is_some(),
            same.count(),
            Reverse(share.unwrap_or_default()),
            host.jobs.len(),
            !host.facts.is_none_or(|facts| facts.has(wanted.image)),
            host.name,
        )
    };
    placement.order.sort_by_key(rank);
    placement.full.sort_by_key(rank);
    placement.doubtful.sort_by_key(rank);
    placement
}

/// Why a host is not asked at all. What is not known is no reason.
fn unfit(host: &Host<'_>, wanted: &HostRequest<'_>) -> Option<Unfit> {
    let has = |label: &str| {
        host.labels
            .iter()
            .any(|own| own.eq_ignore_ascii_case(label))
    };
    if let Some(lacking) = wanted.labels.iter().find(|label| !has(label)) {
        return Some(Unfit::Label(lacking.clone()));
    }
    if let Some(facts) = host.facts {
        if facts.isolation < wanted.isolation {
            return Some(Unfit::Isolation(facts.isolation));
        }
        let is_named = |image: &String| image == wanted.image;
        if !facts.has(wanted.image) && !facts.fetchable.iter().any(is_named) {
            return Some(Unfit::Image);
        }
    }
    host.is_cordoned.then_some(Unfit::Cordoned)
}

#[cfg(test)]
mod tests {
    use Isolation::{EmulatedVm, HardwareVm, NamespaceSandbox};
    use proptest::prelude::*;

    use super::*;

    const LEVELS: [Isolation; 3] = [NamespaceSandbox, EmulatedVm, HardwareVm];

    fn room(vms: u32, mem_mib: u64) -> Option<Room> {
        Some(Room {
            vms,
            ready: 0,
            mem_mib,
            most_mem_mib: 8192,
        })
    }

    /// An emulating host.
    fn host<'a>(name: &'a str, images: &'a [String], room: Option<Room>) -> Host<'a> {
        Host {
            name,
            labels: &[],
            is_cordoned: false,
            trouble: None,
            facts: Some(Facts {
                isolation: EmulatedVm,
                images,
                fetchable: &[],
                room,
            }),
            jobs: &[],
        }
    }

    const fn wanted<'a>() -> HostRequest<'a> {
        HostRequest {
            labels: &[],
            image: "default",
            isolation: NamespaceSandbox,
            mem_mib: 512,
            repository: "a/b",
        }
    }

    fn names<'a>(hosts: &[Host<'a>], found: &[usize]) -> Vec<&'a str> {
        found.iter().map(|index| hosts[*index].name).collect()
    }

    #[test]
    fn i18_a_host_must_fit_in_labels_isolation_and_image() {
        let images = ["default".to_owned(), "full".to_owned()];
        let labels = ["GPU".to_owned(), "east".to_owned()];
        let gpu = Host {
            labels: &labels,
            ..host("gpu", &images, room(4, 4096))
        };
        let hosts = [host("plain", &images, room(4, 8192)), gpu];
        let asked = ["gpu".to_owned()];
        let on_gpu = HostRequest {
            labels: &asked,
            ..wanted()
        };
        let placement = place(&hosts, &on_gpu);
        assert_eq!(names(&hosts, &placement.order), ["gpu"]);
        assert_eq!(placement.unfit, [(0, Unfit::Label("gpu".to_owned()))]);
        let strong = HostRequest {
            isolation: HardwareVm,
            ..wanted()
        };
        let weak = (0, Unfit::Isolation(EmulatedVm));
        assert_eq!(place(&hosts, &strong).unfit[0], weak);
        let other = HostRequest {
            image: "arm",
            ..wanted()
        };
        assert_eq!(place(&hosts, &other).unfit[1], (1, Unfit::Image));
        assert!(!Unfit::Image.is_temporary() && Unfit::Cordoned.is_temporary());
    }

    #[test]
    fn i18_what_is_not_known_is_no_reason_against_a_host() {
        let mut new = host("new", &[], None);
        new.facts = None;
        let mut silent = host("silent", &[], None);
        silent.facts = silent.facts.map(|facts| Facts {
            isolation: HardwareVm,
            ..facts
        });
        let hosts = [new, silent];
        let strong = HostRequest {
            isolation: HardwareVm,
            image: "anything",
            ..wanted()
        };
        assert_eq!(place(&hosts, &strong).order.len(), 2);
    }

    #[test]
    fn i18_the_best_host_answers_has_room_and_few_jobs_of_the_repository() {
        let own = ["a/b".to_owned()];
        let others = ["c/d".to_owned(), "c/e".to_owned()];
        let busy = Host {
            jobs: &own,
            ..host("busy", &[], room(4, 8000))
        };
        let roomy = Host {
            jobs: &others,
            ..host("roomy", &[], room(4, 6000))
        };
        let gone = Host {
            trouble: Some("connection refused"),
            ..host("gone", &[], room(4, 8192))
        };
        let cordoned = Host {
            is_cordoned: true,
            ..host("cordoned", &[], room(4, 8192))
        };
        let hosts = [
            gone,
            busy,
            host("tight", &[], room(4, 600)),
            cordoned,
            roomy,
            host("full", &[], room(4, 511)),
            host("crowded", &[], room(0, 8192)),
        ];
        let placement = place(&hosts, &wanted());
        assert_eq!(
            names(&hosts, &placement.order),
            ["roomy", "tight", "busy", "gone"]
        );
        assert_eq!(names(&hosts, &placement.full), ["crowded", "full"]);
        assert_eq!(placement.unfit, [(3, Unfit::Cordoned)]);
    }

    /// The host, with these images that it can fetch.
    fn fetching<'a>(host: &Host<'a>, fetchable: &'a [String]) -> Host<'a> {
        let facts = host.facts.map(|facts| Facts { fetchable, ..facts });
        Host {
            facts,
            ..host.clone()
        }
    }

    #[test]
    fn i18_a_host_that_can_fetch_the_image_fits_and_of_equals_comes_behind() {
        let (here, other) = (["default".to_owned()], ["full".to_owned()]);
        let jobs = ["c/d".to_owned()];
        let busier = Host {
            jobs: &jobs,
            ..host("busier", &here, room(4, 4096))
        };
        let hosts = [
            fetching(&host("empty", &[], room(4, 4096)), &here),
            fetching(&host("another", &other, room(4, 4096)), &here),
            host("has", &here, room(4, 4096)),
            // Whether it has the image is not known.
            host("silent", &[], room(4, 4096)),
            // It has the image, and less room: a fetch costs less than a crowd.
            host("tight", &here, room(4, 2048)),
            busier,
            // It could fetch another one only.
            fetching(&host("lacks", &[], room(4, 4096)), &other),
        ];
        let placement = place(&hosts, &wanted());
        assert_eq!(
            names(&hosts, &placement.order),
            ["has", "silent", "another", "empty", "busier", "tight"]
        );
        assert_eq!(placement.unfit, [(6, Unfit::Image)]);
    }

    #[test]
    fn i18_where_no_host_fits_those_are_asked_that_lacked_the_image() {
        let (here, other) = (["default".to_owned()], ["full".to_owned()]);
        let cordoned = Host {
            is_cordoned: true,
            ..host("cordoned", &other, room(4, 8192))
        };
        let weak = HostRequest {
            isolation: EmulatedVm,
            ..wanted()
        };
        let mut sandbox = host("sandbox", &other, room(4, 8192));
        sandbox.facts = sandbox.facts.map(|facts| Facts {
            isolation: NamespaceSandbox,
            ..facts
        });
        let roomy = host("roomy", &other, room(4, 8192));
        let mut hosts = vec![sandbox, cordoned, host("b", &other, room(4, 4096)), roomy];
        let asked = |hosts: &[Host<'_>]| {
            let mut placement = place(hosts, &weak);
            placement.doubt_images();
            placement
        };
        let placement = asked(&hosts);
        assert_eq!(names(&hosts, &placement.order), ["roomy", "b"]);
        let unfit = placement.unfit.iter().map(|(index, _)| *index);
        assert_eq!(
            names(&hosts, &unfit.collect::<Vec<_>>()),
            ["sandbox", "cordoned"]
        );
        // One that has it and no room is worth waiting for.
        hosts.push(host("full", &here, room(0, 8192)));
        let placement = asked(&hosts);
        assert_eq!((placement.order.len(), placement.unfit.len()), (0, 4));
        hosts.push(host("has", &here, room(4, 8192)));
        assert_eq!(names(&hosts, &asked(&hosts).order), ["has"]);
    }

    #[test]
    fn i18_a_clone_that_waits_is_room() {
        let ready = Room {
            ready: 1,
            ..room(0, 0).unwrap()
        };
        assert!(ready.fits(512));
        assert!(!Room { ready: 0, ..ready }.fits(512));
    }

    proptest! {
        /// Every host is told of once, and only those that take work are asked.
        #[test]
        fn i18_each_host_has_one_verdict(
            kinds in proptest::collection::vec((any::<bool>(), any::<bool>(), 0_usize..3, 0_u32..3, 0_u64..2000), 0..12),
            isolation in 0_usize..3,
        ) {
            let own = ["x".to_owned()];
            let hosts: Vec<Host<'_>> = kinds.iter().map(|(cordoned, labelled, offers, vms, memory)| Host {
                labels: if *labelled { &own } else { &[] },
                is_cordoned: *cordoned,
                facts: Some(Facts { isolation: LEVELS[*offers], images: &[], fetchable: &[], room: room(*vms, *memory) }),
                ..host("h", &[], None)
            }).collect();
            let wanted = HostRequest { labels: &own, isolation: LEVELS[isolation], ..wanted() };
            let placement = place(&hosts, &wanted);
            let unfit = placement.unfit.iter().map(|(index, _)| *index);
            let mut all: Vec<usize> = placement.order.iter().chain(&placement.full).copied().chain(unfit).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..hosts.len()).collect::<Vec<_>>());
            for index in &placement.order {
                let (cordoned, labelled, offers, vms, memory) = kinds[*index];
                prop_assert!(!cordoned && labelled && offers >= isolation && vms > 0 && memory >= 512);
            }
        }

        /// Where an image is changes which of equal hosts is asked first, and nothing else: without
        /// the images the same hosts are asked, and of two in another order only the image and the
        /// name were between them.
        #[test]
        fn i18_where_an_image_is_decides_between_equals_only(
            kinds in proptest::collection::vec((0_usize..3, 1_u32..3, 1_u64..3, 0_usize..3), 1..10),
        ) {
            let (image, none) = (["default".to_owned()], ["x".to_owned()]);
            let others = ["c/d".to_owned(), "a/b".to_owned()];
            let all: Vec<String> = (0..kinds.len()).map(|number| format!("h{number}")).collect();
            let hosts: Vec<Host<'_>> = kinds.iter().zip(&all).map(|((has, vms, memory, jobs), name)| {
                let images = if *has == 0 { &image } else { &none };
                let known = Host { jobs: &others[..*jobs], ..host(name, images, room(*vms, memory * 1024)) };
                if *has == 2 { known } else { fetching(&known, &image) }
            }).collect();
            let placement = place(&hosts, &wanted());
            let lacking = kinds.iter().filter(|(has, ..)| *has == 2).count();
            prop_assert_eq!(placement.unfit.len(), lacking);
            let load = |index: usize| {
                let (_, _, memory, jobs) = kinds[index];
                (usize::from(jobs == 2), Reverse(memory), jobs)
            };
            for pair in placement.order.windows(2) {
                let (first, second) = (pair[0], pair[1]);
                prop_assert!(load(first) <= load(second));
                if load(first) == load(second) {
                    let has = |index: usize| kinds[index].0 == 0;
                    prop_assert!(has(first) || !has(second), "the image comes before the name");
                }
            }
        }
    }
}
