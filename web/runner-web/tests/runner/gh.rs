//! GitHub's own program with the token of a job: it speaks to a socket, behind which the gateway
//! answers its GraphQL by calls of a forge that has none.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

use forge_core::Forge;
use runner_actors::RunnerSettings;

use crate::gateway::has;
use crate::local_jobs::{self, workflow};

/// What stands before each script: a clone whose remote is the forge, by its name.
const BEGIN: &str = "export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org
own=$(mktemp -d -p .); git clone --quiet \"$REPOSITORY\" $own/c 2>&1; cd $own/c; git remote set-url origin https://forge.example/acme/rocket.git
tried() { name=$1; shift; \"$@\" 2>&1 | sed \"s|^|$name: |\"; }
";

/// Leads a socket to the services, as a machine's agent does.
fn relay(socket: &Path, services: SocketAddr) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(services) else {
                return;
            };
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
            std::thread::spawn(move || back(server, client));
        }
    });
}

fn back(mut server: TcpStream, mut client: UnixStream) {
    copy(&mut server, &mut client);
    let _ = client.shutdown(Shutdown::Both);
}

fn copy(from: &mut impl Read, to: &mut impl Write) {
    // One of both ends when it likes.
    let _ = std::io::copy(from, to);
}

struct Stage(local_jobs::Stage);

fn stage(change: fn(&mut RunnerSettings)) -> Stage {
    let program = Command::new("gh").arg("--version").output();
    program.expect("gh is installed (Debian package gh): run the tests by `cargo xtask test`");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("gh.sock");
    relay(&socket, listener.local_addr().unwrap());
    let config = format!("http_unix_socket: {}\nprompt: disabled\n", socket.display());
    std::fs::write(home.path().join("config.yml"), config).unwrap();
    let hosts = "forge.example:\n    git_protocol: https\n";
    std::fs::write(home.path().join("hosts.yml"), hosts).unwrap();
    let stage = local_jobs::stage(change, home, listener, BEGIN, |command, home, _| {
        let given = |name: &str| command.env.get(name).cloned().unwrap_or_default();
        let variables = [
            ("REPOSITORY", given("REPOSITORY")),
            ("GH_ENTERPRISE_TOKEN", given("GH_ENTERPRISE_TOKEN")),
            ("GH_CONFIG_DIR", home.display().to_string()),
            ("GH_HOST", "forge.example".to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value));
        variables.to_vec()
    });
    let forge = &stage.site.forge;
    forge.add_repo("acme/secret");
    forge.add_issue("acme/rocket", 7, "an issue");
    forge.add_issue("acme/secret", 1, "a secret");
    Stage(stage)
}

impl Stage {
    /// Runs a script with these permissions, and gives what it said.
    fn run(&self, permissions: &str, script: &str, delivery: &str) -> Vec<String> {
        let text = workflow(permissions, script, "GH_ENTERPRISE_TOKEN", &self.0.site);
        self.0.run_workflow(&text, delivery).1
    }
}

/// What workflows do with it.
const USUAL: &str = "git checkout --quiet -b change; git commit --quiet --allow-empty -m change
tried create gh pr create --head change --base main --title 'A change' --body 'Why it is made'
tried view gh pr view 8 --json number,title,body,state,headRefName,isDraft,labels --jq '[.number,.title,.body,.state,.headRefName,.isDraft]|tostring'
tried text gh pr view 8
tried comment gh pr comment 8 --body 'by a job'
tried again gh pr comment 8 --edit-last --body 'by a job, again'
tried label gh label create 'good first' --color 00ff00
tried labels gh label list
tried edit gh pr edit 8 --add-label 'good first' --title 'A better change'
tried labelled gh pr view 8 --json labels,title --jq '.labels[].name, .title'
tried list gh pr list --json number,title --jq '.[]|[.number,.title]|tostring'
tried found gh pr list --search 'better' --label 'good first' --json number --jq '.[].number'
tried review gh pr review 8 --approve --body fine
tried status gh pr status
tried checks gh pr checks 8
tried merge gh pr merge 8 --squash --delete-branch -R forge.example/acme/rocket
tried merged gh pr view 8 --json state,mergedAt,comments,reviews --jq '.state, .comments[].body, .reviews[].state'
tried issue gh issue create --title 'A fault' --body 'It is one'
tried issues gh issue list
tried one gh issue view 9 --json title,body,state --jq '[.title,.body,.state]|tostring'
tried said gh issue comment 9 --body 'seen'
tried close gh issue close 9
tried reopen gh issue reopen 9
tried closed gh issue close 9 --comment 'done'
tried state gh issue view 9 --json state,comments --jq '.state, .comments[].body'
echo file > file.txt
tried release gh release create v1 --title One --notes 'All of it' file.txt
tried upload gh release upload v1 file.txt#again --clobber
tried released gh release view v1 --json tagName,assets --jq '.tagName, .assets[].name'
tried releases gh release list
tried download gh release download v1 --pattern 'file*' --dir got
tried got awk 1 got/file.txt
tried repo gh repo view --json nameWithOwner,defaultBranchRef --jq '.nameWithOwner, .defaultBranchRef.name'
tried graphql gh api graphql -F owner=acme -F name=rocket -f query='query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { issues(first: 5, states: OPEN) { totalCount nodes { number title } } } viewer { login } }' --jq '.data.repository.issues.totalCount, .data.repository.issues.nodes, .data.viewer.login'
tried rest gh api repos/acme/rocket/issues/7 --jq .title
# As git shows it where it is led to the gateway.
tried here git remote set-url origin http://127.0.0.1:3128/acme/rocket.git
tried here env GH_HOST=127.0.0.1 gh pr create --head other --base main --title Other --body ''
tried here env GH_HOST=127.0.0.1 gh repo view --json name
tried other gh issue view 1 -R forge.example/acme/secret
tried unknown gh api graphql -f query='{ repository(owner: \"acme\", name: \"rocket\") { vulnerabilityAlerts { totalCount } } }'
true";

#[test]
fn i17_gh_does_what_workflows_do_with_it() {
    does_what_workflows_do(|settings| settings.token_approves = true);
}

#[test]
fn i17_gh_does_the_same_where_the_forge_is_github() {
    does_what_workflows_do(|settings| {
        settings.forge = Forge::GitHub;
        settings.token_approves = true;
    });
}

fn does_what_workflows_do(change: fn(&mut RunnerSettings)) {
    let stage = stage(change);
    let said = stage.run(
        "{contents: write, pull-requests: write, issues: write, statuses: read, checks: read}",
        USUAL,
        "d-1",
    );
    for line in [
        "view: [8,\"A change\",\"Why it is made\",\"OPEN\",\"change\",false]",
        "text: title:\tA change",
        "text: Why it is made",
        "labelled: good first",
        "labelled: A better change",
        "list: [8,\"A better change\"]",
        "found: 8",
        "merged: MERGED",
        "merged: by a job, again",
        "merged: APPROVED",
        "one: [\"A fault\",\"It is one\",\"OPEN\"]",
        "state: CLOSED",
        "state: seen",
        "state: done",
        "released: v1",
        "released: file.txt",
        "got: \"file\\n\"",
        "repo: acme/rocket",
        "repo: main",
        "graphql: 1",
        "graphql: runner",
        "rest: an issue",
        "here: {\"name\":\"rocket\"}",
        "other: GraphQL: Could not resolve to a Repository with the name 'acme/secret': the token of the job is of acme/rocket",
    ] {
        has(&said, line);
    }
    let part = "gh: Unknown field \"vulnerabilityAlerts\" on type \"Repository\". (the runner answers GraphQL by REST calls";
    assert!(said.iter().any(|line| line.contains(part)), "{said:#?}");
    let forge = &stage.0.site.forge;
    assert!(forge.pull("acme/rocket", 8).unwrap().merged);
    assert_eq!(forge.deleted_branches("acme/rocket"), ["change"]);
    assert_eq!(forge.labels("acme/rocket", 8), ["good first"]);
    assert_eq!(forge.comments("acme/rocket", 8).len(), 1);
    let mut asked = forge.requests().into_iter();
    assert!(!asked.any(|asked| asked.path.contains("secret")));
}

#[test]
fn i17_gh_reads_every_field_that_it_knows_and_changes_more() {
    let stage = stage(|_| {});
    let script = "all() { \"$@\" --json 2>&1 | sed 1d | tr -d ' ' | paste -sd,; }
git checkout --quiet -b change; git commit --quiet --allow-empty -m change
tried create gh pr create --draft --head change --base main --title 'A change' --body 'Why'
tried draft gh pr view 8 --json title --jq .title
tried ready gh pr ready 8
tried title gh pr view 8 --json title,isDraft --jq '.title, .isDraft'
for kind in 'pr view 8' 'issue view 7' 'repo view'; do
  fields=$(all gh $kind); echo \"$kind: $(gh $kind --json $fields 2>&1 | tr -d '\\n' | cut -c1-3000)\"
done
for kind in 'pr list' 'issue list' 'issue status'; do
  fields=$(all gh $kind); echo \"$kind: $(gh $kind --json $fields 2>&1 | tr -d '\\n' | cut -c1-3000)\"
done
tried diff gh pr diff 8
tried close gh pr close 8
tried closed gh pr view 8 --json state --jq .state
tried reopen gh pr reopen 8
tried base gh pr edit 8 --base next --body 'Why it is better' --add-assignee ada --add-reviewer ada
tried edited gh pr view 8 --json baseRefName,body --jq '.baseRefName, .body'
tried release gh release create v1 --notes All
tried edit gh release edit v1 --notes More
tried delete gh release delete v1 --yes
tried gone gh release view v1
tried runs gh run list
tried workflows gh workflow list
tried assigned gh issue edit 7 --title 'Another title' --add-assignee ada
tried issue gh issue view 7 --json title --jq .title
true";
    let said = stage.run("write-all", script, "d-1");
    for line in [
        "draft: WIP: A change",
        "title: A change",
        "title: false",
        "pr view 8: {\"additions\":0,",
        "issue view 7: {\"assignees\":[],",
        "repo view: {\"assignableUsers\":[{",
        "pr list: [{\"additions\":0,",
        "issue list: [{\"assignees\":[],",
        "diff: \"a diff\"",
        "closed: CLOSED",
        "edited: next",
        "edited: Why it is better",
        // The runner's own, whatever the forge says.
        "runs: in_progress\t\tCI\tCI\tmain\tpush\t",
        "workflows: CI\tactive\t",
        "gone: release not found",
        "issue: Another title",
    ] {
        has(&said, line);
    }
}

#[test]
fn i17_gh_is_told_what_a_job_may_not() {
    let stage = stage(|_| {});
    let said = stage.run(
        "{issues: read}",
        "tried view gh issue view 7 --json title --jq .title
tried comment gh issue comment 7 --body no
tried create gh issue create --title no --body no
tried pulls gh pr list
tried release gh release create v1 --notes no
true",
        "d-1",
    );
    for line in [
        "view: an issue",
        "comment: Message: Resource not accessible by integration: the job's `permissions` lack `issues: write`",
        "create: GraphQL: Resource not accessible by integration",
        "pulls: GraphQL: Resource not accessible by integration: the job's `permissions` lack `pull-requests: read`",
        "release: HTTP 403",
    ] {
        has(&said, line);
    }
    assert!(stage.0.site.forge.comments("acme/rocket", 7).is_empty());
}

const SHIP: &str = "name: Ship
on: {workflow_dispatch: {inputs: {where: {required: true}}}}
jobs:
  go: {runs-on: x, steps: [{name: Fly, run: 'to the ${{ inputs.where }}'}]}
";

#[test]
fn i17_gh_starts_shows_and_repeats_runs_of_the_runner() {
    // What is started waits until the job that starts it has ended, as does the scripted manager.
    let stage = stage(|settings| settings.max_jobs = 1);
    let site = &stage.0.site;
    site.write(".github/workflows/ship.yml", SHIP);
    let may = "{actions: write, contents: read}";
    let said = stage.run(
        may,
        "tried start gh workflow run ship.yml --ref main -f where=moon
tried named gh workflow run Ship --ref main -f where=mars
tried wrong gh workflow run ship.yml --ref main
tried unknown gh workflow run none.yml --ref main
tried other gh workflow run ship.yml --ref main -R forge.example/acme/secret
tried view gh workflow view ship.yml
tried off gh workflow disable ship.yml
true",
        "d-1",
    );
    for line in [
        "wrong: could not create workflow dispatch event: HTTP 422: the input `where` is missing",
        "unknown: HTTP 404",
        "other: ",
        "view: Ship - ship.yml",
        "off: failed to disable workflow: HTTP 404",
    ] {
        has(&said, line);
    }
    assert!(
        !said.iter().any(|line| line.starts_with("start: could not")),
        "{said:#?}"
    );
    let mut runs = Vec::new();
    let ended = crate::harness::within(|| {
        runs = stage.0.runner.runs();
        runs.retain(|run| run["event"] == "workflow_dispatch");
        runs.len() == 2 && runs.iter().all(|run| run["state"] == "succeeded")
    });
    assert!(ended, "{runs:#?}");
    let said = stage.run(
        may,
        "tried list gh run list --workflow ship.yml --json databaseId,workflowName,status,conclusion,event,headBranch --jq '.[]|[.workflowName,.status,.conclusion,.event,.headBranch]|tostring'
id=$(gh run list --workflow ship.yml --limit 1 --json databaseId --jq '.[0].databaseId')
tried view gh run view $id
tried json gh run view $id --json jobs --jq '.jobs[0].name, .jobs[0].steps[0].name'
tried watch gh run watch $id
tried log gh run view $id --log
job=$(gh run view $id --json jobs --jq '.jobs[0].databaseId')
tried joblog gh run view --job $job --log
tried again gh run rerun $id
tried twice gh run rerun $id
tried cancel gh run cancel $id
tried branch gh run list --branch none
tried api gh api --paginate 'repos/acme/rocket/actions/runs?per_page=1' --jq '.workflow_runs[].name'
true",
        "d-2",
    );
    for line in [
        "list: [\"Ship\",\"completed\",\"success\",\"workflow_dispatch\",\"main\"]",
        "json: go",
        "json: Fly",
        "log: go\tFly\t20",
        "joblog: go\tFly\t20",
        "watch: Run ",
        "twice: run ",
        "cancel: ✓ Request to cancel workflow submitted.",
        "api: CI",
        "api: Ship",
    ] {
        has(&said, line);
    }
}
