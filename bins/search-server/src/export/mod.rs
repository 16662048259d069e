//! `export`: puts what is indexed into an Elasticsearch-compatible index, and keeps it like that.
//!
//! ```text
//! index in the data folder ─▶ what differs from the last time ─▶ _bulk, batch by batch ─▶ noted
//! ```
//! A batch is noted when the server has it, so a run that ends early is gone on with by the next.

mod documents;
mod record;
mod target;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use command_line::{print, print_note};
use config_core::Environment;
use search_core::bulk::BulkItem;
use search_core::role::ServerSettings;
use search_web::boot;

use crate::arguments::{Arguments, ExportOptions, FAILED, OutputFormat};
use documents::ExportSource;
use record::ExportRecord;
use target::{ExportTarget, remote_name};

/// Documents of a batch.
const BATCH_DOCUMENTS: usize = 500;
/// Bytes after which a batch is sent.
const BATCH_BYTES: usize = 4 << 20;
/// Documents whose refusal is told one by one.
const MAX_REPORTED: usize = 20;

/// What was done.
#[derive(Debug, Default, serde::Serialize)]
struct ExportReport {
    put: u64,
    removed: u64,
    unchanged: u64,
    /// Documents whose files cannot be read now.
    unread: u64,
    refused: u64,
}

/// Exports; 1 where a document was refused, or it ended early.
pub(crate) fn run(
    arguments: &Arguments,
    options: &ExportOptions,
    settings: &ServerSettings,
    environment: &Environment,
) -> ExitCode {
    let done = actix_rt::System::new().block_on(export(options, settings, environment));
    match done {
        Ok(report) => {
            print(&match arguments.format {
                OutputFormat::Json => serde_json::to_string(&report).unwrap_or_default(),
                OutputFormat::Human => format!(
                    "{} documents put, {} removed, {} unchanged, {} unread, {} refused",
                    report.put, report.removed, report.unchanged, report.unread, report.refused
                ),
            });
            match report.refused {
                0 => ExitCode::SUCCESS,
                _ => ExitCode::from(FAILED),
            }
        }
        Err(error) => {
            print_note(&daemon::error_chain(error.as_ref()));
            ExitCode::from(FAILED)
        }
    }
}

async fn export(
    options: &ExportOptions,
    settings: &ServerSettings,
    environment: &Environment,
) -> anyhow::Result<ExportReport> {
    let path = &settings.settings_path.value;
    let (configuration, _) = boot::read_configuration(path, environment, Path::new("/"))?;
    let roles = configuration.view().roles();
    let sources = ExportSource::for_role(&roles, options.role.as_deref(), settings)?;
    let target = ExportTarget::new(options)?;
    let noted: Vec<_> = sources.iter().map(|source| source.noted.clone()).collect();
    let mut record = ExportRecord::open(&settings.data_path.value, options, &noted)?;
    for id in record.check_leases(&noted)? {
        let source = sources.iter().find(|source| source.noted.id == id);
        let name = source.map_or(id.as_str(), |source| source.name.as_str());
        print_note(&format!(
            "source {name:?} was another indexer's since the last run, or is split otherwise: its \
             documents are put again"
        ));
    }
    let index = target.prepare().await?;
    if record.is_of_another(&index)? {
        print_note("the index there was made anew since the last run: all documents are put again");
    }
    for source in sources.iter().filter(|source| !source.noted.is_whole) {
        let name = &source.name;
        print_note(&format!(
            "source {name:?} is being indexed: what is indexed no more is removed by a later run"
        ));
    }
    let mut run = ExportRun {
        target: &target,
        record: &mut record,
        report: ExportReport::default(),
        batch: Vec::new(),
        bytes: 0,
    };
    for source in &sources {
        run.put_all(source).await?;
    }
    run.remove_vanished().await?;
    run.send().await?;
    let report = run.report;
    record.compact().context("noting what was exported")?;
    Ok(report)
}

struct ExportRun<'r> {
    target: &'r ExportTarget,
    record: &'r mut ExportRecord,
    report: ExportReport,
    batch: Vec<BulkItem>,
    bytes: usize,
}

impl ExportRun<'_> {
    /// Puts the documents of a source that differ from what was put last.
    async fn put_all(&mut self, source: &ExportSource) -> anyhow::Result<()> {
        for found in source.documents() {
            let found = found?;
            self.record.record_indexed(&found.id);
            if self.record.contains(&found.id, &found.version) {
                self.report.unchanged += 1;
                continue;
            }
            let Some(document) = source.read(&found.id) else {
                self.report.unread += 1;
                continue;
            };
            let name = remote_name(&found.id);
            let item = BulkItem::put(&found.id, &name, &found.version, &document);
            self.add(item).await?;
        }
        Ok(())
    }

    /// Removes what is indexed no more, once all that is was read.
    async fn remove_vanished(&mut self) -> anyhow::Result<()> {
        for id in self.record.vanished() {
            let item = BulkItem::remove(&id, &remote_name(&id));
            self.add(item).await?;
        }
        Ok(())
    }

    async fn add(&mut self, item: BulkItem) -> anyhow::Result<()> {
        self.bytes += item.lines.len();
        self.batch.push(item);
        if self.batch.len() >= BATCH_DOCUMENTS || self.bytes >= BATCH_BYTES {
            self.send().await?;
        }
        Ok(())
    }

    async fn send(&mut self) -> anyhow::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let (sent, failed) = self.target.send(batch).await;
        for (item, refusal) in &sent {
            match refusal {
                None if item.version.is_some() => self.report.put += 1,
                None => self.report.removed += 1,
                Some(reason) => {
                    self.report.refused += 1;
                    if self.report.refused as usize <= MAX_REPORTED {
                        print_note(&format!("{}: refused: {reason}", item.id));
                    }
                }
            }
        }
        let done = sent.iter().filter(|(_, refusal)| refusal.is_none());
        self.record
            .record_exported(done.map(|(item, _)| item))
            .context("noting what was exported")?;
        failed.map_or(Ok(()), Err)
    }
}
