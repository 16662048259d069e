//! Containers in plans: what is refused, what is planned, what is found before the run.

use runner_core::actions::{ActionReference, ActionSource, LockedAction};
use runner_core::container::ImageReference;
use runner_core::expr::Contexts;
use runner_core::plan::{PlanInput, PlannedWork, StepKind, plan};
use runner_core::report::check_with;
use runner_core::workflow::{DockerImage, Need, parse};

/// Has the images named, and no action.
struct Images(&'static [&'static str]);

impl ActionSource for Images {
    fn find(&self, reference: &ActionReference) -> Result<LockedAction, String> {
        Err(format!("{reference} is not there"))
    }

    fn read(&self, _action: &LockedAction, _path: &str) -> Option<Vec<u8>> {
        None
    }

    fn image(&self, image: &ImageReference) -> Result<(), String> {
        let there = self.0.contains(&image.familiar().as_str());
        there
            .then_some(())
            .ok_or_else(|| runner_core::container::how_to_add_image(image))
    }
}

const WORKFLOW: &str = r#"
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    container:
      image: "node:${{ matrix.node }}"
      env: {A: b}
    services:
      db:
        image: postgres:16
        ports: ["5432:5432"]
        options: --health-cmd pg_isready
      cache: {image: "redis:7"}
    strategy: {matrix: {node: [20, 22]}}
    steps:
      - uses: docker://alpine:3
        with: {args: echo hi}
      - uses: ./action
      - run: echo ${{ job.services.db.ports['5432'] }} ${{ job.container.id }}
"#;

#[test]
fn i17_a_missing_image_refuses_its_job_and_names_the_command() {
    let files = |path: &str| {
        match path {
        "action/action.yml" => Some(
            b"runs: {using: docker, image: Dockerfile, args: [\"${{ inputs.x }}\"]}\ninputs: {x: {}}\n"
                .to_vec(),
        ),
        "action/Dockerfile" => Some(b"FROM debian:bookworm\n".to_vec()),
        _ => None,
    }
    };
    let check = |images: &'static [&'static str]| {
        check_with("ci.yml", WORKFLOW.as_bytes(), &files, &Images(images))
    };
    let all = &[
        "node:20",
        "node:22",
        "postgres:16",
        "redis:7",
        "alpine:3",
        "debian:bookworm",
    ];
    let report = check(all);
    assert!(report.refused.is_empty(), "{:?}", report.refused);
    let report = check(&["node:20", "postgres:16", "alpine:3"]);
    let needs: Vec<_> = report.refused.iter().map(|it| it.need.clone()).collect();
    let missing = |name: &str| Need::Image(name.to_owned());
    assert_eq!(
        needs,
        [
            missing("debian:bookworm"),
            missing("redis:7"),
            missing("node:22")
        ],
        "{:?}",
        report.refused
    );
    let said = report.refused[1].to_string();
    assert!(
        said.contains("workflow-runner images add redis:7"),
        "{said}"
    );
    assert!(said.contains("services.cache"), "{said}");
}

#[test]
fn i17_docker_actions_are_planned() {
    const ACTION: &str = "runs: {using: docker, image: docker://alpine:3, entrypoint: /e, env: {A: b}, post-entrypoint: /p, post-if: failure()}\n";
    let files = |path: &str| (path == "action/action.yml").then(|| ACTION.as_bytes().to_vec());
    let workflow = parse("ci.yml", WORKFLOW.as_bytes()).unwrap().value;
    let input = PlanInput {
        contexts: &Contexts::default(),
        files: &files,
        actions: &Images(&[]),
    };
    let plan = plan(workflow, input).unwrap();
    let PlannedWork::Steps(steps) = &plan.jobs[0].work else {
        panic!("it has steps");
    };
    let StepKind::Docker(step) = &steps[0].work else {
        panic!("{:?}", steps[0].work);
    };
    assert_eq!(step.runs.image, DockerImage::Named("alpine:3".to_owned()));
    assert_eq!(step.inputs[0].0, "args");
    let StepKind::Docker(action) = &steps[1].work else {
        panic!("{:?}", steps[1].work);
    };
    assert_eq!(action.runs.entrypoint.as_deref(), Some("/e"));
    assert_eq!(action.runs.post.as_ref().unwrap().entrypoint, "/p");
    assert_eq!(action.images, ["alpine:3"]);
}

/// They were refused as missing files.
#[test]
fn i17_an_action_of_the_repository_may_name_an_image_alone() {
    for (image, there, refused) in [
        ("debian:10", "debian:10", None),
        ("DOCKER://alpine:3", "alpine:3", None),
        ("debian:10", "other:1", Some("image `debian:10`")),
        ("build.docker", "node:22", None),
        (
            "sub/Dockerfile",
            "node:22",
            Some("which is not in its repository"),
        ),
    ] {
        let action = format!("runs: {{using: docker, image: '{image}'}}\n");
        let files = |path: &str| match path {
            "act/action.yml" => Some(action.clone().into_bytes()),
            "act/build.docker" => Some(b"FROM node:22\n".to_vec()),
            _ => None,
        };
        let text = "on: push\njobs: {a: {runs-on: x, steps: [{uses: ./act}]}}\n";
        let there: &'static [&'static str] = Box::leak(Box::new([there]));
        let report = check_with("ci.yml", text.as_bytes(), &files, &Images(there));
        let reasons: Vec<String> = report.refused.iter().map(|it| it.to_string()).collect();
        let reasons = reasons.join("\n");
        match refused {
            None => assert_eq!(reasons, "", "{image}"),
            Some(refused) if refused.starts_with("image") => {
                assert!(
                    reasons.contains("images add debian:10"),
                    "{image}: {reasons}"
                );
            }
            Some(refused) => assert!(reasons.contains(refused), "{image}: {reasons}"),
        }
    }
}

#[test]
fn i17_mistakes_in_containers_are_found_before_the_run() {
    let check = |container: &str| {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: x\n    {container}\n    steps:\n      - run: echo\n"
        );
        let report = check_with("ci.yml", text.as_bytes(), &|_| None, &Images(&["x:latest"]));
        report.diagnostics.to_string()
    };
    assert_eq!(check("container: {image: x}"), "");
    for (written, part) in [
        ("container: {imag: x}", "imag"),
        ("container: {env: {A: b}}", "has no `image`"),
        ("services: {db: {image: x, ports: [y]}}", "is no port"),
        (
            "services: {db: {image: x, options: --nothing}}",
            "is no option",
        ),
        ("container: \"${{ steps.a.outputs.b }}\"", "steps"),
    ] {
        let said = check(written);
        assert!(said.contains(part), "{written}: {said}");
    }
}

#[test]
fn i17_scripts_that_name_compose_need_an_engine_and_bring_their_images() {
    const SCRIPTS: &str = r#"
on: push
defaults: {run: {working-directory: shop}}
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: docker compose up -d
      - run: docker run --rm acme/tool:2
        working-directory: .
"#;
    let files = |path: &str| {
        let compose = b"services: {db: {image: 'postgres:16'}, web: {build: web}}".to_vec();
        match path {
            "shop/compose.yaml" => Some(compose),
            "shop/web/Dockerfile" => Some(b"FROM node:22".to_vec()),
            _ => None,
        }
    };
    let workflow = parse("ci.yml", SCRIPTS.as_bytes()).unwrap().value;
    let input = PlanInput {
        contexts: &Contexts::default(),
        files: &files,
        actions: &Images(&[]),
    };
    let plan = plan(workflow, input).unwrap();
    let images = &plan.jobs[0].script_images;
    assert_eq!(*images, ["postgres:16", "node:22", "acme/tool:2"]);
    // They may come from the machine's network: nothing is refused.
    let report = check_with("ci.yml", SCRIPTS.as_bytes(), &files, &Images(&[]));
    assert!(report.refused.is_empty(), "{:?}", report.refused);
    assert!(
        report.jobs[0]
            .notes
            .iter()
            .any(|note| note.contains("the image `full`")),
        "{:?}",
        report.jobs[0].notes
    );
}

/// All plugins of a well-known project test so: `redis:` was no name of an image.
#[test]
fn i17_an_image_of_a_matrix_that_comes_later_is_looked_at_when_the_job_starts() {
    let text = "on: {workflow_call: {inputs: {nodes: {type: string, default: '[20]'}}}}
jobs:
  test:
    strategy: {matrix: {db: [5, 6], node: '${{ fromJSON(inputs.nodes) }}'}}
    runs-on: x
    services: {redis: {image: 'redis:${{ matrix.db }}'}}
    steps: [{run: y}]
";
    let parsed = parse(".github/workflows/a.yml", text.as_bytes()).unwrap();
    let input = PlanInput {
        contexts: &Contexts::default(),
        files: &|_| None,
        actions: &Images(&[]),
    };
    let plan = plan(parsed.value, input).unwrap();
    assert_eq!(plan.jobs[0].refusals, []);
}
