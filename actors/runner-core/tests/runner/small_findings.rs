//! What other checkers find and this one did not: small mistakes that GitHub takes in silence.

use runner_core::report::{FileReport, FileStatus, check};

use crate::findings::found;

fn checked(file: &str, text: &str) -> FileReport {
    check(file, text.as_bytes(), &|_| None)
}

fn job(keys: &str, script: &str) -> String {
    format!("on: push\njobs:\n  a:\n    runs-on: x\n{keys}    steps:\n      - run: {script}\n")
}

#[test]
fn i17_keys_that_no_value_of_a_matrix_has_are_found() {
    let matrix = |matrix: &str| format!("    strategy: {{matrix: {matrix}}}\n");
    let maps = matrix("{p: [{name: a, x: 1}, {name: b}]}");
    let given = matrix("{p: ['${{ fromJSON(vars.P) }}', {name: b}]}");
    let included = matrix("{p: [{name: a}], include: [{p: {name: b, dev: 1}}]}");
    let computed = matrix("{p: '${{ fromJSON(vars.P) }}'}");
    let texts = matrix("{p: [a, b]}");
    found(&[
        (
            &job(&maps, "echo ${{ matrix.p.name }} ${{ matrix.p.x }}"),
            &[],
        ),
        (
            &job(&maps, "echo ${{ matrix.p.dev }}"),
            &["warning 7:32: no value of `p` in the matrix has the key `dev`"],
        ),
        (&job(&given, "echo ${{ matrix.p.dev }}"), &[]),
        (&job(&included, "echo ${{ matrix.p.dev }}"), &[]),
        (&job(&computed, "echo ${{ matrix.p.dev }}"), &[]),
        (
            &job(&texts, "echo ${{ matrix.p.dev }}"),
            &["warning 7:19: a text has no property `dev`"],
        ),
        (
            &job(
                "",
                "echo ${{ job.container.id }} ${{ job.services.db.ports }}",
            ),
            &[],
        ),
        (
            &job("", "echo ${{ job.container.os }}"),
            &["warning 6:37: `job.container` has no property `os`"],
        ),
        (
            &job("", "echo ${{ job.services.db.host }}"),
            &["warning 6:39: a service of `job.services` has no property `host`"],
        ),
    ]);
}

#[test]
fn i17_numbers_of_copies_that_are_none_are_found() {
    let text = |most: &str| {
        let keys = format!("    strategy: {{matrix: {{v: [1, 2]}}, max-parallel: {most}}}\n");
        job(&keys, "y")
    };
    found(&[
        (&text("1"), &[]),
        (&text("2.0"), &[]),
        (&text("0"), &["warning 5:51: max-parallel is `0`"]),
        (&text("-4"), &["warning 5:51: max-parallel is `-4`"]),
        (&text("1.5"), &["warning 5:51: max-parallel is `1.5`"]),
    ]);
}

#[test]
fn i17_a_job_that_is_needed_twice_is_found() {
    let text = |needs: &str| {
        format!(
            "on: push\njobs:\n  lab: {{runs-on: x, steps: [{{run: y}}]}}\n  a: {{runs-on: x, needs: {needs}, steps: [{{run: y}}]}}\n"
        )
    };
    found(&[
        (&text("[lab]"), &[]),
        (
            &text("[lab, LAB]"),
            &["warning 4:32: `a` needs `lab` twice"],
        ),
    ]);
}

/// The whole file was wrong; at Gitea and Forgejo the other jobs run.
#[test]
fn i17_an_action_without_a_version_refuses_its_job_at_forges() {
    let text = "on: push\njobs:\n  a: {runs-on: x, steps: [{uses: 'https://gitea.com/actions/x'}]}\n  b: {runs-on: x, steps: [{run: y}]}\n";
    for (file, status) in [
        (".gitea/workflows/a.yml", FileStatus::Refused),
        (".forgejo/workflows/a.yml", FileStatus::Refused),
        (".github/workflows/a.yml", FileStatus::Wrong),
    ] {
        assert_eq!(checked(file, text).status(), status, "{file}");
    }
    let report = checked(".gitea/workflows/a.yml", text);
    let refused: Vec<bool> = report.jobs.iter().map(|job| job.refused).collect();
    assert_eq!(refused, [true, false]);
    let reason = report.refused[0].to_string();
    assert!(reason.contains("it names no version"), "{reason}");
}

/// A commit whose comment tells an old release, or a named artifact, needs no note.
#[test]
fn i17_a_download_of_an_unknown_release_is_noted() {
    let commit = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c";
    let notes = |rest: &str| {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - uses: {commit}{rest}\n"
        );
        checked("ci.yml", &text).jobs[0].notes.join("\n")
    };
    let note = "no comment behind the commit tells its release";
    assert!(notes("").contains(note), "{}", notes(""));
    assert!(notes(" # the newest").contains(note));
    for rest in [" # v8.0.1", " # v4", "\n        with: {name: a}"] {
        assert!(!notes(rest).contains(note), "{rest}: {}", notes(rest));
    }
}

/// PowerShell of the job's defaults was read as a shell script.
#[test]
fn i17_the_shell_of_the_defaults_counts_for_the_notes() {
    let text = |defaults: &str| {
        format!(
            "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n{defaults}    steps: [{{run: kubectl get pods}}]\n"
        )
    };
    let notes = |defaults: &str| checked("ci.yml", &text(defaults)).jobs[0].notes.join("\n");
    let pwsh = notes("    defaults: {run: {shell: pwsh}}\n");
    assert!(
        pwsh.contains("call `pwsh`") && !pwsh.contains("kubectl"),
        "{pwsh}"
    );
    assert!(notes("").contains("call `kubectl`"), "{}", notes(""));
}

/// Names of packages that the matrix gives were not put in.
#[test]
fn i17_packages_that_the_matrix_names_are_found() {
    let text = "on: push\njobs:\n  a:\n    runs-on: ubuntu-22.04\n    strategy: {matrix: {cc: [clang-11, gcc]}}\n    steps: [{run: 'sudo apt-get install ${{ matrix.cc }}'}, {run: 'sudo add-apt-repository ppa:a/b'}]\n";
    let notes = checked("ci.yml", text).jobs[0].notes.join("\n");
    assert!(
        notes.contains("its scripts install clang-11, which"),
        "{notes}"
    );
    assert!(
        notes.contains("is Debian 13, which those packages are not built for"),
        "{notes}"
    );
}

/// In a pull request's run `HEAD` is another commit, and files of a container are not seen.
#[test]
fn i17_what_steps_look_at_is_noted() {
    let text = |on: &str, keys: &str, step: &str| {
        format!("on: {on}\njobs:\n  a:\n    runs-on: x\n{keys}    steps: [{step}]\n")
    };
    let notes = |on: &str, keys: &str, step: &str| {
        checked("ci.yml", &text(on, keys, step)).jobs[0]
            .notes
            .join("\n")
    };
    let diff = "{run: 'git diff --name-only HEAD^'}";
    let head = "in a run of a pull request `HEAD` is the head";
    assert!(notes("pull_request", "", diff).contains(head));
    assert!(!notes("push", "", diff).contains(head));
    let cache = "{uses: actions/cache@v4, with: {key: a, path: /usr/local/cargo}}";
    let said = "those of its container outside of the workspace are not seen: `/usr/local/cargo`";
    assert!(notes("push", "    container: a:1\n", cache).contains(said));
    assert!(!notes("push", "", cache).contains(said));
}
