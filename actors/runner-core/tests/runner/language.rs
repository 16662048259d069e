//! What real workflow files say that is seldom: each as GitHub has it, or refused with a reason.

use runner_core::actions::NoActions;
use runner_core::command::{StepCommand, StepCommandParser};
use runner_core::context;
use runner_core::event::{EventContext, EventKind};
use runner_core::expr::{ContextName, Contexts, Expr, ExprScope, ExprValue};
use runner_core::plan::{PlanInput, combinations, plan};
use runner_core::prepare::env_values;
use runner_core::workflow::{ParsedFile, Workflow, parse};

fn read(text: &str) -> ParsedFile<Workflow> {
    parse("ci.yml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// What is refused of a job with this step.
fn refused(step: &str) -> Vec<String> {
    let text = format!("on: push\njobs: {{a: {{runs-on: x, steps: [{step}]}}}}\n");
    let files = |_: &str| None;
    let contexts = Contexts::default();
    let input = PlanInput {
        contexts: &contexts,
        files: &files,
        actions: &NoActions,
    };
    let plan = plan(read(&text).value, input).unwrap_or_else(|error| panic!("{error}"));
    let refusals = plan.jobs.iter().flat_map(|job| &job.refusals);
    refusals.map(|refusal| refusal.reason.clone()).collect()
}

#[test]
fn x3_inputs_that_would_differ_are_refused_and_defaults_are_not() {
    for step in [
        "{uses: actions/checkout@v4}",
        "{uses: actions/checkout@v4, with: {fetch-depth: 0, fetch-tags: true, lfs: true, ssh-key: ''}}",
        "{uses: actions/checkout@v4, with: {repository: a/b, ref: v1, path: b, submodules: recursive, token: x}}",
        "{uses: actions/checkout@v4, with: {ssh-key: '${{ secrets.KEY }}', ssh-strict: false, ssh-user: u, ssh-known-hosts: x}}",
        "{uses: actions/setup-node@v4, with: {node-version: 18.x}}",
        "{uses: actions/setup-node@v4, with: {node-version: '>=18 <21', check-latest: false}}",
        "{uses: actions/setup-node@v4, with: {node-version: '${{ matrix.node }}'}}",
        "{uses: actions/setup-python@v5, with: {python-version: '3.13', allow-prereleases: true}}",
        "{uses: actions/setup-node@v4, with: {node-version: lts/*, registry-url: 'https://npm.example', scope: '@a'}}",
        "{uses: actions/setup-node@v4, with: {node-version: 18, check-latest: true, cache: npm}}",
        "{uses: actions/setup-python@v5, with: {python-version: 3.13-dev, cache: pip, architecture: x64}}",
        "{uses: actions/setup-python@v5, with: {python-version: \"3.11\\n3.12\"}}",
        "{uses: actions/setup-go@v5, with: {go-version: stable}}",
        "{uses: actions/setup-java@v4, with: {java-version: 17, distribution: temurin, java-package: jdk, server-id: x, gpg-private-key: y}}",
        "{uses: actions/setup-dotnet@v4, with: {dotnet-version: \"8.0.x\\n9.0.1xx\"}}",
        "{uses: actions/setup-node@v7, with: {node-version: lts/-1, package-manager-cache: false}}",
        "{uses: actions/setup-python@v7, with: {python-version: \"pypy3.10\\n3.13t\", freethreaded: true}}",
        "{uses: actions/setup-go@v7, with: {go-version: oldstable}}",
        "{uses: actions/setup-java@v5, with: {java-version: 17, distribution: jdkfile, jdk-file: x, set-default: false, cache-path: y, mvn-repositories: 'a:https://r.example:true'}}",
        "{uses: actions/setup-dotnet@v6, with: {dotnet-version: latest, dotnet-channel: LTS, source-url: 'https://nuget.example', owner: a, config-file: b}}",
        "{uses: oven-sh/setup-bun@v2, with: {bun-download-url: 'https://bun.example/bun.zip'}}",
        "{uses: actions/checkout@v7, with: {allow-unsafe-pr-checkout: true}}",
        "{uses: actions/upload-artifact@v7, with: {path: a, archive: false}}",
        "{uses: actions/download-artifact@v5, with: {artifact-ids: '1,2'}}",
        "{uses: dtolnay/rust-toolchain@stable}",
        "{uses: dtolnay/rust-toolchain@1.75.0}",
        "{uses: dtolnay/rust-toolchain@master, with: {toolchain: 1.75}}",
    ] {
        assert_eq!(refused(step), [""; 0], "{step}");
    }
    for (step, word) in [
        (
            "{uses: actions/setup-node@v4, with: {node-version: lts/-x}}",
            "the image",
        ),
        (
            "{uses: actions/setup-python@v5, with: {python-version: graalpy-24.1}}",
            "the image",
        ),
        (
            "{uses: actions/setup-node@v4, with: {node-version: 18, cache: bower}}",
            "known are npm, pnpm, yarn",
        ),
        (
            "{uses: actions/setup-node@v4, with: {node-version: 18, architecture: s390x}}",
            "its input `architecture` is `s390x`",
        ),
        (
            "{uses: actions/setup-node@v4, with: {node-version: 18, registry-url: npmjs}}",
            "`registry-url`",
        ),
        (
            "{uses: actions/setup-java@v4, with: {java-version: 17, distribution: zulu, java-package: jdk+fx}}",
            "only jdk, jre",
        ),
        ("{uses: dtolnay/rust-toolchain@1.75-musl}", "the image"),
    ] {
        let reasons = refused(step);
        assert!(
            reasons.iter().any(|reason| reason.contains(word)),
            "{step}: {reasons:?}"
        );
    }
}

#[test]
fn x5_filters_that_only_take_away_are_legal_and_let_nothing_pass() {
    let parsed = read(
        "on: {push: {branches: ['**'], tags: ['!**']}}\njobs: {a: {runs-on: x, steps: [{run: y}]}}\n",
    );
    let event = |reference: &str| {
        let mut event = dispatch();
        event.kind = EventKind::Push;
        event.reference = reference.to_owned();
        runner_core::event::decide(&parsed.value, &event)
    };
    use runner_core::event::StartDecision;
    assert!(matches!(event("refs/heads/main"), StartDecision::Start));
    assert!(matches!(event("refs/tags/v1"), StartDecision::Skip(_)));
}

#[test]
fn x5_the_same_repository_can_be_named_in_two_ways() {
    let action = "runs: {using: composite, steps: [{run: echo, shell: sh}]}\n";
    let called = "on: workflow_call\njobs: {in: {runs-on: x, steps: [{run: y}]}}\n";
    let files = |path: &str| match path {
        "actions/one/action.yml" => Some(action.as_bytes().to_vec()),
        ".github/workflows/called.yml" => Some(called.as_bytes().to_vec()),
        _ => None,
    };
    for start in ["./", "$/"] {
        let text = format!(
            "on: push\njobs:\n  a: {{runs-on: x, steps: [{{uses: {start}actions/one}}]}}\n  b: {{uses: {start}.github/workflows/called.yml}}\n"
        );
        let contexts = Contexts::default();
        let input = PlanInput {
            contexts: &contexts,
            files: &files,
            actions: &NoActions,
        };
        let plan = plan(read(&text).value, input).unwrap_or_else(|error| panic!("{error}"));
        let refused = plan
            .jobs
            .iter()
            .map(|job| job.refusals.len())
            .sum::<usize>();
        assert_eq!(refused, 0, "{start}");
        assert_eq!(plan.jobs.len(), 3, "{start}");
    }
}

#[test]
fn x7_commands_that_set_variables_are_named_and_done_only_where_they_are_allowed() {
    let line = "::set-env name=A::1";
    assert_eq!(
        StepCommandParser::new(false).line(line),
        Some(StepCommand::Disabled("set-env".to_owned()))
    );
    assert_eq!(
        StepCommandParser::default().line("::add-path::/x"),
        Some(StepCommand::Disabled("add-path".to_owned()))
    );
    let set = StepCommand::SetEnv {
        name: "A".to_owned(),
        value: "1".to_owned(),
    };
    assert_eq!(StepCommandParser::new(true).line(line), Some(set));
    assert_eq!(
        StepCommandParser::new(true).line("::add-path::/x"),
        Some(StepCommand::AddPath("/x".to_owned()))
    );
}

/// The combinations of a matrix as it is written in a file.
fn copies(matrix: &str) -> String {
    let text = format!(
        "on: push\njobs:\n  a:\n    runs-on: x\n    strategy:\n      matrix: {matrix}\n    steps: [{{run: y}}]\n"
    );
    let parsed = read(&text);
    let strategy = parsed.value.jobs[0].strategy.as_ref().expect("one");
    let mut contexts = Contexts::default();
    contexts.set(
        ContextName::Github,
        ExprValue::object([("ref_name", "main")]),
    );
    let scope = runner_core::expr::ExprScope::new(&contexts);
    let matrix = strategy.matrix.as_ref().expect("a matrix");
    let value = matrix.value(&scope).expect("a value");
    let all = combinations(&value).expect("combinations");
    let json: serde_json::Value =
        serde_json::from_str(&ExprValue::list(all).to_json()).expect("JSON");
    json.to_string()
}

#[test]
fn x8_matrices_are_made_of_expressions_in_every_place() {
    for (matrix, wanted) in [
        // All of it, with `include`.
        (
            r#"${{ fromJSON('{"a":[1,2],"include":[{"a":1,"b":3}]}') }}"#,
            r#"[{"a":1,"b":3},{"a":2}]"#,
        ),
        // A key.
        (
            "\n        ${{ github.ref_name }}: [1, 2]",
            r#"[{"main":1},{"main":2}]"#,
        ),
        // What an expression adds, to the matrix and to a value of it.
        (
            "\n        a: [1]\n        ${{ insert }}: ${{ fromJSON('{\"b\":[2,3]}') }}",
            r#"[{"a":1,"b":2},{"a":1,"b":3}]"#,
        ),
        (
            "\n        a:\n        - env:\n            k: v\n            ${{insert}}: {l: w}\n            ${{ insert }}: ${{ fromJSON('{\"m\":\"x\"}') }}",
            r#"[{"a":{"env":{"k":"v","l":"w","m":"x"}}}]"#,
        ),
        // A list within a list.
        (
            "\n        a:\n        - 1\n        - ${{ fromJSON('[2,3]') }}",
            r#"[{"a":1},{"a":2},{"a":3}]"#,
        ),
    ] {
        assert_eq!(copies(matrix), wanted, "{matrix}");
    }
}

/// Keys of `exclude` that the matrix has not are an error on GitHub, in the file or when it runs.
#[test]
fn i17_a_matrix_excludes_only_what_it_has() {
    for (exclude, expected) in [
        (r#"{"a":1}"#, None),
        (r#"{"A":1}"#, None),
        (r#"{"b":1}"#, Some("the matrix has no key `b` to exclude")),
        (
            r"{}",
            Some("exclude of the matrix holds an object without a key"),
        ),
    ] {
        let json = format!(r#"{{"a":[1,2],"include":[{{"b":1}}],"exclude":[{exclude}]}}"#);
        let value = Expr::parse(&format!("fromJSON('{json}')")).unwrap();
        let value = value.eval(&ExprScope::new(&Contexts::default())).unwrap();
        let found = combinations(&value).err();
        assert_eq!(found.as_deref(), expected, "{exclude}");
    }
}

#[test]
fn i17_an_env_takes_what_an_expression_adds() {
    let parsed = read(
        "on: push\njobs:\n  a:\n    runs-on: x\n    env:\n      A: 1\n      ${{ insert }}: ${{ fromJSON('{\"B\":2}') }}\n      C: 3\n    steps: [{run: y}]\n",
    );
    let contexts = Contexts::default();
    let found = env_values(&parsed.value.jobs[0].env, &ExprScope::new(&contexts)).unwrap();
    let found: Vec<String> = found
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(found, ["A=1", "B=2", "C=3"]);
}

/// On Linux `env` has names as the machine has them: with their case.
#[test]
fn i17_names_of_env_differ_by_case() {
    let env = (0..20).map(|at| (format!("NAME_{at}"), format!("{at}")));
    let env: Vec<(String, String)> = env.collect();
    for most in [3, 20] {
        let contexts = Contexts::default().with(
            ContextName::Env,
            ExprValue::object(
                env[..most]
                    .iter()
                    .map(|(name, value)| (name, value.as_str())),
            ),
        );
        for (text, expected) in [
            ("env.NAME_1", "1"),
            ("env.name_1", ""),
            ("env['Name_1']", ""),
            ("env[format('NAME_{0}', 2)]", "2"),
            ("contains(env.*, '1')", "true"),
            ("ENV.NAME_2", "2"),
        ] {
            let value = Expr::parse(text).unwrap().eval(&ExprScope::new(&contexts));
            assert_eq!(&*value.unwrap().as_text(), expected, "{text}");
        }
    }
}

fn dispatch() -> EventContext {
    EventContext {
        kind: EventKind::WorkflowDispatch,
        action: None,
        reference: "refs/heads/main".to_owned(),
        sha: "0".repeat(40),
        repository: "a/b".to_owned(),
        actor: "me".to_owned(),
        base_branch: None,
        head_branch: Some("main".to_owned()),
        untrusted: false,
        changed_paths: None,
        message: None,
        inputs: Vec::new(),
        payload: ExprValue::Null,
    }
}

#[test]
fn x8_the_default_of_an_input_may_name_inputs_and_the_event() {
    let parsed = read(
        "on:\n  workflow_dispatch:\n    inputs:\n      where: {default: moon}\n      path: {default: '${{ inputs.where }}/${{ github.ref_name }}'}\njobs: {a: {runs-on: x, steps: [{run: y}]}}\n",
    );
    let mut contexts = Contexts::default();
    contexts.set(
        ContextName::Github,
        ExprValue::object([("ref_name", "main")]),
    );
    let inputs = |event: &EventContext| {
        let inputs = context::dispatch_inputs(&parsed.value, event, &contexts).unwrap();
        inputs.to_json().split_whitespace().collect::<String>()
    };
    assert_eq!(
        inputs(&dispatch()),
        r#"{"where":"moon","path":"moon/main"}"#
    );
    let mut event = dispatch();
    event.inputs = vec![("where".to_owned(), "mars".to_owned())];
    assert_eq!(inputs(&event), r#"{"where":"mars","path":"mars/main"}"#);
}
