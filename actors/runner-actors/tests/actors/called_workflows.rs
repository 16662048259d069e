//! Called workflows with a matrix: their jobs run, are named and kept in the record; one call of a
//! concurrency group at a time.

use runner_core::state::{Conclusion, RunState};
use scripted_peers::Play;

use crate::harness::{Site, job, status};

const INNER: &str = "on: {workflow_call: {inputs: {os: {type: string, required: true}}}}
concurrency: deploy-${{ inputs.os == 'c' && 'c' || 'both' }}
jobs: {test: {runs-on: x, steps: [{run: 'test ${{ inputs.os }}'}]}}
";
const OUTER: &str = "name: CI
on: push
jobs:
  list:
    runs-on: x
    outputs: {all: '${{ steps.s.outputs.all }}'}
    steps: [{id: s, run: list}]
  call:
    needs: list
    strategy: {fail-fast: false, max-parallel: 2, matrix: {os: '${{ fromJSON(needs.list.outputs.all) }}'}}
    uses: ./.github/workflows/inner.yml
    with: {os: '${{ matrix.os }}'}
";

#[actix_rt::test]
async fn i17_a_called_matrix_of_outputs_runs_names_its_jobs_and_keeps_to_its_groups() {
    let site = Site::playing(|command| {
        if command.script.contains("list") {
            Play::exit(0).out("::set-output name=all::[\"a\",\"b\",\"c\"]\n")
        } else {
            Play::exit(i32::from(command.script.contains("test b")))
        }
    });
    let runner = site.start().await;
    site.write_workflow("inner.yml", INNER);
    let run = runner.run(&site, OUTER).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Failed, "{record:#?}");
    for (name, conclusion, state) in [
        ("call (a) / test", Conclusion::Success, "success"),
        ("call (b) / test", Conclusion::Failure, "failure"),
        ("call (c) / test", Conclusion::Success, "success"),
    ] {
        assert_eq!(job(&record, name).conclusion, Some(conclusion), "{name}");
        status(&site, &record.sha, &format!("CI / {name} (push)"), state).await;
    }
    // Both `a` and `b` are of one group.
    let (a, b) = (
        job(&record, "call (a) / test"),
        job(&record, "call (b) / test"),
    );
    assert!(b.queued_at >= a.ended_at.unwrap(), "{record:#?}");
    assert_eq!(record.job_order.len(), 2 + 3);
    runner.stop().await;
}
