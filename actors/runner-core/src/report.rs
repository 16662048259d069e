//! What `workflow-runner check` prints: per file its mistakes, what would run, and what is refused.

use std::collections::HashSet;
use std::fmt::Write as _;

use config_core::{Colours, Diagnostics, Severity, SourceText, quoted};
use forge_core::Forge;
use serde::Serialize;

use crate::actions::{ActionSource, NoActions};
use crate::context::{RunFacts, github};
use crate::event::{EventContext, EventKind, PullRequestCommit};
use crate::expr::{ContextName, Contexts, ExprValue};
use crate::hosted_programs::program_notes;
use crate::image_notes::{ImageOf, LabelImage, image_notes};
use crate::job_notes::job_notes;
use crate::label_notes::{
    MachineOf, is_unservable, label_notes, label_refusals, own_machine_warning,
};
use crate::plan::{
    FileLookup, ForeseenJob, Plan, PlanError, PlanInput, PlannedJob, PlannedWork, WorkspaceStart,
    foreseen, odd_copies, plan, workspace_note,
};
use crate::prepare::default_name;
use crate::report_triggers::{never_started_by, started_by};
use crate::script_notes::script_notes;
use crate::workflow::{Dialect, FeatureRefusal, PermissionLevel, Permissions, Workflow, parse_as};

/// What a runner's configuration says of its jobs.
#[derive(Clone, Copy)]
pub struct RunnerFacts<'a> {
    /// What the workspace of a job has that checks nothing out.
    pub workspace: WorkspaceStart,
    /// Whether a machine with these labels has a network.
    pub has_network: &'a dyn Fn(&[String]) -> bool,
    /// Whether steps on a machine with these labels are a user of its image.
    pub has_user: &'a dyn Fn(&[String]) -> bool,
    /// What is known of the image of a machine with these labels; `None`: what labels mean where
    /// nobody has configured any.
    pub image: Option<ImageOf<'a>>,
    /// Which machine has these labels; `None`: nobody has configured any.
    pub machine: Option<MachineOf<'a>>,
    /// The kind of forge; `None`: each file's folder says it.
    pub forge: Option<Forge>,
    /// What tokens may do by themselves, where that is set.
    pub token_permissions: Option<PermissionLevel>,
    /// Whether they count at the forge's own address.
    pub token_at_forge: bool,
    /// What runs of pull requests have checked out.
    pub pull_request_commit: PullRequestCommit,
}

impl RunnerFacts<'_> {
    /// What a job's token may do whose workflow names nothing.
    fn token_defaults(&self) -> Permissions {
        match self.token_permissions {
            Some(PermissionLevel::Write) => Permissions::permissive(),
            _ => Permissions::restricted(),
        }
    }

    /// Those of a runner that nobody has configured.
    pub const USUAL: RunnerFacts<'static> = RunnerFacts {
        workspace: WorkspaceStart::Commit,
        has_network: &|_| false,
        has_user: &|_| false,
        image: None,
        machine: None,
        forge: None,
        token_permissions: None,
        token_at_forge: true,
        pull_request_commit: PullRequestCommit::Head,
    };
}

/// What is to be said of one file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileReport {
    /// The file.
    pub file: String,
    /// Its name.
    pub name: Option<String>,
    /// What starts it here.
    pub started_by: Vec<String>,
    /// Events it names that start nothing here.
    pub never_started_by: Vec<String>,
    /// Its jobs, called workflows written out.
    pub jobs: Vec<JobReport>,
    /// Everything it asks for and is not done.
    pub refused: Vec<FeatureRefusal>,
    /// Mistakes and warnings.
    pub diagnostics: Diagnostics,
}

/// What is to be said of one job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobReport {
    /// Its key.
    pub key: String,
    /// The names of its copies; empty when they are not known yet.
    pub copies: Vec<String>,
    /// When they are known, where they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies_known: Option<String>,
    /// Labels of its machine.
    pub runs_on: Vec<String>,
    /// What it needs.
    pub needs: Vec<String>,
    /// Its condition.
    pub condition: Option<String>,
    /// Its steps by name.
    pub steps: Vec<String>,
    /// What is different from elsewhere, or missing, and no reason to refuse it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether it is refused.
    pub refused: bool,
}

/// Whether a file can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileStatus {
    /// Everything in it is done.
    Good,
    /// It is well written, but something in it is refused.
    Refused,
    /// It is wrong.
    Wrong,
}

impl FileReport {
    /// Whether the file can be run.
    pub fn status(&self) -> FileStatus {
        if self.diagnostics.has_errors() {
            FileStatus::Wrong
        } else if self.refused.is_empty() {
            FileStatus::Good
        } else {
            FileStatus::Refused
        }
    }

    /// For people.
    pub fn render(&self, colours: Colours) -> String {
        let mut text = self.diagnostics.render(colours);
        if self.status() == FileStatus::Wrong {
            return text;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let name = self
            .name
            .as_deref()
            .map(|name| format!(" ({name})"))
            .unwrap_or_default();
        let _ = writeln!(text, "{}{name}", self.file);
        let started = if self.started_by.is_empty() {
            "nothing".to_owned()
        } else {
            self.started_by.join("; ")
        };
        let _ = writeln!(text, "  started by {started}");
        if !self.never_started_by.is_empty() {
            let _ = writeln!(
                text,
                "  never started here by {}",
                self.never_started_by.join(", ")
            );
        }
        self.jobs.iter().for_each(|job| render_job(job, &mut text));
        for refusal in &self.refused {
            let _ = writeln!(text, "  refused: {refusal}");
        }
        text
    }
}

fn render_job(job: &JobReport, text: &mut String) {
    let mark = if job.refused { " REFUSED" } else { "" };
    let on = if job.runs_on.is_empty() {
        String::new()
    } else {
        format!(" on {}", job.runs_on.join(", "))
    };
    let _ = writeln!(text, "  job {}{on}{mark}", job.key);
    if !job.needs.is_empty() {
        let _ = writeln!(text, "    needs {}", job.needs.join(", "));
    }
    if let Some(condition) = &job.condition {
        let _ = writeln!(text, "    if {}", condition.trim());
    }
    if let Some(when) = &job.copies_known {
        let _ = writeln!(text, "    its copies are known {when}");
    }
    if job.copies.len() > 1 {
        let copies = (job.copies.len(), job.copies.join("; "));
        let _ = writeln!(text, "    {} copies: {}", copies.0, copies.1);
    }
    for (index, step) in job.steps.iter().enumerate() {
        let _ = writeln!(text, "    {:>2}. {step}", index + 1);
    }
    for note in &job.notes {
        let _ = writeln!(text, "    note: {note}");
    }
}

/// Reads and plans one file, as if `main` had been pushed, with no actions of other repositories.
pub fn check(file: &str, bytes: &[u8], files: FileLookup<'_>) -> FileReport {
    check_with(file, bytes, files, &NoActions)
}

/// The same with a store of actions.
pub fn check_with(
    file: &str,
    bytes: &[u8],
    files: FileLookup<'_>,
    actions: &dyn ActionSource,
) -> FileReport {
    check_for(file, bytes, files, actions, RunnerFacts::USUAL)
}

/// The same for a runner that is configured.
pub fn check_for(
    file: &str,
    bytes: &[u8],
    files: FileLookup<'_>,
    actions: &dyn ActionSource,
    runner: RunnerFacts<'_>,
) -> FileReport {
    let mut report = FileReport {
        file: file.to_owned(),
        name: None,
        started_by: Vec::new(),
        never_started_by: Vec::new(),
        jobs: Vec::new(),
        refused: Vec::new(),
        diagnostics: Diagnostics::default(),
    };
    let dialect = runner.forge.map_or_else(
        || Dialect::of_file(file),
        |forge| Dialect::for_file(file, forge),
    );
    let mut workflow = match parse_as(file, bytes, dialect) {
        Ok(parsed) => {
            report.diagnostics = parsed.warnings;
            parsed.value
        }
        Err(diagnostics) => {
            report.diagnostics = diagnostics;
            return report;
        }
    };
    report
        .diagnostics
        .extend(crate::inject::warnings(&workflow, bytes));
    report.name.clone_from(&workflow.name);
    report.started_by = started_by(&workflow);
    report.never_started_by = never_started_by(&workflow);
    let defaults = runner.token_defaults();
    workflow.permissions = Some(Permissions::or_defaults(
        workflow.permissions.take(),
        &defaults,
    ));
    let contexts = example_contexts(&workflow);
    match plan(
        workflow,
        PlanInput {
            contexts: &contexts,
            files,
            actions,
        },
    ) {
        Ok(plan) => {
            report.diagnostics.extend(failures(&plan, file, bytes));
            report.diagnostics.extend(findings(&plan, file, bytes));
            report
                .diagnostics
                .extend(own_machines(&plan, &contexts, bytes, runner));
            fill(&mut report, &plan, &contexts, runner);
        }
        Err(PlanError::File(diagnostics)) => report.diagnostics.extend(diagnostics),
        Err(PlanError::Workflow {
            file,
            place,
            message,
        }) => {
            let text = SourceText::read(&file, bytes);
            report.diagnostics.extend(text.map_or_else(
                |diagnostics| diagnostics,
                |text| {
                    text.diagnostic(Severity::Error, place.bytes(), &message, None, "")
                        .into()
                },
            ));
        }
    }
    report
}

/// A warning for each job of the file itself that fails in every run.
fn failures(plan: &Plan, file: &str, bytes: &[u8]) -> Diagnostics {
    let Ok(text) = SourceText::read(file, bytes) else {
        return Diagnostics::default();
    };
    let own = plan
        .jobs
        .iter()
        .filter(|job| job.workflow == 0 && job.refusals.is_empty());
    let warning = |job: &PlannedJob| {
        let odd = odd_copies(&job.job)?;
        let message = format!("the job {} {odd}", quoted(job.id()));
        let place = job.job.place.bytes();
        Some(text.diagnostic(Severity::Warning, place, &message, None, ""))
    };
    own.filter_map(warning).collect()
}

/// What the files show that the file itself uses.
fn findings(plan: &Plan, file: &str, bytes: &[u8]) -> Diagnostics {
    let Ok(text) = SourceText::read(file, bytes) else {
        return Diagnostics::default();
    };
    let mut seen = HashSet::new();
    let all = plan.jobs.iter().flat_map(|job| &job.findings);
    let own = all.filter(|found| found.file == file && seen.insert((found.place, &found.message)));
    own.map(|found| {
        let help = Some(found.help.as_str());
        let place = found.place.bytes();
        text.diagnostic(Severity::Warning, place, &found.message, help, "")
    })
    .collect()
}

fn fill(report: &mut FileReport, plan: &Plan, contexts: &Contexts, runner: RunnerFacts<'_>) {
    let jobs = foreseen(plan, contexts);
    let mut seen = HashSet::new();
    let of_labels: Vec<FeatureRefusal> = jobs.iter().flat_map(label_refusals).collect();
    let of_jobs = jobs.iter().flat_map(|job| &job.job.refusals);
    for refusal in of_jobs.chain(&of_labels) {
        if seen.insert((
            &refusal.file,
            refusal.place,
            &refusal.feature,
            &refusal.need,
        )) {
            report.refused.push(refusal.clone());
        }
    }
    report
        .jobs
        .extend(jobs.iter().map(|job| job_report(job, runner)));
}

/// A warning for each job of the file itself whose own machine nobody has configured.
fn own_machines(
    plan: &Plan,
    contexts: &Contexts,
    bytes: &[u8],
    runner: RunnerFacts<'_>,
) -> Diagnostics {
    let file = &plan.workflows[0].workflow.file;
    let Ok(text) = SourceText::read(file, bytes) else {
        return Diagnostics::default();
    };
    let jobs = foreseen(plan, contexts);
    let own = jobs.iter().filter(|job| job.workflow.file == *file);
    let warning = |job: &ForeseenJob<'_>| {
        let message = own_machine_warning(job, runner.machine)?;
        let place = job.job.job.place.bytes();
        Some(text.diagnostic(Severity::Warning, place, &message, None, ""))
    };
    own.filter_map(warning).collect()
}

fn job_report(foreseen: &ForeseenJob<'_>, runner: RunnerFacts<'_>) -> JobReport {
    let (job, dialect) = (foreseen.job, foreseen.workflow.dialect);
    let mut runs_on: Vec<String> = Vec::new();
    for machine in &foreseen.machines {
        let group = machine.group.iter().map(|group| format!("group {group}"));
        for label in group.chain(machine.labels.iter().cloned()) {
            if !runs_on.contains(&label) {
                runs_on.push(label);
            }
        }
    }
    let copies = foreseen.copies.iter().map(|copy| copy.name.clone());
    let steps = match &job.work {
        PlannedWork::Steps(steps) => steps
            .iter()
            .map(|step| {
                let name = step.name.as_ref();
                let name = name.map_or_else(|| default_name(step), |name| name.source.to_string());
                match step.background {
                    true => format!("{name} (in the background)"),
                    false => name,
                }
            })
            .collect(),
        PlannedWork::Call { .. } => Vec::new(),
    };
    let usual = |labels: &[String]| LabelImage::default_for(labels, dialect);
    JobReport {
        key: foreseen.key.clone(),
        copies: copies.collect(),
        copies_known: foreseen.awaits.map(str::to_owned),
        runs_on,
        needs: job.needs.clone(),
        condition: job
            .job
            .condition
            .as_ref()
            .map(|condition| condition.source.to_string()),
        steps,
        notes: job
            .notes
            .iter()
            .chain(&job.token_defaults)
            .cloned()
            .chain(job.token.as_ref().map(|token| token.reason.clone()))
            .chain(label_notes(foreseen, runner.machine))
            .chain(image_notes(foreseen, runner.image.unwrap_or(&usual)))
            .chain(program_notes(
                foreseen,
                (runner.has_network, runner.has_user),
                dialect,
            ))
            .chain(job_notes(foreseen, runner.pull_request_commit))
            .chain(match &job.work {
                PlannedWork::Steps(steps) => {
                    let asks = job.token.is_some() || !job.token_defaults.is_empty();
                    let of = (dialect.is_forge(), asks, runner.token_at_forge);
                    let mut notes = script_notes(steps, &job.permissions, of);
                    if runner.workspace == WorkspaceStart::Commit {
                        notes.extend(workspace_note(steps));
                    }
                    notes
                }
                PlannedWork::Call { .. } => Vec::new(),
            })
            .collect(),
        refused: !job.refusals.is_empty() || is_unservable(foreseen),
    }
}

/// What expressions see while nothing has happened yet.
fn example_contexts(workflow: &Workflow) -> Contexts {
    let event = EventContext {
        kind: EventKind::Push,
        action: None,
        reference: "refs/heads/main".to_owned(),
        sha: "0".repeat(40),
        repository: "owner/repository".to_owned(),
        actor: "someone".to_owned(),
        base_branch: None,
        head_branch: None,
        untrusted: false,
        changed_paths: None,
        message: None,
        inputs: Vec::new(),
        payload: ExprValue::object::<&str, ExprValue>([]),
    };
    let facts = RunFacts {
        run_id: "1".to_owned(),
        run_number: 1,
        run_attempt: 1,
        workflow: workflow.display_name().to_owned(),
        workflow_file: workflow.file.to_string(),
        ..RunFacts::default()
    };
    Contexts::default().with(ContextName::Github, github(&event, &facts, None))
}
