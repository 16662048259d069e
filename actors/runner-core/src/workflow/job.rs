//! The jobs of a workflow.

use config_core::quoted;

use super::availability;
use super::blocks::{concurrency, defaults, env};
use super::cache_mode::cache_mode;
use super::checks::{check_job_id, checked_bool, checked_minutes};
use super::fields::MappingFields;
use super::needs::check_needs;
use super::permissions::permissions;
use super::reader::WorkflowReader;
use super::types::{CallSecrets, FeatureRefusal, Job, JobWork};
use super::{forge_keys, step};
use crate::expr::{Data, ExprTemplate, ExprValue};
use crate::limits::MAX_JOBS;
use crate::source_location::Located;
use crate::yaml::{NodeData, YamlEntry, YamlNode};

const KEYS: [&str; 22] = [
    "name",
    "permissions",
    "needs",
    "if",
    "runs-on",
    "snapshot",
    "environment",
    "concurrency",
    "outputs",
    "env",
    "defaults",
    "steps",
    "timeout-minutes",
    "strategy",
    "continue-on-error",
    "container",
    "services",
    "uses",
    "with",
    "secrets",
    "cancel-timeout-minutes",
    "cache-mode",
];

/// What a job may ask for and is not done here, and why.
const REFUSED: [(&str, &str); 1] = [("snapshot", "images are built by the operator, not by jobs")];

/// Reads `jobs`.
pub(super) fn read_all(reader: &WorkflowReader<'_>, file: &str, node: &YamlNode) -> Vec<Job> {
    let entries = reader.entries(node, "jobs").unwrap_or_default();
    if entries.is_empty() {
        reader.error(node.place, "the workflow has no jobs");
    }
    if entries.len() > MAX_JOBS {
        reader.error(
            node.place,
            format!("the workflow has more than {MAX_JOBS} jobs"),
        );
        return Vec::new();
    }
    let read = |entry: &YamlEntry| {
        let job = reader.at_key(&entry.key, || job(reader, file, entry));
        if job.is_none() {
            reader.lose();
        }
        job
    };
    let mut jobs: Vec<Job> = entries.iter().filter_map(read).collect();
    check_needs(reader, &mut jobs, entries);
    jobs
}

fn job(reader: &WorkflowReader<'_>, file: &str, entry: &YamlEntry) -> Option<Job> {
    let YamlEntry {
        key: id,
        key_place: place,
        value: node,
    } = entry;
    check_job_id(reader, id, *place);
    let keys = reader.with_own(&KEYS, &["enable-openid-connect"]);
    let fields = reader.fields(node, "a job", &keys)?;
    let mut refusals = Vec::new();
    refuse_keys(file, fields, &mut refusals);
    let permissions = fields
        .get("permissions")
        .map(|node| reader.at_key("permissions", || permissions(reader, node)));
    let permissions = forge_keys::with_id_token(reader, fields, permissions);
    let template = |key, availability| {
        fields.read(reader, key, |node| reader.template(node, key, availability))
    };
    let needs = fields.read(reader, "needs", |node| {
        let nodes = reader.one_or_more(node, "needs")?.into_iter();
        Some(
            nodes
                .filter_map(|node| {
                    Some(Located::new(
                        reader.plain(node, "a needed job")?,
                        node.place,
                    ))
                })
                .collect(),
        )
    });
    let work = work(reader, entry, fields)?;
    let calls = matches!(work, JobWork::Call { .. });
    Some(Job {
        id: id.clone(),
        place: *place,
        name: template("name", availability::JOB_NAME),
        needs: needs.unwrap_or_default(),
        condition: fields.read(reader, "if", |node| {
            reader.condition(node, availability::job_if(reader.dialect))
        }),
        strategy: fields.read(reader, "strategy", |node| {
            super::strategy::read(reader, node)
        }),
        env: env(reader, fields.get("env"), availability::JOB_ENVIRONMENT),
        defaults: defaults(reader, fields.get("defaults"), availability::JOB_DEFAULTS),
        environment: fields.read(reader, "environment", |node| {
            super::environment::read(reader, node)
        }),
        concurrency: fields.read(reader, "concurrency", |node| {
            concurrency(reader, node, availability::JOB_CONCURRENCY)
        }),
        continue_on_error: checked_bool(
            reader,
            template("continue-on-error", availability::JOB_CONTINUE),
            "continue-on-error",
        ),
        timeout_minutes: checked_minutes(
            reader,
            template("timeout-minutes", availability::JOB_TIMEOUT),
        ),
        outputs: fields
            .read(reader, "outputs", |node| {
                Some(reader.templates(node, "an output", availability::JOB_OUTPUT))
            })
            .unwrap_or_default(),
        container: super::containers::container(reader, fields).filter(|_| !calls),
        services: super::containers::services(reader, fields),
        permissions,
        cache_mode: fields.read(reader, "cache-mode", |node| cache_mode(reader, node)),
        work,
        refusals,
    })
}

fn refuse_keys(file: &str, fields: MappingFields<'_>, refusals: &mut Vec<FeatureRefusal>) {
    for (key, reason) in REFUSED {
        if let Some(entry) = fields.entry(key).filter(|entry| !entry.value.is_null()) {
            refusals.push(FeatureRefusal::new(key, reason, file, entry.key_place));
        }
    }
}

fn work(
    reader: &WorkflowReader<'_>,
    entry: &YamlEntry,
    fields: MappingFields<'_>,
) -> Option<JobWork> {
    if let Some(uses) = fields.get("uses") {
        for key in [
            "steps",
            "runs-on",
            "env",
            "defaults",
            "environment",
            "container",
            "services",
            "timeout-minutes",
            "continue-on-error",
        ] {
            let Some(entry) = fields.entry(key) else {
                continue;
            };
            let message = format!("a job that calls a workflow has no `{key}`");
            if forge_keys::is_idle_beside_uses(reader, key) {
                let note = "it does nothing: those of the jobs that are called count";
                reader.warn(entry.key_place, message, note);
            } else {
                reader.error(entry.key_place, message);
            }
        }
        return call(reader, fields, uses);
    }
    for key in ["with", "secrets"] {
        if let Some(entry) = fields.entry(key) {
            reader.error_help(
                entry.key_place,
                format!("a job without `uses` has no `{key}`"),
                "`with` belongs to a step",
            );
        }
    }
    let name = quoted(&entry.key);
    let runs_on = match fields.get("runs-on").filter(|node| !node.is_null()) {
        None => {
            let message = format!("the job {name} has no `runs-on`");
            let example = "for example `runs-on: ubuntu-latest`";
            let note = "it runs as if `runs-on: ubuntu-latest` stood there";
            reader.strict(entry.key_place, message, example, note);
            let usual = ExprValue::text("ubuntu-latest");
            let usual = ExprTemplate::literal("ubuntu-latest", usual, entry.key_place);
            reader.dialect.is_forge().then_some(Data::Scalar(usual))
        }
        Some(node) => reader.at_key("runs-on", || runs_on(reader, node)),
    };
    let steps = match fields.get("steps").filter(|node| !node.is_null()) {
        None => {
            reader.error_help(
                entry.key_place,
                format!("the job {name} has no `steps`"),
                "at least one step is needed",
            );
            None
        }
        Some(node) => reader.at_key("steps", || {
            step::read_all(reader, node, step::StepHost::Job)
        }),
    };
    Some(JobWork::Steps {
        runs_on: runs_on?,
        steps: steps?,
    })
}

/// Labels, or `group` and `labels`.
fn runs_on(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<Data> {
    if !matches!(node.data, NodeData::Map(_)) {
        check_labels(reader, node);
        return reader.data(node, "runs-on", availability::RUNS_ON);
    }
    let fields = reader.fields(node, "runs-on", &["group", "labels"])?;
    if let Some(group) = fields.get("group") {
        let name = reader.plain(group, "the group of runs-on")?;
        if name.trim().is_empty() {
            reader.error(group.place, "the group of runs-on has no name");
        }
    }
    if let Some(labels) = fields.get("labels") {
        reader.one_or_more(labels, "the labels of runs-on")?;
    }
    match (fields.get("labels"), fields.get("group")) {
        (Some(labels), None) => check_labels(reader, labels),
        (None, None) => no_label(reader, node),
        (_, Some(_)) => {}
    }
    reader.data(node, "runs-on", availability::RUNS_ON)
}

/// A machine is found by at least one label, and none of them is empty.
fn check_labels(reader: &WorkflowReader<'_>, node: &YamlNode) {
    let labels = node.items();
    let empty = labels
        .iter()
        .find(|label| label.text().is_some_and(|text| text.trim().is_empty()));
    match empty {
        Some(label) => no_label(reader, label),
        None if labels.is_empty() && !matches!(node.data, NodeData::Map(_)) => {
            no_label(reader, node);
        }
        None => {}
    }
}

fn no_label(reader: &WorkflowReader<'_>, node: &YamlNode) {
    let help = "for example `runs-on: ubuntu-latest`";
    reader.error_help(node.place, "runs-on gives no label", help);
}

fn call(
    reader: &WorkflowReader<'_>,
    fields: MappingFields<'_>,
    uses: &YamlNode,
) -> Option<JobWork> {
    let with = fields.read(reader, "with", |node| {
        Some(reader.templates(node, "an input", availability::call_with(reader.dialect)))
    });
    let secrets = fields.read(reader, "secrets", |node| match &node.data {
        NodeData::Scalar { text, .. } if text == "inherit" => Some(CallSecrets::Inherit),
        _ => Some(CallSecrets::Only(reader.templates(
            node,
            "a secret",
            availability::CALL_SECRET,
        ))),
    });
    let name = super::uses::named(reader, uses)?;
    super::uses::check_called(reader, &name, uses.place);
    Some(JobWork::Call {
        uses: Located::new(name, uses.place),
        with: with.unwrap_or_default(),
        secrets: secrets.unwrap_or(CallSecrets::Only(Vec::new())),
    })
}
