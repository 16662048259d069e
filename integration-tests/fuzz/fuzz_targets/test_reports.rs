//! A report of tests, in any format: bounded results whose numbers agree, or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runner_core::test_report::{
    CommitFiles, JobReports, MAX_FAILURES, MAX_TESTS, TestSettings, read, summary,
};

fuzz_target!(|bytes: &[u8]| {
    let Ok(report) = read(bytes) else {
        return;
    };
    assert!(report.cases.len() <= MAX_TESTS);
    for case in &report.cases {
        assert!(case.name.len() < 600 && case.suite.len() < 600);
        assert!(!case.name.chars().any(char::is_control));
        assert!(case.failure.is_some() || !case.outcome.is_bad());
    }
    let mut reports = JobReports::default();
    reports.add("a", true, bytes);
    let files = CommitFiles::new(["src/lib.rs".to_owned()]);
    let day = "2026-11-24".parse().expect("it is a day");
    let settings = TestSettings::default();
    let tests = reports.finish(&files, (&settings, "job", day), &str::to_owned);
    let counts = tests.counts;
    assert_eq!(counts.total, counts.passed + counts.failed + counts.skipped);
    assert_eq!(counts.total as usize, tests.cases.len());
    assert!(tests.is_complete == report.notes.is_empty());
    assert!(!tests.has_only_quarantined_failures());
    let kept = tests.cases.iter().filter(|case| case.failure.is_some());
    assert!(kept.count() <= MAX_FAILURES);
    assert!(!summary(&tests).is_empty());
});
