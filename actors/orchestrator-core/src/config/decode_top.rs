//! `orchestrator.toml`: everything but projects and agents, which have files of their own.

use std::collections::BTreeMap;

use config_core::{ConfigItem, ObjectKeys, ValueError, quoted};
use forge_core::{ProjectId, StatusContext};

use super::declared::unknown;
use super::decoder::{DecodeContext, FileParts};
use super::model::{Directories, PrAgent, PrDispatch};
use super::top_keys::{PR_AGENT, PR_DISPATCH, TOP, TopLevel, blank_pr_dispatch};
use super::values::id;

/// Reads `orchestrator.toml`.
pub(super) fn top(
    item: &ConfigItem<'_>,
    context: &DecodeContext<'_>,
) -> Option<(TopLevel, FileParts)> {
    TOP.fields(item, |fields| {
        let mut top = TopLevel::defaults_for(item.base());
        TOP.read_rows(fields, &mut top);
        top.main_project = fields.optional("main_project", |item| context.known_project(item));
        top.pr_dispatch = fields.optional("pr_dispatch", |item| pr_dispatch(item, context));
        match top
            .objects
            .settings(ObjectKeys::from_environment(context.environment))
        {
            Ok(shared) => top.shared = shared,
            Err(error) => fields.error_at("objects", error),
        }
        if fields.contains("project") {
            let error = ValueError::new("`[project]` belongs into a file of `conf.d`");
            fields.error_at("project", error.help("here projects are `[[projects]]`"));
        }
        let mut parts = FileParts::default();
        fields.optional("projects", |item| {
            item.list(|item| {
                parts.projects.extend(context.project(item));
                Some(())
            })
        });
        fields.optional("agents", |item| {
            item.list(|item| {
                parts.agents.extend(context.agent(item, None));
                Some(())
            })
        });
        Some((top, parts))
    })
}

/// Where the other files are, for reading them before the check; says nothing about mistakes.
pub(super) fn places(item: &ConfigItem<'_>) -> Directories {
    let mut top = TopLevel::defaults_for(item.base());
    TOP.read(item, &mut top);
    top.directories
}

fn pr_dispatch(item: &ConfigItem<'_>, context: &DecodeContext<'_>) -> Option<PrDispatch> {
    PR_DISPATCH.fields(item, |fields| {
        let project = fields.required("project", |item| context.known_project(item));
        let mut contexts: BTreeMap<String, String> = BTreeMap::new();
        let agents = fields.required("agents", |item| {
            item.non_empty_list("`[pr_dispatch]` needs at least one agent", |item| {
                pr_agent(item, project.as_ref(), &mut contexts, context)
            })
        });
        let mut dispatch = blank_pr_dispatch();
        PR_DISPATCH.read_rows(fields, &mut dispatch);
        Some(PrDispatch {
            project: project?,
            agents: agents?,
            ..dispatch
        })
    })
}

fn pr_agent(
    item: &ConfigItem<'_>,
    project: Option<&ProjectId>,
    contexts: &mut BTreeMap<String, String>,
    context: &DecodeContext<'_>,
) -> Option<PrAgent> {
    PR_AGENT.fields(item, |fields| {
        let agent = fields.required("agent", |item| {
            let name = id::<forge_core::AgentName>(item)?;
            let project = project?;
            let known = || context.declared.agents_of(project.as_str());
            if !known().any(|known| known == name.as_str()) {
                let what = format!("agent of project `{project}`");
                item.error(unknown(&what, name.as_str(), known()));
                return None;
            }
            Some(name)
        });
        let status = fields.required("context", id::<StatusContext>);
        if let Some(status) = &status
            && contexts
                .insert(status.to_string(), item.path().to_owned())
                .is_some()
        {
            let message = format!("two agents post the status {}", quoted(status.as_str()));
            fields.error_at(
                "context",
                ValueError::new(message).help("give each its own"),
            );
        }
        Some(PrAgent {
            agent: agent?,
            context: status?,
        })
    })
}
