//! Actions of other repositories in plans: what is in the store, what is not, and what is said.

use std::collections::HashMap;

use runner_core::actions::{ActionReference, ActionSource, LockedAction, how_to_add};
use runner_core::plan::{ActionLocation, PlannedWork, StepKind};
use runner_core::report::{FileReport, FileStatus, check_with};
use runner_core::workflow::Need;

/// A store with one repository, `acme/tools@v1`, and those files.
struct Store(HashMap<&'static str, &'static str>);

impl Store {
    fn new(files: &[(&'static str, &'static str)]) -> Self {
        Self(files.iter().copied().collect())
    }
}

impl ActionSource for Store {
    fn find(&self, reference: &ActionReference) -> Result<LockedAction, String> {
        let stored = [
            "acme/tools@v1",
            "actions/setup-node@v4",
            "dtolnay/rust-toolchain@clippy",
        ];
        if !stored.contains(&reference.key().as_str()) {
            return Err(how_to_add(reference));
        }
        Ok(LockedAction {
            url: "https://code.example/acme/tools".to_owned(),
            commit: "c0ffee00".repeat(5),
            tree: format!("sha256:{}", "0".repeat(64)),
            private: false,
            reference: None,
        })
    }

    fn read(&self, _: &LockedAction, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).map(|text| text.as_bytes().to_vec())
    }
}

fn files() -> Store {
    Store::new(&[
        (
            "action.yml",
            "name: top\nbranding: {icon: x}\nstrange: {a: [1]}\ninputs: {who: {required: true, type: string, odd: 1}, token: {default: '${{ github.token }}'}}\nruns: {using: node20, main: dist/index.js, post: post.js, post-if: failure()}\n",
        ),
        (
            "wrap/action.yaml",
            "runs: {using: composite, steps: [{uses: $/inner}, {uses: ./own}, {uses: actions/checkout@v4}]}\n",
        ),
        ("inner/action.yml", "runs: {using: node16, main: x.js}\n"),
        (
            "image/action.yml",
            "runs: {using: docker, image: Dockerfile}\n",
        ),
        (
            "named/action.yml",
            "runs: {using: docker, image: 'debian:10'}\n",
        ),
        (
            "built/action.yml",
            "runs: {using: docker, image: build.docker}\n",
        ),
        ("built/build.docker", "FROM scratch\n"),
        ("bare/Dockerfile", "FROM scratch\n"),
        (
            "loop/action.yml",
            "runs: {using: composite, steps: [{uses: $/loop}]}\n",
        ),
        ("wrong/action.yml", "runs: {using: node20}\n"),
        (
            ".github/workflows/call.yml",
            "on: {workflow_call: {inputs: {who: {type: string, required: true}}}}\njobs: {in: {runs-on: x, steps: [{uses: $/inner}, {uses: ./own}]}, next: {uses: ./.github/workflows/next.yml}}\n",
        ),
        (
            ".github/workflows/next.yml",
            "on: {workflow_call: }\njobs: {deep: {runs-on: x, steps: [{uses: $/wrap}]}}\n",
        ),
        (
            ".github/workflows/no-call.yml",
            "on: push\njobs: {a: {runs-on: x, steps: [{run: y}]}}\n",
        ),
        (".github/workflows/wrong.yml", "on: push\njobs: 3\n"),
        ("future/action.yml", "runs: {using: wasm, main: x}\n"),
    ])
}

fn checked(steps: &str) -> FileReport {
    let text = format!("on: push\njobs: {{a: {{runs-on: x, steps: [{steps}]}}}}\n");
    let own = |path: &str| {
        let own = "runs: {using: composite, steps: [{run: make, shell: sh}]}\n";
        (path == "own/action.yml").then(|| own.as_bytes().to_vec())
    };
    check_with("ci.yml", text.as_bytes(), &own, &files())
}

#[test]
fn what_is_in_the_store_is_planned_and_the_rest_says_what_to_do() {
    for (steps, refused, need) in [
        ("{uses: acme/tools@v1, with: {who: me}}", None, None),
        ("{uses: Acme/Tools/inner@v1}", None, None),
        ("{uses: acme/tools/wrap@v1}", None, None),
        (
            "{uses: acme/tools@v2}",
            Some("workflow-runner actions add acme/tools@v2"),
            Some(Need::Action("acme/tools".to_owned())),
        ),
        (
            "{uses: acme/other/sub@v1}",
            Some("actions add acme/other/sub@v1"),
            Some(Need::Action("acme/other/sub".to_owned())),
        ),
        ("{uses: acme/tools/built@v1}", None, None),
        (
            "{uses: acme/tools/named@v1}",
            Some(
                "`debian:10`, which is neither a file of its repository nor begins with `docker://`",
            ),
            Some(Need::OwnFiles),
        ),
        (
            "{uses: acme/tools/image@v1}",
            Some("which is not in its repository"),
            Some(Need::OwnFiles),
        ),
        ("{uses: acme/tools/bare@v1}", None, None),
        ("{uses: acme/tools/absent@v1}", Some("no action.yml"), None),
        ("{uses: acme/tools/loop@v1}", Some("too deep"), None),
        ("{uses: acme/tools/wrong@v1}", Some("has no `main`"), None),
        ("{uses: acme/tools/future@v1}", Some("wasm"), None),
        (
            "{uses: acme/tools@v1, with: {who: '${{ secrets.GITHUB_TOKEN }}'}}",
            None,
            None,
        ),
        // The original of a native action, where that does not do what is asked.
        (
            "{uses: actions/setup-node@v4, with: {registry-url: x}}",
            None,
            None,
        ),
        (
            "{uses: actions/setup-go@v5, with: {architecture: s390x}}",
            Some("its input `architecture` is `s390x`"),
            Some(Need::NativeInput(
                "architecture of actions/setup-go".to_owned(),
            )),
        ),
        (
            "{uses: docker://alpine}",
            Some("images add alpine:latest"),
            Some(Need::Image("alpine:latest".to_owned())),
        ),
    ] {
        let report = checked(steps);
        let shown = report.render(config_core::Colours::Off);
        let status = match refused {
            None => FileStatus::Good,
            Some(_) => FileStatus::Refused,
        };
        assert_eq!(report.status(), status, "{steps}: {shown}");
        if let Some(part) = refused {
            assert!(shown.contains(part), "{steps}: {shown}");
        }
        if let Some(need) = need {
            assert_eq!(report.refused[0].need, need, "{steps}");
        }
    }
}

/// Found in workflow files that crates bring with them: branches of the action that are no version.
#[test]
fn i17_the_original_sets_up_what_its_reference_names_and_is_no_version() {
    let report = checked("{uses: dtolnay/rust-toolchain@clippy}");
    assert_eq!(report.status(), FileStatus::Good, "{:?}", report.refused);
    let report = checked("{uses: dtolnay/rust-toolchain@miri}");
    assert_eq!(report.status(), FileStatus::Refused);
    let reason = report.refused[0].to_string();
    for part in [
        "`miri` is no version that the image can be held to: it is not of a release, or is no number; name one, for example `1.75`",
        "the original would do it, but it is not in the runner's store",
        "`workflow-runner actions add dtolnay/rust-toolchain@miri`",
    ] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
}

/// What moves with time is the original's where the operator has that, else the image's newest.
#[test]
fn i17_what_is_newest_is_the_originals_or_noted() {
    for (step, note) in [
        (
            "{uses: actions/setup-node@v4, with: {node-version: lts/*}}",
            None,
        ),
        (
            "{uses: actions/setup-go@v5, with: {go-version: stable}}",
            Some("uses: actions/setup-go@v5: `stable` moves with time"),
        ),
        (
            "{uses: actions/setup-go@v5, with: {go-version: 1.21, check-latest: true}}",
            Some("uses: actions/setup-go@v5: `check-latest` moves with time"),
        ),
        (
            "{uses: actions/setup-go@v5, with: {go-version: 1.21}}",
            Some("uses: actions/setup-go@v5: the job's image has to have the release of go"),
        ),
        // What `check` says is not of the log: the step itself says what it got, or lacked.
        (
            "{uses: actions/setup-node@v4, with: {node-version: 20}}",
            Some(
                "uses: actions/setup-node@v4: where the job's image has no such release of node, the stored original fetches it",
            ),
        ),
        (
            "{uses: dtolnay/rust-toolchain@nightly}",
            Some("uses: dtolnay/rust-toolchain@nightly: `nightly` moves with time"),
        ),
    ] {
        let report = checked(step);
        assert_eq!(report.status(), FileStatus::Good, "{step}");
        let notes = report.jobs[0].notes.join("\n");
        match note {
            Some(part) => assert!(notes.contains(part), "{step}: {notes}"),
            None => assert!(notes.contains("Node.js for JavaScript"), "{step}: {notes}"),
        }
    }
}

#[test]
fn required_inputs_and_empty_tokens_are_noted() {
    let report = checked("{uses: acme/tools@v1}");
    let notes = &report.jobs[0].notes;
    assert!(
        notes[0].contains("required input `who` is not given"),
        "{notes:?}"
    );
    assert!(
        notes[1].contains("`token` is the forge's token"),
        "{notes:?}"
    );
    let given = checked("{uses: acme/tools@v1, with: {WHO: me, token: none}}");
    let [_label, image] = given.jobs[0].notes.as_slice() else {
        panic!("{:?}", given.jobs[0].notes);
    };
    assert!(image.contains("Node.js for JavaScript actions"), "{image}");
}

#[test]
fn the_same_repository_is_the_workflow_s_or_the_action_s() {
    let text =
        "on: push\njobs: {a: {runs-on: x, steps: [{uses: acme/tools/wrap@v1}, {uses: $/own}]}}\n";
    let workflow = runner_core::workflow::parse("ci.yml", text.as_bytes()).expect("it is right");
    let own = |path: &str| {
        let own = "runs: {using: composite, steps: [{run: make, shell: sh}]}\n";
        (path == "own/action.yml").then(|| own.as_bytes().to_vec())
    };
    let input = runner_core::plan::PlanInput {
        contexts: &runner_core::expr::Contexts::default(),
        files: &own,
        actions: &files(),
    };
    let plan = runner_core::plan::plan(workflow.value, input).expect("it can be planned");
    let PlannedWork::Steps(steps) = &plan.jobs[0].work else {
        panic!("steps")
    };
    let (StepKind::Composite(wrap), StepKind::Composite(own)) = (&steps[0].work, &steps[1].work)
    else {
        panic!("{steps:?}")
    };
    assert_eq!(own.location, ActionLocation::Workspace);
    assert_eq!(own.location.path(&own.directory), "/workspace/own");
    let commit = "c0ffee00".repeat(5);
    let top = format!("/tmp/.runner/actions/acme/tools/{commit}");
    assert_eq!(wrap.location.path(&wrap.directory), format!("{top}/wrap"));
    let StepKind::Node(inner) = &wrap.steps[0].work else {
        panic!("{:?}", wrap.steps[0])
    };
    assert_eq!(
        inner.location.path(&inner.directory),
        format!("{top}/inner")
    );
    let StepKind::Composite(workspace) = &wrap.steps[1].work else {
        panic!("{:?}", wrap.steps[1])
    };
    assert_eq!(workspace.location, ActionLocation::Workspace);
    assert!(matches!(wrap.steps[2].work, StepKind::Native { .. }));
}

#[test]
fn workflows_of_other_repositories_are_called_from_the_store() {
    let called = |rest: &str| {
        let text = format!("on: push\njobs: {{a: {{{rest}}}}}\n");
        let own = |path: &str| {
            let own = "runs: {using: composite, steps: [{run: make, shell: sh}]}\n";
            (path == "own/action.yml").then(|| own.as_bytes().to_vec())
        };
        check_with("ci.yml", text.as_bytes(), &own, &files())
    };
    let report = called("uses: acme/tools/.github/workflows/call.yml@v1, with: {who: me}");
    let shown = report.render(config_core::Colours::Off);
    assert_eq!(report.status(), FileStatus::Good, "{shown}");
    let keys: Vec<&str> = report.jobs.iter().map(|job| job.key.as_str()).collect();
    assert_eq!(keys, ["a", "a/in", "a/next", "a/next/deep"]);
    assert_eq!(report.jobs[3].steps, ["Run $/wrap"]);
    for (rest, part) in [
        (
            "uses: acme/tools/.github/workflows/call.yml@v2",
            "workflow-runner actions add acme/tools/.github/workflows/call.yml@v2",
        ),
        (
            "uses: acme/tools/.github/workflows/absent.yml@v1",
            "the file is not in the repository",
        ),
        (
            "uses: acme/tools/.github/workflows/no-call.yml@v1",
            "no `on: workflow_call`",
        ),
        (
            "uses: acme/tools/.github/workflows/wrong.yml@v1",
            "acme/tools@v1/.github/workflows/wrong.yml",
        ),
    ] {
        let report = called(rest);
        let shown = report.render(config_core::Colours::Off);
        assert_eq!(report.status(), FileStatus::Refused, "{rest}: {shown}");
        assert!(shown.contains(part), "{rest}: {shown}");
    }
    let missing = called("uses: acme/tools/.github/workflows/call.yml@v1");
    assert_eq!(missing.status(), FileStatus::Wrong, "an input is missing");
}
