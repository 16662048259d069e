//! Which host is asked, as tables and as laws.

use Isolation::{EmulatedVm, HardwareVm, NamespaceSandbox};
use proptest::prelude::*;

use super::*;

const LEVELS: [Isolation; 3] = [NamespaceSandbox, EmulatedVm, HardwareVm];

fn room(vms: u32, mem_mib: u64) -> Option<FreeResources> {
    Some(FreeResources {
        vms,
        mem_mib,
        most_mem_mib: 8192,
        overhead_mib: 0,
        vcpus: 0,
        most_vcpus: 0,
    })
}

/// The same, on a host with 8 processors.
fn room_of(vcpus: u32, vms: u32, mem_mib: u64) -> Option<FreeResources> {
    room(vms, mem_mib).map(|room| FreeResources {
        vcpus,
        most_vcpus: 8,
        ..room
    })
}

const fn size(mem_mib: u64, vcpus: u32) -> VmSize {
    VmSize { mem_mib, vcpus }
}

/// An emulating host.
fn host<'a>(name: &'a str, images: &'a [String], room: Option<FreeResources>) -> PlacementHost<'a> {
    PlacementHost {
        name,
        labels: &[],
        is_cordoned: false,
        trouble: None,
        facts: Some(HostCapabilities {
            isolation: Some(EmulatedVm),
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
        size: size(512, 1),
        repository: "a/b",
    }
}

fn names<'a>(hosts: &[PlacementHost<'a>], found: &[usize]) -> Vec<&'a str> {
    found.iter().map(|index| hosts[*index].name).collect()
}

#[test]
fn i18_a_host_must_fit_in_labels_isolation_and_image() {
    let images = ["default".to_owned(), "full".to_owned()];
    let labels = ["GPU".to_owned(), "east".to_owned()];
    let gpu = PlacementHost {
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
    assert_eq!(
        placement.unfit,
        [(0, HostRejection::Label("gpu".to_owned()))]
    );
    let strong = HostRequest {
        isolation: HardwareVm,
        ..wanted()
    };
    let weak = (0, HostRejection::Isolation(EmulatedVm));
    assert_eq!(place(&hosts, &strong).unfit[0], weak);
    let other = HostRequest {
        image: "arm",
        ..wanted()
    };
    assert_eq!(place(&hosts, &other).unfit[1], (1, HostRejection::Image));
    assert!(!HostRejection::Image.is_temporary() && HostRejection::Cordoned.is_temporary());
}

#[test]
fn i18_what_is_not_known_is_no_reason_against_a_host() {
    let mut new = host("new", &[], None);
    new.facts = None;
    let mut silent = host("silent", &[], None);
    silent.facts = silent.facts.map(|facts| HostCapabilities {
        isolation: Some(HardwareVm),
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
    let busy = PlacementHost {
        jobs: &own,
        ..host("busy", &[], room(4, 8000))
    };
    let roomy = PlacementHost {
        jobs: &others,
        ..host("roomy", &[], room(4, 6000))
    };
    let gone = PlacementHost {
        trouble: Some("connection refused"),
        ..host("gone", &[], room(4, 8192))
    };
    let cordoned = PlacementHost {
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
    assert_eq!(placement.unfit, [(3, HostRejection::Cordoned)]);
}

/// A host that has just booted, and is about to find out what it offers.
#[test]
fn i18_a_host_that_prepares_itself_is_not_refused_for_its_isolation() {
    let strong = HostRequest {
        isolation: HardwareVm,
        ..wanted()
    };
    let mut preparing = host("preparing", &[], room(4, 8192));
    preparing.facts = preparing.facts.map(|facts| HostCapabilities {
        isolation: None,
        ..facts
    });
    let hosts = [host("emulating", &[], room(4, 8192)), preparing];
    let placement = place(&hosts, &strong);
    assert_eq!(names(&hosts, &placement.order), ["preparing"]);
    assert_eq!(placement.unfit, [(0, HostRejection::Isolation(EmulatedVm))]);
}

#[test]
fn i18_a_machine_that_is_larger_than_a_host_does_not_wait_for_room_there() {
    let with_overhead = room(4, 8192).map(|room| FreeResources {
        overhead_mib: 40,
        ..room
    });
    let hosts = [
        host("plain", &[], room(4, 100)),
        host("monitored", &[], with_overhead),
    ];
    for (mem_mib, order, full, small) in [
        (8192, &[][..], &["plain"][..], &[(1, 8152)][..]),
        (8193, &[], &[], &[(0, 8192), (1, 8152)]),
        (8152, &["monitored"], &["plain"], &[]),
    ] {
        let large = HostRequest {
            size: size(mem_mib, 1),
            ..wanted()
        };
        let placement = place(&hosts, &large);
        assert_eq!(names(&hosts, &placement.order), order, "{mem_mib}");
        assert_eq!(names(&hosts, &placement.full), full, "{mem_mib}");
        let small = small
            .iter()
            .map(|(index, most)| (*index, HostRejection::Small(*most)));
        assert_eq!(placement.unfit, small.collect::<Vec<_>>(), "{mem_mib}");
    }
    assert!(!HostRejection::Small(8192).is_temporary());
    // What is free is less than the VM and its monitor take.
    let tight = FreeResources {
        mem_mib: 520,
        ..with_overhead.expect("it has some")
    };
    assert!(!tight.fits(size(512, 1)) && tight.fits(size(480, 1)));
}

/// The host, with these images that it can fetch.
fn fetching<'a>(host: &PlacementHost<'a>, fetchable: &'a [String]) -> PlacementHost<'a> {
    let facts = host
        .facts
        .map(|facts| HostCapabilities { fetchable, ..facts });
    PlacementHost {
        facts,
        ..host.clone()
    }
}

#[test]
fn i18_a_host_that_can_fetch_the_image_fits_and_of_equals_comes_behind() {
    let (here, other) = (["default".to_owned()], ["full".to_owned()]);
    let jobs = ["c/d".to_owned()];
    let busier = PlacementHost {
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
    assert_eq!(placement.unfit, [(6, HostRejection::Image)]);
}

#[test]
fn i18_where_no_host_fits_those_are_asked_that_lacked_the_image() {
    let (here, other) = (["default".to_owned()], ["full".to_owned()]);
    let cordoned = PlacementHost {
        is_cordoned: true,
        ..host("cordoned", &other, room(4, 8192))
    };
    let weak = HostRequest {
        isolation: EmulatedVm,
        ..wanted()
    };
    let mut sandbox = host("sandbox", &other, room(4, 8192));
    sandbox.facts = sandbox.facts.map(|facts| HostCapabilities {
        isolation: Some(NamespaceSandbox),
        ..facts
    });
    let roomy = host("roomy", &other, room(4, 8192));
    let mut hosts = vec![sandbox, cordoned, host("b", &other, room(4, 4096)), roomy];
    let asked = |hosts: &[PlacementHost<'_>]| {
        let mut placement = place(hosts, &weak);
        placement.retry_images();
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
fn i18_a_host_whose_processors_are_taken_is_full_whatever_memory_it_has() {
    for (free, wants, fits) in [(8, 8, true), (1, 1, true), (0, 1, false), (3, 4, false)] {
        let room = room_of(free, 4, 8192).unwrap();
        assert_eq!(room.fits(size(512, wants)), fits, "{wants} of {free}");
    }
    // An earlier manager does not say what it has.
    assert!(room(4, 8192).unwrap().fits(size(512, 64)));
    let hosts = [
        host("roomy", &[], room_of(0, 4, 8192)),
        host("tight", &[], room_of(1, 4, 1024)),
        host("silent", &[], room(4, 512)),
    ];
    let placement = place(&hosts, &wanted());
    assert_eq!(names(&hosts, &placement.order), ["tight", "silent"]);
    assert_eq!(names(&hosts, &placement.full), ["roomy"]);
    let wide = HostRequest {
        size: size(512, 9),
        ..wanted()
    };
    let placement = place(&hosts, &wide);
    let (few, order) = (
        HostRejection::Processors(8),
        names(&hosts, &placement.order),
    );
    assert_eq!(order, ["silent"]);
    assert_eq!(placement.unfit, [(0, few.clone()), (1, few.clone())]);
    assert!(!few.is_temporary() && few.to_string().contains("8 virtual processors"));
}

#[test]
fn i18_the_host_goes_first_that_has_more_of_what_is_scarcest_there() {
    let hosts = [
        host("memory", &[], room_of(1, 8, 8192)),
        host("both", &[], room_of(4, 8, 4096)),
        host("processors", &[], room_of(8, 8, 2048)),
    ];
    let placement = place(&hosts, &wanted());
    assert_eq!(
        names(&hosts, &placement.order),
        ["both", "processors", "memory"]
    );
}

#[test]
fn i18_what_a_vm_takes_is_free_again_when_it_has_ended() {
    let mut room = room_of(8, 4, 8192).unwrap();
    let before = room;
    room.reserve(size(512, 2));
    assert_eq!((room.vms, room.mem_mib, room.vcpus), (3, 7680, 6));
    room.release(size(512, 2));
    assert_eq!(room, before);
    room.release(size(512, 2));
    assert_eq!((room.mem_mib, room.vcpus), (8192, 8), "no more than all");
    room.reserve(size(9000, 9));
    assert_eq!((room.mem_mib, room.vcpus), (0, 0));
}

proptest! {
    /// Every host is told of once, and only those that take work are asked.
    #[test]
    fn i18_each_host_has_one_verdict(
        kinds in proptest::collection::vec((any::<bool>(), any::<bool>(), 0_usize..3, 0_u32..3, 0_u64..2000, 0_u32..4), 0..12),
        isolation in 0_usize..3,
    ) {
        let own = ["x".to_owned()];
        let hosts: Vec<PlacementHost<'_>> = kinds.iter().map(|(cordoned, labelled, offers, vms, memory, vcpus)| PlacementHost {
            labels: if *labelled { &own } else { &[] },
            is_cordoned: *cordoned,
            facts: Some(HostCapabilities { isolation: Some(LEVELS[*offers]), images: &[], fetchable: &[], room: room_of(*vcpus, *vms, *memory) }),
            ..host("h", &[], None)
        }).collect();
        let wanted = HostRequest { labels: &own, isolation: LEVELS[isolation], size: size(512, 2), ..wanted() };
        let placement = place(&hosts, &wanted);
        let unfit = placement.unfit.iter().map(|(index, _)| *index);
        let mut all: Vec<usize> = placement.order.iter().chain(&placement.full).copied().chain(unfit).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..hosts.len()).collect::<Vec<_>>());
        for index in &placement.order {
            let (cordoned, labelled, offers, vms, memory, vcpus) = kinds[*index];
            prop_assert!(!cordoned && labelled && offers >= isolation && vms > 0 && memory >= 512 && vcpus >= 2);
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
        let hosts: Vec<PlacementHost<'_>> = kinds.iter().zip(&all).map(|((has, vms, memory, jobs), name)| {
            let images = if *has == 0 { &image } else { &none };
            let known = PlacementHost { jobs: &others[..*jobs], ..host(name, images, room(*vms, memory * 1024)) };
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
