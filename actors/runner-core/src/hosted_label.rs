//! The labels of GitHub's own Linux machines, and the image that stands for theirs.

use crate::container::script::{calls_engine, names_engine};
use crate::plan::{PlannedStep, StepKind};
use crate::script_notes::calls_gh;
use crate::workflow::Job;

/// The image that has what workflows for these labels expect, as far as it can be had.
pub const FULL_IMAGE: &str = "full";

/// Who runs machines with GitHub's images for others, by how their labels begin:
/// `blacksmith-4vcpu-ubuntu-2404`, `depot-ubuntu-24.04-8`, `warp-ubuntu-latest-x64-4x`.
const PROVIDERS: [&str; 6] = [
    "blacksmith-",
    "buildjet-",
    "depot-",
    "nscloud-",
    "ubicloud-",
    "warp-",
];

/// What stands behind the name of who runs the machine; nothing where it is none of those.
fn of_provider(label: &str) -> Option<&str> {
    let mut names = PROVIDERS.iter();
    names.find_map(|name| label.strip_prefix(name))
}

/// Whether a label is `ubuntu-latest`, one of its releases, such as `ubuntu-24.04`, a larger one of
/// them, such as `ubuntu-latest-16-cores`, `ubuntu-slim`, which has fewer programs and Node.js
/// among them, or one of these of somebody who runs such machines for others.
#[must_use]
pub fn is_hosted_ubuntu(label: &str) -> bool {
    ubuntu_year(&label.to_ascii_lowercase()).is_some()
}

/// The year of the Ubuntu that a label of small letters stands for.
fn ubuntu_year(label: &str) -> Option<&str> {
    let provided = of_provider(label);
    if label == "ubuntu-slim" || label == "ubicloud" {
        return Some(LATEST_UBUNTU);
    }
    let named = match provided {
        Some(rest) => match rest.split_once("ubuntu-") {
            Some((_, release)) => release,
            // Ubicloud's have no name of a system where it is the newest Ubuntu.
            None => rest.strip_prefix("standard-").map(|_| "latest")?,
        },
        None => label.strip_prefix("ubuntu-")?,
    };
    let parts = provided.unwrap_or(named);
    let is_other = |part: &str| FOREIGN.contains(&part) || ARM.contains(&part);
    if parts.split(['-', '.', '_']).any(is_other) {
        return None;
    }
    let release = named.split('-').next().unwrap_or_default();
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let short = |release| provided.and_then(|_| str::split_at_checked(release, 2));
    match release {
        "latest" => Some(LATEST_UBUNTU),
        _ => release
            .split_once('.')
            .or_else(|| short(release))
            .filter(|(year, month)| digits(year) && digits(month))
            .map(|(year, _)| year),
    }
}

/// Whether a label is one that runners of Gitea and Forgejo have by themselves, with an image that
/// has the usual programs: `docker`, and those of Codeberg.
#[must_use]
pub fn is_usual_at_forges(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    label == "docker" || label.starts_with("codeberg-")
}

/// What GitHub's machine with this label has in `ImageOS`, which actions choose programs by.
#[must_use]
pub fn image_os(label: &str) -> Option<String> {
    ubuntu_year(&label.to_ascii_lowercase()).map(|year| format!("ubuntu{year}"))
}

/// What `ubuntu-latest` is.
const LATEST_UBUNTU: &str = "24";

/// The architecture of machines that nobody has said anything else of: the host's.
pub const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") {
    "arm64"
} else {
    "x86-64"
};

/// Architectures that no host here has.
const FOREIGN: &[&str] = &[
    "armv6", "armv7", "armv7l", "armhf", "i386", "i686", "mips64", "ppc64", "ppc64le", "riscv64",
    "s390x",
];
const ARM: &[&str] = &["arm", "arm64", "aarch64"];

/// Whether a label asks for another architecture than machines have by themselves:
/// `ubuntu-24.04-arm`, or `ARM64` of a runner of one's own.
#[must_use]
pub fn is_other_architecture(label: &str) -> bool {
    const OTHERS: &[&str] = if cfg!(target_arch = "aarch64") {
        &["x64", "x86_64", "amd64"]
    } else {
        ARM
    };
    let label = label.to_ascii_lowercase();
    let mut parts = label.split(['-', '.', '/']);
    parts.any(|part| OTHERS.contains(&part) || FOREIGN.contains(&part))
}

/// Whether a label asks for another operating system than Linux.
#[must_use]
pub fn is_other_system(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    let systems = ["windows", "macos"];
    if let Some(rest) = of_provider(&label) {
        return rest.split('-').any(|part| systems.contains(&part));
    }
    let mut parts = systems
        .iter()
        .filter_map(|system| label.strip_prefix(system));
    parts.any(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// What becomes of a copy whose labels ask for another operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OtherSystems {
    /// It fails, with the reason.
    #[default]
    Refuse,
    /// It is left out, as if its `if` did not hold.
    Skip,
}

/// What a job has that the small image lacks, in words.
#[must_use]
pub fn beyond_small_image(job: &Job, steps: &[PlannedStep]) -> Vec<&'static str> {
    let (mut containers, mut node) = (job.container.is_some() || job.services.is_some(), false);
    containers |= names_docker(steps);
    scan_steps(steps, &mut containers, &mut node);
    let engine = containers.then_some("podman and crun for containers");
    let node = node.then_some("Node.js for JavaScript actions");
    let gh = calls_gh(steps).then_some("GitHub's program `gh`");
    engine.into_iter().chain(node).chain(gh).collect()
}

/// Whether a script, or an action of that name, may call `docker` or use the engine's socket.
#[must_use]
pub fn calls_docker(steps: &[PlannedStep]) -> bool {
    steps.iter().any(|step| match &step.work {
        StepKind::Run { script, .. } => calls_engine(&script.source),
        StepKind::Node(action) => action.uses.contains("docker"),
        StepKind::Composite(action) => calls_docker(&action.steps),
        _ => false,
    })
}

/// Whether its commands name the engine.
fn names_docker(steps: &[PlannedStep]) -> bool {
    steps.iter().any(|step| match &step.work {
        StepKind::Run { script, .. } => names_engine(&script.source),
        StepKind::Node(action) => action.uses.contains("docker"),
        StepKind::Composite(action) => names_docker(&action.steps),
        _ => false,
    })
}

fn scan_steps(steps: &[PlannedStep], containers: &mut bool, node: &mut bool) {
    for step in steps {
        match &step.work {
            StepKind::Docker(_) => *containers = true,
            StepKind::Node(_) => *node = true,
            StepKind::Composite(action) => scan_steps(&action.steps, containers, node),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn i17_labels_of_another_architecture_are_known() {
        for label in [
            "ubuntu-24.04-arm",
            "ARM64",
            "linux/arm64",
            "aarch64",
            "ubuntu-24.04-ppc64le-p10",
            "ubuntu-24.04-s390x",
            "linux/riscv64",
        ] {
            assert!(is_other_architecture(label), "{label}");
        }
        for label in ["ubuntu-24.04", "self-hosted", "x64", "alarm", "farm-1"] {
            assert!(!is_other_architecture(label), "{label}");
        }
    }

    #[test]
    fn i17_a_hosted_label_says_its_image() {
        for (label, expected) in [
            ("ubuntu-latest", Some("ubuntu24")),
            ("Ubuntu-22.04", Some("ubuntu22")),
            ("ubuntu-slim", Some("ubuntu24")),
            ("self-hosted", None),
            ("ubuntu-24.04-arm", None),
            ("ubuntu-latest-16-cores", Some("ubuntu24")),
            ("ubuntu-22.04-large", Some("ubuntu22")),
            ("blacksmith-4vcpu-ubuntu-2204", Some("ubuntu22")),
            ("depot-ubuntu-24.04-32", Some("ubuntu24")),
        ] {
            assert_eq!(image_os(label).as_deref(), expected, "{label}");
        }
    }

    #[test]
    fn i17_labels_that_forges_have_by_themselves_are_known() {
        for label in ["docker", "Docker", "codeberg-tiny", "codeberg-medium-lazy"] {
            assert!(is_usual_at_forges(label), "{label}");
        }
        for label in ["docker-cli", "self-hosted", "x", "ubuntu-latest"] {
            assert!(!is_usual_at_forges(label), "{label}");
        }
    }

    #[test]
    fn i17_ubuntu_and_its_releases_are_known_and_nothing_else() {
        for label in [
            "ubuntu-latest",
            "Ubuntu-24.04",
            "ubuntu-22.04",
            "ubuntu-slim",
            "ubuntu-latest-16-cores",
            "ubuntu-24.04-8core",
            "ubuntu-22.04-large",
            "ubuntu-22.04-xl",
        ] {
            assert!(is_hosted_ubuntu(label), "{label}");
        }
        for label in [
            "ubuntu",
            "ubuntu-24.04-arm",
            "ubuntu-24.04-arm-8",
            "ubuntu-latest-4-cores-arm64",
            "ubuntu-latest4",
            "ubuntu-slim-2",
            "ubuntu-2.04",
            "x",
            "ubuntu-",
        ] {
            assert!(!is_hosted_ubuntu(label), "{label}");
        }
    }

    /// Labels of those who run machines with GitHub's images, as their pages list them.
    #[test]
    fn i17_machines_that_others_run_are_what_their_labels_say() {
        let cases = [
            ("blacksmith-4vcpu-ubuntu-2404", true, false),
            ("Blacksmith-2vcpu-ubuntu-2204", true, false),
            ("blacksmith-4vcpu-ubuntu-2404-arm", false, false),
            ("blacksmith-8vcpu-windows-2025", false, true),
            ("blacksmith-12vcpu-macos-latest", false, true),
            ("depot-ubuntu-latest", true, false),
            ("depot-ubuntu-24.04-32", true, false),
            ("depot-ubuntu-24.04-arm-8", false, false),
            ("depot-macos-latest", false, true),
            ("buildjet-2vcpu-ubuntu-2204", true, false),
            ("warp-ubuntu-latest-x64-4x", true, false),
            ("warp-ubuntu-2404-arm64-4x", false, false),
            ("warp-macos-14-arm64-6x", false, true),
            ("nscloud-ubuntu-22.04-amd64-4x16", true, false),
            ("ubicloud", true, false),
            ("ubicloud-standard-4", true, false),
            ("ubicloud-standard-4-ubuntu-2204", true, false),
            ("ubicloud-standard-4-arm", false, false),
            ("blacksmith", false, false),
            ("depot", false, false),
            ("acme-ubuntu-2404", false, false),
            ("cross-windows", false, false),
        ];
        for (label, ubuntu, other) in cases {
            assert_eq!(is_hosted_ubuntu(label), ubuntu, "{label}");
            assert_eq!(is_other_system(label), other, "{label}");
        }
    }
}
