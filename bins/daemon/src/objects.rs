//! The command that brings files from one object storage to another, or back into the data folder.

use std::process::ExitCode;

use clap::Args;
use cluster_actors::replica::{FileMigration, MigrationReport, claim_objects};
use config_core::{Environment, ObjectKeys, ObjectPlace};
use store::{LockError, OpenError, Store, StoreOptions, StorePlace};

use crate::steps::TransferPrinter;
use crate::store::{ConfigPathOption, PrintText};

/// Exit code when all that was there is copied, and the service goes on storing files.
const ONCE_MORE: u8 = 3;
/// What the data folder is called.
const DATA: &str = "data";
/// What variables with the keys of the target begin with.
const OTHER_KEYS: &str = "TO_";

/// What to do with files in object storage; each program has a command for each, with its own
/// examples.
#[derive(Debug, Clone, Copy)]
pub enum ObjectsTask<'a> {
    /// Bring them to another storage, or back into the data folder.
    Migrate(&'a MigrateObjectsOptions),
    /// Make their place that of the configured store.
    Claim(&'a ClaimObjectsOptions),
}

/// A storage that is not the one of the configuration.
#[derive(Debug, Args)]
pub struct PlaceOptions {
    /// Where to: s3://bucket/prefix, or file:///folder. Its keys are taken from
    /// `TO_AWS_ACCESS_KEY_ID`, `TO_AWS_SECRET_ACCESS_KEY`, `TO_AWS_SESSION_TOKEN` where these are
    /// set, else from those without `TO_`
    #[arg(long, value_name = "PLACE")]
    pub to: String,
    /// The S3-compatible server of the target; Amazon's unless said
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// Its region; us-east-1 unless said
    #[arg(long, value_name = "NAME")]
    pub region: Option<String>,
    /// A server that is not this machine may be without TLS
    #[arg(long)]
    pub allow_http: bool,
}

impl PlaceOptions {
    /// The storage.
    ///
    /// # Errors
    /// What is wrong with it, and what to write.
    pub fn place(&self, environment: &Environment) -> Result<ObjectPlace, String> {
        let keys = ObjectKeys::from_prefixed_environment(environment, OTHER_KEYS);
        let keys = keys.or_else(|| ObjectKeys::from_environment(environment));
        let (endpoint, region) = (self.endpoint.as_deref(), self.region.as_deref());
        ObjectPlace::new(&self.to, endpoint, region, self.allow_http, keys)
            .map_err(|error| format!("--to: {error}"))
    }
}

/// Where files go.
#[derive(Debug, Args)]
pub struct MigrateObjectsOptions {
    /// The target; `--to data` is the data folder
    #[command(flatten)]
    pub to: PlaceOptions,
    /// Leave files behind that are damaged or missing: they are named, and the rest is all. A file
    /// that the data folder would not get is forgotten
    #[arg(long)]
    pub leave_damaged: bool,
    /// Whose configuration
    #[command(flatten)]
    pub of: ConfigPathOption,
}

/// Whose place it is to be.
#[derive(Debug, Args)]
pub struct ClaimObjectsOptions {
    /// Whose configuration
    #[command(flatten)]
    pub of: ConfigPathOption,
}

/// Carries a task out. `configured` reads a configuration file, or says why not; its second
/// argument is whether damaged files are left behind. `out` writes to the standard output and the
/// standard error.
pub fn run(
    task: ObjectsTask<'_>,
    environment: &Environment,
    configured: impl FnOnce(&ConfigPathOption, bool) -> Result<ConfiguredFiles, String>,
    out: (PrintText, PrintText),
) -> ExitCode {
    match task {
        ObjectsTask::Migrate(options) => {
            let configured = configured(&options.of, options.leave_damaged);
            migrate(options, environment, configured, out)
        }
        ObjectsTask::Claim(options) => claim(configured(&options.of, false), out),
    }
}

/// Says that the store which had the place of `[objects]` is over for good, and that the configured
/// one has it now.
fn claim(
    configured: Result<ConfiguredFiles, String>,
    (print, print_note): (PrintText, PrintText),
) -> ExitCode {
    let claimed = configured.and_then(|configured| {
        let files = configured.migration.as_ref();
        let files = files.ok_or("[objects] names no storage: there is nothing to claim")?;
        let opened = open_store(&configured, files).map_err(|error| error.to_string());
        let store = opened?;
        let claimed = claim_objects(files, &store).map_err(|error| error.to_string());
        store.close();
        claimed
    });
    match claimed {
        Ok(place) => {
            print(&format!(
                "{place} is this store's now; the one that had it removes nothing there any more\n"
            ));
            ExitCode::SUCCESS
        }
        Err(error) => {
            print_note(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn open_store(configured: &ConfiguredFiles, files: &FileMigration) -> Result<Store, OpenError> {
    let url = match &configured.store {
        StorePlace::Postgres(url) => Some(url),
        StorePlace::Directory(_) => None,
    };
    Store::open_in(&files.data, url, &configured.options)
}

/// What a configuration says of a service's files.
#[derive(Debug)]
pub struct ConfiguredFiles {
    /// The files; nothing without `[objects]`.
    pub migration: Option<FileMigration>,
    /// The store with their rows.
    pub store: StorePlace,
    /// How it is opened.
    pub options: StoreOptions,
}

/// Brings the files elsewhere.
fn migrate(
    options: &MigrateObjectsOptions,
    environment: &Environment,
    configured: Result<ConfiguredFiles, String>,
    (print, print_note): (PrintText, PrintText),
) -> ExitCode {
    let migrated =
        configured.and_then(|configured| carry_out(options, environment, &configured, print_note));
    let (report, running) = match migrated {
        Ok(migrated) => migrated,
        Err(error) => {
            print_note(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    for fault in &report.faults {
        print_note(&format!("error: {fault}"));
    }
    print(&format!("{}\n", summary(&report, &options.to.to)));
    match running {
        _ if report.is_complete => ExitCode::SUCCESS,
        Some(running) if report.faults.is_empty() || options.leave_damaged => {
            print_note(&format!("{running}; what comes meanwhile is not copied"));
            print_note("stop the service and repeat this, which copies the rest");
            ExitCode::from(ONCE_MORE)
        }
        _ => {
            print_note("not all of it could be copied: the files stay where they are");
            ExitCode::FAILURE
        }
    }
}

fn summary(report: &MigrationReport, to: &str) -> String {
    let ((copied, bytes), (there, _)) = (report.copied, report.there);
    let mut text = format!(
        "{copied} files with {bytes} bytes were copied and compared, {there} were there already"
    );
    if !report.faults.is_empty() {
        text += &format!(", {} are damaged or missing", report.faults.len());
    }
    if report.is_complete {
        text += &match to {
            DATA => "; all is in the data folder: take `url` out of [objects], then start the \
                     service"
                .to_owned(),
            to => {
                format!(
                    "; all is in {to}: name it in [objects], on all hosts, then start the service"
                )
            }
        };
    }
    text
}

/// What was done, and who goes on meanwhile.
fn carry_out(
    options: &MigrateObjectsOptions,
    environment: &Environment,
    configured: &ConfiguredFiles,
    print_note: PrintText,
) -> Result<(MigrationReport, Option<String>), String> {
    let migration = configured.migration.as_ref().ok_or(
        "[objects] names no storage: set `url` there, and the service moves what is in the data \
         folder by itself",
    )?;
    let to = match options.to.to.as_str() {
        DATA => None,
        _ => Some(options.to.place(environment)?),
    };
    let (store, running) = match open_store(configured, migration) {
        Ok(store) => (Some(store), None),
        Err(error) if is_in_use(&error) => (None, Some(error.to_string())),
        Err(error) => return Err(error.to_string()),
    };
    let steps = TransferPrinter::new("copied", print_note);
    let watch = |done, total| steps.show(done, total);
    let report = match (&to, &store) {
        (Some(to), store) => migration.to_storage(to, store.as_ref(), &watch),
        (None, Some(store)) => migration.to_data(store, &watch),
        (None, None) => {
            let running = running.unwrap_or_default();
            return Err(format!(
                "files come back while no service runs only: {running}"
            ));
        }
    };
    if let Some(store) = store {
        store.close();
    }
    Ok((report.map_err(|error| error.to_string())?, running))
}

/// Whether the service runs.
fn is_in_use(error: &OpenError) -> bool {
    matches!(
        error,
        OpenError::InUse { .. }
            | OpenError::Lock(LockError::Held { .. } | LockError::HeldByUnknown { .. })
    )
}
