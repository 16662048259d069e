//! Which machine a job gets, by its labels.

use cluster_actors::vm_hosts::MachineType;
use forge_core::Forge;
use http_clients::vmm::NewVm;
use runner_core::hosted_label::{
    FULL_IMAGE, is_hosted_ubuntu, is_other_architecture, is_other_system, is_usual_at_forges,
};
use runner_core::image_notes::LabelImage;
use runner_core::label_notes::LabelMachine;

use crate::settings::RunnerSettings;

/// What a job's machine is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MachineChoice {
    /// What is configured.
    pub(super) machine: MachineType,
    /// What is asked for before that, for the labels of hosted machines that nobody has
    /// configured: the image `full`, which may be there or not. At Gitea and Forgejo it stands for
    /// the labels as well that their runners have by themselves, with an image of such programs.
    pub(super) hosted: Option<MachineType>,
    /// Whether it is `default`, since nobody has configured one for the labels.
    pub(super) is_default: bool,
}

/// The machine for these labels: the first that is listed, else the entry `default`. Where a group
/// is named that has machines, only those count, and without labels that fit the first of them.
/// `None`: nobody said what such a job runs on, or it asks for another system or architecture.
pub(super) fn choose(
    machines: &[(String, MachineType)],
    labels: &[String],
    group: Option<&str>,
    forge: Forge,
) -> Option<MachineChoice> {
    let in_group = |machine: &MachineType| {
        let mut groups = machine.groups.iter();
        group.is_some_and(|group| groups.any(|own| own.eq_ignore_ascii_case(group)))
    };
    let members: Vec<&(String, MachineType)> = machines
        .iter()
        .filter(|(_, machine)| in_group(machine))
        .collect();
    if let Some((_, first)) = members.first() {
        let named = labels.iter().find_map(|label| {
            let mut members = members.iter();
            members.find(|(name, _)| name.eq_ignore_ascii_case(label))
        });
        return Some(MachineChoice {
            machine: named.map_or(first, |(_, machine)| machine).clone(),
            hosted: None,
            is_default: false,
        });
    }
    let listed = |label: &str| {
        let named = machines
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(label));
        named.map(|(_, machine)| machine.clone())
    };
    if let Some(machine) = labels.iter().find_map(|label| listed(label)) {
        return Some(MachineChoice {
            machine,
            hosted: None,
            is_default: false,
        });
    }
    let is_other = |label: &String| is_other_architecture(label) || is_other_system(label);
    if labels.iter().any(is_other) {
        // The default machine is Linux of the host's architecture: it would do something else.
        return None;
    }
    let machine = listed("default")?;
    let vm = &machine.vm;
    let is_usual = |label: &String| forge != Forge::GitHub && is_usual_at_forges(label);
    let is_hosted = |label: &String| is_hosted_ubuntu(label) || is_usual(label);
    let is_hosted = labels.iter().any(is_hosted);
    let hosted = (is_hosted && vm.image.is_none()).then(|| MachineType {
        vm: NewVm {
            image: FULL_IMAGE.parse().ok(),
            // Without memory and disk as much as its host has, which is known when it is asked for.
            ..vm.clone()
        },
        host_labels: machine.host_labels.clone(),
        groups: Vec::new(),
        user: machine.user.clone(),
        container: machine.container.clone(),
    });
    Some(MachineChoice {
        machine,
        hosted,
        is_default: !is_hosted,
    })
}

/// What is known of the image of jobs with these labels.
#[must_use]
pub fn label_image(settings: &RunnerSettings, labels: &[String]) -> LabelImage {
    let full = FULL_IMAGE.parse().ok();
    match choose(&settings.machines, labels, None, settings.forge) {
        Some(choice) if choice.hosted.is_some() => LabelImage::FullOnceBuilt,
        Some(choice) if choice.machine.vm.image == full => LabelImage::Full,
        _ => LabelImage::Other,
    }
}

/// Which machine jobs with these labels get.
#[must_use]
pub fn label_machine(
    settings: &RunnerSettings,
    labels: &[String],
    group: Option<&str>,
) -> LabelMachine {
    match choose(&settings.machines, labels, group, settings.forge) {
        None => LabelMachine::Nothing,
        Some(choice) if choice.is_default => LabelMachine::Default,
        Some(_) => LabelMachine::Own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm(image: &str) -> MachineType {
        MachineType::from(NewVm {
            image: image.parse().ok(),
            ..NewVm::default()
        })
    }

    fn choice_for(machines: &[(String, MachineType)], label: &str) -> Option<MachineChoice> {
        choose(machines, &[label.to_owned()], None, Forge::GitHub)
    }

    #[test]
    fn i17_a_group_leads_to_its_own_machines() {
        let member = |image: &str| MachineType {
            groups: vec!["Large runners".to_owned()],
            ..vm(image)
        };
        let mut machines = vec![
            ("small".to_owned(), vm("small")),
            ("16-core".to_owned(), member("sixteen")),
            ("gpu".to_owned(), member("gpu")),
        ];
        let image = |machines: &[_], labels: &[&str], group| {
            let labels: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
            choose(machines, &labels, Some(group), Forge::GitHub)?
                .machine
                .vm
                .image
        };
        let is = |image: &str| image.parse().ok();
        assert_eq!(image(&machines, &[], "large RUNNERS"), is("sixteen"));
        assert_eq!(image(&machines, &["GPU"], "Large runners"), is("gpu"));
        // Of the group, whatever else has the label.
        assert_eq!(image(&machines, &["small"], "Large runners"), is("sixteen"));
        // A group that nobody has set up is as if it was not named.
        assert_eq!(image(&machines, &["small"], "other"), is("small"));
        assert_eq!(image(&machines, &[], "other"), None);
        machines.push(("default".to_owned(), vm("usual")));
        assert_eq!(image(&machines, &[], "other"), is("usual"));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn i17_another_architecture_is_had_only_where_it_is_configured() {
        let mut machines = vec![("default".to_owned(), vm("a"))];
        assert_eq!(choice_for(&machines, "ubuntu-24.04-arm"), None);
        machines.push(("ubuntu-24.04-arm".to_owned(), vm("b")));
        let found = choice_for(&machines, "ubuntu-24.04-arm").unwrap();
        assert_eq!(found.machine.vm.image, "b".parse().ok());
    }

    /// Labels that only come with the outputs of another job got the default machine.
    #[test]
    fn i17_another_system_is_had_only_where_it_is_configured() {
        let mut machines = vec![("default".to_owned(), vm("a"))];
        for label in ["windows-latest", "macOS", "macos-14"] {
            assert_eq!(choice_for(&machines, label), None, "{label}");
        }
        machines.push(("windows-latest".to_owned(), vm("b")));
        let found = choice_for(&machines, "Windows-latest").unwrap();
        assert_eq!(found.machine.vm.image, "b".parse().ok());
    }

    #[test]
    fn a_label_without_a_machine_gets_the_default_or_none() {
        let mut machines = vec![
            ("Ubuntu-latest".to_owned(), vm("a")),
            ("gpu".to_owned(), vm("b")),
        ];
        let image = |machines: &[_], label: &str| choice_for(machines, label)?.machine.vm.image;
        assert_eq!(image(&machines, "ubuntu-latest"), "a".parse().ok());
        assert_eq!(image(&machines, "other"), None);
        machines.push(("default".to_owned(), vm("c")));
        assert_eq!(image(&machines, "other"), "c".parse().ok());
        // What the operator has said is not replaced.
        assert_eq!(choice_for(&machines, "ubuntu-latest").unwrap().hosted, None);
        assert_eq!(choice_for(&machines, "ubuntu-24.04").unwrap().hosted, None);
    }

    #[test]
    fn i17_a_hosted_label_asks_for_the_full_image_where_nothing_is_configured() {
        let small = MachineType::from(NewVm {
            disk_mib: Some(500),
            ..NewVm::default()
        });
        let machines = [("default".to_owned(), small.clone())];
        let choice = choice_for(&machines, "ubuntu-22.04").unwrap();
        assert_eq!(choice.machine, small);
        let hosted = choice.hosted.unwrap().vm;
        assert_eq!(hosted.image, FULL_IMAGE.parse().ok());
        assert_eq!((hosted.mem_mib, hosted.disk_mib), (None, Some(500)));
        assert_eq!(choice_for(&machines, "self-hosted").unwrap().hosted, None);
    }

    #[test]
    fn i17_the_labels_of_forges_ask_for_the_full_image_there() {
        let mut machines = vec![("default".to_owned(), MachineType::default())];
        let chosen = |machines: &[_], label: &str| {
            choose(machines, &[label.to_owned()], None, Forge::Forgejo).unwrap()
        };
        let hosted = chosen(&machines, "docker").hosted.unwrap().vm;
        assert_eq!(hosted.image, FULL_IMAGE.parse().ok());
        assert_eq!(chosen(&machines, "self-hosted").hosted, None);
        // What the operator has said is not replaced.
        machines.push(("docker".to_owned(), MachineType::default()));
        assert_eq!(chosen(&machines, "docker").hosted, None);
    }
}
