//! What Gitea Actions and Forgejo Actions take beside GitHub's grammar.

use config_core::Diagnostics;
use forge_core::Forge;
use runner_core::expr::{ContextName, Contexts, ExprValue};
use runner_core::plan::{
    Plan, PlanAction, PlanInput, PlanState, PlannedWork, StepKind, plan as plan_of,
};
use runner_core::report::RunnerFacts;
use runner_core::workflow::{
    Dialect, JobWork, PermissionLevel, Permissions, Workflow, parse, parse_as,
};

const FORGE: &str = ".forgejo/workflows/ci.yml";
const GITHUB: &str = ".github/workflows/ci.yml";

fn read(file: &str, text: &str) -> Result<(Workflow, Diagnostics), Diagnostics> {
    let parsed = parse(file, text.as_bytes())?;
    Ok((parsed.value, parsed.warnings))
}

/// The workflow as a forge reads it, and what is said of it; GitHub refuses it.
fn only_forge(text: &str) -> (Workflow, String) {
    assert!(read(GITHUB, text).is_err(), "GitHub refuses it: {text}");
    let found = read(FORGE, text);
    let (workflow, warnings) = found.unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
    (workflow, warnings.to_string())
}

fn planned(workflow: Workflow, files: &dyn Fn(&str) -> Option<Vec<u8>>) -> Plan {
    let contexts = Contexts::default();
    let input = PlanInput {
        contexts: &contexts,
        files,
        actions: &runner_core::actions::NoActions,
    };
    plan_of(workflow, input).unwrap_or_else(|error| panic!("{error}"))
}

fn job(rest: &str) -> String {
    format!("on: push\njobs:\n  a:\n    runs-on: docker\n{rest}")
}

const STEPS: &str = "    steps: [{run: make}]\n";

#[test]
fn i17_mails_are_a_key_of_forges_that_does_nothing() {
    let text = job(STEPS);
    let (_, said) = only_forge(&format!("enable-email-notifications: true\n{text}"));
    assert!(said.contains("sends no mails"), "{said}");
    let wrong = read(FORGE, &format!("enable-email-notifications: often\n{text}"));
    assert!(wrong.is_err());
}

/// GitHub's have `secrets` for that.
#[test]
fn i17_inputs_of_a_called_workflow_may_be_secrets_at_forges() {
    let text = "
on: push
jobs:
  a:
    uses: ./.forgejo/workflows/called.yml
    with: {address: '${{ secrets.ADDRESS }}'}
";
    let called = "
on: {workflow_call: {inputs: {address: {type: string}}}}
jobs:
  b:
    runs-on: docker
    name: to ${{ inputs.address }}
    steps: [{run: make}]
";
    let (workflow, _) = only_forge(text);
    let files = |path: &str| {
        path.ends_with("called.yml")
            .then(|| called.as_bytes().to_vec())
    };
    let secrets = ExprValue::object([("ADDRESS", "moon")]);
    let base = Contexts::default().with(ContextName::Secrets, secrets);
    let mut state = PlanState::new(planned(workflow, &files).into(), base);
    let started = state.advance().into_iter().find_map(|action| match action {
        PlanAction::Start { job, .. } => Some(job),
        _ => None,
    });
    let copies = state.instances(started.expect("a job begins"));
    assert_eq!(copies.expect("copies")[0].name, "to moon");
}

#[test]
fn i17_conditions_know_secrets_and_variables_at_forges() {
    let text = "
on: push
env: {MODE: full}
jobs:
  given:
    if: secrets.KEY != '' && env.MODE == 'full'
    runs-on: docker
    steps: [{run: make, if: \"secrets.KEY != ''\"}]
  absent:
    if: secrets.OTHER != ''
    runs-on: docker
    steps: [{run: make}]
";
    let (workflow, _) = only_forge(text);
    let plan = planned(workflow, &|_| None);
    let secrets = ExprValue::object([("KEY", "value")]);
    let base = Contexts::default().with(ContextName::Secrets, secrets);
    let mut state = PlanState::new(plan.into(), base);
    let actions = state.advance();
    let started = |at: usize| {
        let starts =
            |action: &PlanAction| matches!(action, PlanAction::Start { job, .. } if *job == at);
        actions.iter().any(starts)
    };
    assert!(started(0) && !started(1), "{actions:?}");
}

#[test]
fn i17_schedules_have_words_and_a_zone_at_forges() {
    let text = |cron: &str| {
        let rest = job(STEPS).replace("on: push\n", "");
        format!("on: {{schedule: [{{cron: '{cron}'}}]}}\n{rest}")
    };
    for (cron, zone) in [
        ("@daily", None),
        ("@every 2h", None),
        ("TZ=Europe/Berlin 0 4 * * *", Some("Europe/Berlin")),
        ("CRON_TZ=UTC @weekly", Some("UTC")),
    ] {
        let (workflow, _) = only_forge(&text(cron));
        let schedule = &workflow.on.schedule[0].value;
        assert_eq!(
            (&*schedule.cron, schedule.timezone.as_deref()),
            (cron, zone)
        );
    }
    for wrong in ["@dayly", "TZ=Nowhere/City 0 4 * * *"] {
        assert!(read(FORGE, &text(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn i17_a_job_that_calls_may_have_a_label_at_forges() {
    let text = job("    container: node:22\n    uses: ./.forgejo/workflows/b.yml\n");
    let (workflow, said) = only_forge(&text);
    assert!(matches!(workflow.jobs[0].work, JobWork::Call { .. }));
    assert!(workflow.jobs[0].container.is_none());
    assert!(said.contains("does nothing"), "{said}");
}

#[test]
fn i17_a_container_without_an_image_is_the_labels_own() {
    let text = job(&format!("    container: {{options: --cpus 2}}\n{STEPS}"));
    let (_, said) = only_forge(&text);
    assert!(said.contains("machines.<label>.container"), "{said}");
}

#[test]
fn i17_scripts_of_actions_need_no_shell_at_forges() {
    let action = "runs: {using: composite, steps: [{run: make}]}\n";
    let files = |path: &str| (path == "tool/action.yml").then(|| action.as_bytes().to_vec());
    let workflow = |file| parse(file, job("    steps: [{uses: ./tool}]\n").as_bytes());
    let plan = planned(workflow(FORGE).unwrap().value, &files);
    let PlannedWork::Steps(steps) = &plan.jobs[0].work else {
        panic!("it has steps");
    };
    assert!(matches!(steps[0].work, StepKind::Composite(_)));
    let contexts = Contexts::default();
    let input = PlanInput {
        contexts: &contexts,
        files: &files,
        actions: &runner_core::actions::NoActions,
    };
    assert!(plan_of(workflow(GITHUB).unwrap().value, input).is_err());
}

#[test]
fn i17_a_service_has_arguments_by_cmd_at_forges() {
    let service = "    services: {db: {image: 'postgres:16', cmd: [-c, fsync=off]}}\n";
    let (workflow, _) = only_forge(&job(&format!("{service}{STEPS}")));
    let services = workflow.jobs[0].services.as_ref().unwrap();
    let contexts = Contexts::default();
    let scope = runner_core::expr::ExprScope::new(&contexts);
    let value = services.value.value(&scope).unwrap();
    let found = runner_core::container::services(&value).unwrap();
    assert_eq!(found[0].1.command, ["-c", "fsync=off"]);
}

#[test]
fn i17_forms_that_forges_take_are_read_with_a_word() {
    let cases = [
        job(STEPS).replace("  a:", "  Build Images:"),
        job(STEPS).replace("    runs-on: docker\n", ""),
        job(&format!("    timeout-minutes: '5'\n{STEPS}")),
        job(&format!(
            "    strategy: {{max-parallel: '1', matrix: {{a: [1, 2]}}}}\n{STEPS}"
        )),
        job(&format!(
            "    concurrency: {{cancel-in-progress: true}}\n{STEPS}"
        )),
        job("    steps: [{uses: 'actions/${{ vars.NAME }}@v4'}]\n"),
        job(&format!("    enable-openid-connect: true\n{STEPS}")),
        job(STEPS)
            .replace("on: push\n", "on: push\nx-base: &base {A: b}\n")
            .replace("x-base: &base {A: b}\n", "env: &base {A: b}\n")
            .replace("    runs-on", "    env: {<<: *base, C: d}\n    runs-on"),
    ];
    for text in cases {
        only_forge(&text);
    }
    let merged = "on: push\nenv: &base {A: b, C: x}\njobs: {a: {runs-on: x, env: {<<: *base, C: d}, \
                  steps: [{run: 'true'}]}}\n";
    let (workflow, _) = only_forge(merged);
    assert!(format!("{:?}", workflow.jobs[0].env).contains("\"A\""));
}

#[test]
fn i17_an_action_that_an_expression_names_refuses_its_job_only() {
    let (workflow, _) = only_forge(&job("    steps: [{uses: 'a/${{ vars.B }}@v4'}]\n"));
    let plan = planned(workflow, &|_| None);
    assert!(plan.jobs[0].refusals[0].reason.contains("not known before"));
}

#[test]
fn i17_workflows_of_githubs_folder_are_a_forges_where_it_runs_them() {
    let text = format!("enable-email-notifications: true\n{}", job(STEPS));
    assert!(parse_as(GITHUB, text.as_bytes(), Dialect::Forge).is_ok());
}

#[test]
fn i17_tokens_write_by_themselves_only_where_that_is_so() {
    let write = Permissions::permissive();
    let allows = |it: &Permissions, scope| it.allows(scope, PermissionLevel::Write);
    assert!(allows(&Permissions::or_defaults(None, &write), "contents"));
    assert!(!allows(&Permissions::or_defaults(None, &write), "id-token"));
    let text = format!("enable-openid-connect: true\n{}", job(STEPS));
    let (workflow, _) = only_forge(&text);
    let beside = Permissions::or_defaults(workflow.permissions, &write);
    assert!(allows(&beside, "id-token") && allows(&beside, "contents"));
    let named = read(
        FORGE,
        &format!("permissions: {{contents: read}}\n{}", job(STEPS)),
    );
    let named = Permissions::or_defaults(named.unwrap().0.permissions, &write);
    assert!(!allows(&named, "contents"), "what a file says counts");
}

/// A key in the wrong place was a mistake of the whole file, which Gitea runs.
#[test]
fn i17_gitea_ignores_keys_that_it_does_not_know() {
    let text = job("    steps:\n    - run: make\n      environment: {A: b}\n    timeout: 3\n");
    let (workflow, warnings) = read(".gitea/workflows/ci.yml", &text).unwrap();
    let warnings = warnings.to_string();
    for part in [
        "unknown key `environment` in a step",
        "unknown key `timeout` in a job",
        "Gitea ignores it",
    ] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    assert_eq!(workflow.jobs.len(), 1);
    let wrong = read(FORGE, &text).unwrap_err().to_string();
    assert!(
        wrong.contains("unknown key `environment` in a step"),
        "{wrong}"
    );
    assert!(
        parse_as(
            GITHUB,
            text.as_bytes(),
            Dialect::for_file(GITHUB, Forge::Gitea)
        )
        .is_ok()
    );
    assert!(
        parse_as(
            FORGE,
            text.as_bytes(),
            Dialect::for_file(FORGE, Forge::Forgejo)
        )
        .is_err()
    );
}

#[test]
fn i17_the_artifact_actions_of_forgejo_are_the_usual_ones() {
    let steps = "    steps: [{uses: 'https://data.forgejo.org/forgejo/upload-artifact@v4', \
                 with: {path: a}}, {uses: 'forgejo/download-artifact@v4'}]\n";
    let (workflow, _) = read(FORGE, &job(steps)).unwrap();
    let plan = planned(workflow, &|_| None);
    assert!(
        plan.jobs[0].refusals.is_empty(),
        "{:?}",
        plan.jobs[0].refusals
    );
}

#[test]
fn i17_check_names_what_the_image_of_any_label_lacks() {
    let text = job("    steps: [{run: dotnet test}]\n");
    let notes = |file: &str| {
        let report = runner_core::report::check(file, text.as_bytes(), &|_| None);
        report.jobs[0].notes.join("\n")
    };
    assert!(notes(FORGE).contains("`dotnet`, which the image `full` has not"));
    assert!(!notes(GITHUB).contains("the image `full` has not"));
}

#[test]
fn i17_check_says_what_the_token_does_not_reach() {
    let notes_of = |steps: &str, facts| {
        let (text, no_actions) = (job(steps), runner_core::actions::NoActions);
        let files: runner_core::plan::FileLookup<'_> = &|_| None;
        let report =
            runner_core::report::check_for(FORGE, text.as_bytes(), files, &no_actions, facts);
        report.jobs[0].notes.join("\n")
    };
    let notes = |steps: &str| {
        let off = RunnerFacts {
            token_at_forge: false,
            ..RunnerFacts::USUAL
        };
        notes_of(steps, off)
    };
    let token = "env: {T: \"${{ secrets.FORGEJO_TOKEN }}\"}";
    let release = format!("    steps: [{{run: 'curl $GITHUB_SERVER_URL/api/v1/x', {token}}}]\n");
    assert!(notes(&release).contains("counts at `github.api_url` only"));
    let login = format!("    steps: [{{run: 'docker login codeberg.org', {token}}}]\n");
    assert!(notes(&login).contains("does not reach the forge's registries"));
    // Where it counts there, what is still missing.
    let usual = |steps: &str| notes_of(steps, RunnerFacts::USUAL);
    assert!(!usual(&release).contains("api_url"), "{}", usual(&release));
    assert!(usual(&login).contains("lack `packages: write`"));
    let writes = login.replace(
        "    steps:",
        "    permissions: {packages: write}\n    steps:",
    );
    assert!(!usual(&writes).contains("packages"), "{}", usual(&writes));
    let pushes = "    steps: [{run: git push}]\n";
    assert!(notes(pushes).contains("`token_permissions` of the runner"));
}

#[test]
fn i17_a_named_group_cancels_by_itself_only_at_forgejo() {
    let cancels = |head: &str, named_too| {
        let (mut workflow, _) = read(FORGE, &format!("{head}{}", job(STEPS))).unwrap();
        workflow.cancel_previous(named_too);
        let group = workflow.concurrency.expect("it has one now");
        group.cancel_in_progress.map(|it| it.source.to_string())
    };
    let yes = Some("true".to_owned());
    assert_eq!(cancels("", false), yes);
    assert_eq!(cancels("concurrency: deploy\n", false), None);
    assert_eq!(cancels("concurrency: deploy\n", true), yes);
    let named = "concurrency: {group: a, cancel-in-progress: false}\n";
    assert_eq!(cancels(named, true).as_deref(), Some("false"));
}

#[test]
fn i17_the_title_of_a_pull_request_may_skip_at_forges() {
    use runner_core::event::{EventContext, EventKind, StartDecision, decide};
    let text = job(STEPS).replace("on: push", "on: pull_request");
    let pull = ExprValue::object([("title", ExprValue::text("Tidy [skip ci]"))]);
    let event = EventContext {
        kind: EventKind::PullRequest,
        action: Some("opened".to_owned()),
        reference: "refs/pull/7/head".to_owned(),
        sha: "1".repeat(40),
        repository: "a/b".to_owned(),
        actor: "a".to_owned(),
        base_branch: Some("main".to_owned()),
        head_branch: Some("topic".to_owned()),
        untrusted: false,
        changed_paths: None,
        message: None,
        inputs: Vec::new(),
        payload: ExprValue::object([("pull_request", pull)]),
    };
    let decided = |file| decide(&read(file, &text).unwrap().0, &event);
    assert!(matches!(decided(FORGE), StartDecision::Skip(_)));
    assert_eq!(decided(GITHUB), StartDecision::Start);
    let facts = runner_core::context::RunFacts {
        forge: Some(forge_core::Forge::Forgejo),
        ..Default::default()
    };
    let github = runner_core::context::github(&event, &facts, None);
    let text = |name: &str| github.get(name).unwrap().as_text().to_string();
    assert_eq!(
        (text("ref_name"), text("ref_type")),
        ("7".to_owned(), String::new())
    );
    // Its merge only GitHub has, and so by GitHub's name.
    let github = runner_core::context::github(&event.merged_as("2"), &facts, None);
    let text = |name: &str| github.get(name).unwrap().as_text().to_string();
    assert_eq!(
        (text("ref_name"), text("ref_type"), text("ref")),
        (
            "7/merge".to_owned(),
            "branch".to_owned(),
            "refs/pull/7/merge".to_owned()
        )
    );
}
