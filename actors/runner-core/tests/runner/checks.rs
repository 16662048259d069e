//! What `workflow-runner check` prints.

use config_core::Colours;
use runner_core::actions::NoActions;
use runner_core::image_notes::LabelImage;
use runner_core::report::{FileStatus, RunnerFacts, check, check_for};

const FILE: &str = "\
name: CI
on:
  push: {branches: [main, 'v*']}
  page_build:
jobs:
  build:
    runs-on: ubuntu-latest
    strategy:
      matrix: {v: [1, 2]}
    steps:
      - uses: actions/checkout@v4
      - name: Build
        run: make
      - run: |
          make test
          make lint
  publish:
    needs: build
    if: github.ref == 'refs/heads/main'
    runs-on: ubuntu-latest
    container: debian
    steps: [{run: ./publish}]
";

#[test]
fn people_see_what_would_run_and_what_is_refused() {
    let report = check("ci.yml", FILE.as_bytes(), &|_| None);
    assert_eq!(report.status(), FileStatus::Refused);
    expect_test::expect![[r#"
        ci.yml (CI)
          started by push (branches main v*)
          never started here by page_build
          job build on ubuntu-latest
            2 copies: build (1); build (2)
             1. Run actions/checkout@v4
             2. Build
             3. Run make test
          job publish on ubuntu-latest REFUSED
            needs build
            if github.ref == 'refs/heads/main'
             1. Run ./publish
            note: it needs podman and crun for containers: the image `full` has that, which its label stands for once it is built (`vm-manager image build full`)
          refused: ci.yml:21:5: container is not supported: the image debian:latest is not in the runner's store of images; the operator adds it with `workflow-runner images add debian:latest`, from a folder or archive with `--from`
    "#]]
    .assert_eq(&report.render(Colours::Off));
}

#[test]
fn programs_see_the_same() {
    let report = check("ci.yml", FILE.as_bytes(), &|_| None);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        json["jobs"][0]["copies"],
        serde_json::json!(["build (1)", "build (2)"])
    );
    assert_eq!(json["refused"][0]["feature"], "container");
    assert_eq!(
        json["refused"][0]["place"],
        serde_json::json!({"line": 21, "col": 5})
    );
    assert_eq!(json["diagnostics"], serde_json::json!([]));
}

#[test]
fn a_wrong_file_is_all_mistakes() {
    let report = check("ci.yml", b"on: psuh\njobs: {}\n", &|_| None);
    assert_eq!(report.status(), FileStatus::Wrong);
    let text = report.render(Colours::Off);
    assert!(
        text.contains("ci.yml:1:5: unknown event `psuh`") && text.contains("did you mean `push`?"),
        "{text}"
    );
}

/// The notes of a job with these steps and a container on a machine with the label `label`.
fn notes(file: &str, label: &str, image: Option<LabelImage>) -> String {
    let text = format!(
        "on: push\njobs:\n  a:\n    runs-on: {label}\n    steps:\n    - run: docker ps\n    - uses: denoland/setup-deno@v2\n    - {{uses: actions/setup-go@v5, with: {{go-version: 1.25}}}}\n"
    );
    let of_label = |_: &[String]| image.unwrap_or(LabelImage::Other);
    let facts = RunnerFacts {
        image: image.is_some().then_some(&of_label),
        ..RunnerFacts::USUAL
    };
    let report = check_for(file, text.as_bytes(), &|_| None, &NoActions, facts);
    report.jobs[0].notes.join("\n")
}

/// Podman was said to be missing at labels that get `full`, and Deno to be the image's to have.
#[test]
fn i17_check_knows_the_image_of_a_label() {
    let (hosted, forge) = (".github/workflows/a.yml", ".forgejo/workflows/a.yml");
    let small = "the image `full` has that (`vm-manager image build full`), the small one has not";
    let once_built = "`full` has that, which its label stands for once it is built";
    let no_deno = "setup-deno@v2: the image `full` has no deno; `workflow-runner actions add denoland/setup-deno@v2` stores";
    let any_deno = "setup-deno@v2: the job's image has to have the release of deno";
    for (file, label, image, podman, deno) in [
        (hosted, "ubuntu-latest", None, Some(once_built), no_deno),
        (hosted, "docker", None, Some(small), any_deno),
        (forge, "docker", None, Some(once_built), no_deno),
        (forge, "x", Some(LabelImage::Full), None, no_deno),
        (
            hosted,
            "ubuntu-latest",
            Some(LabelImage::Other),
            Some(small),
            any_deno,
        ),
    ] {
        let notes = notes(file, label, image);
        let said = notes
            .lines()
            .find(|note| note.starts_with("it needs podman"));
        assert_eq!(said.is_some(), podman.is_some(), "{label}: {notes}");
        assert!(
            said.unwrap_or_default()
                .contains(podman.unwrap_or_default()),
            "{notes}"
        );
        assert!(notes.contains(deno), "{label}: {notes}");
        let go = "(`workflow-runner actions add actions/setup-go@v5`)";
        assert!(notes.contains(go), "{notes}");
    }
}

#[test]
fn i17_check_names_the_packages_that_debian_has_not() {
    let job = |more: &str| {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    {more}\n    steps:\n      - run: sudo apt-get install clang-14 valgrind\n      - run: apt-get install gcc-11 clang-14\n"
        );
        let report = check(".github/workflows/a.yml", text.as_bytes(), &|_| None);
        report.jobs[0].notes.join("\n")
    };
    let said = job("name: a");
    let expected = "its scripts install clang-14, gcc-11, which Ubuntu has (24.04 or an older release) and Debian 13, the image `full`, has not: apt will not find them (it has clang-17 to clang-19, gcc-12 to gcc-14)";
    assert!(said.contains(expected), "{said}");
    // A container has its own packages.
    let said = job("container: ubuntu:24.04");
    assert!(!said.contains("clang-14"), "{said}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn i17_check_refuses_labels_of_another_architecture() {
    let text = "on: push\njobs:\n  a: {runs-on: ubuntu-24.04-arm, steps: [{run: uname -m}]}\n";
    let report = check("ci.yml", text.as_bytes(), &|_| None);
    assert_eq!(report.status(), FileStatus::Refused);
    let said = report.render(Colours::Off);
    let expected = "runs-on: ubuntu-24.04-arm is not supported: machines are x86-64 unless";
    assert!(said.contains(expected), "{said}");
}
