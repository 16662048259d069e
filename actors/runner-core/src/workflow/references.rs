//! References to what cannot be there: GitHub takes them, and gives nothing for them.
//!
//! They are warnings, therefore; what is missing because it could not be read itself is not said
//! again.

use std::cell::Cell;

use config_core::quoted;

use super::background::is_awaited;
use super::context_properties;
use super::reader::WorkflowReader;
use super::sites::{ExpressionSite, SiteVisitor};
use super::types::{Job, JobWork, Step, StepWork, Workflow};
use crate::event_kind::FOLLOWED_RUN;
use crate::expr::{Chain, ContextName, Data};

/// A name that is not there.
struct MissingName {
    /// Which name of the chain.
    index: usize,
    message: String,
    help: String,
}

/// Warns of every reference to what is not there.
pub(super) fn check(reader: &WorkflowReader<'_>, workflow: &Workflow) {
    let file = File {
        reader,
        workflow,
        looks: Cell::new(MAX_LOOKUPS),
    };
    SiteVisitor::workflow(reader, workflow, &mut |site| {
        if reader.is_full() || reader.is_wrong(site.place) {
            return;
        }
        for (nth, expr) in site.expressions.iter().enumerate() {
            expr.chains(&mut |chain| {
                if reader.is_full() {
                    return;
                }
                if let Some(missing) = file.missing(site, chain) {
                    let place =
                        reader.chain_place(site.place, site.source, nth, chain, missing.index);
                    reader.warn(place, missing.message, missing.help);
                }
            });
        }
    });
}

/// How many names are looked at for one file; a file with more is not one that people wrote.
const MAX_LOOKUPS: usize = 2_000_000;
/// Among how many names one that was meant is looked for.
const MAX_SUGGESTIONS: usize = 500;

struct File<'f, 'a> {
    reader: &'f WorkflowReader<'a>,
    workflow: &'f Workflow,
    looks: Cell<usize>,
}

impl File<'_, '_> {
    fn missing(&self, site: &ExpressionSite<'_>, chain: &Chain<'_>) -> Option<MissingName> {
        let name = chain.name(0)?;
        match chain.context {
            ContextName::Needs => self.need(site.job?, chain, name),
            ContextName::Jobs => self.job(chain, name),
            ContextName::Steps => self.step(site, chain, name),
            ContextName::Matrix => self
                .row(site.job?, name)
                .or_else(|| self.inner_key(site.job?, chain, name)),
            ContextName::Job
                if ["container", "services"].contains(&&*name.to_ascii_lowercase()) =>
            {
                self.of_job(chain, name)
            }
            ContextName::Inputs => self.input(0, name),
            ContextName::Github if name.eq_ignore_ascii_case("event") => self.event(chain),
            ContextName::Secrets => self.secret(name),
            // GitHub's own, of a check run that other forges do not have.
            ContextName::Job if name.eq_ignore_ascii_case("check_run_id") => Some(MissingName {
                index: 0,
                message: "`job.check_run_id` is empty here".to_owned(),
                help: "jobs have commit statuses, no check runs".to_owned(),
            }),
            ContextName::Github if name.to_ascii_lowercase().starts_with("artifacts") => {
                let known = ["artifacts", "artifacts_list"];
                let of_list = || {
                    let what = "the context `github`";
                    let all = context_properties::properties(ContextName::Github)?;
                    self.among(0, what, "property", name, all.iter().copied())
                };
                match known.iter().any(|known| name.eq_ignore_ascii_case(known)) {
                    true => Some(MissingName {
                        index: 0,
                        message: format!("`github.{name}` is a file that nothing reads here"),
                        help: "what is declared in it is not kept".to_owned(),
                    }),
                    false => of_list(),
                }
            }
            ContextName::Github if name.eq_ignore_ascii_case("ref_protected") => {
                Some(MissingName {
                    index: 0,
                    message: "`github.ref_protected` is always false here".to_owned(),
                    help: "which branches are protected is not asked of the forge".to_owned(),
                })
            }
            ContextName::Env | ContextName::Vars => None,
            context => {
                let known = context_properties::properties(context)?;
                let what = format!("the context `{}`", context.name());
                self.among(0, &what, "property", name, known.iter().copied())
            }
        }
    }

    /// Nothing when `name` is among `known`.
    fn among<'k>(
        &self,
        index: usize,
        what: &str,
        kind: &str,
        name: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Option<MissingName> {
        let known: Vec<&str> = known.into_iter().take(self.looks.get()).collect();
        self.looks
            .set(self.looks.get().saturating_sub(known.len() + 1));
        if self.looks.get() == 0 || known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return None;
        }
        let near = known.iter().copied().take(MAX_SUGGESTIONS);
        let help = match self.reader.closest_name(name, near) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "it is always empty".to_owned(),
            None => format!("there are: {}", list_names(&known)),
        };
        let message = format!("{what} has no {kind} {}", quoted(name));
        Some(MissingName {
            index,
            message,
            help,
        })
    }

    fn need(&self, job: &Job, chain: &Chain<'_>, name: &str) -> Option<MissingName> {
        let mut needs = job.needs.iter().map(|need| need.value.as_str());
        if !needs.clone().any(|need| need.eq_ignore_ascii_case(name)) {
            let message = format!("{} does not need {}", quoted(&job.id), quoted(name));
            let help = match self.reader.closest_name(name, needs.by_ref()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "add it to `needs` of this job; without that it is always empty".to_owned(),
            };
            return Some(MissingName {
                index: 0,
                message,
                help,
            });
        }
        self.find_in_ended_job(chain, name)
    }

    fn job(&self, chain: &Chain<'_>, name: &str) -> Option<MissingName> {
        if self.reader.is_lost("jobs") {
            return None;
        }
        let jobs = self.workflow.jobs.iter().map(|job| job.id.as_str());
        self.among(0, "the workflow", "job", name, jobs)
            .or_else(|| self.find_in_ended_job(chain, name))
    }

    /// What is asked of a job that has ended.
    fn find_in_ended_job(&self, chain: &Chain<'_>, name: &str) -> Option<MissingName> {
        let asked = chain.name(1)?;
        let what = format!("the job {}", quoted(name));
        let wrong = self.among(
            1,
            &what,
            "property",
            asked,
            context_properties::ENDED_JOB.iter().copied(),
        );
        if wrong.is_some() || !asked.eq_ignore_ascii_case("outputs") {
            return wrong;
        }
        let jobs = &self.workflow.jobs;
        let job = jobs.iter().find(|job| job.id.eq_ignore_ascii_case(name))?;
        if matches!(job.work, JobWork::Call { .. }) || self.reader.is_lost(&format!("jobs.{name}"))
        {
            return None;
        }
        let outputs = job.outputs.iter().map(|(name, _)| name.as_str());
        self.among(2, &what, "output", chain.name(2)?, outputs)
    }

    fn step(
        &self,
        site: &ExpressionSite<'_>,
        chain: &Chain<'_>,
        name: &str,
    ) -> Option<MissingName> {
        let job = site.job?;
        let has = |step: &Step| {
            step.id
                .as_ref()
                .is_some_and(|id| id.eq_ignore_ascii_case(name))
        };
        let Some(place) = site.before.iter().position(has) else {
            if self.reader.is_lost(&format!("jobs.{}.steps", job.id)) {
                return None;
            }
            return Some(self.no_step(site, job, name));
        };
        let step = &site.before[place];
        if step.background && !is_awaited(site.before, place) {
            return Some(MissingName {
                index: 0,
                message: format!("nothing has waited for the step {} by then", quoted(name)),
                help: "steps in the background have outputs and outcomes after a `wait`".to_owned(),
            });
        }
        let asked = chain.name(1)?;
        let what = format!("the step {}", quoted(name));
        let wrong = self.among(
            1,
            &what,
            "property",
            asked,
            context_properties::STEP.iter().copied(),
        );
        if wrong.is_some() || !asked.eq_ignore_ascii_case("outputs") {
            return wrong;
        }
        let StepWork::Uses { uses, .. } = &step.work else {
            return None;
        };
        let outputs = crate::plan::native_outputs(&uses.value)?;
        self.among(
            2,
            &uses.value,
            "output",
            chain.name(2)?,
            outputs.iter().copied(),
        )
    }

    fn no_step(&self, site: &ExpressionSite<'_>, job: &Job, name: &str) -> MissingName {
        let has = |job: &Job| ids(job).any(|id| id.eq_ignore_ascii_case(name));
        let other = self.workflow.jobs.iter().find(|job| has(job));
        let known = site.before.iter().filter_map(|step| step.id.as_deref());
        let (message, help) = if has(job) {
            let message = format!("the step {} has not run by then", quoted(name));
            (
                message,
                "only earlier steps have outputs and outcomes".to_owned(),
            )
        } else if let Some(near) = self.reader.closest_name(name, known) {
            let message = format!("no step before has the id {}", quoted(name));
            (message, format!("did you mean `{near}`?"))
        } else if let Some(other) = other {
            let message = format!(
                "the step {} is one of the job {}",
                quoted(name),
                quoted(&other.id)
            );
            (
                message,
                "hand it over by `outputs` of that job and `needs`".to_owned(),
            )
        } else {
            let message = format!("no step before has the id {}", quoted(name));
            (
                message,
                "give the step an `id`; without that it is always empty".to_owned(),
            )
        };
        MissingName {
            index: 0,
            message,
            help,
        }
    }

    fn row(&self, job: &Job, name: &str) -> Option<MissingName> {
        self.looks.get().checked_sub(1)?;
        let what = format!("the matrix of {}", quoted(&job.id));
        let strategy = job.strategy.as_ref();
        match strategy.and_then(|strategy| strategy.matrix.as_ref()) {
            Some(matrix) => {
                let (keys, looked) = keys(matrix)?;
                self.looks.set(self.looks.get().saturating_sub(looked));
                self.among(0, &what, "key", name, keys)
            }
            // One that could not be read has been spoken of.
            None if strategy.is_some() => None,
            None => Some(MissingName {
                index: 0,
                message: format!("{} has no matrix", quoted(&job.id)),
                help: "without `strategy.matrix` it is always empty".to_owned(),
            }),
        }
    }

    /// `matrix.row.key`, where no value of the row has such a key.
    fn inner_key(&self, job: &Job, chain: &Chain<'_>, name: &str) -> Option<MissingName> {
        let asked = chain.name(1)?;
        let matrix = job.strategy.as_ref()?.matrix.as_ref()?;
        let known = inner_keys(matrix, name)?;
        let what = format!("no value of {} in the matrix", quoted(name));
        let mut missing = self.among(1, "", "", asked, known)?;
        missing.message = format!("{what} has the key {}", quoted(asked));
        Some(missing)
    }

    /// `job.container.id`, `job.services.x.ports`.
    fn of_job(&self, chain: &Chain<'_>, name: &str) -> Option<MissingName> {
        let (index, what, known) = match &*name.to_ascii_lowercase() {
            "container" => (1, "`job.container`", context_properties::CONTAINER),
            "services" => (
                2,
                "a service of `job.services`",
                context_properties::SERVICE,
            ),
            _ => return None,
        };
        let asked = chain.name(index)?;
        self.among(index, what, "property", asked, known.iter().copied())
    }

    /// `inputs.x`; events that hand over nothing leave it empty.
    fn input(&self, index: usize, name: &str) -> Option<MissingName> {
        let on = &self.workflow.on;
        if self.reader.is_lost("on") {
            return None;
        }
        let called = on.workflow_call.iter().flat_map(|call| &call.inputs);
        let started = on.workflow_dispatch.iter().flatten();
        let names = started.chain(called).map(|input| input.name.as_str());
        self.among(index, "the workflow", "input", name, names)
    }

    /// `github.event.inputs.x`: a called workflow sees the event of its caller.
    fn event(&self, chain: &Chain<'_>) -> Option<MissingName> {
        if chain.name(1)?.eq_ignore_ascii_case("workflow_run") {
            let what = "`github.event.workflow_run`";
            return self.among(
                2,
                what,
                "property here",
                chain.name(2)?,
                FOLLOWED_RUN.iter().copied(),
            );
        }
        let on = &self.workflow.on;
        let of_inputs = chain.name(1)?.eq_ignore_ascii_case("inputs");
        if !of_inputs || on.workflow_call.is_some() || on.workflow_dispatch.is_none() {
            return None;
        }
        self.input(2, chain.name(2)?)
    }

    /// Secrets of a workflow that is only called, and says which it takes.
    fn secret(&self, name: &str) -> Option<MissingName> {
        let on = &self.workflow.on;
        let call = on.workflow_call.as_ref()?;
        let others = on.push.is_some()
            || on.pull_request.is_some()
            || on.workflow_dispatch.is_some()
            || !on.schedule.is_empty()
            || !on.events.is_empty()
            || !on.others.is_empty();
        let given = ["GITHUB_TOKEN", "FORGEJO_TOKEN", "GITEA_TOKEN"];
        if others
            || call.secrets.is_empty()
            || given.iter().any(|own| own.eq_ignore_ascii_case(name))
        {
            return None;
        }
        let names = call.secrets.iter().map(|secret| secret.name.as_str());
        let mut missing = self.among(0, "workflow_call", "secret", name, names)?;
        missing.help += " (only a caller with `secrets: inherit` gives others)";
        Some(missing)
    }
}

/// Names, not too many of them.
fn list_names(names: &[&str]) -> String {
    const MAX_NAMES: usize = 20;
    let more = if names.len() > MAX_NAMES { ", …" } else { "" };
    let first: Vec<&str> = names.iter().copied().take(MAX_NAMES).collect();
    format!("{}{more}", first.join(", "))
}

fn ids(job: &Job) -> impl Iterator<Item = &str> {
    let steps = match &job.work {
        JobWork::Steps { steps, .. } => steps.as_slice(),
        JobWork::Call { .. } => &[],
    };
    steps.iter().filter_map(|step| step.id.as_deref())
}

/// The keys of the values that a row of a matrix has, those of `include` as well; nothing when only
/// the run knows them.
fn inner_keys<'m>(matrix: &'m Data, row: &str) -> Option<Vec<&'m str>> {
    let Data::Map(entries) = matrix else {
        return None;
    };
    let mut values: Vec<&Data> = Vec::new();
    for (key, value) in entries {
        let Data::List(items) = value else {
            // What an expression gives may have any key.
            if key == "include" || key.eq_ignore_ascii_case(row) {
                return None;
            }
            continue;
        };
        if key.eq_ignore_ascii_case(row) {
            values.extend(items);
        } else if key == "include" {
            for item in items {
                let Data::Map(entries) = item else {
                    return None;
                };
                let of_row = entries
                    .iter()
                    .filter(|(key, _)| key.eq_ignore_ascii_case(row));
                values.extend(of_row.map(|(_, value)| value));
            }
        }
    }
    let mut keys = Vec::new();
    for value in values {
        match value {
            Data::Map(entries) => keys.extend(entries.iter().map(|(key, _)| key.as_str())),
            Data::Scalar(text) if text.fixed().is_some() => {}
            _ => return None,
        }
    }
    // That a text has no keys at all is said where its kind is looked at.
    (!keys.is_empty()).then_some(keys)
}

/// The keys a matrix gives to its combinations, and how many were looked at; nothing when only the
/// run knows them.
fn keys(matrix: &Data) -> Option<(Vec<&str>, usize)> {
    let Data::Map(entries) = matrix else {
        return None;
    };
    let mut keys = Vec::new();
    for (key, value) in entries {
        match key.as_str() {
            "exclude" => {}
            "include" => {
                let Data::List(values) = value else {
                    return None;
                };
                for value in values {
                    let Data::Map(entries) = value else {
                        return None;
                    };
                    keys.extend(entries.iter().map(|(key, _)| key.as_str()));
                }
            }
            key => keys.push(key),
        }
    }
    let looked = keys.len();
    keys.sort_unstable();
    keys.dedup();
    // An empty key is a mistake of its own.
    (!keys.contains(&"")).then_some((keys, looked))
}
