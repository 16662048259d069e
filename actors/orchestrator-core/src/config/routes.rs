//! The routing table of `--check`: one row for each agent.

use std::fmt::Write as _;

use super::model::Config;
use crate::admin::RouteRow;

/// The rows, by project and agent.
pub fn routes(config: &Config) -> Vec<RouteRow> {
    let row = |agent: &super::AgentSpec| {
        let pr = config
            .pr_dispatch
            .as_ref()
            .filter(|pr| pr.project == agent.project);
        let context = pr.and_then(|pr| pr.agents.iter().find(|entry| entry.agent == agent.name));
        RouteRow {
            project: agent.project.to_string(),
            agent: agent.name.to_string(),
            layer: agent.layer.as_str().to_owned(),
            enabled: agent.enabled,
            cli: agent.cli.as_str().to_owned(),
            provider: agent.provider.clone(),
            model: agent.model.clone(),
            persona: agent.persona.clone(),
            schedule: agent
                .schedule
                .as_ref()
                .map(|schedule| format!("{} {}", schedule.expression, schedule.time_zone)),
            context: context.map(|entry| entry.context.to_string()),
            max_cpu_seconds: agent.limits.wall.as_secs(),
            max_parallel: agent.max_parallel,
            worktree: agent.worktree.as_str().to_owned(),
            extra_projects: agent
                .extra_projects
                .iter()
                .map(ToString::to_string)
                .collect(),
            own_token: config.agent_tokens.contains_key(&agent.name),
        }
    };
    config.agents.values().map(row).collect()
}

/// The rows as a table for people.
pub fn table(rows: &[RouteRow]) -> String {
    const HEAD: [&str; 9] = [
        "PROJECT", "AGENT", "LAYER", "CLI", "MODEL", "SCHEDULE", "STATUS", "LIMIT", "PARALLEL",
    ];
    let cells = |row: &RouteRow| {
        let model = match (&row.provider, &row.model) {
            (Some(provider), Some(model)) => format!("{provider}/{model}"),
            (None, Some(one)) | (Some(one), None) => one.clone(),
            (None, None) => "-".to_owned(),
        };
        let cli = if row.enabled { "" } else { " (off)" };
        [
            row.project.clone(),
            row.agent.clone(),
            row.layer.clone(),
            format!("{}{cli}", row.cli),
            model,
            row.schedule.clone().unwrap_or_else(|| "-".to_owned()),
            row.context.clone().unwrap_or_else(|| "-".to_owned()),
            format!("{}s", row.max_cpu_seconds),
            row.max_parallel.to_string(),
        ]
    };
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(cells));
    let mut widths = [0; HEAD.len()];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        for (width, cell) in widths.iter().zip(line) {
            let _ = write!(row, "{cell:width$}  ");
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}
