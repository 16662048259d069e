//! What `check` finds in what a file makes of the actions and workflows that it uses, and mistakes
//! that would only show in a run.

use runner_core::report::check;

use crate::findings::{found, found_at};

fn files(path: &str) -> Option<Vec<u8>> {
    let text = match path {
        "own/action.yml" => {
            "inputs: {who: {required: true}, old: {deprecationMessage: 'use `who`'}}\noutputs: {said: {value: x}}\nruns: {using: composite, steps: [{run: x, shell: sh}]}\n"
        }
        "program/action.yml" => "outputs: {said: {}}\nruns: {using: node24, main: x.js}\n",
        "odd/action.yml" => "strange: 1\nruns: {using: composite, steps: [{run: x, shell: sh}]}\n",
        ".github/workflows/called.yml" => {
            "on: {workflow_call: {outputs: {file: {value: x}}}}\njobs: {in: {runs-on: x, steps: [{run: y}]}}\n"
        }
        _ => return None,
    };
    Some(text.as_bytes().to_vec())
}

/// `line: message` of every finding of a file.
fn findings(text: &str) -> Vec<String> {
    let report = check("ci.yml", text.as_bytes(), &files);
    let shown = report.diagnostics.iter();
    let shown = shown.map(|found| format!("{}: {}", found.line.unwrap_or(0), found.message));
    shown.collect()
}

#[test]
fn i17_inputs_and_outputs_of_local_actions_are_those_that_they_declare() {
    let job = |steps: &str| format!("on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n{steps}");
    for (steps, expected) in [
        (
            "      - {uses: ./own, id: s, with: {WHO: me}}\n      - run: echo ${{ steps.s.outputs.Said }}\n",
            None,
        ),
        (
            "      - uses: ./own\n        with:\n          who: me\n          whom: me\n",
            Some("9: ./own has no input `whom`"),
        ),
        (
            "      - uses: ./own\n        with:\n          who: me\n          old: me\n",
            Some("9: the input `old` of ./own is deprecated"),
        ),
        (
            "      - {uses: ./own, id: s, with: {who: me}}\n      - run: echo ${{ steps.s.outputs.sad }}\n",
            Some("7: ./own has no output `sad`"),
        ),
        // A program may set others: `actions/github-script` does.
        (
            "      - {uses: ./program, id: s}\n      - run: echo ${{ steps.s.outputs.other }}\n",
            None,
        ),
        // GitHub does not look at keys that it does not know.
        ("      - uses: ./odd\n", None),
    ] {
        let text = job(steps);
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(findings(&text), expected, "{text}");
    }
}

#[test]
fn i17_outputs_of_called_workflows_are_those_that_they_declare() {
    for (name, expected) in [
        ("file", None),
        ("File", None),
        (
            "fil",
            Some("4: .github/workflows/called.yml has no output `fil`"),
        ),
    ] {
        let text = format!(
            "on: push\njobs:\n  a: {{uses: ./.github/workflows/called.yml}}\n  b: {{needs: a, runs-on: x, steps: [{{run: 'echo ${{{{ needs.a.outputs.{name} }}}}'}}]}}\n"
        );
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(findings(&text), expected, "{text}");
    }
}

/// Page "Workflow commands", "Deprecated commands".
#[test]
fn i17_commands_that_are_given_up_are_found() {
    let step = |script: &str| {
        format!("on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: ¦{script}\n")
    };
    for (script, name) in [
        ("echo \"::set-output name=a::b\"", "set-output"),
        ("echo '::save-state name=a::b'", "save-state"),
        ("echo ::set-env name=a::b", "set-env"),
        ("echo \"::add-path::/x\"", "add-path"),
    ] {
        let expected = format!("warning the command `{name}` is given up");
        found_at(&step(script), Some(&expected));
    }
    found_at(&step("echo '::notice::x'").replace('¦', ""), None);
}

/// Page "Workflow syntax", `jobs.<job_id>.if`.
#[test]
fn i17_conditions_that_say_the_same_in_every_run_are_found() {
    let job = |condition: &str| {
        format!(
            "on: push\njobs:\n  a:\n    if: ¦{condition}\n    runs-on: x\n    steps: [{{run: y}}]\n"
        )
    };
    let (always, never) = (
        "warning this condition always holds",
        "warning this condition never holds",
    );
    for (condition, expected) in [
        ("true", Some(always)),
        ("false", None),
        ("${{ false }}", None),
        ("${{ false && true }}", Some(never)),
        ("${{ true && 42 || !null }}", Some(always)),
        ("contains('abc', 'd')", Some(never)),
        ("always()", None),
        ("github.actor == 'x'", None),
    ] {
        let text = job(condition);
        match expected {
            Some(_) => found_at(&text, expected),
            None => found_at(&text.replace('¦', ""), None),
        }
    }
}

/// Page "Reuse workflows".
#[test]
fn i17_a_called_workflow_is_a_file_of_a_repository() {
    for (uses, message) in [
        (
            "foo/bar/workflow.yml",
            Some("`foo/bar/workflow.yml` is no workflow that can be called"),
        ),
        (
            "owner/repo@main",
            Some("`owner/repo@main` is no workflow that can be called"),
        ),
        (
            "/foo/bar/workflow.yml@main",
            Some("`/foo/bar/workflow.yml@main` is no workflow that can be called"),
        ),
        ("o/r/.github/workflows/x.yaml@v1", None),
    ] {
        let text = format!("on: push\njobs:\n  a:\n    uses: {uses}\n");
        let expected: Vec<String> = message
            .map(|message| format!("error 4:11: {message}"))
            .into_iter()
            .collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        found(&[(&text, &expected)]);
    }
}
