//! Jobs that ask for, start and repeat runs by the forge's REST API: the client of npm, unmodified.
//! The forge knows none of these runs.

use runner_core::context::run_number_id;
use serde_json::{Value, json};

use crate::gateway::{Stage, has, lines, stage_of, workflow};
use crate::harness::within;

/// What the job of each push does, by its number.
const CLIENT: &str = r#"
import {getOctokit, context} from '@actions/github';
import {request} from 'node:http';
const at = new URL(process.env.GITHUB_API_URL);
// Addresses of answers are those in a machine.
const here = (url, options) => fetch(String(url).replace('http://127.0.0.1:3128', at.origin), options);
const octokit = getOctokit(process.env.TOKEN, {request: {fetch: here}});
const {repo} = context;
const actions = octokit.rest.actions;
const tried = async (name, work, show = () => '') => {
  const answer = await work().catch((error) => error);
  const status = answer.status ?? answer.response?.status ?? '';
  const good = status >= 200 && status < 400;
  console.log(`${name}: ${status} ${good ? JSON.stringify(show(answer) ?? null) : answer.message ?? ''}`);
  return answer;
};
const raw = (method, path, own = true) => new Promise((done) => {
  const headers = own ? {authorization: `token ${process.env.TOKEN}`} : {};
  const target = path.startsWith('http') ? new URL(path).pathname + new URL(path).search : at.pathname + path;
  const asked = request({method, host: at.hostname, port: at.port, path: target, headers}, (answer) => {
    const parts = [];
    answer.on('data', (part) => parts.push(part));
    answer.on('end', () => done({status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts)}));
  });
  asked.end();
});
const run = {...repo, run_id: context.runId};
const ship = {...repo, workflow_id: 'ship.yml'};
const phases = {
  1: async () => {
    const listed = await tried('workflows', () => actions.listRepoWorkflows(repo), ({data}) => [data.total_count, ...data.workflows.map((one) => [one.name, one.path, one.state])]);
    await tried('workflow', () => actions.getWorkflow(ship), ({data}) => data.name);
    const {id} = listed.data.workflows.find((one) => one.name === 'Ship');
    await tried('by number', () => actions.getWorkflow({...repo, workflow_id: id}), ({data}) => [data.id === id, data.path]);
    await tried('own', () => actions.getWorkflowRun(run), ({data}) => [data.id === context.runId, data.name, data.status, data.conclusion, data.event, data.head_branch, data.head_sha === context.sha, data.head_commit.tree_id?.length, data.run_attempt]);
    const {data: {jobs}} = await tried('jobs', () => actions.listJobsForWorkflowRun(run), ({data}) => [data.total_count, data.jobs[0].name, data.jobs[0].status, data.jobs[0].run_id === context.runId, data.jobs[0].steps.at(-1).status]);
    await tried('job', () => actions.getJobForWorkflowRun({...repo, job_id: jobs[0].id}), ({data}) => [data.name, data.labels]);
    await tried('attempt', () => actions.getWorkflowRunAttempt({...run, attempt_number: 1}), ({data}) => data.run_attempt);
    await tried('no attempt', () => actions.getWorkflowRunAttempt({...run, attempt_number: 2}));
    const dispatch = (name, more) => tried(name, () => actions.createWorkflowDispatch({...ship, ref: 'main', ...more}), ({data}) => data ? Object.keys(data) : null);
    await dispatch('dispatch', {inputs: {where: 'moon'}});
    await dispatch('number', {workflow_id: id, ref: 'refs/heads/main', inputs: {where: 'mars'}});
    await dispatch('no input', {});
    await dispatch('other input', {inputs: {where: 'moon', who: 'x'}});
    await dispatch('other choice', {inputs: {where: 'sun'}});
    await dispatch('no branch', {ref: 'nowhere', inputs: {where: 'moon'}});
    await dispatch('pattern', {ref: 'mai*', inputs: {where: 'moon'}});
    await dispatch('no file', {workflow_id: 'none.yml', inputs: {where: 'moon'}});
    await dispatch('not by hand', {workflow_id: 'ci.yml'});
    await dispatch('outside', {workflow_id: '../../../ship.yml'});
    await dispatch('elsewhere', {repo: 'secret'});
    const details = await tried('with details', () => octokit.request('POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches', {...ship, ref: 'main', inputs: {where: 'moon'}, return_run_details: true}), ({data}) => typeof data.workflow_run_id);
    const third = {...repo, run_id: details.data?.workflow_run_id ?? context.runId};
    await tried('cancel', () => actions.cancelWorkflowRun(third));
    await tried('runs while it runs', () => actions.reRunWorkflow(run));
    await tried('approve', () => actions.approveWorkflowRun(third));
    await tried('disable', () => actions.disableWorkflow(ship));
  },
  2: async () => {
    const may = await tried('nothing', () => actions.listWorkflowRunsForRepo(repo));
    if (may.status === 403) return;
    const all = await octokit.paginate(actions.listWorkflowRunsForRepo, {...repo, per_page: 1});
    console.log(`pages: ${JSON.stringify(all.map((one) => [one.name, one.event, one.status, one.conclusion]))}`);
    const page = await tried('page', () => actions.listWorkflowRunsForRepo({...repo, per_page: 99999999, page: 1}), ({data}) => [data.total_count, data.workflow_runs.length]);
    await tried('beyond', () => actions.listWorkflowRunsForRepo({...repo, page: 9007199254740991}), ({data}) => [data.total_count, data.workflow_runs.length]);
    const count = (name, query) => tried(name, () => actions.listWorkflowRunsForRepo({...repo, ...query}), ({data}) => [data.total_count, ...new Set(data.workflow_runs.map((one) => one.name))]);
    await count('event', {event: 'workflow_dispatch'});
    await count('success', {status: 'success', event: 'workflow_dispatch'});
    await count('cancelled', {status: 'cancelled'});
    await count('branch', {branch: 'main', event: 'push'});
    await count('other branch', {branch: 'mai'});
    await count('commit', {head_sha: context.sha});
    await count('actor', {actor: 'ada'});
    await count('bot', {actor: 'github-actions[bot]'});
    await count('created', {created: '>=2020-01-01'});
    await count('before', {created: '<2020-01-01'});
    await count('no date', {created: 'soon'});
    await tried('of ship', () => actions.listWorkflowRuns(ship), ({data}) => [data.total_count, data.workflow_runs[0].workflow_id === data.workflow_runs[1].workflow_id]);
    const shipped = page.data.workflow_runs.filter((one) => one.name === 'Ship' && one.conclusion === 'success').at(-1);
    const old = {...repo, run_id: shipped.id};
    await tried('jobs url', () => octokit.request(`GET ${shipped.jobs_url}`), ({data}) => [data.jobs[0].name, data.jobs[0].conclusion]);
    const {data: {jobs}} = await actions.listJobsForWorkflowRun(old);
    const led = async (name, path) => {
      const answer = await raw('GET', path);
      const there = await raw('GET', answer.headers.location, false);
      console.log(`${name}: ${answer.status} ${there.status} ${there.headers['content-type']} ${there.body.subarray(0, 2)} ${there.body.includes('by the machine')}`);
    };
    await led('job logs', `/repos/acme/rocket/actions/jobs/${jobs[0].id}/logs`);
    await led('run logs', `/repos/acme/rocket/actions/runs/${shipped.id}/logs`);
    await tried('ended', () => actions.cancelWorkflowRun(old));
    await tried('nothing failed', () => actions.reRunWorkflowFailedJobs(old));
    await tried('rerun', () => actions.reRunWorkflow(old));
    await tried('rerun again', () => actions.reRunWorkflow(old));
    await tried('artifacts', () => actions.listArtifactsForRepo(repo), ({data}) => [data.total_count, data.artifacts]);
    const other = {...repo, run_id: process.env.OTHER};
    await tried('of another', () => actions.getWorkflowRun(other));
    await tried('jobs of another', () => actions.listJobsForWorkflowRun(other));
    await tried('cancel another', () => actions.cancelWorkflowRun(other));
    await tried('repeat another', () => actions.reRunWorkflow(other));
    for (const id of ['x', '-1', '18446744073709551616', '..%2f7', '%2e%2e']) {
      const {status} = await raw('GET', `/repos/acme/rocket/actions/runs/${id}`);
      console.log(`run ${id}: ${status}`);
    }
  },
  3: async () => {
    const {data} = await actions.listWorkflowRuns(ship);
    const again = data.workflow_runs.find((one) => one.run_attempt === 2);
    console.log(`attempts: ${data.total_count} ${again.status} ${again.previous_attempt_url.endsWith('/attempts/1')}`);
    const named = {...repo, run_id: again.id};
    await tried('first', () => actions.getWorkflowRunAttempt({...named, attempt_number: 1}), ({data}) => [data.run_attempt, data.id === again.id, data.conclusion]);
    await tried('all jobs', () => actions.listJobsForWorkflowRun({...named, filter: 'all'}), ({data}) => [data.total_count, ...data.jobs.map((one) => one.run_attempt)]);
    const {data: {jobs}} = await actions.listJobsForWorkflowRun(named);
    await tried('one job again', () => actions.reRunJobForWorkflowRun({...repo, job_id: jobs[0].id}));
  },
};
const fork = async () => {
  await tried('fork reads', () => actions.listWorkflowRunsForRepo(repo), ({data}) => data.total_count > 0);
  await tried('fork dispatches', () => actions.createWorkflowDispatch({...ship, ref: 'main', inputs: {where: 'moon'}}));
  await tried('fork repeats', () => actions.reRunWorkflow(run));
  await tried('fork cancels', () => actions.cancelWorkflowRun(run));
  await tried('fork approves', () => actions.approveWorkflowRun(run));
  await tried('fork disables', () => actions.disableWorkflow(ship));
};
await (context.eventName === 'pull_request' ? fork() : phases[context.runNumber]());
"#;

const SHIP: &str = "name: Ship
on:
  workflow_dispatch:
    inputs:
      where: {type: choice, options: [moon, mars], required: true}
jobs:
  go: {runs-on: x, steps: [{run: 'by the machine ${{ inputs.where }}'}]}
";

/// A repository with `ship.yml`, and the number of a run of another.
fn stage() -> (Stage, String) {
    // What is started waits until the job that starts it has ended, as does the scripted manager.
    let stage = stage_of(CLIENT, |settings| settings.max_jobs = 1);
    let Stage { site, runner, .. } = &stage;
    let sha = site.commit("on: push\njobs: {a: {runs-on: x, steps: [{run: nothing}]}}\n");
    let mut other = site.push(&sha);
    other["repository"]["full_name"] = json!("acme/secret");
    let run = runner.run("push", "d-0", &other);
    assert_eq!(runner.ended(&run)["state"], "succeeded");
    site.write(".github/workflows/ship.yml", SHIP);
    (stage, run_number_id(&run))
}

/// Pushes, and gives what the job said; `other` is a run of another repository.
fn pushed((stage, other): &(Stage, String), delivery: &str, permissions: &str) -> Vec<String> {
    let Stage { site, runner, .. } = stage;
    site.write("README", delivery);
    let text = workflow(permissions).replace("SAME:", &format!("OTHER: '{other}', SAME:"));
    let sha = site.commit(&text);
    let run = runner.run("push", delivery, &site.push(&sha));
    let record = runner.ended(&run);
    let said = lines(runner, &run);
    assert_eq!(record["state"], "succeeded", "{record:#} {said:#?}");
    said
}

/// The runs of `ship.yml`, once all of them have ended.
fn shipped((stage, _): &(Stage, String), count: usize) -> Vec<Value> {
    let mut runs = Vec::new();
    let ended = within(|| {
        runs = stage.runner.runs();
        runs.retain(|run| run["event"] == "workflow_dispatch");
        runs.len() == count && runs.iter().all(|run| run.get("ended_at").is_some())
    });
    assert!(ended, "{runs:#?}");
    runs
}

/// What the first job says of its own run, of workflows, and of what it starts.
const OF_THE_FIRST: [&str; 24] = [
    r#"workflows: 200 [2,["CI",".github/workflows/ci.yml","active"],["Ship",".github/workflows/ship.yml","active"]]"#,
    r#"workflow: 200 "Ship""#,
    r#"by number: 200 [true,".github/workflows/ship.yml"]"#,
    r#"own: 200 [true,"CI","in_progress",null,"push","main",true,40,1]"#,
    r#"jobs: 200 [1,"a","in_progress",true,"in_progress"]"#,
    r#"job: 200 ["a",["x"]]"#,
    "attempt: 200 1",
    "no attempt: 404",
    "dispatch: 204 null",
    "number: 204 null",
    "no input: 422 the input `where` is missing",
    "other input: 422 the workflow has no input `who`",
    "other choice: 422 ",
    "no branch: 422 No ref found for: `nowhere`",
    "pattern: 422 No ref found for: `mai*`",
    "no file: 404 ",
    "not by hand: 422 .github/workflows/ci.yml does not say `workflow_dispatch`",
    "outside: 403 ",
    "elsewhere: 403 ",
    r#"with details: 200 "number""#,
    "cancel: 202",
    "runs while it runs: 403 ",
    "approve: 403 ",
    "disable: 404 Not Found: workflows are not switched on and off here",
];

/// What the second one says of runs that have ended.
const OF_THE_SECOND: [&str; 32] = [
    r#"pages: [["CI","push","in_progress",null],["Ship","workflow_dispatch","completed","cancelled"],["Ship","workflow_dispatch","completed","success"],["Ship","workflow_dispatch","completed","success"],["CI","push","completed","success"]]"#,
    "page: 200 [5,5]",
    "beyond: 200 [5,0]",
    r#"event: 200 [3,"Ship"]"#,
    r#"success: 200 [2,"Ship"]"#,
    r#"cancelled: 200 [1,"Ship"]"#,
    r#"branch: 200 [2,"CI"]"#,
    "other branch: 200 [0]",
    r#"commit: 200 [1,"CI"]"#,
    r#"actor: 200 [2,"CI"]"#,
    r#"bot: 200 [3,"Ship"]"#,
    r#"created: 200 [5,"CI","Ship"]"#,
    "before: 200 [0]",
    "no date: 422",
    "of ship: 200 [3,true]",
    r#"jobs url: 200 ["go","success"]"#,
    "job logs: 302 200 text/plain; charset=utf-8 20 true",
    "run logs: 302 200 application/zip PK ",
    "ended: 409 ",
    "nothing failed: 403 ",
    "rerun: 201",
    "rerun again: 403 ",
    "artifacts: 200 [0,[]]",
    "of another: 404",
    "jobs of another: 404",
    "cancel another: 404",
    "repeat another: 404",
    "run x: 404",
    "run -1: 404",
    "run 18446744073709551616: 404",
    "run ..%2f7: 403",
    "run %2e%2e: 403",
];

#[test]
fn i17_jobs_start_read_and_repeat_runs_by_the_client_of_npm() {
    let stage = stage();
    let write = "permissions: {actions: write, contents: read}";
    let said = pushed(&stage, "d-1", write);
    OF_THE_FIRST.iter().for_each(|line| has(&said, line));
    let runs = shipped(&stage, 3);
    let states: Vec<&Value> = runs.iter().map(|run| &run["state"]).collect();
    assert_eq!(states, ["cancelled", "succeeded", "succeeded"], "{runs:#?}");
    assert_eq!(runs[2]["actor"], "github-actions[bot]");
    let reason = runs[0]["reason"].as_str().unwrap();
    assert!(reason.contains("asked for it"), "{reason}");
    let scripts = stage.0.site.vmm.commands().into_iter();
    let scripts: Vec<String> = scripts.map(|command| command.script).collect();
    for script in ["by the machine moon", "by the machine mars"] {
        assert!(
            scripts.iter().any(|one| one.contains(script)),
            "{scripts:?}"
        );
    }

    let said = pushed(&stage, "d-2", write);
    OF_THE_SECOND.iter().for_each(|line| has(&said, line));
    shipped(&stage, 4);
    let said = pushed(&stage, "d-3", write);
    for line in [
        "attempts: 3 completed true",
        r#"first: 200 [1,true,"success"]"#,
        "all jobs: 200 [2,2,1]",
        "one job again: 201",
    ] {
        has(&said, line);
    }
    let runs = shipped(&stage, 5);
    assert_eq!(runs[0]["attempt"], 3, "{runs:#?}");
    // Nothing of it was asked of the forge but runs that this one does not have.
    let requests = stage.0.site.forge.requests().into_iter();
    let asked: Vec<String> = requests
        .map(|asked| asked.path)
        .filter(|path| path.contains("/actions/"))
        .collect();
    assert!(
        asked.iter().all(|path| path.contains("/actions/runs/")),
        "{asked:?}"
    );
}

#[test]
fn i17_runs_are_read_and_started_as_far_as_permissions_go() {
    let stage = stage();
    let said = pushed(
        &stage,
        "d-1",
        "permissions: {actions: read, contents: read}",
    );
    for line in [
        "own: 200 ",
        "jobs: 200 ",
        "dispatch: 403 Resource not accessible by integration: the job's `permissions` lack `actions: write`",
        "with details: 403 ",
        "cancel: 403 ",
        "runs while it runs: 403 ",
        "approve: 403 ",
        "disable: 403 ",
    ] {
        has(&said, line);
    }
    let said = pushed(
        &stage,
        "d-2",
        "permissions: {actions: none, contents: write}",
    );
    has(&said, "nothing: 403");
    assert!(shipped(&stage, 0).is_empty());
}

#[test]
fn i17_what_a_fork_causes_reads_runs_and_changes_none() {
    let (stage, _) = stage();
    let Stage { site, runner, .. } = &stage;
    let base = site.commit(&workflow("permissions: write-all"));
    site.write("README", "a stranger's\n");
    let head = site.commit_all();
    let pull = scripted_peers::Pull::new(8, "ada", &head, &head);
    site.forge.add_pull("acme/rocket", pull);
    let run = runner.run("pull_request", "d-1", &site.fork(&head, &base));
    let record = runner.ended(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}");
    let said = lines(runner, &run);
    for line in [
        "fork reads: 200 true",
        "fork dispatches: 403 ",
        "fork repeats: 403 ",
        "fork cancels: 403 ",
        "fork approves: 403 ",
        "fork disables: 403 ",
    ] {
        has(&said, line);
    }
    let runs = runner.runs();
    assert_eq!(runs.len(), 2, "{runs:#?}");
}
