//! A workflow file as a whole.

use config_core::{Diagnostics, Severity, SourceText};

use super::availability;
use super::blocks::{concurrency, defaults, env};
use super::cache_mode::cache_mode;
use super::dialect::Dialect;
use super::permissions::permissions;
use super::reader::WorkflowReader;
use super::trigger_types::Triggers;
use super::types::Workflow;
use super::{forge_keys, job, triggers};
use crate::source_location::SourceLocation;
use crate::yaml::{self, MergeKeys, YamlNode};

/// A file that was read, and what is odd about it.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedFile<T> {
    /// What it says.
    pub value: T,
    /// Warnings only.
    pub warnings: Diagnostics,
}

/// Reads a workflow file by the grammar that its folder says.
///
/// # Errors
/// Every mistake in it, with line, column and, where a name is nearly right, the name that was
/// meant.
pub fn parse(file: &str, bytes: &[u8]) -> Result<ParsedFile<Workflow>, Diagnostics> {
    parse_as(file, bytes, Dialect::of_file(file))
}

/// Reads a workflow file by the grammar of a forge.
///
/// # Errors
/// Every mistake in it, as [`parse`] has them.
pub fn parse_as(
    file: &str,
    bytes: &[u8],
    dialect: Dialect,
) -> Result<ParsedFile<Workflow>, Diagnostics> {
    read_file(file, bytes, dialect, |reader, root| {
        workflow(reader, file, root)
    })
}

/// Reads a file of any kind from its tree.
pub(super) fn read_file<T>(
    file: &str,
    bytes: &[u8],
    dialect: Dialect,
    read: impl FnOnce(&WorkflowReader<'_>, &YamlNode) -> Option<T>,
) -> Result<ParsedFile<T>, Diagnostics> {
    // Only `\n` ends a line for everything that follows.
    let text = SourceText::read(file, bytes)?;
    let loaded = yaml::load(&text, merge_keys(dialect)).map_err(|error| {
        let place = error.place.bytes();
        let help = error.help.as_deref();
        Diagnostics::from(text.diagnostic(Severity::Error, place, &error.message, help, ""))
    })?;
    let reader = WorkflowReader::new(&text, dialect);
    for mistake in loaded.mistakes {
        reader.add_finding(mistake.place, false, mistake.message, mistake.help);
    }
    let value = read(&reader, &loaded.root);
    let found = reader.finish();
    match value {
        Some(value) if !found.has_errors() => Ok(ParsedFile {
            value,
            warnings: found,
        }),
        _ => Err(found),
    }
}

/// GitHub has YAML 1.2, which has no merge keys.
fn merge_keys(dialect: Dialect) -> MergeKeys {
    match dialect {
        Dialect::GitHub => MergeKeys::Refused,
        Dialect::Forge | Dialect::Gitea => MergeKeys::Merged,
    }
}

fn workflow(reader: &WorkflowReader<'_>, file: &str, root: &YamlNode) -> Option<Workflow> {
    const KEYS: [&str; 10] = [
        "name",
        "description",
        "run-name",
        "on",
        "permissions",
        "env",
        "defaults",
        "concurrency",
        "cache-mode",
        "jobs",
    ];
    let own = ["enable-email-notifications", "enable-openid-connect"];
    let fields = reader.fields(root, "a workflow", &reader.with_own(&KEYS, &own))?;
    forge_keys::check_mails(reader, fields);
    let beginning = SourceLocation {
        line: 1,
        col: 1,
        start: root.place.start,
        end: root.place.start + 1,
    };
    let permissions = fields
        .get("permissions")
        .map(|node| reader.at_key("permissions", || permissions(reader, node)));
    let permissions = forge_keys::with_id_token(reader, fields, permissions);
    let on = match fields.get("on") {
        Some(node) => reader.at_key("on", || triggers::read(reader, node)),
        None => {
            reader.error_help(
                beginning,
                "the workflow has no `on`",
                "for example `on: push`",
            );
            Triggers::default()
        }
    };
    let jobs = match fields.get("jobs") {
        Some(node) if !node.is_null() => {
            reader.at_key("jobs", || job::read_all(reader, file, node))
        }
        _ => {
            reader.error_help(
                beginning,
                "the workflow has no `jobs`",
                "at least one job is needed",
            );
            Vec::new()
        }
    };
    let workflow = Workflow {
        file: file.into(),
        dialect: reader.dialect,
        name: fields.read(reader, "name", |node| reader.plain(node, "name")),
        run_name: fields.read(reader, "run-name", |node| {
            reader.template(node, "run-name", availability::RUN_NAME)
        }),
        on,
        env: env(reader, fields.get("env"), availability::WORKFLOW_ENV),
        defaults: defaults(
            reader,
            fields.get("defaults"),
            availability::WORKFLOW_DEFAULTS,
        ),
        concurrency: fields.read(reader, "concurrency", |node| {
            concurrency(reader, node, availability::CONCURRENCY)
        }),
        permissions,
        cache_mode: fields.read(reader, "cache-mode", |node| cache_mode(reader, node)),
        jobs,
    };
    super::values::check(reader, &workflow);
    super::references::check(reader, &workflow);
    Some(workflow)
}
