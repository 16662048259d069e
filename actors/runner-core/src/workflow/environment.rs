//! `jobs.<id>.environment`: what a job deploys to.

use serde::Serialize;

use super::availability;
use super::checks::checked_bool;
use super::reader::WorkflowReader;
use crate::expr::ExprTemplate;
use crate::yaml::{NodeData, YamlNode};

/// The longest name of an environment, in characters: GitHub's.
const MAX_NAME: usize = 255;

/// An environment that a job names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobEnvironment {
    /// Its name; one that comes to nothing is none.
    pub name: ExprTemplate,
    /// Where people find what was deployed: known when the steps have run.
    pub url: Option<ExprTemplate>,
    /// Whether the job deploys to it (true when not given), or only uses its secrets.
    pub deployment: Option<ExprTemplate>,
}

/// A name, or a mapping with one.
pub(super) fn read(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<JobEnvironment> {
    if !matches!(node.data, NodeData::Map(_)) {
        let name = reader.template(node, "environment", availability::ENVIRONMENT_NAME)?;
        check_name(reader, &name);
        return Some(JobEnvironment {
            name,
            url: None,
            deployment: None,
        });
    }
    let fields = reader.fields(node, "environment", &["name", "url", "deployment"])?;
    let template = |key, availability| {
        fields.read(reader, key, |node| reader.template(node, key, availability))
    };
    let Some(name) = template("name", availability::ENVIRONMENT_NAME) else {
        let help = "for example `name: production`";
        reader.error_help(node.place, "environment has no `name`", help);
        return None;
    };
    check_name(reader, &name);
    let deployment = template("deployment", availability::ENVIRONMENT_NAME);
    Some(JobEnvironment {
        name,
        url: template("url", availability::ENVIRONMENT_URL),
        deployment: checked_bool(reader, deployment, "deployment"),
    })
}

fn check_name(reader: &WorkflowReader<'_>, name: &ExprTemplate) {
    let Some(fixed) = name.fixed().map(|name| name.as_text().to_string()) else {
        return;
    };
    // An empty name is no environment.
    if let Some(wrong) = wrong_name(&fixed).filter(|_| !fixed.trim().is_empty()) {
        reader.error(name.place, wrong);
    }
}

/// What is wrong with the name of an environment.
#[must_use]
pub fn wrong_name(name: &str) -> Option<String> {
    let what = if name.trim().is_empty() {
        "is empty"
    } else if name.chars().count() > MAX_NAME {
        "has more than 255 characters"
    } else if name.chars().any(char::is_control) {
        "holds a line break or another control character"
    } else {
        return None;
    };
    Some(format!("the name of the environment {what}"))
}
