//! `labels import`: what a runner of Gitea or Forgejo was configured with.

use std::process::ExitCode;

use anyhow::Context as _;
use runner_core::forge_runner::import_labels;

use crate::arguments::{exit_code, print, print_note};
use crate::label_arguments::LabelsImportOptions;

/// Prints the rows, and says the rest.
pub(crate) fn import(options: &LabelsImportOptions) -> ExitCode {
    exit_code(read(options).map(|()| true))
}

fn read(options: &LabelsImportOptions) -> anyhow::Result<()> {
    let file = options.file.display().to_string();
    let bytes = std::fs::read(&options.file).with_context(|| format!("cannot read {file}"))?;
    let found = import_labels(&file, &bytes).map_err(anyhow::Error::msg)?;
    print(&found.rows);
    for note in &found.notes {
        print_note(note);
    }
    Ok(())
}
