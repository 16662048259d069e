//! `workflow-runner check`, as a program.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
    command
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

fn repository(file: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let workflows = folder.path().join(".github/workflows");
    std::fs::create_dir_all(&workflows).expect("folders");
    std::fs::write(workflows.join("ci.yml"), file).expect("a file");
    folder
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_exit_code_says_how_the_files_stand() {
    let job = |rest: &str| {
        format!("on: push\njobs:\n  a:\n    runs-on: x\n{rest}    steps: [{{run: make}}]\n")
    };
    for (file, code, said) in [
        (job(""), 0, "1 files: 1 would run"),
        (
            job("    services: {db: {image: x}}\n"),
            3,
            "refused: .github/workflows/ci.yml:5:5: services.db",
        ),
        (
            job("    timeout: 5\n"),
            1,
            ".github/workflows/ci.yml:5:5: unknown key `timeout` in a job",
        ),
    ] {
        let folder = repository(&file);
        for arguments in [
            &["check"][..],
            &["check", ".github/workflows"],
            &["check", ".github/workflows/ci.yml"],
        ] {
            let output = run(arguments, folder.path());
            let shown = text(&output.stdout);
            assert_eq!(
                output.status.code(),
                Some(code),
                "{arguments:?}: {shown}{}",
                text(&output.stderr)
            );
            assert!(shown.contains(said), "{arguments:?}: {shown}");
        }
    }
}

#[test]
fn forgejo_s_folder_comes_first_and_local_files_are_found() {
    let folder = repository("on: push\njobs: {}\n");
    let own = folder.path().join(".forgejo/workflows");
    std::fs::create_dir_all(&own).expect("folders");
    std::fs::create_dir_all(folder.path().join("act")).expect("folders");
    let action = "runs: {using: composite, steps: [{run: x, shell: sh}]}\n";
    std::fs::write(folder.path().join("act/action.yml"), action).expect("a file");
    let file = "on: push\njobs: {a: {runs-on: x, steps: [{uses: ./act}]}}\n";
    std::fs::write(own.join("own.yml"), file).expect("a file");
    let output = run(&["check", "--format", "json"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json[0]["file"], ".forgejo/workflows/own.yml");
    assert_eq!(
        json[0]["jobs"][0]["steps"],
        serde_json::json!(["Run ./act"])
    );
}

#[test]
fn i17_subfolders_are_looked_at_where_their_forges_do() {
    let job = "on: push\njobs: {a: {runs-on: x, steps: [{run: make}]}}\n";
    for (folder, files) in [
        (".gitea/workflows", 2),
        (".forgejo/workflows", 2),
        (".github/workflows", 1),
    ] {
        let repository = tempfile::tempdir().expect("a folder");
        let below = repository.path().join(folder).join("sub/deep");
        std::fs::create_dir_all(&below).expect("folders");
        std::fs::write(below.join("inner.yml"), job).expect("a file");
        std::fs::write(repository.path().join(folder).join("ci.yml"), job).expect("a file");
        let output = run(&["check"], repository.path());
        let shown = text(&output.stdout);
        let counted = format!("{files} files: {files} would run");
        assert!(shown.contains(&counted), "{folder}: {shown}");
        let one = format!("{folder}/sub/deep/inner.yml");
        let output = run(&["check", &one, "--format", "json"], repository.path());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let named = if files == 2 {
            one.as_str()
        } else {
            "inner.yml"
        };
        assert_eq!(json[0]["file"], named, "{folder}");
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    for arguments in [&["check", "absent.yml"][..], &["check"]] {
        let output = run(arguments, folder.path());
        assert_eq!(output.status.code(), Some(1));
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
    let version = run(&["--version"], folder.path());
    assert!(text(&version.stdout).starts_with("workflow-runner "));
}

#[test]
fn r03_a_script_with_a_stranger_s_text_is_warned_of() {
    let folder = repository(
        "on: pull_request\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: echo \"${{ github.event.pull_request.title }}\"\n",
    );
    let output = run(&["check"], folder.path());
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "a warning only: {shown}");
    assert!(shown.contains("strangers choose"), "{shown}");
}

/// Nearly every job had two notes that the configuration had answered.
#[test]
fn i17_what_the_configuration_answers_is_not_noted() {
    let folder =
        repository("on: push\njobs: {a: {runs-on: big, steps: [{run: pip install x; git log}]}}\n");
    let config = |name: &str, text: &str| {
        let path = folder.path().join(name);
        let data = folder.path().join("data");
        std::fs::write(&path, format!("data_dir = {data:?}\n{text}")).unwrap();
        path
    };
    let said = |config: &Path| {
        let output = run(
            &["check", "--config", config.to_str().unwrap()],
            folder.path(),
        );
        text(&output.stdout) + &text(&output.stderr)
    };
    let usual = said(&config("usual.toml", ""));
    assert!(usual.contains("its machine needs a network"), "{usual}");
    assert!(
        usual.contains("the commit lies in its workspace"),
        "{usual}"
    );
    let other = said(&config(
        "other.toml",
        "workspace = \"empty\"\n[machines.big]\nnetwork = \"user\"\n",
    ));
    assert!(other.contains("job a on big"), "{other}");
    assert!(!other.contains("note:"), "{other}");
    let without = said(&config(
        "without.toml",
        "[machines.default]\nnetwork = \"user\"\n[machines.big]\nmemory = \"512MiB\"\n",
    ));
    assert!(without.contains("its machine needs a network"), "{without}");
}
