//! What `check` finds of containers, groups of machines, numbers, inputs and scripts.

use runner_core::report::check;

use crate::findings::{findings, found_at};

const JOB: &str = "jobs:\n  a:\n    runs-on: x\n    steps: [{run: y}]\n";

#[test]
fn i17_containers_that_github_takes_no_file_with_are_found() {
    let job = |rest: &str| {
        format!("on: push\njobs:\n  a:\n    runs-on: x\n{rest}    steps: [{{run: y}}]\n")
    };
    for (rest, expected) in [
        (
            "    container:\n      image: a\n      ports: ¦8080\n",
            "error ports is a number, expected a list",
        ),
        (
            "    container:\n      image: a\n      volumes: ¦/a:/b\n",
            "error volumes is a text, expected a list",
        ),
        (
            "    container:\n      image: a\n      volumes: [¦{a: b}]\n",
            "error an entry of volumes is a mapping, expected a text",
        ),
        (
            "    container:\n      image: a\n      env: ¦A=b\n",
            "error env is a text, expected a mapping",
        ),
        (
            "    container:\n      image: a\n      credentials: ¦me:secret\n",
            "error credentials is a text, expected a mapping",
        ),
        (
            "    container:\n      image: a\n      credentials: {username: me, password: x, ¦token: y}\n",
            "error unknown key `token` in credentials",
        ),
        (
            "    services:\n      b:\n        image: a\n        credentials: ¦{username: me}\n",
            "warning `credentials` have no `password`",
        ),
        (
            "    services: ¦redis\n",
            "error services is a text, expected a mapping of names to containers",
        ),
        (
            "    services:\n      b: {image: ¦''}\n",
            "error the image of a service is empty",
        ),
        (
            "    services:\n      b: ¦docker://\n",
            "error the image of a service is empty",
        ),
        (
            "    container: {image: ¦'${{ env.X }}'}\n",
            "error the context `env` cannot be used in a container",
        ),
        (
            "    services:\n      b: {image: a, options: ¦'${{ secrets.X }}'}\n",
            "error the context `secrets` cannot be used in a container",
        ),
    ] {
        found_at(&job(rest), Some(expected));
    }
    for rest in [
        "    container: {image: a, env: {A: '${{ secrets.X }}'}, credentials: {username: a, password: '${{ secrets.X }}'}}\n",
        "    container: {image: a, env: '${{ fromJSON(vars.X) }}', ports: '${{ fromJSON(vars.Y) }}', volumes: }\n",
        "    services: ${{ fromJSON(vars.X) }}\n",
        "    services: {b: '${{ vars.IMAGE }}', c: {image: '${{ vars.IMAGE }}'}}\n",
    ] {
        found_at(&job(rest), None);
    }
}

#[test]
fn i17_groups_of_machines_have_a_name() {
    for (runs_on, expected) in [
        (
            "{group: ¦[a, b]}",
            "error the group of runs-on is a list, expected a text",
        ),
        ("{group: ¦''}", "error the group of runs-on has no name"),
        (
            "{group: g, labels: ¦{a: b}}",
            "error the labels of runs-on is a mapping, expected a text or a list of texts",
        ),
    ] {
        let text = format!("on: push\njobs: {{a: {{runs-on: {runs_on}, steps: [{{run: y}}]}}}}\n");
        found_at(&text, Some(expected));
    }
}

#[test]
fn i17_scripts_that_an_action_is_given_are_scripts() {
    let step = |uses: &str, input: &str| {
        format!(
            "on: push\njobs: {{a: {{runs-on: x, steps: [{{uses: {uses}, with: {{{input}: 'x(¦${{{{ github.event.issue.title }}}})'}}}}]}}}}\n"
        )
    };
    let said = "warning `${{ github.event.issue.title }}` puts a text that strangers choose into a script, where it is run as commands";
    found_at(&step("actions/github-script@v7", "script"), Some(said));
    found_at(&step("Azure/CLI@v2", "inlineScript"), Some(said));
    let other = step("actions/github-script@v7", "result-encoding").replace('¦', "");
    assert_eq!(findings(&other), [] as [&str; 0]);
    let report = check(
        "ci.yml",
        step("actions/github-script@v7", "script")
            .replace('¦', "")
            .as_bytes(),
        &|_| None,
    );
    let help = report
        .diagnostics
        .iter()
        .next()
        .and_then(|found| found.help.clone());
    assert!(
        help.is_some_and(|help| help.contains("`env`")),
        "what to do is help"
    );
}

#[test]
fn i17_check_says_what_scripts_do_not_get() {
    let notes = |steps: &str| {
        let text = format!("on: push\njobs: {{a: {{runs-on: x, steps: [{steps}]}}}}\n");
        check("ci.yml", text.as_bytes(), &|_| None)
            .jobs
            .remove(0)
            .notes
            .join("; ")
    };
    let checkout = "{uses: actions/checkout@v4}";
    let push = "{run: git push}";
    assert!(notes(&format!("{checkout}, {push}")).contains("`git push`"));
    let with_token = "{uses: actions/checkout@v4, with: {token: '${{ secrets.PAT }}'}}";
    assert!(!notes(&format!("{with_token}, {push}")).contains("`git push`"));
    let may = "{uses: actions/checkout@v4}, {run: git push}";
    let text = format!(
        "on: push\npermissions: {{contents: write}}\njobs: {{a: {{runs-on: x, steps: [{may}]}}}}\n"
    );
    let may = check("ci.yml", text.as_bytes(), &|_| None).jobs.remove(0);
    assert!(
        !may.notes.join("; ").contains("`git push`"),
        "{:?}",
        may.notes
    );
    assert!(notes("{run: gh pr list}").contains("GitHub's program `gh`: the image `full` has"));
    assert!(notes("{run: gh secret set A}").contains("a token of your own in `GH_TOKEN`"));
    let platforms = "{run: 'docker build --platform linux/arm64,linux/amd64 .'}";
    assert!(notes(platforms).contains("are emulated"));
}

#[test]
fn i17_numbers_in_quotes_and_empty_permissions_are_found() {
    let job = |rest: &str| {
        format!("on: push\njobs:\n  a:\n    runs-on: x\n{rest}    steps: [{{run: y}}]\n")
    };
    for (rest, expected) in [
        (
            "    timeout-minutes: ¦'3.5'\n",
            "error timeout-minutes is `3.5`, expected a number above 0",
        ),
        (
            "    strategy: {max-parallel: ¦'3', matrix: {a: [1]}}\n",
            "error max-parallel is `3`, expected a number",
        ),
        ("    permissions¦:\n", "error permissions is empty"),
    ] {
        found_at(&job(rest), Some(expected));
    }
    for rest in [
        "    timeout-minutes: ${{ vars.X }}\n",
        "    strategy: {max-parallel: 2, matrix: {a: [1]}}\n",
        "    permissions: {}\n",
    ] {
        found_at(&job(rest), None);
    }
}

#[test]
fn i17_defaults_of_inputs_know_those_before_them() {
    let input = |rest: &str| {
        format!(
            "on:\n  workflow_call:\n    inputs:\n      a: {{type: string, default: x}}\n      b: {{{rest}}}\n      c: {{type: string}}\n{JOB}"
        )
    };
    for (rest, expected) in [
        (
            "type: string, default: ¦'${{ inputs.c }}'",
            "warning no input `c` stands before this one",
        ),
        (
            "type: string, default: ¦'x${{ inputs.b }}'",
            "warning no input `b` stands before this one",
        ),
        (
            "type: boolean, default: ¦'${{ inputs.a }}'",
            "warning the default of `b` is a text, as `a` is",
        ),
    ] {
        found_at(&input(rest), Some(expected));
    }
    for rest in [
        "type: string, default: '${{ inputs.A }}'",
        "type: boolean, default: \"${{ inputs.a == 'x' }}\"",
    ] {
        found_at(&input(rest), None);
    }
}
