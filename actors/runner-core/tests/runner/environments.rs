//! i17: `environment` of jobs: read, evaluated for each copy, and said in identity tokens.

use config_core::Colours;
use runner_core::actions::NoActions;
use runner_core::context::RunFacts;
use runner_core::event::{EventContext, EventKind};
use runner_core::expr::{ContextName, Contexts, ExprValue};
use runner_core::id_token::id_token_claims;
use runner_core::plan::WorkflowPlace;
use runner_core::plan::{Instances, Plan, PlanInput, expand, plan};
use runner_core::workflow::parse;

fn text(environment: &str) -> String {
    format!(
        "on: push\njobs:\n  a:\n    runs-on: x\n    strategy: {{matrix: {{to: [one, two]}}}}\n    environment: {environment}\n    steps: [{{id: s, run: y}}]\n"
    )
}

fn planned(environment: &str) -> Plan {
    let workflow = parse("ci.yml", text(environment).as_bytes());
    let workflow = workflow.unwrap_or_else(|error| panic!("{error}"));
    let input = PlanInput {
        contexts: &Contexts::default(),
        files: &|_: &str| None,
        actions: &NoActions,
    };
    plan(workflow.value, input).expect("it can be planned")
}

#[test]
fn i17_each_copy_of_a_job_has_the_environment_that_it_names() {
    for (environment, expected) in [
        ("production", [Some(("production", true)); 2]),
        ("' padded '", [Some(("padded", true)); 2]),
        (
            "'${{ matrix.to }}'",
            [Some(("one", true)), Some(("two", true))],
        ),
        (
            "{name: '${{ matrix.to }}-x', deployment: false, url: 'https://x/${{ steps.s.outputs.y }}'}",
            [Some(("one-x", false)), Some(("two-x", false))],
        ),
        (
            "{name: p, deployment: \"${{ matrix.to == 'one' }}\"}",
            [Some(("p", true)), Some(("p", false))],
        ),
        // A name that comes to nothing is none.
        (
            "\"${{ matrix.to == 'one' && 'p' || '' }}\"",
            [Some(("p", true)), None],
        ),
        ("''", [None, None]),
        ("", [None, None]),
    ] {
        let plan = planned(environment);
        assert!(plan.jobs[0].refusals.is_empty(), "{environment}");
        let Instances::Known(copies) = &plan.jobs[0].instances else {
            panic!("{environment}: they are known")
        };
        let found = copies.iter().map(|copy| copy.environment.as_ref());
        let found = found.map(|found| found.map(|it| (it.name.as_str(), it.deployment)));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{environment}");
    }
    // Known when the jobs it needs have ended.
    let plan = planned("'${{ inputs.where }}'");
    assert_eq!(plan.jobs[0].instances, Instances::Later);
    let inputs = ExprValue::object([("where", "a\nb")]);
    let contexts = Contexts::default().with(ContextName::Inputs, inputs);
    let wrong = expand(&plan.jobs[0].job, &contexts)
        .unwrap_err()
        .to_string();
    assert!(wrong.contains("line break"), "{wrong}");
}

#[test]
fn i17_mistakes_of_environments_are_found() {
    let long = format!("'{}'", "n".repeat(256));
    for (environment, part) in [
        ("{url: 'https://x'}", "environment has no `name`"),
        ("{name: p, ulr: x}", "unknown key `ulr`"),
        ("{name: p, deployment: maybe}", "deployment is"),
        ("'${{ secrets.X }}'", "secrets"),
        ("'${{ steps.s.outputs.y }}'", "steps"),
        ("{name: p, url: '${{ secrets.X }}'}", "secrets"),
        (long.as_str(), "more than 255"),
    ] {
        let wrong = parse("ci.yml", text(environment).as_bytes());
        let wrong = wrong.expect_err(environment).render(Colours::Off);
        assert!(wrong.contains(part), "{environment}: {part} in {wrong}");
    }
    let called = "on: push\njobs: {a: {uses: ./.github/workflows/b.yml, environment: p}}\n";
    let wrong = parse("ci.yml", called.as_bytes()).expect_err("it has none");
    assert!(
        wrong.to_string().contains("has no `environment`"),
        "{wrong}"
    );
}

#[test]
fn i17_identity_tokens_name_the_environment() {
    for (kind, environment, subject) in [
        (EventKind::Push, None, "repo:o/r:ref:refs/heads/main"),
        (EventKind::PullRequest, None, "repo:o/r:pull_request"),
        (
            EventKind::Push,
            Some("Production"),
            "repo:o/r:environment:Production",
        ),
        (
            EventKind::PullRequest,
            Some("a:b"),
            "repo:o/r:environment:a%3Ab",
        ),
    ] {
        let event = EventContext {
            kind,
            ..pushed_event()
        };
        let place = WorkflowPlace {
            repository: "o/r".to_owned(),
            file: "ci.yml".to_owned(),
            reference: event.reference.clone(),
            commit: event.sha.clone(),
        };
        let claims = id_token_claims(&event, &RunFacts::default(), &place, environment);
        assert_eq!(claims["sub"], subject);
        let claim = claims.get("environment").and_then(|claim| claim.as_str());
        assert_eq!(claim, environment);
    }
}

/// Reviews had the subject `…:ref:refs/pull/7/head`, which no trust policy names, and no branches.
#[test]
fn i17_identity_tokens_of_reviews_are_of_a_pull_request() {
    for (kind, subject, branches) in [
        (
            EventKind::PullRequest,
            "repo:o/r:pull_request",
            ("main", "topic"),
        ),
        (
            EventKind::PullRequestReview,
            "repo:o/r:pull_request",
            ("main", "topic"),
        ),
        (
            EventKind::PullRequestReviewComment,
            "repo:o/r:pull_request",
            ("main", "topic"),
        ),
        (
            EventKind::PullRequestTarget,
            "repo:o/r:ref:refs/heads/main",
            ("", ""),
        ),
    ] {
        let event = EventContext {
            kind,
            base_branch: Some("main".to_owned()),
            head_branch: Some("topic".to_owned()),
            ..pushed_event()
        };
        let place = WorkflowPlace {
            repository: "o/r".to_owned(),
            file: "ci.yml".to_owned(),
            reference: event.reference.clone(),
            commit: event.sha.clone(),
        };
        let claims = id_token_claims(&event, &RunFacts::default(), &place, None);
        let found = (claims["base_ref"].as_str(), claims["head_ref"].as_str());
        assert_eq!(claims["sub"], subject, "{kind:?}");
        assert_eq!(found, (Some(branches.0), Some(branches.1)), "{kind:?}");
    }
}

/// A push to the branch `main` of `o/r`.
pub(crate) fn pushed_event() -> EventContext {
    EventContext {
        kind: EventKind::Push,
        action: None,
        reference: "refs/heads/main".to_owned(),
        sha: "1".repeat(40),
        repository: "o/r".to_owned(),
        actor: String::new(),
        base_branch: None,
        head_branch: None,
        untrusted: false,
        changed_paths: None,
        message: None,
        inputs: Vec::new(),
        payload: ExprValue::Null,
    }
}
