//! All reports of one job as one list of tests.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::limits::{MAX_FAILURES, MAX_NOTES, MAX_TESTS, ReportError};
use super::location::CommitFiles;
use super::settings::TestSettings;
use super::text::head;
use super::types::{ReportFormat, TestCase, TestCounts, TestReport};

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadReport {
    /// From the workspace.
    pub path: String,
    /// What kind of file it is.
    pub format: ReportFormat,
    /// How many tests it names.
    pub tests: u32,
}

/// The tests of one job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobTests {
    /// In the order of the reports.
    pub cases: Vec<TestCase>,
    /// How many of them ended how.
    pub counts: TestCounts,
    /// The files, by path.
    pub reports: Vec<ReadReport>,
    /// What is to be said of them, for people.
    pub notes: Vec<String>,
    /// No failure can be missing: nothing was cut short or left out.
    pub is_complete: bool,
}

impl JobTests {
    /// Whether tests failed, all of them are in quarantine, and none can be missing.
    #[must_use]
    pub fn has_only_quarantined_failures(&self) -> bool {
        let TestCounts {
            failed,
            quarantined,
            ..
        } = self.counts;
        self.is_complete && failed > 0 && failed == quarantined
    }

    /// Whether there is anything to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty() && self.notes.is_empty()
    }
}

/// Puts the reports of a job together.
#[derive(Debug, Default)]
pub struct JobReports {
    cases: Vec<TestCase>,
    by_name: HashMap<(String, String), usize>,
    reports: Vec<ReadReport>,
    notes: Vec<String>,
    has_gaps: bool,
    /// Of the bytes of each file: a copy counts once.
    seen: HashSet<u64>,
}

impl JobReports {
    /// Adds a file. One that holds no results is passed over, and noted where the project names it.
    pub fn add(&mut self, path: &str, is_named: bool, bytes: &[u8]) {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        if !self.seen.insert(hasher.finish()) {
            return;
        }
        let shown = config_core::quoted(path);
        match super::read(bytes) {
            Ok(report) => {
                for note in &report.notes {
                    self.gap(&format!("{shown}: {note}"));
                }
                self.take(path, report);
            }
            Err(ReportError::NoReport) if !is_named => {}
            Err(error) => self.gap(&format!("{shown} is not read: {error}")),
        }
    }

    /// Notes that something is not read: failures may be missing.
    pub fn gap(&mut self, note: &str) {
        self.has_gaps = true;
        if self.notes.len() < MAX_NOTES {
            self.notes.push(head(note, 2000));
        }
    }

    fn take(&mut self, path: &str, report: TestReport) {
        let tests = u32::try_from(report.cases.len()).unwrap_or(u32::MAX);
        self.reports.push(ReadReport {
            path: path.to_owned(),
            format: report.format,
            tests,
        });
        let before = self.cases.len();
        for case in report.cases {
            let key = (case.suite.clone(), case.name.clone());
            if let Some(known) = self.by_name.get(&key) {
                let repeats = report.repeats && *known >= before;
                merge(&mut self.cases[*known], case, repeats);
            } else if self.cases.len() < MAX_TESTS {
                self.by_name.insert(key, self.cases.len());
                self.cases.push(case);
            } else {
                let shown = config_core::quoted(path);
                self.gap(&format!(
                    "the job has more than {MAX_TESTS} tests: some of {shown} are left out"
                ));
                return;
            }
        }
    }

    /// The list: places found among the commit's files, texts masked, quarantine as of a day.
    #[must_use]
    pub fn finish(
        self,
        files: &CommitFiles,
        quarantine: (&TestSettings, &str, Date),
        mask: &dyn Fn(&str) -> String,
    ) -> JobTests {
        let (settings, job, today) = quarantine;
        let mut cases = self.cases;
        let mut notes = self.notes;
        let mut failures = 0;
        for case in &mut cases {
            if case.failure.is_some() {
                failures += 1;
                files.locate(case);
                if failures > MAX_FAILURES {
                    case.failure = None;
                }
            }
            let entry = settings.quarantine(&case.full_name(), job, today);
            case.quarantine =
                entry.map(|entry| format!("{} (until {})", entry.reason, entry.until));
            mask_case(case, mask);
        }
        if failures > MAX_FAILURES {
            notes.push(format!(
                "{failures} tests failed: the messages of the first {MAX_FAILURES} are kept"
            ));
        }
        let counts = TestCounts::count(&cases);
        JobTests {
            cases,
            counts,
            reports: self.reports,
            notes: notes.iter().map(|note| mask(note)).collect(),
            is_complete: !self.has_gaps,
        }
    }
}

/// A second result of one name: of attempts the last one counts, of others the worst.
fn merge(known: &mut TestCase, new: TestCase, repeats: bool) {
    let ran = |case: &TestCase| case.outcome != super::types::TestOutcome::Skipped;
    let both = ran(known) && ran(&new) && known.outcome.is_bad() != new.outcome.is_bad();
    let flaky = known.flaky || new.flaky || both;
    let takes_new = if repeats {
        ran(&new) || !ran(known)
    } else {
        new.outcome > known.outcome || (!ran(known) && ran(&new))
    };
    let failure = known.failure.take().or_else(|| new.failure.clone());
    if takes_new {
        let place = (known.file.take(), known.line.take());
        *known = new;
        if known.file.is_none() {
            (known.file, known.line) = place;
        }
    }
    known.flaky = flaky;
    known.failure = failure;
}

fn mask_case(case: &mut TestCase, mask: &dyn Fn(&str) -> String) {
    let texts = [
        Some(&mut case.suite),
        Some(&mut case.name),
        case.reason.as_mut(),
    ];
    for text in texts.into_iter().flatten() {
        *text = mask(text);
    }
    if let Some(failure) = &mut case.failure {
        for text in [
            &mut failure.message,
            &mut failure.detail,
            &mut failure.output,
        ] {
            *text = mask(text);
        }
    }
}
