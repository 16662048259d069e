//! What starts a workflow here, and what it names that never does, for `workflow-runner check`.

use crate::workflow::{GlobFilter, Workflow};

/// What starts it, in words.
pub(crate) fn started_by(workflow: &Workflow) -> Vec<String> {
    let on = &workflow.on;
    let mut events = Vec::new();
    if let Some(push) = &on.push {
        let filters = [
            ("branches", &push.branches),
            ("tags", &push.tags),
            ("paths", &push.paths),
        ];
        events.push(format!("push{}", filtered(&filters)));
    }
    if let Some(pull_request) = &on.pull_request {
        let filters = [
            ("branches", &pull_request.branches),
            ("paths", &pull_request.paths),
        ];
        events.push(format!("pull_request{}", filtered(&filters)));
    }
    events.extend(on.events.iter().map(|event| {
        let filters = [("branches", &event.branches), ("paths", &event.paths)];
        let types = match event.types.as_slice() {
            [] => String::new(),
            types => format!(" {}", types.join(" ")),
        };
        let follows = match event.workflows.as_slice() {
            [] => String::new(),
            names => format!(" of {}", names.join(", ")),
        };
        let name = event.kind.as_str();
        format!("{name}{types}{follows}{}", filtered(&filters))
    }));
    if on.workflow_dispatch.is_some() {
        events.push("workflow_dispatch".to_owned());
    }
    if on.workflow_call.is_some() {
        events.push("workflow_call".to_owned());
    }
    events.extend(
        on.schedule
            .iter()
            .map(|schedule| format!("schedule {}", schedule.value.cron)),
    );
    events
}

fn filtered(filters: &[(&str, &GlobFilter)]) -> String {
    let texts = filters.iter().filter_map(|(name, filter)| {
        let (word, patterns) = match filter {
            GlobFilter::All => return None,
            GlobFilter::Only(patterns) => ("", patterns),
            GlobFilter::Ignore(patterns) => ("not ", patterns),
        };
        let patterns: Vec<&str> = patterns
            .iter()
            .map(crate::glob::GlobPattern::source)
            .collect();
        Some(format!("{name} {word}{}", patterns.join(" ")))
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        String::new()
    } else {
        format!(" ({})", texts.join(", "))
    }
}

/// What it names that starts nothing here.
pub(crate) fn never_started_by(workflow: &Workflow) -> Vec<String> {
    let others = workflow.on.others.iter();
    others.map(|event| event.value.clone()).collect()
}
