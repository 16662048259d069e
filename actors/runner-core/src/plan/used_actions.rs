//! What a step uses: a native action, one of the repository, one of the store of actions; composite
//! actions are written out.

use config_core::quoted;

use super::action_paths::{inside, join, local_folder, manifest};
use super::input::{PlanError, spend};
use super::native::{NativeAction, action_name, moving, native, sets_up, unknown_inputs};
use super::steps::{StepPlanner, asks_for_token, check_token};
use super::types::{
    ActionLocation, Composite, DeferredAction, NodeAction, PlanFinding, PlannedStep, StepKind,
    StoredLocation,
};
use crate::actions::ActionReference;
use crate::expr::ExprTemplate;
use crate::limits::{MAX_ACTION_DEPTH, MAX_STEPS};
use crate::source_location::SourceLocation;
use crate::workflow::{
    Action, ActionRuns, Need, Step, in_repository, parse_action, parse_stored_action,
};

/// A `uses` of a step.
#[derive(Clone, Copy)]
pub(super) struct StepUse<'a> {
    /// As written.
    pub(super) uses: &'a str,
    pub(super) place: SourceLocation,
    pub(super) with: &'a [(String, ExprTemplate)],
}

/// Why an action cannot be used: the job is refused.
pub(super) struct ActionRefusal {
    pub(super) need: Need,
    pub(super) reason: String,
    /// What to add to the store, where that is not what the file names.
    pub(super) locked: Option<String>,
}

impl ActionRefusal {
    pub(super) fn own(reason: &str) -> Self {
        Self {
            need: Need::OwnFiles,
            reason: reason.to_owned(),
            locked: None,
        }
    }

    pub(super) fn feature(reason: &str) -> Self {
        Self {
            need: Need::Feature,
            reason: reason.to_owned(),
            locked: None,
        }
    }
}

impl StepPlanner<'_> {
    pub(super) fn uses(
        &mut self,
        uses: &str,
        place: SourceLocation,
        with: &[(String, ExprTemplate)],
    ) -> Result<StepKind, PlanError> {
        let used = StepUse { uses, place, with };
        if uses.contains("${{") {
            let reason =
                "which action an expression names is not known before the run: write it out";
            return Ok(self.unusable(used, ActionRefusal::feature(reason)));
        }
        // `$/path` is the repository of the file itself, which may be an action's.
        let own = uses.strip_prefix("$/");
        if let (Some(path), Some(origin)) = (own, self.origin.clone()) {
            return self.stored(used, origin, path);
        }
        if let Some(path) = in_repository(uses) {
            return self.in_own_action(uses, |it| it.local(&format!("./{path}"), used));
        }
        if uses.starts_with("../") {
            return self.in_own_action(uses, |it| it.local(uses, used));
        }
        if let Some(image) = uses.strip_prefix("docker://") {
            return Ok(self.docker_step(used, image));
        }
        if !uses.contains('@') {
            let reason =
                "it names no version: Gitea and Forgejo run the file, and such a job fails";
            return Ok(self.unusable(used, ActionRefusal::own(reason)));
        }
        if let Some(why) = self.locked_out(uses) {
            return Ok(self.unusable(used, why));
        }
        let wants_original = self.input.actions.wants_original(action_name(uses));
        match self.native_use(used, wants_original) {
            Ok(action) => Ok(self.native_step(used, action)),
            Err(missing) => self.original(used, wants_original, missing),
        }
    }

    /// What the runner itself does for a `uses`; else what is missing for that, which is nothing
    /// where the original serves the step better.
    fn native_use(
        &self,
        used: StepUse<'_>,
        wants_original: bool,
    ) -> Result<NativeAction, Vec<(Need, String)>> {
        let StepUse { uses, with, .. } = used;
        let action = native(uses, with)?;
        if wants_original {
            let reason = "the operator wants its original".to_owned();
            return Err(vec![(Need::Action(action_name(uses).to_owned()), reason)]);
        }
        // The original fetches what is newest, and an input that is not known here may be one of
        // its own; where the operator has it.
        let prefers_original = moving(action, uses, with).is_some()
            || sets_up(uses) && !unknown_inputs(uses, with).is_empty();
        match prefers_original && self.is_stored(uses) {
            true => Err(Vec::new()),
            false => Ok(action),
        }
    }

    /// The action itself, of the store of actions, where it does what is missing here.
    fn original(
        &mut self,
        used: StepUse<'_>,
        wants_original: bool,
        missing: Vec<(Need, String)>,
    ) -> Result<StepKind, PlanError> {
        let uses = used.uses;
        // A tool that is not set up here as the file wants it: the original does, when it is there.
        let is_setup = wants_original || sets_up(uses);
        let elsewhere = matches!(missing[..], [(Need::Action(_), _)]);
        let reference = uses.parse::<ActionReference>();
        let found = match &reference {
            Ok(reference) if is_setup || elsewhere => Some(self.find(reference)),
            _ => None,
        };
        match (found, reference) {
            (Some(Ok(locked)), Ok(reference)) => {
                self.add_lock_note(used, &reference);
                let origin = StoredLocation::new(&reference, locked);
                self.stored(used, origin, reference.path())
            }
            (Some(Err(reason)), Ok(reference)) if elsewhere || wants_original => {
                let (need, _) = missing.into_iter().next().unwrap_or_default();
                let why = self.absent(&reference, need, reason);
                Ok(self.unusable(used, why))
            }
            (found, _) => {
                let absent = found.and_then(Result::err);
                Ok(self.refuse_missing(used, missing, absent.as_deref()))
            }
        }
    }

    /// A step whose job is refused for each thing that is missing; `absent`: why the original does
    /// not do it either.
    fn refuse_missing(
        &mut self,
        used: StepUse<'_>,
        missing: Vec<(Need, String)>,
        absent: Option<&str>,
    ) -> StepKind {
        for (need, mut reason) in missing {
            if let Some(absent) = absent {
                reason += "; the original would do it, but ";
                reason += absent;
            }
            self.refuse_for(need, &format!("uses: {}", used.uses), &reason, used.place);
        }
        StepKind::Refused {
            uses: used.uses.to_owned(),
        }
    }

    /// The step's job is refused.
    pub(super) fn unusable(&mut self, used: StepUse<'_>, why: ActionRefusal) -> StepKind {
        let feature = format!("uses: {}", used.uses);
        if self.runs == Some(false) && matches!(why.need, Need::Action(_)) {
            let reason =
                "its step is left out on every machine here, so it need not be in the store";
            let note = format!("{feature}: {reason}; nor is a `pre` of it run");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
            return StepKind::Refused {
                uses: used.uses.to_owned(),
            };
        }
        self.refuse_for(why.need, &feature, &why.reason, used.place);
        if let Some(refusal) = self.refusals.last_mut() {
            refusal.locked = why.locked;
        }
        StepKind::Refused {
            uses: used.uses.to_owned(),
        }
    }

    /// An action that the commit does not have, and a step before it may put into the workspace.
    fn deferred(&mut self, used: StepUse<'_>) -> StepKind {
        for (_, value) in used.with {
            check_token(value, &self.file, self.refusals);
        }
        let note = format!(
            "{}: the commit has no such action; it is looked for in the workspace when its step runs",
            used.uses
        );
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        StepKind::Deferred(Box::new(self.deferred_action(used)))
    }

    pub(super) fn deferred_action(&self, used: StepUse<'_>) -> DeferredAction {
        DeferredAction {
            uses: used.uses.to_owned(),
            file: self.file.clone(),
            dialect: self.dialect,
            place: used.place,
            with: used.with.to_vec(),
            depth: self.depth,
            locked: self.locked.clone(),
            original: false,
        }
    }

    /// An action of the repository.
    fn local(&mut self, uses: &str, used: StepUse<'_>) -> Result<StepKind, PlanError> {
        let used = StepUse { uses, ..used };
        let Some(directory) = local_folder(uses) else {
            let why = ActionRefusal::own(
                "an action lies inside the repository, or in a folder beside the checkout",
            );
            return Ok(self.unusable(used, why));
        };
        if let Some(why) = self.too_deep() {
            return Ok(self.unusable(used, why));
        }
        if directory.starts_with("../") && !self.is_of_machine {
            if self.workspace_changes {
                return Ok(self.deferred(used));
            }
            let why = ActionRefusal::own("no step before it puts a folder beside the checkout");
            return Ok(self.unusable(used, why));
        }
        let files = self.input.files;
        let Some((path, bytes)) = manifest(&directory, |path| files(path)) else {
            if let Some(bytes) = files(&join(&directory, "Dockerfile")) {
                let location = ActionLocation::Workspace;
                return Ok(self.bare_dockerfile(used, location, directory, &bytes));
            }
            if self.workspace_changes {
                return Ok(self.deferred(used));
            }
            let why = ActionRefusal::own("there is no action.yml in that folder of the commit");
            return Ok(self.unusable(used, why));
        };
        if let Some(why) = self.too_large(&bytes) {
            return Ok(self.unusable(used, why));
        }
        let action = parse_action(&path, &bytes, self.dialect)
            .map_err(PlanError::File)?
            .value;
        self.action(used, action, ActionLocation::Workspace, directory)
    }

    /// An action of another repository, with what its name is locked to.
    fn stored(
        &mut self,
        used: StepUse<'_>,
        origin: StoredLocation,
        path: &str,
    ) -> Result<StepKind, PlanError> {
        let Some(directory) = inside(path) else {
            let why = ActionRefusal::own("an action lies inside its repository");
            return Ok(self.unusable(used, why));
        };
        if let Some(why) = self.too_deep() {
            return Ok(self.unusable(used, why));
        }
        let actions = self.input.actions;
        let read = |path: &str| actions.read(&origin.locked, path);
        let Some((path, bytes)) = manifest(&directory, read) else {
            // A Dockerfile alone is an action, as on GitHub.
            if let Some(bytes) = read(&join(&directory, "Dockerfile")) {
                let location = ActionLocation::Stored(Box::new(origin));
                return Ok(self.bare_dockerfile(used, location, directory, &bytes));
            }
            let why = ActionRefusal::feature(&format!(
                "{}@{} has no action.yml in that folder",
                origin.repository, origin.reference
            ));
            return Ok(self.unusable(used, why));
        };
        if let Some(why) = self.too_large(&bytes) {
            return Ok(self.unusable(used, why));
        }
        let file = format!("{}@{}/{path}", origin.repository, origin.reference);
        let action = match parse_stored_action(&file, &bytes, self.dialect) {
            Ok(action) => action.value,
            Err(wrong) => {
                let wrong = wrong.to_string();
                let first = wrong.lines().next().unwrap_or_default();
                let why = ActionRefusal::feature(&format!("its file is wrong: {first}"));
                return Ok(self.unusable(used, why));
            }
        };
        let location = ActionLocation::Stored(Box::new(origin));
        self.action(used, action, location, directory)
    }

    /// What an action does, of whichever repository it is.
    fn action(
        &mut self,
        used: StepUse<'_>,
        action: Action,
        location: ActionLocation,
        directory: String,
    ) -> Result<StepKind, PlanError> {
        for (_, value) in used.with {
            check_token(value, &self.file, self.refusals);
        }
        self.check_inputs(used, &action);
        self.find_unknown_inputs(used, &action);
        // Programs set outputs that they do not declare (`actions/github-script`, filters of
        // paths).
        let is_composite = matches!(action.runs, ActionRuns::Composite(_));
        self.declared = is_composite.then(|| action.declared_outputs.clone());
        let own = location == ActionLocation::Workspace;
        let again = own.then(|| Box::new(self.deferred_action(used)));
        let mut inputs = inputs(&action, used.with);
        match action.runs {
            ActionRuns::Docker(runs) => {
                inputs.extend(undeclared(&action.inputs, used.with));
                Ok(self.docker_action(used, *runs, location, directory, inputs))
            }
            ActionRuns::Other(using) => {
                let reason = format!("it runs with {}, which nothing here does", quoted(&using));
                Ok(self.unusable(used, ActionRefusal::feature(&reason)))
            }
            ActionRuns::Node(runs) => {
                if own && runs.pre.is_some() {
                    self.notes.push(format!(
                        "{}: `pre` of an action of the repository itself is not run, as on GitHub",
                        used.uses
                    ));
                }
                inputs.extend(undeclared(&action.inputs, used.with));
                Ok(StepKind::Node(Box::new(NodeAction {
                    uses: used.uses.to_owned(),
                    again,
                    location,
                    directory,
                    slot: self.first_slot + self.count,
                    runs,
                    inputs,
                })))
            }
            ActionRuns::Composite(steps) => {
                let steps = self.composite_steps(&steps, &action.file, location.stored())?;
                Ok(StepKind::Composite(Box::new(Composite {
                    uses: used.uses.to_owned(),
                    again,
                    location,
                    directory,
                    inputs,
                    steps,
                    outputs: action.outputs,
                })))
            }
        }
    }

    /// The steps of a composite action, planned as those of its own file and repository.
    fn composite_steps(
        &mut self,
        steps: &[Step],
        file: &str,
        origin: Option<&StoredLocation>,
    ) -> Result<Vec<PlannedStep>, PlanError> {
        let outer_file = std::mem::replace(&mut self.file, file.to_string());
        let outer = std::mem::replace(&mut self.origin, origin.cloned());
        self.depth += 1;
        let declared = self.declared.take();
        let steps = self.plan(steps);
        self.declared = declared;
        self.depth -= 1;
        (self.file, self.origin) = (outer_file, outer);
        steps
    }

    /// Required inputs that nobody gives, and defaults that would be the forge's token.
    fn check_inputs(&mut self, used: StepUse<'_>, action: &Action) {
        for input in &action.inputs {
            if find_input(used.with, &input.name).is_some() {
                continue;
            }
            let name = quoted(&input.name);
            match &input.default {
                Some(default) if asks_for_token(default) => self.token_defaults.push(format!(
                    "{}: the default of its input {name} is the forge's token: where the runner has none to give it is empty",
                    used.uses
                )),
                None if input.required => self.notes.push(format!(
                    "{}: its required input {name} is not given",
                    used.uses
                )),
                _ => {}
            }
        }
    }

    /// Inputs that the action does not declare, or asks not to be given any more.
    fn find_unknown_inputs(&mut self, used: StepUse<'_>, action: &Action) {
        let is_container = matches!(&action.runs, ActionRuns::Docker(_) | ActionRuns::Other(_));
        for (name, value) in used.with {
            let mut inputs = action.inputs.iter();
            let input = inputs.find(|input| input.name.eq_ignore_ascii_case(name));
            let (message, help) = match input {
                Some(input) => match &input.description {
                    Some(text) => (
                        format!("the input {} of {} is deprecated", quoted(name), used.uses),
                        text.clone(),
                    ),
                    None => continue,
                },
                // Of containers only.
                None if is_container && ["args", "entrypoint"].contains(&name.as_str()) => continue,
                None => (
                    format!("{} has no input {}", used.uses, quoted(name)),
                    list_names(action.inputs.iter().map(|input| input.name.as_str())),
                ),
            };
            self.findings.push(PlanFinding {
                file: self.file.clone(),
                place: value.place,
                message,
                help,
            });
        }
    }

    fn too_deep(&self) -> Option<ActionRefusal> {
        let deep = self.depth >= MAX_ACTION_DEPTH || self.count > MAX_STEPS;
        deep.then(|| ActionRefusal::feature("actions use each other too deep"))
    }

    fn too_large(&self, bytes: &[u8]) -> Option<ActionRefusal> {
        let fits = spend(self.budget, bytes.len());
        (!fits)
            .then(|| ActionRefusal::feature("the files the workflow uses are too large together"))
    }
}

/// What there is, not too much of it.
fn list_names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.take(20).collect();
    match names.as_slice() {
        [] => "it has none".to_owned(),
        names => format!("there are: {}", names.join(", ")),
    }
}

/// The declared inputs: what was given, else the default.
fn inputs(action: &Action, with: &[(String, ExprTemplate)]) -> Vec<(String, Option<ExprTemplate>)> {
    let inputs = action.inputs.iter().map(|input| {
        let value = find_input(with, &input.name).or(input.default.as_ref());
        (input.name.clone(), value.cloned())
    });
    inputs.collect()
}

/// What was given and is not declared: a program gets it all the same.
pub(super) fn undeclared<'a>(
    declared: &'a [crate::workflow::InputSpec],
    with: &'a [(String, ExprTemplate)],
) -> impl Iterator<Item = (String, Option<ExprTemplate>)> + 'a {
    let unknown = with.iter().filter(|(name, _)| {
        let mut declared = declared.iter();
        !declared.any(|input| input.name.eq_ignore_ascii_case(name))
    });
    unknown.map(|(name, value)| (name.clone(), Some(value.clone())))
}

fn find_input<'a>(with: &'a [(String, ExprTemplate)], name: &str) -> Option<&'a ExprTemplate> {
    let mut with = with.iter();
    with.find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}
