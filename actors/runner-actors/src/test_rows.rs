//! Results of tests in the store: with their run, as long as it is kept.

use bytes::Bytes;
use runner_core::test_report::{
    JobTests, ReadReport, TestCase, TestCounts, TestFailure, TestOutcome, TestRun,
};
use serde::{Deserialize, Serialize};
use store::{
    Blob, Extent, ExtentTable, HoldsExtents, JsonRow, ReadRows, Row, StoreError, Table, WriteTxn,
};

use crate::packed::{packed, unpacked};
use crate::records::{JobRecord, RunRecord};

/// By run, key and copy of a job.
const JOBS: Table<(String, String, u32), TestJobRow> = Table::new("runner_tests");
/// Runs that have tests, by repository.
const RUNS: Table<(String, String), TestedRun> = Table::new("runner_tested_runs");
/// Copies of jobs of one run that are looked at.
const MAX_JOBS: usize = 2_000;

/// What is known of the tests of a job beside the tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TestJobHead {
    pub(crate) repository: String,
    pub(crate) workflow: String,
    /// The job's name.
    pub(crate) job: String,
    pub(crate) sha: String,
    pub(crate) reference: String,
    pub(crate) at: u64,
    pub(crate) counts: TestCounts,
    pub(crate) reports: Vec<ReadReport>,
    pub(crate) notes: Vec<String>,
    pub(crate) is_complete: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct TestJobRow {
    head: JsonRow<TestJobHead>,
    cases: Extent,
    failures: Extent,
}

impl Row for TestJobRow {
    const SCHEMA: u16 = 1;
}

impl HoldsExtents for TestJobRow {
    fn extents(&self) -> Vec<Extent> {
        vec![self.cases, self.failures]
    }
}

/// The table whose rows hold extents.
pub(crate) const EXTENT_TABLE: ExtentTable = ExtentTable::new(JOBS);

#[derive(Debug, Serialize, Deserialize)]
struct TestedRun {
    at: u64,
}

impl Row for TestedRun {
    const SCHEMA: u16 = 1;
}

/// A test as it is stored; its failure is stored beside, since histories do not look at it.
#[derive(Debug, Serialize, Deserialize)]
struct StoredCase {
    suite: String,
    name: String,
    outcome: TestOutcome,
    duration_ms: Option<u64>,
    flaky: bool,
    quarantine: Option<String>,
    reason: Option<String>,
    file: Option<String>,
    line: Option<u32>,
}

/// The tests of a job, turned into bytes before the store's writer is asked.
#[derive(Clone)]
pub(crate) struct NewJobTests {
    key: (String, String, u32),
    head: TestJobHead,
    cases: Bytes,
    failures: Bytes,
}

impl NewJobTests {
    /// Of a copy of a job. Takes time: packs all of it.
    pub(crate) fn pack(run: &RunRecord, job: &JobRecord, tests: &JobTests, at: u64) -> Self {
        let cases: Vec<StoredCase> = tests.cases.iter().map(stored).collect();
        let failures = tests.cases.iter().enumerate();
        let failures = failures.filter_map(|(index, case)| Some((index, case.failure.as_ref()?)));
        let failures: Vec<(usize, &TestFailure)> = failures.collect();
        let cases = postcard::to_allocvec(&cases).unwrap_or_default();
        let failures = serde_json::to_vec(&failures).unwrap_or_default();
        Self {
            key: key(&run.id, job),
            head: TestJobHead {
                repository: run.repository.clone(),
                workflow: run.workflow_file.clone().unwrap_or_default(),
                job: job.name.clone(),
                sha: run.sha.clone(),
                reference: run.reference.clone(),
                at,
                counts: tests.counts,
                reports: tests.reports.clone(),
                notes: tests.notes.clone(),
                is_complete: tests.is_complete,
            },
            cases: packed(&cases),
            failures: packed(&failures),
        }
    }

    /// Stores them, in place of what the copy had.
    pub(crate) fn put(self, rows: &mut WriteTxn<'_>) -> Result<(), StoreError> {
        release(rows, &self.key)?;
        let repository = self.head.repository.to_lowercase();
        let run = self.key.0.clone();
        let row = TestJobRow {
            cases: rows.append(&Blob::new(self.cases))?,
            failures: rows.append(&Blob::new(self.failures))?,
            head: JsonRow::new(&self.head),
        };
        rows.put(&JOBS, &self.key, &row)?;
        rows.put(&RUNS, &(repository, run), &TestedRun { at: self.head.at })
    }
}

fn key(run: &str, job: &JobRecord) -> (String, String, u32) {
    let instance = u32::try_from(job.instance).unwrap_or(u32::MAX);
    (run.to_owned(), job.key.clone(), instance)
}

fn stored(case: &TestCase) -> StoredCase {
    StoredCase {
        suite: case.suite.clone(),
        name: case.name.clone(),
        outcome: case.outcome,
        duration_ms: case.duration_ms,
        flaky: case.flaky,
        quarantine: case.quarantine.clone(),
        reason: case.reason.clone(),
        file: case.file.clone(),
        line: case.line,
    }
}

fn release(rows: &mut WriteTxn<'_>, key: &(String, String, u32)) -> Result<(), StoreError> {
    if let Some(row) = rows.get(&JOBS, key)? {
        rows.release(&row.cases);
        rows.release(&row.failures);
    }
    Ok(())
}

/// Forgets the tests of a run.
pub(crate) fn forget(rows: &mut WriteTxn<'_>, run: &str) -> Result<(), StoreError> {
    let run = run.to_owned();
    for (key, row) in rows.below(&JOBS, &run, None, MAX_JOBS)? {
        rows.release(&row.cases);
        rows.release(&row.failures);
        if let Some(head) = row.head.value() {
            let listed = (head.repository.to_lowercase(), run.clone());
            rows.delete(&RUNS, &listed)?;
        }
        rows.delete(&JOBS, &key)?;
    }
    Ok(())
}

/// The tests of a copy of a job, with their failures.
pub(crate) fn of_job(
    rows: &mut impl ReadRows,
    run: &str,
    job: &JobRecord,
) -> Result<Option<(TestJobHead, Vec<TestCase>)>, StoreError> {
    let Some(row) = rows.get(&JOBS, &key(run, job))? else {
        return Ok(None);
    };
    let failures = unpacked(rows, &row.failures)?.unwrap_or_default();
    let failures = serde_json::from_slice::<Vec<(usize, TestFailure)>>(&failures);
    let mut cases = cases(rows, &row.cases)?;
    for (index, failure) in failures.unwrap_or_default() {
        if let Some(case) = cases.get_mut(index) {
            case.failure = Some(failure);
        }
    }
    Ok(row.head.value().map(|head| (head, cases)))
}

fn cases(rows: &mut impl ReadRows, extent: &Extent) -> Result<Vec<TestCase>, StoreError> {
    let bytes = unpacked(rows, extent)?.unwrap_or_default();
    let stored: Vec<StoredCase> = postcard::from_bytes(&bytes).unwrap_or_default();
    let cases = stored.into_iter().map(|case| TestCase {
        suite: case.suite,
        name: case.name,
        outcome: case.outcome,
        duration_ms: case.duration_ms,
        flaky: case.flaky,
        quarantine: case.quarantine,
        reason: case.reason,
        file: case.file,
        line: case.line,
        failure: None,
    });
    Ok(cases.collect())
}

/// Results that one look at histories takes; older runs are left out past them.
const MAX_ENTRIES: usize = 500_000;

/// A test in a run: its workflow and job, its suite and name, how it ended.
pub(crate) type HistoryEntry = ((String, String), (String, String), TestRun);

/// The tests of the newest runs of a repository that `wanted` keeps, the newest run first; at most
/// `runs` of those whose heads `looks_at` takes.
pub(crate) fn newest(
    rows: &mut impl ReadRows,
    repository: &str,
    runs: usize,
    looks_at: impl Fn(&TestJobHead) -> bool,
    wanted: impl Fn(&TestCase) -> bool,
) -> Result<Vec<HistoryEntry>, StoreError> {
    let repository = repository.to_lowercase();
    let first = (repository.clone(), String::new());
    // No id begins with the last character.
    let last = (repository, char::MAX.to_string());
    let listed = rows.range_back(&RUNS, first..last, MAX_JOBS)?;
    let (mut entries, mut seen) = (Vec::new(), 0);
    for ((_, run), _) in listed {
        let mut takes = false;
        for (_, row) in rows.below(&JOBS, &run, None, MAX_JOBS)? {
            let Some(head) = row.head.value().filter(&looks_at) else {
                continue;
            };
            takes = true;
            let of_job = (head.workflow.clone(), head.job.clone());
            for case in cases(rows, &row.cases)?.into_iter().filter(&wanted) {
                let ended = TestRun {
                    run: run.clone(),
                    sha: head.sha.clone(),
                    reference: head.reference.clone(),
                    at: head.at,
                    outcome: case.outcome,
                    duration_ms: case.duration_ms,
                    flaky: case.flaky,
                    quarantined: case.quarantine.is_some(),
                };
                entries.push((of_job.clone(), (case.suite, case.name), ended));
            }
        }
        seen += usize::from(takes);
        if seen >= runs || entries.len() >= MAX_ENTRIES {
            break;
        }
    }
    Ok(entries)
}
