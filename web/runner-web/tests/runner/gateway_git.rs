//! git with the token of a job: real git in the place of the machine, the runner's gateway, and a
//! real repository as the forge.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::OnceLock;

use runner_actors::RunnerSettings;
use runner_core::event::PullRequestCommit;
use scripted_peers::{GitForge, GitRepository};

use crate::gateway::{has, lines};
use crate::harness::{Setup, Site, TOKEN, files, push};
use crate::local_jobs::{self, Stage};

/// What stands before each script: a clone as a checkout leaves it, and who commits.
const BEGIN: &str = "set -e; export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org
own=$(mktemp -d -p .); git clone --quiet \"$REPOSITORY\" $own/c; cd $own/c; tried() { name=$1; shift; \"$@\" 2>&1 | sed \"s|^|$name: |\"; }
set -o pipefail\n";

/// Runs the scripts of steps with the variables that they have in the machine.
pub(crate) fn stage(change: fn(&mut RunnerSettings)) -> Stage {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = tempfile::tempdir().unwrap();
    let stage = local_jobs::stage(change, home, listener, BEGIN, |command, _, services| {
        let here = |text: &str| text.replace("127.0.0.1:3128", &services.to_string());
        let given = command.env.iter();
        let given = given.map(|(name, value)| (here(name), here(value)));
        let more = [
            ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
            ("SERVICES".to_owned(), services.to_string()),
        ];
        given.chain(more).collect()
    });
    let site = &stage.site;
    site.git(&["config", "receive.denyCurrentBranch", "ignore"]);
    stage
}

/// A workflow with one step; pushes of others run it.
pub(crate) fn workflow(permissions: &str, script: &str, site: &Site) -> String {
    local_jobs::workflow(permissions, script, "TOKEN", site)
}

impl Stage {
    /// Runs it for a push, and gives the run's id and what it said.
    fn run(&self, permissions: &str, script: &str, delivery: &str) -> (String, Vec<String>) {
        self.run_workflow(&workflow(permissions, script, &self.site), delivery)
    }

    fn at_forge(&self, reference: &str) -> Option<String> {
        let listed = self
            .site
            .git(&["for-each-ref", "--format=%(objectname)", reference]);
        (!listed.is_empty()).then_some(listed)
    }

    /// Nothing of a push is left on the runner's disk.
    pub(crate) fn is_swept(&self) {
        let transfers = self.site.folder.path().join("runs/transfers");
        assert_eq!(files(&transfers), 0, "a quarantine is left");
    }
}

fn hook(site: &Site, text: &str) {
    let path = site.tree().join(".git/hooks/pre-receive");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn i17_a_job_pushes_with_plain_git_and_its_push_starts_nothing() {
    let stage = stage(|_| {});
    let script = "echo built > built; git add built; git commit --quiet -m built
git push --quiet
git tag -a v1 -m v1; git tag light; git push --quiet origin v1 light
git push --quiet \"https://x-access-token:$TOKEN@forge.example/acme/rocket.git\" HEAD:refs/heads/side || git push --quiet \"http://x-access-token:$TOKEN@forge.example/acme/rocket.git\" HEAD:refs/heads/side
git commit --quiet --amend -m again; git push --quiet --force origin HEAD:side HEAD:gone
git push --quiet origin :gone
git ls-remote --tags origin | grep -c refs/tags/
echo head $(git rev-parse HEAD~0) built $(git rev-parse origin/main)";
    let (_, said) = stage.run("{contents: write}", script, "d-1");
    has(&said, "3");
    let pushed = stage.at_forge("refs/heads/main").unwrap();
    assert!(
        said.iter()
            .any(|line| line.ends_with(&format!("built {pushed}"))),
        "{said:#?}"
    );
    assert!(stage.at_forge("refs/tags/v1").is_some());
    assert_eq!(stage.at_forge("refs/tags/light").as_ref(), Some(&pushed));
    let side = stage.at_forge("refs/heads/side").unwrap();
    assert_ne!(side, pushed);
    assert!(
        said.iter()
            .any(|line| line.starts_with(&format!("head {side}"))),
        "{said:#?}"
    );
    assert_eq!(stage.at_forge("refs/heads/gone"), None);
    stage.is_swept();

    // The forge tells of the push as of every other.
    let event = stage.site.push(&pushed);
    let run = stage.runner.run("push", "d-2", &event);
    let record = stage.runner.ended(&run);
    assert_eq!(record["state"], "ignored", "{record:#}");
    let reason = record["reason"].as_str().unwrap();
    assert_eq!(
        reason,
        "this push was made with the token of a job, and starts nothing"
    );
    // Of an annotated tag the forge names the tag itself, and its commit.
    let mut event = stage.site.push(&pushed);
    event["ref"] = "refs/tags/v1".into();
    event["after"] = stage.at_forge("refs/tags/v1").unwrap().into();
    let run = stage.runner.run("push", "d-tag", &event);
    let record = stage.runner.ended(&run);
    assert_eq!(record["state"], "ignored", "{record:#}");
    // A person's push of something else does.
    stage.site.git(&["reset", "--quiet", "--hard", &pushed]);
    stage.site.write("README", "a person's\n");
    let theirs = stage.site.commit_all();
    let run = stage.runner.run("push", "d-3", &stage.site.push(&theirs));
    assert_ne!(stage.runner.ended(&run)["state"], "ignored");
}

#[test]
fn i17_what_a_job_may_not_push_is_refused_in_words_that_git_shows() {
    let stage = stage(|_| {});
    hook(
        &stage.site,
        "#!/bin/sh\nwhile read old new name; do case $name in refs/heads/protected) echo 'GH006: Protected branch update failed' >&2; exit 1;; esac; done\n",
    );
    let script = "echo x > x; git add x; git commit --quiet -m x
tried protected git push origin HEAD:protected || true
tried pull git push origin HEAD:refs/pull/1/head || true
tried notes git push origin HEAD:refs/notes/x || true
tried blob git push origin HEAD:x HEAD^{tree}:refs/tags/tree || true
mkdir -p .github/workflows; echo 'on: push' > .github/workflows/evil.yml; git add .; git commit --quiet -m evil
tried workflow git push origin HEAD:evil || true
git rm --quiet .github/workflows/evil.yml; git commit --quiet -m 'as if nothing was'
tried between git push origin HEAD:evil || true
git checkout --quiet --orphan pages; git rm -rfq .; echo page > index.html; git add .; git commit --quiet -m page
tried pages git push --quiet origin pages && echo pages pushed
tried hex git push origin HEAD:refs/heads/$(git rev-parse HEAD) || true
git checkout --quiet main; git reset --quiet --hard origin/main
echo y > y; git add y; git commit --quiet -m y
tried atomic git push --atomic origin HEAD:y HEAD:protected || true
git remote set-url origin \"$REPOSITORY-other\"; tried sibling git ls-remote origin || true
tried other git ls-remote http://x:$TOKEN@$SERVICES/acme/secret || true
tried odd git ls-remote http://x:$TOKEN@$SERVICES/acme/rocket%2f..%2fsecret || true
tried guessed env -u GIT_CONFIG_COUNT git ls-remote http://x:guessed@$SERVICES/acme/rocket || true
tried lfs curl -s -u x:$TOKEN -X POST http://$SERVICES/acme/rocket.git/info/lfs/objects/batch || true";
    let (_, said) = stage.run("{contents: write}", script, "d-1");
    for line in [
        "protected: remote: GH006: Protected branch update failed",
        "protected:  ! [remote rejected] HEAD -> protected (pre-receive hook declined)",
        "pull:  ! [remote rejected] HEAD -> refs/pull/1/head (the token of a job moves branches and tags only)",
        "notes:  ! [remote rejected] HEAD -> refs/notes/x (the token of a job moves",
        "blob:  ! [remote rejected] HEAD^{tree} -> tree (`",
        "workflow:  ! [remote rejected] HEAD -> evil (refusing to allow the token of a job to create or update workflows in `.github/workflows`",
        "between:  ! [remote rejected] HEAD -> evil (refusing to allow",
        "pages pushed",
        "hex:  ! [remote rejected] HEAD -> ",
        "atomic:  ! [remote rejected] HEAD -> y (",
        "other: remote: the token of the job is of acme/rocket, not of `acme/secret`",
        "odd: remote: the address of the repository cannot be read",
        "guessed: remote: Bad credentials: the token is of no job that runs",
        "lfs: {\"message\":\"the batch cannot be read",
    ] {
        has(&said, line);
    }
    assert!(
        said.iter().any(|line| line.starts_with("sibling: ")),
        "{said:#?}"
    );
    for name in ["protected", "evil", "y"] {
        assert_eq!(
            stage.at_forge(&format!("refs/heads/{name}")),
            None,
            "{name}"
        );
    }
    for name in ["refs/pull/1/head", "refs/notes/x", "refs/tags/tree"] {
        assert_eq!(stage.at_forge(name), None, "{name}");
    }
    assert!(stage.at_forge("refs/heads/pages").is_some());
    assert!(
        !said.iter().any(|line| line.contains("x-access-token:e")),
        "{said:#?}"
    );
    stage.is_swept();
}

#[test]
fn i17_a_job_that_may_read_fetches_and_does_not_push() {
    let stage = stage(|_| {});
    let script = "git log --oneline | wc -l | sed 's/^/commits: /'
git -c protocol.version=0 fetch --quiet origin && echo zero
git clone --quiet --depth=1 \"$REPOSITORY\" shallow; git -C shallow log --oneline | wc -l | sed 's/^/shallow: /'
git clone --quiet --filter=blob:none --no-checkout \"$REPOSITORY\" partial; git -C partial checkout --quiet main && echo partial
echo x > x; git add x; git commit --quiet -m x; tried push git push origin HEAD:x || true";
    stage.site.commit("on: push");
    let (_, said) = stage.run("{contents: read}", script, "d-1");
    has(&said, "commits: 2");
    has(&said, "zero");
    has(&said, "shallow: 1");
    has(&said, "partial");
    has(
        &said,
        "push: remote: Permission to acme/rocket denied to the token of the job: its `permissions` lack `contents: write`",
    );
    assert_eq!(stage.at_forge("refs/heads/x"), None);
    // A fork's pull request has no more, whatever its workflow says.
    let base = stage.site.commit(&workflow(
        "write-all",
        "tried push git push origin HEAD:x || true",
        &stage.site,
    ));
    stage.site.write("README", "a stranger's\n");
    let head = stage.site.commit_all();
    let run = stage
        .runner
        .run("pull_request", "d-2", &stage.site.fork(&head, &base));
    stage.runner.ended(&run);
    has(
        &lines(&stage.runner, &run),
        "push: remote: Permission to acme/rocket denied",
    );
    // Without the permission nothing is read, either; and no token is left after the job.
    let sha = stage
        .site
        .commit(&workflow("{issues: read}", "true", &stage.site));
    let run = stage.runner.run("push", "d-3", &stage.site.push(&sha));
    assert_eq!(stage.runner.ended(&run)["state"], "failed");
    has(
        &lines(&stage.runner, &run),
        "remote: Permission to acme/rocket denied",
    );
    stage.is_swept();
}

/// The forge makes no merges, as Gitea and Forgejo do not: the runner's own is found by its name
/// and by its id, as `actions/checkout` asks for it.
#[test]
fn i17_a_job_fetches_the_merge_and_the_head_of_its_pull_request() {
    let stage = stage(|settings| settings.pull_request_commit = PullRequestCommit::Merge);
    let site = &stage.site;
    let script = "echo $GITHUB_REF $GITHUB_REF_NAME $GITHUB_REF_TYPE
git fetch --quiet origin refs/pull/7/merge; echo merge: $(git rev-parse FETCH_HEAD)
[ $(git rev-parse FETCH_HEAD) = $GITHUB_SHA ] && echo of the run $(git show -s --format=%P FETCH_HEAD)
git fetch --quiet origin refs/pull/7/head; echo head: $(git rev-parse FETCH_HEAD)
git clone --quiet --depth=1 \"$REPOSITORY\" shallow
git -C shallow fetch --quiet --no-tags --depth=1 origin +$GITHUB_SHA:refs/remotes/pull/7/merge
echo id: $(git -C shallow rev-parse refs/remotes/pull/7/merge)
tried other git fetch origin refs/pull/8/merge || true";
    let base = site.commit(&workflow("{contents: read}", script, site));
    site.write("README", "theirs\n");
    let head = site.commit_all();
    site.git(&["update-ref", "refs/pull/7/head", &head]);
    site.git(&["reset", "--quiet", "--hard", &base]);
    let mut event = site.fork(&head, &base);
    event["pull_request"]["head"]["repo"] = event["repository"].clone();
    let run = stage.runner.run("pull_request", "d-1", &event);
    let said = stage.succeeded(&run);
    has(&said, "refs/pull/7/merge 7/merge branch");
    has(&said, &format!("of the run {base} {head}"));
    has(&said, &format!("head: {head}"));
    let merge = said.iter().find_map(|line| line.strip_prefix("merge: "));
    has(&said, &format!("id: {}", merge.expect("it is fetched")));
    has(
        &said,
        "other: fatal: couldn't find remote ref refs/pull/8/merge",
    );
    stage.is_swept();
}

#[test]
fn i17_a_stale_push_and_a_push_that_breaks_off_change_nothing() {
    let stage = stage(|settings| settings.checkouts.fetch_bytes = 6 << 20);
    let script = "before=$(git rev-parse HEAD); git commit --quiet --allow-empty -m first; git push --quiet origin HEAD:first
git commit --quiet --allow-empty -m second; git push --quiet origin HEAD:first
git reset --quiet --hard $before; git commit --quiet --allow-empty -m stale
tried stale git push origin HEAD:first || true
at=http://$SERVICES/acme/rocket/git-receive-pack; zeros=0000000000000000000000000000000000000000
send() { curl -s -u x:$TOKEN -H 'Content-Type: application/x-git-receive-pack-request' \"$@\" $at | tr '\\0' ' '; echo; }
line() { printf '%04x%s' $((${#1} + 5)) \"$1\"; printf '\\n'; }
begin() { printf '00%x%s %s %s\\0 report-status' $((${#1} + ${#2} + ${#3} + 4 + 2 + 15)) $1 $2 $3; printf 0000; }
lease() { begin $before $(git rev-parse HEAD) refs/heads/first; git rev-parse HEAD ^$before | git pack-objects --stdout --revs -q; }
lease > lease; echo lease: $(send --data-binary @lease)
{ begin $zeros $(git rev-parse HEAD) refs/heads/cut; git rev-parse HEAD ^$before | git pack-objects --stdout --revs -q > whole; head -c 40 whole; } > cut; echo cut: $(send --data-binary @cut)
{ begin $zeros $(git rev-parse HEAD) refs/heads/none; printf '' | git pack-objects --stdout -q; } > none; echo none: $(send --data-binary @none)
bad=$(printf 'tree %s\\nauthor x\\n\\nbad\\n' $(git rev-parse HEAD^{tree}) | git hash-object -t commit -w --literally --stdin)
{ begin $zeros $bad refs/heads/bad; echo $bad | git pack-objects --stdout -q; } > bad; echo bad: $(send --data-binary @bad)
head -c 9000 /dev/zero > junk; echo junk: $(send --data-binary @junk); gzip -k lease; echo gzip: $(send -H 'Content-Encoding: gzip' --data-binary @lease.gz)
echo notgzip: $(send -H 'Content-Encoding: gzip' --data-binary @lease)
head -c 3000000 /dev/urandom > large; git add large; git commit --quiet -m large
git -c http.postBuffer=65536 push --quiet origin HEAD:large && echo large pushed
GIT_TRACE_CURL=1 git -c http.postBuffer=65536 -c http.expectContinue=true push --quiet origin HEAD:large2 2>&1 | tail -1
head -c 9000000 /dev/urandom > larger; git add larger; git commit --quiet -m larger
tried larger git push origin HEAD:larger || true";
    let (_, said) = stage.run("{contents: write}", script, "d-1");
    for line in [
        "stale:  ! [rejected]        HEAD -> first (non-fast-forward)",
        "lease: 000eunpack ok",
        "cut: 00",
        "none: 000eunpack ok",
        "bad: 00",
        "junk: 00",
        "gzip: 000eunpack ok",
        "notgzip: 00",
        "large pushed",
    ] {
        has(&said, line);
    }
    let all = said.join("\n");
    for words in [
        "ng refs/heads/first fetch first: the reference has moved at the forge",
        "ng refs/heads/cut unpacker error",
        "ng refs/heads/none ",
        "the push: a packet has no length",
        "the packed body cannot be read",
        "ng refs/heads/bad unpacker error",
    ] {
        assert!(all.contains(words), "{words} in {said:#?}");
    }
    assert!(stage.at_forge("refs/heads/large").is_some());
    for name in ["cut", "none", "bad", "larger"] {
        assert_eq!(
            stage.at_forge(&format!("refs/heads/{name}")),
            None,
            "{name}"
        );
    }
    let subject = stage
        .site
        .git(&["log", "-1", "--format=%s", "refs/heads/first"]);
    assert_eq!(subject, "second");
    stage.is_swept();
}

#[test]
fn i17_a_quarantine_that_a_kill_left_is_swept_at_the_start() {
    let stage = stage(|_| {});
    let left = stage
        .site
        .folder
        .path()
        .join("runs/transfers/git-left/quarantine.git");
    let Stage { site, runner } = stage;
    runner.stop();
    std::fs::create_dir_all(&left).unwrap();
    let again = site.start_with(Setup {
        services: Some(TcpListener::bind("127.0.0.1:0").unwrap()),
        ..Setup::default()
    });
    assert!(!Path::new(&left).exists());
    again.stop();
}

#[test]
fn i17_a_checkout_that_keeps_no_credentials_leaves_git_as_it_was() {
    let stage = stage(|_| {});
    let look = "echo count ${GIT_CONFIG_COUNT:-none} at $(git remote get-url origin)";
    let sha = stage.site.commit(&format!(
        "on: push\njobs:\n  a:\n    runs-on: x\n    env: {{REPOSITORY: '{}'}}\n    steps:\n      - run: {look}\n      - uses: actions/checkout@v4\n        with: {{persist-credentials: false}}\n      - run: echo then; {look}\n      - run: echo named; {look}\n        env: {{TOKEN: '${{{{ github.token }}}}'}}\n",
        stage.site.clone_url()
    ));
    let run = stage.runner.run("push", "d-1", &stage.site.push(&sha));
    let said = stage.succeeded(&run);
    let counts: Vec<&String> = said
        .iter()
        .filter(|line| line.starts_with("count "))
        .collect();
    let [kept, without, named] = counts.as_slice() else {
        panic!("{said:#?}");
    };
    assert!(kept.contains("/acme/rocket"), "{kept}");
    assert!(without.starts_with("count none at file://"), "{without}");
    // The token itself leads to the gateway, the address alone does not.
    assert!(!named.starts_with("count none"), "{named}");
    assert!(named.contains(" at file://"), "{named}");
}

struct SmartForge {
    forge: GitForge,
    repository: GitRepository,
}

/// A forge that takes pushes over HTTP, with the runner's token only.
fn smart_forge() -> &'static SmartForge {
    static FORGE: OnceLock<SmartForge> = OnceLock::new();
    FORGE.get_or_init(|| {
        let forge = GitForge::start();
        let repository = forge.smart_repository("acme/rocket", TOKEN);
        let sibling = forge.repository("acme/rocket-docs", false);
        sibling.write("name", "docs");
        sibling.commit("first");
        SmartForge { forge, repository }
    })
}

#[test]
fn i17_the_runner_s_token_pushes_over_http_and_a_token_of_one_s_own_goes_past_the_gateway() {
    let SmartForge { forge, repository } = smart_forge();
    let stage = stage(|settings| {
        settings.forge_url = smart_forge().forge.url().parse().ok();
        settings.transports.http = true;
    });
    let url = format!("{}/acme/rocket.git", forge.url());
    let run = |permissions: &str, script: &str, delivery: &str| {
        let text = workflow(permissions, script, &stage.site);
        let text = text.replace(&stage.site.clone_url(), &url);
        repository.write(".github/workflows/ci.yml", &text);
        let sha = repository.commit("a commit");
        stage.succeeded(&stage.runner.run("push", delivery, &push(&url, &sha)))
    };
    let script = "git commit --quiet --allow-empty -m built; git push --quiet origin HEAD:built
git push --quiet \"${REPOSITORY%%://*}://oauth2:$TOKEN@${REPOSITORY#*://}\" HEAD:named
tried sibling git ls-remote \"${REPOSITORY%.git}-docs.git\"";
    let said = run("{contents: write}", script, "d-1");
    assert!(
        said.iter()
            .any(|line| line.starts_with("sibling: ") && line.ends_with("refs/heads/main")),
        "{said:#?}"
    );
    for name in ["built", "named"] {
        let subject = repository.git(&["log", "-1", "--format=%s", name]);
        assert_eq!(subject, "built", "{name}");
    }
    // As a checkout with a token of its own writes it: the job itself may only read.
    let script = format!(
        "at=${{REPOSITORY%.git}}; git config --add \"url.$at.insteadOf\" \"$at\"
git config \"http.{}/.extraheader\" \"AUTHORIZATION: basic $(printf x-access-token:{TOKEN} | base64 -w0)\"
echo at $(git remote get-url origin); git commit --quiet --allow-empty -m own; git push --quiet origin HEAD:own",
        forge.url()
    );
    let said = run("{contents: read}", &script, "d-2");
    has(&said, &format!("at {url}"));
    assert_eq!(repository.git(&["log", "-1", "--format=%s", "own"]), "own");
}

/// What a job begins with where it hides a folder of workflows: its tree, made and not pushed.
const HIDDEN: &str = "mkdir hidden; echo 'on: push' > hidden/evil.yml; git add hidden
T=$(git write-tree --prefix=hidden/); git rm -rqf hidden\n";

#[test]
fn i17_a_link_is_not_the_folder_that_it_will_lead_to() {
    let stage = stage(|_| {});
    // Then a person has merged what a stranger made: the id of a tree that is nowhere yet.
    let script = format!(
        "FORGE={}\n{HIDDEN}git update-index --add --cacheinfo 160000,$T,.gitea/workflows
git commit --quiet -m link; tried link git push origin HEAD:link || true
git push --quiet \"$FORGE\" HEAD:refs/heads/merged; git fetch --quiet
git update-index --force-remove .gitea/workflows
git read-tree --prefix=.gitea/workflows/ $T; git commit --quiet -m folder
tried folder git push origin HEAD:merged || true",
        stage.site.tree().join(".git").display()
    );
    let (_, said) = stage.run("{contents: write}", &script, "d-1");
    for line in [
        "link:  ! [remote rejected] HEAD -> link (refusing to allow the token of a job to create or update workflows in `.gitea/workflows`",
        "folder:  ! [remote rejected] HEAD -> merged (refusing to allow the token of a job to create or update workflows in `.gitea/workflows`",
    ] {
        assert!(
            said.iter().any(|one| one.starts_with(line)),
            "{line} in {said:#?}"
        );
    }
}

#[test]
fn i17_workflow_files_of_another_branch_or_tag_are_taken_as_they_are_there() {
    let stage = stage(|_| {});
    let site = &stage.site;
    site.commit("on: push\njobs: {old: {runs-on: x, steps: [{run: x}]}}\n");
    site.git(&["tag", "-a", "older", "-m", "older"]);
    let script = "git checkout --quiet older -- .github; git commit --quiet -m older
tried tag git push origin HEAD:like-older && echo older pushed
echo '# changed' >> .github/workflows/ci.yml; git commit --quiet -am changed
tried changed git push origin HEAD:changed || true
git checkout --quiet HEAD^^ -- .github; git commit --quiet -m back
tried between git push origin HEAD:back || true
git reset --quiet --hard origin/main; git rm -rq .github; git commit --quiet -m none
tried none git push origin HEAD:none || true";
    let (_, said) = stage.run("{contents: write}", script, "d-1");
    has(&said, "older pushed");
    for name in ["changed", "between", "none"] {
        let line = format!("{name}:  ! [remote rejected]");
        let refused = said.iter().find(|one| one.starts_with(&line));
        let refused = refused.unwrap_or_else(|| panic!("{name} in {said:#?}"));
        assert!(refused.contains("create or update workflows"), "{refused}");
    }
}
