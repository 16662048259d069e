//! Summaries that are stored beside their run.

use runner_core::state::RunState;
use serde_json::json;
use store::{Store, StoreOptions};

use super::*;
use crate::ledger::tests::ledger;
use crate::rows;

fn with_job(run: &mut RunRecord) {
    let steps: Vec<_> = (1..=20)
        .map(|number| json!({ "number": number, "name": "s", "started_at": 1 }))
        .collect();
    let job = json!({
        "key": "test", "instance": 0, "name": "test", "context": "ci / test", "queued_at": 1,
        "steps": steps,
    });
    run.jobs.push(serde_json::from_value(job).unwrap());
}

fn wrote(number: u32, text: &str) -> StepRecord {
    StepRecord {
        number,
        summary: Some(text.to_owned()),
        ..StepRecord::default()
    }
}

async fn shown(store: &Store, id: &str) -> RunRecord {
    let id = id.to_owned();
    let read = store.read(move |rows| {
        let mut run = rows::run(rows, &id)?.expect("it is stored");
        fill(rows, &mut run).map(|()| run)
    });
    read.await.unwrap()
}

#[tokio::test]
async fn i17_a_summary_is_stored_beside_the_record_and_shown_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_memory(&StoreOptions::new("summaries")).unwrap();
    let mut ledger = ledger(store.clone(), folder.path());
    with_job(&mut ledger.record);
    let mut step = wrote(1, &"a".repeat(1 << 20));
    ledger.take_summary(0, &mut step).await;
    assert_eq!((&step.summary, step.summary_bytes), (&None, Some(1 << 20)));
    ledger.record.jobs[0].steps[0] = step;
    // As records of former versions have it.
    ledger.record.jobs[0].steps[1].summary = Some("within".to_owned());
    assert!(ledger.save(Vec::new()).await);
    let id = ledger.record.id.clone();
    let run = shown(&store, &id).await;
    let steps = &run.jobs[0].steps;
    assert_eq!(steps[0].summary.as_ref().map(String::len), Some(1 << 20));
    assert_eq!(steps[1].summary.as_deref(), Some("within"));
    assert_eq!(steps[2].summary, None);
    // A job of another attempt that kept its end has what it wrote there.
    let mut next = ledger.record.clone();
    next.id = "next".to_owned();
    next.jobs[0].kept_from = Some(id.clone());
    let filled = store.read(move |rows| fill(rows, &mut next).map(|()| next));
    let filled = filled.await.unwrap();
    assert_eq!(filled.jobs[0].steps[0].summary, steps[0].summary);
    let forgotten = id.clone();
    let forget = store.write(move |rows| rows::forget(rows, &forgotten));
    forget.await.unwrap();
    let left = store.read(move |rows| rows.below(&SUMMARIES, &id, None, 9));
    assert_eq!(left.await.unwrap().len(), 0);
}

#[tokio::test]
async fn i17_more_summaries_than_are_shown_are_had_by_pages() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_memory(&StoreOptions::new("summaries")).unwrap();
    let mut ledger = ledger(store.clone(), folder.path());
    with_job(&mut ledger.record);
    let text = "\"".repeat(4 << 20);
    for number in 1..=20 {
        let mut step = wrote(number, &text);
        ledger.take_summary(0, &mut step).await;
        let at = usize::try_from(number).unwrap() - 1;
        ledger.record.jobs[0].steps[at] = step;
        assert!(ledger.save(Vec::new()).await);
    }
    let run = shown(&store, &ledger.record.id).await;
    let steps = run.jobs[0].steps.iter();
    let texts: Vec<usize> = steps
        .map(|step| step.summary.as_ref().map_or(0, String::len))
        .collect();
    assert_eq!(texts[..4], [4 << 20; 4]);
    assert_eq!(texts[4..], [0; 16]);
    let mut from = SummaryPlace::left_out(&run).expect("some are left out");
    assert_eq!(from.to_string(), "0-5");
    let mut seen = Vec::new();
    loop {
        let of = run.clone();
        let page = store.read(move |rows| SummaryPage::read(rows, &of, (Some("test"), from)));
        let page = page.await.unwrap();
        seen.extend(page.summaries.iter().map(|one| (one.step, one.text.len())));
        let Some(next) = page.next else { break };
        assert_eq!(next.to_string().parse(), Ok(next));
        from = next;
    }
    // 64 MiB are stored.
    let stored: Vec<(u32, usize)> = (5..=16).map(|step| (step, 4 << 20)).collect();
    assert_eq!(seen, stored);
    let (of, from) = (run.clone(), SummaryPlace::default());
    let none = store.read(move |rows| SummaryPage::read(rows, &of, (Some("other"), from)));
    assert!(none.await.unwrap().summaries.is_empty());
    ledger.recorder.logs.flush().await;
    let log = std::fs::read_to_string(ledger.recorder.logs.path(&run.id)).unwrap();
    assert!(log.contains("step 20: its summary of 4194304 bytes is left out"));
}

/// A record that the store does not take was repeated for ever, and nothing could end the run.
#[tokio::test]
async fn i17_a_record_that_is_too_large_loses_its_outputs_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_memory(&StoreOptions::new("summaries")).unwrap();
    let mut ledger = ledger(store.clone(), folder.path());
    with_job(&mut ledger.record);
    let output = ("v".to_owned(), "x".repeat(store::MAX_ROW_BYTES));
    ledger.record.jobs[0].outputs.push(output);
    ledger.record.state = RunState::Running;
    assert!(ledger.save(Vec::new()).await);
    let reason = ledger.oversized.clone().expect("the run ends");
    assert!(
        reason.contains("in table runner_runs is above the limit of 67108864"),
        "{reason}"
    );
    assert!(ledger.record.jobs[0].outputs.is_empty());
    ledger.end(RunState::Failed, Some(reason.clone())).await;
    let stored = shown(&store, &ledger.record.id).await;
    assert_eq!(
        (stored.state, stored.reason),
        (RunState::Failed, Some(reason))
    );
}
