//! Reports of tests: listed in the machine once the steps have ended, brought here, read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt;
use http_clients::vmm::{ExecState, FollowEvent, NewExec, OutputStream};
use jiff::civil::Date;
use runner_core::context::{OWN_DIRECTORY, WORKSPACE};
use runner_core::plan::{PlannedStep, StepKind};
use runner_core::state::StepEnd;
use runner_core::test_report::{
    CommitFiles, JobReports, JobTests, MAX_REPORT_BYTES, REPORTS_VARIABLE, ReportGlobs,
    SETTINGS_FILE, TestCase,
};

use super::frame::StepResult;
use super::hash::CheckedOut;
use super::packing::OneFile;
use super::step_runner::StepRunner;
use crate::clock::now_ms;
use crate::log::LineKind;

/// Longest time to find the reports of a job and to read them.
const READ_TIMEOUT: Duration = Duration::from_secs(120);
/// Longest time of the command that lists them.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);
/// Most of what it prints.
const MAX_LISTED: usize = 4 << 20;
/// Failed tests that are annotated: as many as GitHub shows of a step.
const MAX_ANNOTATIONS: usize = 10;
/// Files of the commit among which places of traces are looked for.
const MAX_SOURCES: usize = 200_000;

impl StepRunner<'_> {
    /// What the job's tests said; `None` where there is nothing to tell. Never fails the job.
    pub(super) async fn read_tests(&mut self) -> Option<JobTests> {
        // Put there before the first step.
        let marker = format!("{OWN_DIRECTORY}/event.json");
        let tests = self.tests_since(&marker).await?;
        for text in &tests.notes {
            self.log.line(0, LineKind::Warning, text).await;
        }
        if tests.is_empty() {
            return None;
        }
        self.annotate(&tests).await;
        self.log.info(0, &tests.counts.line()).await;
        Some(tests)
    }

    /// Whether a step that failed is forgiven: the project's own file says so, and its tests failed
    /// in quarantine only. The exit code stays what it was.
    pub(super) async fn quarantine_forgives(
        &mut self,
        step: &PlannedStep,
        result: &StepResult,
    ) -> bool {
        let is_process = matches!(step.work, StepKind::Run { .. } | StepKind::Node(_));
        let StepEnd::Exited(code) = result.end else {
            return false;
        };
        let may = self.request.tests.settings.quarantine_forgives;
        if !may || !is_process || code == 0 || self.is_cancelled() {
            return false;
        }
        // Put there right before its process began.
        let marker = format!("{OWN_DIRECTORY}/{}", self.counters.now().processes);
        let tests = self.tests_since(&marker).await;
        let Some(tests) = tests.filter(JobTests::has_only_quarantined_failures) else {
            return false;
        };
        let text = format!(
            "exit code {code}, and the job goes on: {}, and {SETTINGS_FILE} says `quarantine_forgives`",
            tests.counts.line()
        );
        self.log
            .line(self.current.number, LineKind::Warning, &text)
            .await;
        true
    }

    /// The tests of reports that were written after a file of the machine was put there.
    async fn tests_since(&mut self, marker: &str) -> Option<JobTests> {
        let read = tokio::time::timeout(READ_TIMEOUT, self.reports_since(marker)).await;
        let reports = match read {
            Ok(reports) => reports?,
            Err(_) => {
                let seconds = READ_TIMEOUT.as_secs();
                let mut reports = JobReports::default();
                reports.gap(&format!(
                    "the reports of tests are not read: it took {seconds} s"
                ));
                reports
            }
        };
        let (tests, roots) = (self.request.tests.clone(), self.checked_out());
        let (job, secrets) = (self.request.instance.name.clone(), self.secrets.snapshot());
        let put_together = tokio::task::spawn_blocking(move || {
            let files = source_files(&roots);
            let mask = |text: &str| secrets.mask(text);
            let quarantine = (&tests.settings, job.as_str(), today());
            reports.finish(&files, quarantine, &mask)
        });
        put_together.await.ok()
    }

    async fn reports_since(&mut self, marker: &str) -> Option<JobReports> {
        let settings = &self.request.tests.settings;
        let named = self
            .variables
            .env
            .iter()
            .find(|(name, _)| name == REPORTS_VARIABLE);
        let named = named.map_or("", |(_, patterns)| patterns.as_str());
        let by_variable = named.lines().map(str::trim).filter(|line| !line.is_empty());
        let by_file = settings.reports.iter().map(String::as_str);
        let mut reports = JobReports::default();
        if let Some(wrong) = &self.request.tests.wrong {
            reports.gap(wrong);
        }
        let is_named = !named.is_empty() || !settings.reports.is_empty();
        let globs = match ReportGlobs::new(by_file.chain(by_variable), settings.find) {
            Ok(globs) => globs,
            Err(wrong) => {
                reports.gap(&format!("the reports of tests are not read: {wrong}"));
                return Some(reports);
            }
        };
        if globs.is_empty() {
            return Some(reports);
        }
        let listed = match self.list(globs.command(marker)).await {
            Ok(listed) => listed,
            Err(reason) => {
                tracing::debug!(event = "run.reports_unlisted", run = %self.request.run, %reason, "reports of tests cannot be looked for");
                if is_named {
                    reports.gap(&format!("reports of tests cannot be looked for: {reason}"));
                }
                return Some(reports);
            }
        };
        let (files, notes) = globs.select(&listed);
        notes.iter().for_each(|note| reports.gap(note));
        let roots = self.checked_out();
        for file in files {
            match self.fetch_report(&file.path).await {
                Ok(bytes) => {
                    let (roots, path) = (roots.clone(), file.path.clone());
                    let read = tokio::task::spawn_blocking(move || {
                        // What lay in the repository is no result of this job.
                        if !is_of_commit(&roots, &path, &bytes) {
                            reports.add(&path, file.is_named, &bytes);
                        }
                        reports
                    });
                    reports = read.await.ok()?;
                }
                Err(reason) => {
                    let shown = config_core::quoted(&file.path);
                    reports.gap(&format!("{shown} is not read: {reason}"));
                }
            }
        }
        Some(reports)
    }

    /// What a command prints, kept out of the log.
    async fn list(&self, argv: Vec<String>) -> Result<Vec<u8>, String> {
        let request = NewExec {
            argv: Some(argv),
            cwd: Some(WORKSPACE.to_owned()),
            env: BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())]),
            timeout_ms: u64::try_from(LIST_TIMEOUT.as_millis()).ok(),
            ..NewExec::default()
        };
        let (vmm, id) = (&self.machine.vmm, &self.machine.id);
        let failed = |error: http_clients::vmm::VmmError| error.to_string();
        let exec = vmm.exec(id, &request).await.map_err(failed)?;
        let mut follow = vmm.follow(id, &exec).await.map_err(failed)?;
        let (mut out, mut said) = (Vec::new(), Vec::new());
        while let Some(event) = follow.next().await {
            match event.map_err(failed)? {
                FollowEvent::Output(OutputStream::Stdout, bytes) => out.extend_from_slice(&bytes),
                FollowEvent::Output(OutputStream::Stderr, bytes) if said.len() < 500 => {
                    said.extend_from_slice(&bytes);
                }
                FollowEvent::Output(..) => {}
                FollowEvent::Dropped(_) => return Err("there are too many files".to_owned()),
                FollowEvent::Ended(report) => {
                    // With 1 it could not read a folder, or does not know its options.
                    let did = report.state == ExecState::Exited
                        && (report.exit_code == Some(0) || !out.is_empty());
                    let said = String::from_utf8_lossy(&said);
                    let said = said.lines().next().unwrap_or_default();
                    let reason = report.reason.unwrap_or_else(|| said.to_owned());
                    return if did { Ok(out) } else { Err(reason) };
                }
            }
            if out.len() > MAX_LISTED {
                return Err("there are too many files".to_owned());
            }
        }
        Err("its end is not known".to_owned())
    }

    async fn fetch_report(&self, path: &str) -> Result<Vec<u8>, String> {
        let (vmm, id) = (&self.machine.vmm, &self.machine.id);
        let _transfer = self.machine.transfer().await;
        let stream = vmm.get_files(id, &format!("{WORKSPACE}/{path}")).await;
        let mut stream = stream.map_err(|error| error.to_string())?;
        let (mut file, mut bytes) = (OneFile::default(), Vec::new());
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| error.to_string())?;
            let taken = file.push(&chunk, |more| {
                bytes.extend_from_slice(more);
                Ok(())
            });
            taken.map_err(|error| error.to_string())?;
            // It may have grown since it was listed.
            if bytes.len() as u64 > MAX_REPORT_BYTES {
                return Err(format!("it has more than {MAX_REPORT_BYTES} bytes"));
            }
        }
        if file.is_whole() {
            Ok(bytes)
        } else {
            Err("it did not come whole".to_owned())
        }
    }

    /// Failed tests as annotations; those in quarantine after the others, as warnings.
    async fn annotate(&self, tests: &JobTests) {
        let failed = || tests.cases.iter().filter(|case| case.outcome.is_bad());
        let own = failed().filter(|case| case.quarantine.is_none());
        let held = failed().filter(|case| case.quarantine.is_some());
        for case in own.chain(held).take(MAX_ANNOTATIONS) {
            let kind = if case.quarantine.is_some() {
                LineKind::Warning
            } else {
                LineKind::Error
            };
            self.log.line(0, kind, &annotation(case)).await;
        }
        let count = failed().count();
        if count > MAX_ANNOTATIONS {
            let text = format!("{} more tests failed", count - MAX_ANNOTATIONS);
            self.log.line(0, LineKind::Warning, &text).await;
        }
    }
}

/// `file:line: suite > name: message`, on one line.
fn annotation(case: &TestCase) -> String {
    let place = match (&case.file, case.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        (Some(file), None) => format!("{file}: "),
        (None, _) => String::new(),
    };
    let message = case
        .failure
        .as_ref()
        .map(|failure| failure.message.as_str());
    let message = message
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default();
    let quarantine = case.quarantine.as_ref();
    let quarantine = quarantine.map(|why| format!(" (in quarantine: {why})"));
    let message = if message.is_empty() {
        "failed"
    } else {
        message
    };
    format!(
        "{place}{}: {message}{}",
        case.full_name(),
        quarantine.unwrap_or_default()
    )
}

/// The day, in UTC: until when a test is in quarantine does not depend on who looks.
fn today() -> Date {
    let now = i64::try_from(now_ms()).unwrap_or(i64::MAX);
    let now = jiff::Timestamp::from_millisecond(now).unwrap_or_default();
    now.to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Whether the file lies like this in what was checked out.
fn is_of_commit(roots: &[CheckedOut], path: &str, bytes: &[u8]) -> bool {
    roots.iter().any(|(folder, root)| {
        let below = std::path::Path::new(path).strip_prefix(folder);
        let known = below.ok().map(|below| root.join(below));
        let same = |known: &PathBuf| {
            let metadata = std::fs::symlink_metadata(known).ok()?;
            let alike = metadata.is_file() && metadata.len() == bytes.len() as u64;
            Some(alike && std::fs::read(known).ok()? == bytes)
        };
        known.as_ref().and_then(same).unwrap_or_default()
    })
}

/// The files of what was checked out, as the workspace has them.
fn source_files(roots: &[CheckedOut]) -> CommitFiles {
    let mut paths = Vec::new();
    for (folder, root) in roots {
        let mut waiting = vec![PathBuf::new()];
        while let Some(directory) = waiting.pop() {
            let entries = std::fs::read_dir(root.join(&directory));
            for entry in entries.into_iter().flatten().flatten() {
                let (path, kind) = (directory.join(entry.file_name()), entry.file_type());
                match kind {
                    Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => waiting.push(path),
                    Ok(kind) if kind.is_file() && paths.len() < MAX_SOURCES => {
                        paths.push(folder.join(path).to_string_lossy().into_owned());
                    }
                    _ => {}
                }
            }
        }
    }
    paths.sort();
    paths.dedup();
    CommitFiles::new(paths)
}
