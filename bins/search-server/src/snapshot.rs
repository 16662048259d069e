//! `snapshot`: looks at what indexers have published, and removes what nobody publishes any more.

use std::process::ExitCode;

use anyhow::Context as _;
use command_line::{print, print_note};
use config_core::Environment;
use search_actors::snapshots::{
    PublishedSource, VerifiedSource, list_published, remove_published, verify_published,
};
use search_core::role::ServerSettings;
use search_web::boot;

use crate::arguments::{Arguments, FAILED, OutputFormat, SnapshotCommand};

/// The settings of a command that looks at what is published, which a shell without a mode can say
/// as well: it does neither an indexer's work nor a searcher's.
pub(crate) fn in_some_mode(environment: Environment) -> Environment {
    const MODE: &str = "SERVICE_SEARCH_MODE";
    let names_place = environment.text("SERVICE_SNAPSHOTS").is_some();
    match names_place && environment.text(MODE).is_none() {
        true => environment.with(MODE, "searcher"),
        false => environment,
    }
}

/// Prints what is published, or what is wrong with it; 1 where anything is.
pub(crate) fn run(
    arguments: &Arguments,
    command: SnapshotCommand,
    settings: &ServerSettings,
) -> ExitCode {
    match verify(arguments, command, settings) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(error) => {
            print_note(&daemon::error_chain(error.as_ref()));
            ExitCode::from(FAILED)
        }
    }
}

/// Whether everything is whole.
fn verify(
    arguments: &Arguments,
    command: SnapshotCommand,
    settings: &ServerSettings,
) -> anyhow::Result<bool> {
    let storage = boot::open_snapshots(settings)?;
    let scratch = tempfile::tempdir().context("a folder for what is fetched")?;
    match command {
        SnapshotCommand::List => {
            let found = list_published(&storage, scratch.path())?;
            match arguments.format {
                OutputFormat::Json => print(&serde_json::to_string(&found)?),
                OutputFormat::Human => print(&lines(found.iter().map(|one| (one, &[][..])))),
            }
            Ok(found.iter().all(|one| one.error.is_none()))
        }
        SnapshotCommand::Remove { source, part } => {
            let removed = remove_published(&storage, &source, part.as_deref())?;
            match arguments.format {
                OutputFormat::Json => print(&serde_json::to_string(&removed)?),
                OutputFormat::Human => {
                    for one in &removed {
                        let (source, part) = (&one.source, &one.part);
                        print(&format!("{source} {part}: {} objects removed", one.objects));
                    }
                }
            }
            Ok(true)
        }
        SnapshotCommand::Verify => {
            let found = verify_published(&storage, scratch.path())?;
            match arguments.format {
                OutputFormat::Json => print(&serde_json::to_string(&found)?),
                OutputFormat::Human => {
                    let all = found.iter();
                    print(&lines(
                        all.map(|one| (&one.published, one.damaged.as_slice())),
                    ));
                }
            }
            Ok(found
                .iter()
                .all(|one: &VerifiedSource| one.damaged.is_empty()))
        }
    }
}

/// A line a part, and one a file that is damaged.
fn lines<'p>(all: impl Iterator<Item = (&'p PublishedSource, &'p [String])>) -> String {
    let mut text = String::new();
    for (one, damaged) in all {
        let owner = match one.owner.as_str() {
            "" => "nobody",
            owner => owner,
        };
        text += &format!(
            "{} {} · {} · {} documents · {} files, {} bytes · snapshot {} · epoch {} · {owner}\n",
            one.source,
            one.part,
            one.folder,
            one.documents,
            one.files,
            one.bytes,
            one.sequence,
            one.epoch,
        );
        let error = one.error.iter().filter(|error| !damaged.contains(*error));
        for line in error.chain(damaged) {
            text += &format!("  {line}\n");
        }
    }
    if text.is_empty() {
        text += "nothing is published here\n";
    }
    text
}
