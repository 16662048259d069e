//! The steps of a job to those of a plan; the actions that they use are planned beside.

use std::cell::Cell;

use super::input::{PlanError, PlanInput};
use super::known_outputs::KnownOutputs;
use super::likely::KnownValues;
use super::locked_uses::LockedUses;
use super::native::{NativeAction, PlannedSetup, action_name};
use super::types::{PlanFinding, PlannedStep, StepKind, StoredLocation};
use crate::expr::{ContextName, Expr, ExprTemplate, ExprValue};
use crate::limits::MAX_STEPS;
use crate::shell;
use crate::source_location::{Located, SourceLocation};
use crate::workflow::{Dialect, Env, FeatureRefusal, Need, Step, StepWork, WaitFor};

/// Plans the steps of one job.
pub(super) struct StepPlanner<'a> {
    pub(super) input: PlanInput<'a>,
    pub(super) budget: &'a Cell<usize>,
    pub(super) file: String,
    /// Whose grammar the workflow has.
    pub(super) dialect: Dialect,
    pub(super) refusals: &'a mut Vec<FeatureRefusal>,
    pub(super) count: usize,
    pub(super) depth: usize,
    /// The action whose steps are planned, when it is of another repository.
    pub(super) origin: Option<StoredLocation>,
    /// What the lock file of the workflow says of what it uses.
    pub(super) locked: LockedUses,
    pub(super) notes: Vec<String>,
    /// Releases of tools that steps want.
    pub(super) setups: Vec<PlannedSetup>,
    pub(super) findings: Vec<PlanFinding>,
    /// Outputs of the steps of the job that are actions: by the step's id.
    pub(super) outputs: KnownOutputs,
    /// Those of the action that was planned last.
    pub(super) declared: Option<Vec<String>>,
    /// The comment behind the `uses` that is planned.
    pub(super) comment: Option<String>,
    pub(super) token_defaults: Vec<String>,
    /// Whether a step before may have put files into the workspace that the commit does not have.
    pub(super) workspace_changes: bool,
    /// Whether its files are those of the machine, as a step finds them.
    pub(super) is_of_machine: bool,
    /// What the numbers of actions begin with: unique in the job.
    pub(super) first_slot: usize,
    /// What conditions of its steps are decided by.
    pub(super) known: KnownValues,
    /// Whether the steps around the one that is planned surely run, surely do not, or may.
    pub(super) runs: Option<bool>,
}

impl<'a> StepPlanner<'a> {
    pub(super) fn new(
        input: PlanInput<'a>,
        budget: &'a Cell<usize>,
        file: &str,
        refusals: &'a mut Vec<FeatureRefusal>,
    ) -> Self {
        Self {
            input,
            budget,
            file: file.to_owned(),
            dialect: Dialect::of_file(file),
            refusals,
            count: 0,
            depth: 0,
            origin: None,
            locked: LockedUses::Open,
            notes: Vec::new(),
            setups: Vec::new(),
            findings: Vec::new(),
            outputs: KnownOutputs::default(),
            declared: None,
            comment: None,
            token_defaults: Vec::new(),
            workspace_changes: false,
            is_of_machine: false,
            first_slot: 0,
            known: KnownValues::default(),
            runs: Some(true),
        }
    }

    pub(super) fn plan(&mut self, steps: &[Step]) -> Result<Vec<PlannedStep>, PlanError> {
        let planned = steps.iter().enumerate();
        planned
            .map(|(index, step)| self.step(step, &steps[..index]))
            .collect()
    }

    pub(super) fn refuse(&mut self, feature: &str, reason: &str, place: SourceLocation) {
        self.refuse_for(Need::Feature, feature, reason, place);
    }

    pub(super) fn refuse_for(
        &mut self,
        need: Need,
        feature: &str,
        reason: &str,
        place: SourceLocation,
    ) {
        self.refusals
            .push(FeatureRefusal::new(feature, reason, &self.file, place).needing(need));
    }

    /// `before` are the steps that stand before it.
    fn step(&mut self, step: &Step, before: &[Step]) -> Result<PlannedStep, PlanError> {
        self.count += 1;
        if self.count == MAX_STEPS {
            self.refuse(
                "steps",
                &format!("a job has at most {MAX_STEPS} steps, actions written out"),
                step.place,
            );
        }
        if let Env::Map(entries) = &step.env {
            for (_, value) in entries {
                check_token(value, &self.file, self.refusals);
            }
        }
        let around = self.runs;
        self.runs = match (around, self.known.holds(step.condition.as_ref())) {
            (Some(true), own) => own,
            (_, Some(false)) => Some(false),
            (around, _) => around,
        };
        let work = match &step.work {
            StepWork::Run {
                script,
                shell,
                working_directory,
            } => {
                check_token(script, &self.file, self.refusals);
                self.check_shell(shell.as_ref());
                StepKind::Run {
                    script: script.clone(),
                    shell: shell.clone(),
                    working_directory: working_directory.clone(),
                }
            }
            StepWork::Uses {
                uses,
                comment,
                with,
            } => {
                self.declared = None;
                self.comment.clone_from(comment);
                let work = self.uses(&uses.value, uses.place, with)?;
                if let (0, Some(id), Some(outputs)) = (self.depth, &step.id, self.declared.take()) {
                    self.outputs.add(id, &uses.value, outputs);
                }
                work
            }
            StepWork::Wait(WaitFor::All) => StepKind::WaitAll,
            StepWork::Wait(WaitFor::Group(count)) => {
                StepKind::Wait((before.len().saturating_sub(*count)..before.len()).collect())
            }
            StepWork::Wait(WaitFor::Steps(ids)) => {
                StepKind::Wait(ids.iter().filter_map(|id| place(before, id)).collect())
            }
            StepWork::Cancel(id) => match place(before, id) {
                Some(place) => StepKind::Cancel(place),
                // Read as a mistake of the file.
                None => StepKind::Wait(Vec::new()),
            },
        };
        self.runs = around;
        self.workspace_changes |= changes_workspace(&work);
        Ok(PlannedStep {
            id: step.id.clone(),
            action_name: action_name_of(step, before),
            name: step.name.clone(),
            place: step.place,
            condition: step.condition.clone(),
            env: step.env.clone(),
            continue_on_error: step.continue_on_error.clone(),
            timeout_minutes: step.timeout_minutes.clone(),
            background: step.background,
            work,
        })
    }

    fn check_shell(&mut self, shell: Option<&ExprTemplate>) {
        let fixed = shell.and_then(|shell| Some((shell.fixed()?, shell.place)));
        if let Some((value, place)) = fixed
            && let Err(error) = shell::check(&value.as_text(), self.dialect.is_forge())
        {
            match self.runs {
                Some(true) => self.refuse("shell", &error.to_string(), place),
                // As elsewhere: a step that is left out needs no shell.
                Some(false) => {}
                None => {
                    let note = format!("{error}: a step fails by that where its `if` holds");
                    if !self.notes.contains(&note) {
                        self.notes.push(note);
                    }
                }
            }
        }
    }
}

/// What `github.action` is in a step: its id, else a name made of its work and its number.
fn action_name_of(step: &Step, before: &[Step]) -> String {
    if let Some(id) = &step.id {
        return id.clone();
    }
    let own = made_name(&step.work);
    let same = before.iter().filter(|other| other.id.is_none());
    match same.filter(|other| made_name(&other.work) == own).count() {
        0 => own,
        count => format!("{own}_{}", count + 1),
    }
}

/// What stands for an id, without a number.
fn made_name(work: &StepWork) -> String {
    match work {
        StepWork::Run { .. } => "__run".to_owned(),
        StepWork::Uses { uses, .. } if uses.value.starts_with("docker://") => {
            let image = uses.value.trim_start_matches("docker://");
            format!("__{}", plain_word(image))
        }
        StepWork::Uses { uses, .. } if uses.value.starts_with(['.', '$']) => "__self".to_owned(),
        StepWork::Uses { uses, .. } => format!("__{}", plain_word(action_name(&uses.value))),
        StepWork::Wait(_) | StepWork::Cancel(_) => "__wait".to_owned(),
    }
}

fn plain_word(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    text.chars().map(plain).collect()
}

/// Where a step with this id stands among those of the job.
fn place(before: &[Step], id: &Located<String>) -> Option<usize> {
    let has = |step: &Step| {
        let known = step.id.as_ref();
        known.is_some_and(|known| known.eq_ignore_ascii_case(&id.value))
    };
    before.iter().position(has)
}

/// Whether a step may leave files that the event's commit does not have.
fn changes_workspace(work: &StepKind) -> bool {
    match work {
        StepKind::Native { action, with, .. } => match action {
            NativeAction::Checkout => with.iter().any(|(name, _)| {
                let names = ["repository", "ref", "path", "submodules"];
                names.iter().any(|known| name.eq_ignore_ascii_case(known))
            }),
            NativeAction::Cache | NativeAction::CacheRestore | NativeAction::DownloadArtifact => {
                true
            }
            NativeAction::CacheSave | NativeAction::UploadArtifact | NativeAction::Setup(_) => {
                false
            }
        },
        StepKind::Wait(_) | StepKind::WaitAll | StepKind::Cancel(_) => false,
        // Also one that is refused: what it would do is not known.
        _ => true,
    }
}

/// A script that asks for the forge's token would get an empty one where there is none: its job is
/// refused there.
pub(super) fn check_token(template: &ExprTemplate, file: &str, refusals: &mut Vec<FeatureRefusal>) {
    let asks = asks_for_token(template);
    let known = refusals.iter().any(|refusal| refusal.feature == TOKEN);
    if asks && !known {
        let reason = "this runner gives jobs no token of the forge: it needs FORGE_TOKEN and the services of jobs (`exec`: `--secret GITHUB_TOKEN`)";
        let refusal = FeatureRefusal::new(TOKEN, reason, file, template.place);
        refusals.push(refusal.needing(Need::ForgeToken));
    }
}

/// Whether a text holds the forge's token.
pub(super) fn asks_for_token(template: &ExprTemplate) -> bool {
    template.expressions().any(|expr| {
        let mut asks = false;
        expr.walk(&mut |expr| asks |= is_token(expr));
        asks
    })
}

const TOKEN: &str = "GITHUB_TOKEN";

fn is_token(expr: &Expr) -> bool {
    let Expr::Index(of, by) = expr else {
        return false;
    };
    let Expr::Literal(ExprValue::Text(name)) = &**by else {
        return false;
    };
    match &**of {
        Expr::Context(ContextName::Secrets) => [
            "GITHUB_TOKEN",
            "FORGEJO_TOKEN",
            "GITEA_TOKEN",
            "FORGE_TOKEN",
        ]
        .iter()
        .any(|token| name.eq_ignore_ascii_case(token)),
        Expr::Context(ContextName::Github) => name.eq_ignore_ascii_case("token"),
        _ => false,
    }
}
