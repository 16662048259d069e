//! The steps of a job to those of a plan: native actions found, composite actions written out.

use std::cell::Cell;

use super::input::{Files, PlanError, spend};
use super::native::native;
use super::types::{Composite, PlannedStep, StepKind};
use crate::expr::{Context, Expr, Template, Value};
use crate::limits::{MAX_ACTION_DEPTH, MAX_STEPS};
use crate::shell;
use crate::source_location::SourceLocation;
use crate::workflow::{
    ActionRuns, Env, Need, Refusal, Step, StepWork, in_repository, parse_action,
};

/// Why steps in the background and beside each other are refused.
const ONE_AFTER_THE_OTHER: &str =
    "the steps of a job run one after the other; make it a job of its own, or use `&` in a script";

/// Plans the steps of one job.
pub(super) struct StepPlanner<'a> {
    files: Files<'a>,
    budget: &'a Cell<usize>,
    file: String,
    refusals: &'a mut Vec<Refusal>,
    count: usize,
    depth: usize,
}

impl<'a> StepPlanner<'a> {
    pub(super) fn new(
        files: Files<'a>,
        budget: &'a Cell<usize>,
        file: &str,
        refusals: &'a mut Vec<Refusal>,
    ) -> Self {
        Self {
            files,
            budget,
            file: file.to_owned(),
            refusals,
            count: 0,
            depth: 0,
        }
    }

    pub(super) fn plan(&mut self, steps: &[Step]) -> Result<Vec<PlannedStep>, PlanError> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn refuse(&mut self, feature: &str, reason: &str, place: SourceLocation) {
        self.refuse_for(Need::Feature, feature, reason, place);
    }

    fn refuse_for(&mut self, need: Need, feature: &str, reason: &str, place: SourceLocation) {
        self.refusals
            .push(Refusal::new(feature, reason, &self.file, place).needing(need));
    }

    fn step(&mut self, step: &Step) -> Result<PlannedStep, PlanError> {
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
        for key in &step.refused {
            self.refuse(&key.value, ONE_AFTER_THE_OTHER, key.place);
        }
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
            StepWork::Uses { uses, with } => self.uses(&uses.value, uses.place, with)?,
            StepWork::Background(key) => {
                self.refuse(&key.value, ONE_AFTER_THE_OTHER, key.place);
                StepKind::Refused {
                    uses: key.value.clone(),
                }
            }
        };
        Ok(PlannedStep {
            id: step.id.clone(),
            name: step.name.clone(),
            place: step.place,
            condition: step.condition.clone(),
            env: step.env.clone(),
            continue_on_error: step.continue_on_error.clone(),
            timeout_minutes: step.timeout_minutes.clone(),
            work,
        })
    }

    fn check_shell(&mut self, shell: Option<&Template>) {
        let fixed = shell.and_then(|shell| Some((shell.fixed()?, shell.place)));
        if let Some((value, place)) = fixed
            && let Err(error) = shell::resolve(Some(&value.as_text()))
        {
            self.refuse("shell", &error.to_string(), place);
        }
    }

    fn uses(
        &mut self,
        uses: &str,
        place: SourceLocation,
        with: &[(String, Template)],
    ) -> Result<StepKind, PlanError> {
        if let Some(path) = in_repository(uses) {
            return self.local(&format!("./{path}"), place, with);
        }
        if uses.starts_with("../") {
            return self.local(uses, place, with);
        }
        match native(uses, with) {
            Ok(action) => Ok(StepKind::Native {
                action,
                uses: uses.to_owned(),
                with: with.to_vec(),
            }),
            Err(missing) => {
                for (need, reason) in missing {
                    self.refuse_for(need, &format!("uses: {uses}"), &reason, place);
                }
                Ok(StepKind::Refused {
                    uses: uses.to_owned(),
                })
            }
        }
    }

    /// An action of the repository.
    fn local(
        &mut self,
        uses: &str,
        place: SourceLocation,
        with: &[(String, Template)],
    ) -> Result<StepKind, PlanError> {
        let refused = StepKind::Refused {
            uses: uses.to_owned(),
        };
        let feature = format!("uses: {uses}");
        let Some(directory) = inside(uses) else {
            let reason = "an action lies inside the repository";
            self.refuse_for(Need::OwnFiles, &feature, reason, place);
            return Ok(refused);
        };
        if self.depth >= MAX_ACTION_DEPTH || self.count > MAX_STEPS {
            self.refuse(&feature, "actions use each other too deep", place);
            return Ok(refused);
        }
        let paths = ["action.yml", "action.yaml"].map(|name| join(&directory, name));
        let found = paths
            .iter()
            .find_map(|path| Some((path, (self.files)(path)?)));
        let Some((path, bytes)) = found else {
            let reason = "there is no action.yml in that folder of the commit";
            self.refuse_for(Need::OwnFiles, &feature, reason, place);
            return Ok(refused);
        };
        if !spend(self.budget, bytes.len()) {
            self.refuse(
                &feature,
                "the files the workflow uses are too large together",
                place,
            );
            return Ok(refused);
        }
        for (_, value) in with {
            check_token(value, &self.file, self.refusals);
        }
        let action = parse_action(path, &bytes).map_err(PlanError::File)?.value;
        let steps = match &action.runs {
            ActionRuns::Composite(steps) => steps,
            ActionRuns::Other(using) => {
                let reason = format!(
                    "it runs with {}, only composite actions are run",
                    config_core::quoted(using)
                );
                self.refuse(&feature, &reason, place);
                return Ok(refused);
            }
        };
        let given = |name: &str| with.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        let inputs = action.inputs.iter().map(|input| {
            let value = given(&input.name)
                .map(|(_, value)| value.clone())
                .or_else(|| input.default.clone());
            (input.name.clone(), value)
        });
        let inputs: Vec<_> = inputs.collect();
        let outer = std::mem::replace(&mut self.file, path.clone());
        self.depth += 1;
        let steps = self.plan(steps);
        self.depth -= 1;
        self.file = outer;
        Ok(StepKind::Composite(Box::new(Composite {
            uses: uses.to_owned(),
            directory,
            inputs,
            steps: steps?,
            outputs: action.outputs,
        })))
    }
}

/// The path inside the repository of `./a/../b`; nothing when it leads out.
fn inside(uses: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in uses.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}

/// A script that asks for the forge's token would get an empty one: its job is refused instead.
pub(super) fn check_token(template: &Template, file: &str, refusals: &mut Vec<Refusal>) {
    let asks = template.expressions().any(|expr| {
        let mut asks = false;
        expr.walk(&mut |expr| asks |= is_token(expr));
        asks
    });
    let known = refusals.iter().any(|refusal| refusal.feature == TOKEN);
    if asks && !known {
        let reason = "no token of the forge is given to a job";
        let refusal = Refusal::new(TOKEN, reason, file, template.place);
        refusals.push(refusal.needing(Need::ForgeToken));
    }
}

const TOKEN: &str = "GITHUB_TOKEN";

fn is_token(expr: &Expr) -> bool {
    let Expr::Index(of, by) = expr else {
        return false;
    };
    let Expr::Literal(Value::Text(name)) = &**by else {
        return false;
    };
    match &**of {
        Expr::Context(Context::Secrets) => [
            "GITHUB_TOKEN",
            "FORGEJO_TOKEN",
            "GITEA_TOKEN",
            "FORGE_TOKEN",
        ]
        .iter()
        .any(|token| name.eq_ignore_ascii_case(token)),
        Expr::Context(Context::Github) => name.eq_ignore_ascii_case("token"),
        _ => false,
    }
}
