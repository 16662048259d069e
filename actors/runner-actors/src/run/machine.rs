//! Which machine a job gets, by its labels.

use http_clients::vmm::NewVm;
use runner_core::hosted_label::{FULL_IMAGE, is_hosted_ubuntu};

/// What a machine with the image `full` has where nothing is configured: containers and their
/// images need room.
const HOSTED_MEM_MIB: u32 = 1024;
const HOSTED_DISK_MIB: u32 = 8192;

/// What a job's machine is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MachineChoice {
    /// What is configured.
    pub(super) vm: NewVm,
    /// What is asked for before that, for the labels of hosted machines that nobody has
    /// configured: the image `full`, which may be there or not.
    pub(super) hosted: Option<NewVm>,
}

/// The machine for these labels: the first that is listed, else the entry `default`. `None`: nobody
/// said what such a job runs on.
pub(super) fn choose(machines: &[(String, NewVm)], labels: &[String]) -> Option<MachineChoice> {
    let listed = |label: &str| {
        let named = machines
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(label));
        named.map(|(_, vm)| vm.clone())
    };
    if let Some(vm) = labels.iter().find_map(|label| listed(label)) {
        return Some(MachineChoice { vm, hosted: None });
    }
    let vm = listed("default")?;
    let is_hosted = labels.iter().any(|label| is_hosted_ubuntu(label));
    let hosted = (is_hosted && vm.image.is_none()).then(|| NewVm {
        image: FULL_IMAGE.parse().ok(),
        mem_mib: vm.mem_mib.or(Some(HOSTED_MEM_MIB)),
        disk_mib: vm.disk_mib.or(Some(HOSTED_DISK_MIB)),
        ..vm.clone()
    });
    Some(MachineChoice { vm, hosted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm(image: &str) -> NewVm {
        NewVm {
            image: image.parse().ok(),
            ..NewVm::default()
        }
    }

    fn of(machines: &[(String, NewVm)], label: &str) -> Option<MachineChoice> {
        choose(machines, &[label.to_owned()])
    }

    #[test]
    fn a_label_without_a_machine_gets_the_default_or_none() {
        let mut machines = vec![
            ("Ubuntu-latest".to_owned(), vm("a")),
            ("gpu".to_owned(), vm("b")),
        ];
        let image = |machines: &[_], label: &str| of(machines, label)?.vm.image;
        assert_eq!(image(&machines, "ubuntu-latest"), "a".parse().ok());
        assert_eq!(image(&machines, "arm"), None);
        machines.push(("default".to_owned(), vm("c")));
        assert_eq!(image(&machines, "arm"), "c".parse().ok());
        // What the operator has said is not replaced.
        assert_eq!(of(&machines, "ubuntu-latest").unwrap().hosted, None);
        assert_eq!(of(&machines, "ubuntu-24.04").unwrap().hosted, None);
    }

    #[test]
    fn i17_a_hosted_label_asks_for_the_full_image_where_nothing_is_configured() {
        let small = NewVm {
            disk_mib: Some(500),
            ..NewVm::default()
        };
        let machines = [("default".to_owned(), small.clone())];
        let choice = of(&machines, "ubuntu-22.04").unwrap();
        assert_eq!(choice.vm, small);
        let hosted = choice.hosted.unwrap();
        assert_eq!(hosted.image, FULL_IMAGE.parse().ok());
        assert_eq!((hosted.mem_mib, hosted.disk_mib), (Some(1024), Some(500)));
        assert_eq!(of(&machines, "self-hosted").unwrap().hosted, None);
    }
}
