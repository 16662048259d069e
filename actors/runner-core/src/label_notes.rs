//! What `check` says of the labels of a job: what no machine here has by itself, and what nobody
//! has configured a machine for.

use std::fmt::Write as _;

use crate::hosted_label::{
    ARCHITECTURE, is_hosted_ubuntu, is_other_architecture, is_other_system, is_usual_at_forges,
};
use crate::plan::{ForeseenJob, ForeseenMachine};
use crate::workflow::{Dialect, FeatureRefusal, Need};

/// Which machine a job with some labels gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelMachine {
    /// One that has one of its labels, or whose image stands for it.
    Own,
    /// `default`, since no machine has them.
    Default,
    /// None: there is no `default` either.
    Nothing,
}

/// Says it of labels, and of the group that is named beside them.
pub type MachineOf<'a> = &'a dyn Fn(&[String], Option<&str>) -> LabelMachine;

/// Labels that GitHub gives every machine of one's own.
const GENERIC: [&str; 5] = ["self-hosted", "linux", "x64", "arm64", "default"];

fn is_generic(label: &str) -> bool {
    let mut generic = GENERIC.iter();
    generic.any(|known| known.eq_ignore_ascii_case(label))
}

/// What the log of a job says that has the machine `default`, since no other has one of its labels.
pub fn default_machine_note<'l>(labels: impl Iterator<Item = &'l String>) -> Option<String> {
    let labels = labels.filter(|label| !is_generic(label));
    let labels: Vec<String> = labels.map(|label| format!("`{label}`")).collect();
    let word = match labels.len() {
        0 => return None,
        1 => "label",
        _ => "labels",
    };
    let labels = labels.join(", ");
    Some(format!(
        "no machine has the {word} {labels}: this one is the machine `default` (`machines` of the runner)"
    ))
}

impl LabelMachine {
    /// Where nobody has configured machines.
    fn default_for(machine: &ForeseenMachine, dialect: Dialect) -> Self {
        let is_known = |label: &String| {
            is_hosted_ubuntu(label)
                || dialect.is_forge() && is_usual_at_forges(label)
                || beyond_machines(label).is_some()
        };
        match machine.labels.iter().any(is_known) {
            true => Self::Own,
            false => Self::Default,
        }
    }
}

/// What a label asks for that no machine has by itself.
fn beyond_machines(label: &str) -> Option<(Need, String)> {
    if is_other_system(label) {
        let reason = "this runner has Linux machines only".to_owned();
        return Some((Need::OtherSystem(label.to_owned()), reason));
    }
    is_other_architecture(label).then(|| {
        let reason =
            format!("machines are {ARCHITECTURE} unless the operator configures one of that label");
        (Need::OtherArchitecture(label.to_owned()), reason)
    })
}

fn is_beyond(machine: &ForeseenMachine) -> bool {
    let mut labels = machine.labels.iter();
    labels.any(|label| beyond_machines(label).is_some())
}

/// The copies of a job that are refused unless a machine is configured for their label: only what
/// they are in every run.
pub(crate) fn label_refusals(job: &ForeseenJob<'_>) -> Vec<FeatureRefusal> {
    let is_meant = |machine: &&ForeseenMachine| machine.is_sure && !job.is_left_out;
    let sure = || job.machines.iter().filter(is_meant);
    let mut labels: Vec<&String> = sure().flat_map(|it| &it.labels).collect();
    labels.sort_unstable();
    labels.dedup();
    let refusal = |label: &&String| {
        let (need, mut reason) = beyond_machines(label)?;
        let count = sure().filter(|it| it.labels.contains(label)).count();
        let all = job.machines.len();
        if count < all && !job.copies.is_empty() {
            let _ = write!(reason, " ({count} of {all} copies)");
        } else if count < all {
            let _ = write!(
                reason,
                " ({count} of {all} machines that are known before it starts)"
            );
        }
        let feature = format!("runs-on: {label}");
        let refusal = FeatureRefusal::new(&feature, &reason, &job.workflow.file, job.job.job.place);
        Some(refusal.needing(need))
    };
    labels.iter().filter_map(refusal).collect()
}

/// Whether no copy of a job has a machine.
pub(crate) fn is_unservable(job: &ForeseenJob<'_>) -> bool {
    let is_refused = |machine: &ForeseenMachine| machine.is_sure && is_beyond(machine);
    job.is_complete
        && !job.is_left_out
        && !job.machines.is_empty()
        && job.machines.iter().all(is_refused)
}

/// The labels of a job's machines that nobody has configured one for, with what it gets instead.
struct UnmappedLabels<'j> {
    labels: Vec<&'j str>,
    gets: LabelMachine,
    /// It asks for a machine of the operator's own.
    is_own: bool,
}

fn unlisted<'j>(
    job: &'j ForeseenJob<'_>,
    machine_of: Option<MachineOf<'_>>,
) -> Option<UnmappedLabels<'j>> {
    let mut found = UnmappedLabels {
        labels: Vec::new(),
        gets: LabelMachine::Own,
        is_own: false,
    };
    for machine in &job.machines {
        let group = machine.group.as_deref();
        let gets = match machine_of {
            Some(machine_of) => machine_of(&machine.labels, group),
            None if group.is_some() => continue,
            None => LabelMachine::default_for(machine, job.workflow.dialect),
        };
        if gets == LabelMachine::Own || is_beyond(machine) {
            continue;
        }
        let is_named = |label: &&str| gets == LabelMachine::Nothing || !is_generic(label);
        let labels = machine.labels.iter().map(String::as_str).filter(is_named);
        let labels: Vec<&str> = labels.collect();
        if labels.is_empty() {
            continue;
        }
        found.gets = gets;
        let mut all = machine.labels.iter();
        found.is_own |= all.any(|label| label.eq_ignore_ascii_case("self-hosted"));
        for label in labels {
            if !found.labels.contains(&label) {
                found.labels.push(label);
            }
        }
    }
    (!found.labels.is_empty()).then_some(found)
}

impl UnmappedLabels<'_> {
    fn text(&self, is_configured: bool) -> String {
        let labels: Vec<String> = self
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let (labels, word) = (
            labels.join(", "),
            match labels.len() {
                1 => "label",
                _ => "labels",
            },
        );
        let whose = match is_configured {
            true => "no machine of the configuration has",
            false => "no machine is said to have",
        };
        match self.gets {
            LabelMachine::Nothing => format!(
                "{whose} the {word} {labels}, and there is no machine `default`: it is refused when it runs"
            ),
            _ => format!(
                "{whose} the {word} {labels}: it runs on the machine `default`, which has all labels that no other has (`machines` of the runner)"
            ),
        }
    }
}

/// The notes of a job's labels.
pub(crate) fn label_notes(job: &ForeseenJob<'_>, machine_of: Option<MachineOf<'_>>) -> Vec<String> {
    let unlisted = unlisted(job, machine_of).filter(|unlisted| !unlisted.is_own);
    let unlisted = unlisted.map(|unlisted| unlisted.text(machine_of.is_some()));
    let mut beyond: Vec<String> = Vec::new();
    let likely = job.machines.iter().filter(|machine| !machine.is_sure);
    for label in likely.flat_map(|machine| &machine.labels) {
        let shown = format!("`{label}`");
        if beyond_machines(label).is_some() && !beyond.contains(&shown) {
            beyond.push(shown);
        }
    }
    let beyond = (!beyond.is_empty()).then(|| {
        let labels = beyond.join(", ");
        format!("by the defaults of its inputs it runs on {labels}, which no machine here has by itself: such a copy is refused when it runs")
    });
    unlisted
        .into_iter()
        .chain(beyond)
        .chain(retired_note(job))
        .collect()
}

/// Labels of which GitHub has no machines any more.
const RETIRED: [&str; 3] = ["ubuntu-16.04", "ubuntu-18.04", "ubuntu-20.04"];

/// A job that GitHub never starts runs here: that is said.
fn retired_note(job: &ForeseenJob<'_>) -> Option<String> {
    let is_retired = |label: &&String| {
        let mut retired = RETIRED.iter();
        retired.any(|known| known.eq_ignore_ascii_case(label))
    };
    let mut labels = job.machines.iter().flat_map(|machine| &machine.labels);
    let label = labels.find(is_retired)?;
    (!job.workflow.dialect.is_forge()).then(|| {
        format!("GitHub has no machines of `{label}` any more, and never starts the job; here it runs as with `ubuntu-latest`")
    })
}

/// What is said, as a warning, of a job that asks for a machine of the operator's own that nobody
/// has configured.
pub(crate) fn own_machine_warning(
    job: &ForeseenJob<'_>,
    machine_of: Option<MachineOf<'_>>,
) -> Option<String> {
    let unlisted = unlisted(job, machine_of).filter(|unlisted| unlisted.is_own)?;
    let text = unlisted.text(machine_of.is_some());
    let name = config_core::quoted(job.job.id());
    Some(format!(
        "the job {name} asks for a machine of your own: {text}"
    ))
}
