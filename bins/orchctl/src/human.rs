//! Answers for people.

use std::io::{IsTerminal, Write};

use orchestrator_core::admin::{
    AgentList, CancelReply, CheckView, RunList, RunView, StatusView, WebhookReply,
};

/// A line on standard error. A closed terminal is no reason to fail.
pub(crate) fn print_message(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", clean(text.trim_end()));
}

/// Text of strangers: control characters could steer the terminal, directional overrides turn a
/// word around, and others are not seen. They stand there by their number: `<U+202E>`.
pub(crate) fn clean(text: &str) -> String {
    command_line::terminal::text::visible(text).into_owned()
}

/// Output of agents: as it is for a file or a pipe, harmless on a terminal.
pub(crate) fn safe(bytes: &[u8]) -> Vec<u8> {
    if std::io::stdout().is_terminal() {
        return text(&String::from_utf8_lossy(bytes)).into_bytes();
    }
    bytes.to_vec()
}

/// A longer text, harmless.
pub(crate) fn text(text: &str) -> String {
    clean(&text.replace("\r\n", "\n"))
}

/// What was queued.
pub(crate) fn accepted(reply: &WebhookReply) -> String {
    let lines = reply.dispatches.iter().map(|dispatch| {
        format!(
            "{}  {}/{} is queued",
            dispatch.run,
            clean(&dispatch.project),
            clean(&dispatch.agent)
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The status.
pub(crate) fn status(status: &StatusView) -> String {
    let queue = &status.queue;
    let mut text = format!(
        "orchestrator {} since {}\nqueued {} (oldest {} s), starting {}, running {}\nnext tick {}, every {} s; {} so far\n",
        clean(&status.version),
        status.started_at,
        queue.queued,
        queue.oldest_secs,
        queue.starting,
        queue.running,
        status.next_tick_at.as_deref().unwrap_or("unknown"),
        status.tick_interval_secs,
        status.ticks,
    );
    let mut note = |condition: bool, line: String| {
        if condition {
            text += &line;
        }
    };
    note(
        !status.mentions,
        "mentions are not configured: webhooks with @orch: start nothing\n".to_owned(),
    );
    note(
        status.outbox > 0,
        format!("{} posts to the forge wait\n", status.outbox),
    );
    note(
        status.parked > 0,
        format!("! {} posts to the forge were given up\n", status.parked),
    );
    note(
        !status.breakers.is_empty(),
        format!("! open circuits: {}\n", clean(&status.breakers.join(", "))),
    );
    note(
        !status.quarantined.is_empty(),
        format!(
            "! in quarantine: {}\n",
            clean(&status.quarantined.join(", "))
        ),
    );
    for project in status.projects.iter().filter(|project| project.paused) {
        text += &format!("! {} is paused\n", clean(&project.id));
    }
    for owed in &status.statuses {
        let sha = owed.sha.get(..12).unwrap_or(&owed.sha);
        text += &format!(
            "owed: {} {} {sha} {}\n",
            clean(&owed.repository),
            clean(&owed.context),
            clean(&owed.state)
        );
    }
    for warning in &status.warnings {
        text += &format!("! {}\n", clean(warning));
    }
    if !status.running.is_empty() {
        text += &table(RUN_HEAD, status.running.iter().map(run_row).collect());
    }
    text
}

/// The agents.
pub(crate) fn agents(list: &AgentList) -> String {
    let rows = list.agents.iter().map(|agent| {
        let route = &agent.route;
        let state = match (route.enabled, agent.quarantined) {
            (false, _) => "disabled",
            (true, true) => "quarantined",
            (true, false) => "ready",
        };
        [
            route.project.clone(),
            route.agent.clone(),
            route.layer.clone(),
            route.cli.clone(),
            route.model.clone().unwrap_or_else(|| "-".to_owned()),
            state.to_owned(),
            format!("{}/{}", agent.running, agent.queued),
            agent.last_class.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    });
    table(
        [
            "PROJECT",
            "AGENT",
            "LAYER",
            "CLI",
            "MODEL",
            "STATE",
            "RUN/QUEUE",
            "LAST",
        ],
        rows.collect(),
    )
}

const RUN_HEAD: [&str; 6] = ["RUN", "AGENT", "SUBJECT", "STATE", "WHY", "QUEUED"];

/// Runs.
pub(crate) fn runs(list: &RunList) -> String {
    table(RUN_HEAD, list.runs.iter().map(run_row).collect())
}

fn run_row(run: &RunView) -> [String; 6] {
    let class = run.exit.as_ref().map(|exit| exit.class.clone());
    let why = class
        .or_else(|| run.reason.clone())
        .or_else(|| run.hold.clone());
    [
        run.id.clone(),
        format!("{}/{}", run.project, run.agent),
        run.subject.clone(),
        run.state.clone(),
        why.unwrap_or_else(|| "-".to_owned()),
        run.queued_at.clone(),
    ]
}

/// One run.
pub(crate) fn run(run: &RunView) -> String {
    let exit = run.exit.as_ref().map(|exit| {
        let number = |word: &str, value: Option<i32>| {
            value
                .map(|value| format!(", {word} {value}"))
                .unwrap_or_default()
        };
        format!(
            "{}{}{}, {} ms",
            exit.class,
            number("code", exit.code),
            number("signal", exit.signal),
            exit.wall_ms
        )
    });
    let lines = [
        ("run", Some(run.id.clone())),
        ("agent", Some(format!("{}/{}", run.project, run.agent))),
        (
            "about",
            Some(format!(
                "{} of {} ({})",
                run.subject, run.repository, run.trigger
            )),
        ),
        ("state", Some(run.state.clone())),
        ("waits for", run.hold.clone()),
        ("reason", run.reason.clone()),
        ("exit", exit),
        (
            "detail",
            run.exit
                .as_ref()
                .and_then(|exit| exit.detail.clone())
                .or_else(|| run.detail.clone()),
        ),
        ("queued", Some(run.queued_at.clone())),
        ("started", run.started_at.clone()),
        ("ended", run.ended_at.clone()),
        ("isolation", run.isolation.clone()),
        ("branch", run.branch.clone()),
        ("worktree", run.worktree.clone()),
    ];
    let shown = lines
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name:<10} {}", clean(&value?))));
    shown.collect::<Vec<_>>().join("\n")
}

/// The reply to a cancel.
pub(crate) fn cancelled(reply: &CancelReply) -> String {
    match reply.cancelled {
        true => format!("{} is being ended ({})", reply.run, clean(&reply.state)),
        false => format!("{} is over already ({})", reply.run, clean(&reply.state)),
    }
}

/// What a check found.
pub(crate) fn check(view: &CheckView) -> String {
    let mut text = String::new();
    for found in &view.diagnostics {
        text += &diagnostic(found);
    }
    let rows = view.routes.iter().map(|route| {
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        [
            route.project.clone(),
            route.agent.clone(),
            route.layer.clone(),
            route.cli.clone(),
            or_dash(&route.model),
            or_dash(&route.schedule),
            route.max_cpu_seconds.to_string(),
        ]
    });
    text += &table(
        [
            "PROJECT", "AGENT", "LAYER", "CLI", "MODEL", "SCHEDULE", "SECONDS",
        ],
        rows.collect(),
    );
    text + if view.valid {
        "the configuration is valid"
    } else {
        "the configuration cannot be used"
    }
}

/// One thing that is wrong or odd: where, as far as there is a place, and what to do.
fn diagnostic(found: &serde_json::Value) -> String {
    let word = |key: &str| clean(found[key].as_str().unwrap_or_default());
    let mut text = String::new();
    for part in ["file", "line", "col"] {
        match &found[part] {
            serde_json::Value::String(file) => text += &format!("{}:", clean(file)),
            serde_json::Value::Number(number) => text += &format!("{number}:"),
            _ => {}
        }
    }
    if !text.is_empty() {
        text.push(' ');
    }
    text += &format!("{}: {}\n", word("severity"), word("message"));
    if let Some(help) = found["help"].as_str() {
        text += &format!("   = help: {}\n", clean(help));
    }
    text
}

/// Columns as wide as their widest cell.
fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> String {
    let rows: Vec<[String; N]> = std::iter::once(head.map(str::to_owned))
        .chain(rows)
        .map(|row| row.map(|cell| clean(&cell).replace('\n', " ")))
        .collect();
    let widths: Vec<usize> = (0..N)
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |row: &[String; N]| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_cannot_steer_the_terminal() {
        let text = table(
            ["A", "B"],
            vec![
                ["long\u{1b}[31m".to_owned(), "x".to_owned()],
                ["é".to_owned(), "y".to_owned()],
            ],
        );
        assert_eq!(
            text,
            "A                 B\nlong<U+001B>[31m  x\né                 y\n"
        );
        assert_eq!(clean("a\u{202e}b\rc\nd"), "a<U+202E>b<U+000D>c\nd");
    }
}
