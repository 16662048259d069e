//! The command `store` of the programs that keep one, and the end of a program whose store another
//! process has taken.

use std::fmt::Write as _;
use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use store::maintenance::{self, CopyReport, TableDigest};
use store::{Store, StoreOptions, StorePlace, StoreState};

/// What to do with the store; each program has a command for each, with its own examples.
#[derive(Debug, Clone, Copy)]
pub enum StoreTask<'a> {
    /// Read every row, and compare checksums and counts.
    Check(&'a StoreCheckOptions),
    /// Copy a store into an empty one, and compare both.
    Migrate(&'a MigrateOptions),
    /// Copy the configured store into an empty folder, and compare both.
    Backup(&'a BackupOptions),
    /// Copy a backup into the configured store, and compare both.
    Restore(&'a RestoreOptions),
}

/// What to check.
#[derive(Debug, Args)]
pub struct StoreCheckOptions {
    /// A folder, an address postgresql://…, or `config`: the one of the configuration
    #[arg(default_value = "config", value_name = "STORE")]
    pub store: String,
    /// Whose configuration
    #[command(flatten)]
    pub of: ConfigPathOption,
}

/// What to copy where.
#[derive(Debug, Args)]
pub struct MigrateOptions {
    /// The store that is read: a folder, an address postgresql://…, or `config`
    #[arg(long, value_name = "STORE")]
    pub from: String,
    /// The empty one that is written: a folder, an address postgresql://…, or `config`
    #[arg(long, value_name = "STORE")]
    pub to: String,
    /// Whose configuration
    #[command(flatten)]
    pub of: ConfigPathOption,
}

/// Where to save.
#[derive(Debug, Args)]
pub struct BackupOptions {
    /// The folder of the backup
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
    /// Whose configuration
    #[command(flatten)]
    pub of: ConfigPathOption,
}

/// What to restore.
#[derive(Debug, Args)]
pub struct RestoreOptions {
    /// The folder of the backup
    #[arg(long, value_name = "FOLDER")]
    pub from: PathBuf,
    /// Whose configuration
    #[command(flatten)]
    pub of: ConfigPathOption,
}

/// Which configuration names the store.
#[derive(Debug, Clone, Args)]
pub struct ConfigPathOption {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Statements over a whole store take longer than those of a daemon.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Writes text for whoever called the program.
pub type PrintText = fn(&str);

/// What a command works on.
#[derive(Debug)]
enum Request {
    Check(StorePlace),
    Move(StorePlace, StorePlace),
    Copy(StorePlace, StorePlace),
    Backup(StorePlace, StorePlace),
}

/// Carries a task out. `configured` gives the store of a configuration file, or says why not;
/// `print` and `print_note` write to the standard output and the standard error.
pub fn run(
    task: StoreTask<'_>,
    options: &StoreOptions,
    configured: impl Fn(&ConfigPathOption) -> Result<StorePlace, String>,
    (print, print_note): (PrintText, PrintText),
) -> ExitCode {
    let options = StoreOptions {
        patience: STATEMENT_TIMEOUT,
        ..options.clone()
    };
    let outcome = request(task, configured).and_then(|request| carry_out(request, &options));
    match outcome {
        Ok((text, faults)) => {
            print(&text);
            faults
                .iter()
                .for_each(|fault| print_note(&format!("error: {fault}")));
            match faults.is_empty() {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
        Err(error) => {
            print_note(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn request(
    task: StoreTask<'_>,
    configured: impl Fn(&ConfigPathOption) -> Result<StorePlace, String>,
) -> Result<Request, String> {
    let place = |text: &str, of: &ConfigPathOption| match text {
        "config" => configured(of),
        text => text
            .parse::<StorePlace>()
            .map_err(|error| error.to_string()),
    };
    let folder = |folder: &PathBuf| StorePlace::Directory(folder.clone());
    Ok(match task {
        StoreTask::Check(it) => Request::Check(place(&it.store, &it.of)?),
        StoreTask::Migrate(it) => Request::Move(place(&it.from, &it.of)?, place(&it.to, &it.of)?),
        StoreTask::Backup(it) => Request::Backup(configured(&it.of)?, folder(&it.to)),
        StoreTask::Restore(it) => Request::Copy(folder(&it.from), configured(&it.of)?),
    })
}

/// What to print, and what is wrong.
fn carry_out(request: Request, options: &StoreOptions) -> Result<(String, Vec<String>), String> {
    match request {
        Request::Check(place) => {
            let report = maintenance::check(&place, options).map_err(|e| e.to_string())?;
            let mut text = rows(&report.tables);
            let end = match report.faults.is_empty() {
                true => "is whole",
                false => "is damaged",
            };
            line(
                &mut text,
                &format!(
                    "the store in {place} {end}: {} tables, {} segments of blobs, {} rows in quarantine",
                    report.tables.len(),
                    report.segments,
                    report.quarantined
                ),
            );
            Ok((text, report.faults))
        }
        Request::Move(from, to) => {
            let report = maintenance::migrate(&from, &to, options).map_err(|e| e.to_string())?;
            let mut text = copied(&report, &from, &to);
            line(&mut text, &format!("no program starts on {from} again"));
            Ok((text, report.faults))
        }
        Request::Copy(from, to) => {
            let report = maintenance::copy(&from, &to, options).map_err(|e| e.to_string())?;
            Ok((copied(&report, &from, &to), report.faults))
        }
        Request::Backup(from, to) => {
            let report = maintenance::backup(&from, &to, options).map_err(|e| e.to_string())?;
            Ok((copied(&report, &from, &to), report.faults))
        }
    }
}

fn copied(report: &CopyReport, from: &StorePlace, to: &StorePlace) -> String {
    let mut text = rows(&report.tables);
    let bytes = report.blob_bytes;
    line(
        &mut text,
        &format!("and {bytes} bytes of blobs were copied from {from} to {to}; both are equal"),
    );
    text
}

fn rows(tables: &[TableDigest]) -> String {
    let mut text = String::new();
    for table in tables {
        let digest = table.digest.get(..16).unwrap_or_default();
        let (name, rows, bytes) = (&table.name, table.rows, table.bytes);
        line(
            &mut text,
            &format!("{name:<24} {rows:>10} rows {bytes:>14} bytes  {digest}"),
        );
    }
    text
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

/// Resolves when `stop` does, or when another process has taken the store: either way the program
/// has to end.
pub fn stop_or_taken_over(
    stop: impl Future<Output = ()> + Send + 'static,
    store: &Store,
) -> crate::lifecycle::ShutdownSignal {
    let taken = store.taken_over();
    Box::pin(async move {
        tokio::select! {
            () = stop => {}
            by = taken => tracing::error!(
                event = "server.store_taken_over", %by,
                "another process has taken the store; this one ends"
            ),
        }
    })
}

/// Closes the store at the end of a program.
///
/// # Errors
/// Another process has taken it, so that the program did not end because it was asked to.
pub fn close(store: &Store) -> anyhow::Result<()> {
    store.close();
    match store.health().state {
        StoreState::TakenOver(by) => anyhow::bail!("the store was taken over by {by}"),
        _ => Ok(()),
    }
}
