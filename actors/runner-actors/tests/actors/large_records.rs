//! Runs whose jobs say much: what is kept of it, and that they end.

use runner_core::state::{Conclusion, RunState};
use scripted_peers::Play;

use crate::harness::{Site, job};

/// A step of each of so many copies.
fn copies(count: usize) -> String {
    let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    format!(
        "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    strategy: {{matrix: {{n: [{}]}}}}\n    steps: [{{run: make}}]\n",
        numbers.join(", ")
    )
}

/// Seventy such copies made a record that no row of the store holds: their run stood still for
/// ever.
#[actix_rt::test]
async fn i17_summaries_are_beside_the_record_of_a_run() {
    let text = "#".repeat(1 << 20);
    let site = Site::playing(move |_| Play::exit(0).file("summary", &text));
    let runner = site.start().await;
    let run = runner.run(&site, &copies(3)).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Succeeded, "{:?}", record.reason);
    let steps = || record.jobs.iter().flat_map(|job| &job.steps);
    assert!(
        steps().all(|step| step.summary.is_none()),
        "not in the record"
    );
    let bytes = steps().filter_map(|step| step.summary_bytes);
    assert_eq!(bytes.sum::<u64>(), 3 << 20);
    let shown = runner.view.with_summaries(record).await.unwrap();
    let shown = shown.jobs.iter().flat_map(|job| &job.steps);
    let lengths = shown.filter_map(|step| step.summary.as_ref().map(String::len));
    assert_eq!(lengths.collect::<Vec<_>>(), [1 << 20; 3]);
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_job_whose_outputs_are_too_large_fails_and_says_so() {
    let value = format!("v={}\n", "x".repeat(700_000));
    let site = Site::playing(move |_| Play::exit(0).file("output", &value));
    let runner = site.start().await;
    let workflow = "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    outputs: {v: \"${{ steps.s.outputs.v }}\", w: \"${{ steps.s.outputs.v }}\"}\n    steps: [{id: s, run: make}]\n";
    let run = runner.run(&site, workflow).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Failed);
    let job = job(&record, "a");
    assert_eq!(job.conclusion, Some(Conclusion::Failure));
    let reason = job.reason.as_deref().unwrap_or_default();
    assert!(reason.contains("have more than 1 MiB together"), "{reason}");
    assert!(job.outputs.is_empty());
    runner.stop().await;
}
