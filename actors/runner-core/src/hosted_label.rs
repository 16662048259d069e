//! The labels of GitHub's own Linux machines, and the image that stands for theirs.

use crate::container::script::calls_engine;
use crate::plan::{PlannedStep, StepKind};
use crate::workflow::Job;

/// The image that has what workflows for these labels expect, as far as it can be had.
pub const FULL_IMAGE: &str = "full";

/// Whether a label is `ubuntu-latest` or one of its releases, such as `ubuntu-24.04`.
#[must_use]
pub fn is_hosted_ubuntu(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    let Some(release) = label.strip_prefix("ubuntu-") else {
        return false;
    };
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let dotted = release.split_once('.');
    release == "latest" || dotted.is_some_and(|(year, month)| digits(year) && digits(month))
}

/// What a job has that the small image lacks, in words.
#[must_use]
pub fn beyond_small_image(job: &Job, steps: &[PlannedStep]) -> Vec<&'static str> {
    let (mut containers, mut node) = (job.container.is_some() || job.services.is_some(), false);
    containers |= calls_docker(steps);
    look(steps, &mut containers, &mut node);
    let engine = containers.then_some("podman and crun for containers");
    let node = node.then_some("Node.js for JavaScript actions");
    engine.into_iter().chain(node).collect()
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

fn look(steps: &[PlannedStep], containers: &mut bool, node: &mut bool) {
    for step in steps {
        match &step.work {
            StepKind::Docker(_) => *containers = true,
            StepKind::Node(_) => *node = true,
            StepKind::Composite(action) => look(&action.steps, containers, node),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_ubuntu_and_its_releases_are_known_and_nothing_else() {
        for label in ["ubuntu-latest", "Ubuntu-24.04", "ubuntu-22.04"] {
            assert!(is_hosted_ubuntu(label), "{label}");
        }
        for label in [
            "ubuntu",
            "ubuntu-24.04-arm",
            "ubuntu-slim",
            "ubuntu-2.04",
            "x",
            "ubuntu-",
        ] {
            assert!(!is_hosted_ubuntu(label), "{label}");
        }
    }
}
