//! `check --summary`: counts over all repositories below a folder.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use runner_core::summary::{Addition, Summary, summarise};

use crate::actions::CheckedRunner;
use crate::arguments::{OutputFormat, print, print_note};
use crate::repository::WorkflowDirectory;

/// Single things shown of each reason; `--json` has all.
const MAX_DETAILS: usize = 10;
/// Wrong files shown; `--json` has all.
const MAX_WRONG: usize = 10;

/// Counts and prints; it ends with 1 only when there is nothing to count.
pub(crate) fn run(path: &Path, format: OutputFormat, runner: &CheckedRunner) -> ExitCode {
    let repositories = match WorkflowDirectory::find_all(path) {
        Ok(repositories) => repositories,
        Err(error) => {
            print_note(&error);
            return ExitCode::FAILURE;
        }
    };
    let (mut reports, mut unread) = (Vec::new(), 0);
    for repository in &repositories {
        for file in &repository.workflows {
            let shown = repository.root().join(file).display().to_string();
            let Some(bytes) = repository.read(file) else {
                print_note(&format!("{shown} cannot be read (or is larger than 1 MiB)"));
                unread += 1;
                continue;
            };
            let read = |path: &str| repository.read(path);
            let mut report = runner.check(file, &bytes, &read);
            report.file = shown;
            reports.push(report);
        }
    }
    if reports.is_empty() && unread == 0 {
        print_note(&format!("{} holds no workflow files", path.display()));
        return ExitCode::FAILURE;
    }
    let summary = summarise(&reports, unread);
    match format {
        OutputFormat::Json => {
            let text = serde_json::to_string_pretty(&summary);
            print(&format!("{}\n", text.expect("counts are JSON")));
        }
        OutputFormat::Human => print(&human(&summary, repositories.len())),
    }
    ExitCode::SUCCESS
}

fn human(summary: &Summary, repositories: usize) -> String {
    let unread = match summary.unread {
        0 => String::new(),
        count => format!(", {count} not read"),
    };
    let mut text = format!(
        "{} files in {repositories} repositories: {} accepted ({}), {} refused, {} wrong{unread}\n\
         {} need neither macOS nor Windows and are well written: {} of them are accepted\n\
         {} at most would be with every action and workflow that they name in the store: {} of them\n\
         {} at most would be with every image that they name as well: {} of them\n",
        summary.files,
        summary.accepted,
        percent(summary.accepted, summary.files),
        summary.refused,
        summary.wrong.len(),
        summary.linux_only,
        percent(summary.accepted, summary.linux_only),
        summary.with_full_store,
        percent(summary.with_full_store, summary.linux_only),
        summary.with_full_store_and_images,
        percent(summary.with_full_store_and_images, summary.linux_only),
    );
    if !summary.reasons.is_empty() {
        text.push_str("\nrefused, by reason (files with it; files with nothing else)\n");
    }
    for reason in &summary.reasons {
        let _ = writeln!(
            text,
            "{:>7} {:>6}  {}",
            reason.files, reason.alone, reason.reason
        );
        for (detail, files) in reason.details.iter().take(MAX_DETAILS) {
            let _ = writeln!(text, "{files:>22}  {detail}");
        }
        if let Some(more) = reason.details.len().checked_sub(MAX_DETAILS + 1) {
            let _ = writeln!(text, "{:>22}  and {} more", "", more + 1);
        }
    }
    list(&mut text, "by reason", &summary.additions);
    list(&mut text, "one thing at a time", &summary.single_additions);
    if !summary.wrong.is_empty() {
        text.push_str("\nwrong\n");
    }
    for file in summary.wrong.iter().take(MAX_WRONG) {
        let _ = writeln!(text, "  {}: {}", file.file, file.mistake);
    }
    if let Some(more) = summary.wrong.len().checked_sub(MAX_WRONG + 1) {
        let _ = writeln!(text, "  and {} more", more + 1);
    }
    text
}

fn list(text: &mut String, how: &str, additions: &[Addition]) {
    if additions.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nwhat would make most files acceptable, in this order ({how})"
    );
    for addition in additions {
        let _ = writeln!(
            text,
            "{:>7} → {:<6} {}",
            format!("+{}", addition.gained),
            addition.accepted,
            addition.needs.join(" + ")
        );
    }
}

fn percent(part: usize, of: usize) -> String {
    let tenths = (part * 1000 + of / 2).checked_div(of).unwrap_or(0);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_are_rounded_to_a_tenth() {
        for (part, of, shown) in [
            (337, 1923, "17.5 %"),
            (0, 0, "0.0 %"),
            (1, 1, "100.0 %"),
            (2, 3, "66.7 %"),
        ] {
            assert_eq!(percent(part, of), shown);
        }
    }
}
