//! Steps that are containers: `docker://image`, and actions that are made of an image or a
//! Dockerfile.

use std::collections::BTreeMap;

use runner_core::container::engine::{BindMount, JobContainer, Launch};
use runner_core::container::options::ContainerOptions;
use runner_core::container::{ContainerRequest, ImageReference, words};
use runner_core::context::{OWN_DIRECTORY, TEMP, WORKSPACE};
use runner_core::expr::{ContextName, ExprScope, ExprValue, HashFiles, Object};
use runner_core::job_folders::below_workspace;
use runner_core::plan::{DockerAction, PlannedStep, is_override};
use runner_core::prepare;
use runner_core::workflow::DockerImage;

use super::super::container_state::{CONTAINER_HOME, CONTAINER_WORKFLOW, HOME, engine_command};
use super::super::frame::{Frame, StepProcess, StepResult, set};
use super::super::node_state::{DockerStageKind, PostAction, PostStep, StageInput};
use super::super::step_runner::StepRunner;
use super::start::succeeded;

/// Where Docker actions have the workspace.
const CONTAINER_WORKSPACE: &str = "/github/workspace";
/// Where they have the folder for temporary files.
const CONTAINER_TEMP: &str = "/github/runner_temp";
/// Where they have the files of `GITHUB_OUTPUT` and the like.
const CONTAINER_FILES: &str = "/github/file_commands";
/// The last number of an address in a job's network that a container has.
const LAST_MEMBER: u8 = 250;

impl StepRunner<'_> {
    /// The step itself; what runs after the job is kept.
    pub(in super::super) async fn docker(
        &mut self,
        step: &PlannedStep,
        action: &DockerAction,
        frame: &Frame,
        hash: HashFiles<'_>,
    ) -> StepResult {
        match self.docker_input(step, action, frame, hash) {
            Ok(input) => {
                self.keep_docker_post(step, action, frame, &input);
                self.docker_stage(action, DockerStageKind::Main, input)
                    .await
            }
            Err(result) => result,
        }
    }

    /// Keeps what runs after the job, once for each step.
    pub(in super::super) fn keep_docker_post(
        &mut self,
        step: &PlannedStep,
        action: &DockerAction,
        frame: &Frame,
        input: &StageInput,
    ) {
        if action.runs.post.is_none() {
            return;
        }
        let contexts = self.contexts(frame, &[]);
        self.node_actions.keep(PostStep {
            name: prepare::name(step, &ExprScope::new(&contexts)),
            action: PostAction::Docker(action.clone()),
            step: step.clone(),
            within: PostStep::kept_frame(frame),
            input: input.clone(),
        });
    }

    /// Evaluates a step's variables, inputs and arguments.
    pub(in super::super) fn docker_input(
        &self,
        step: &PlannedStep,
        action: &DockerAction,
        frame: &Frame,
        hash: HashFiles<'_>,
    ) -> Result<StageInput, StepResult> {
        let place = (action.location.as_ref(), action.directory.as_str());
        let seen = (frame, hash);
        self.evaluated_input(step, &action.inputs, place, seen, |scope, given, input| {
            let (mut inputs, mut overrides) = (Object::default(), BTreeMap::new());
            for (name, text) in given {
                inputs.set(name, ExprValue::text(text));
                if is_override(name) {
                    overrides.insert(name.to_ascii_lowercase(), text.clone());
                }
            }
            // What the action's own file says sees its inputs.
            let contexts = scope.contexts.clone().with(
                ContextName::Inputs,
                ExprValue::Object(std::sync::Arc::new(inputs)),
            );
            let inner = ExprScope {
                contexts: &contexts,
                ..*scope
            };
            for (name, value) in &action.runs.env {
                let text = value.text(&inner);
                let text =
                    text.map_err(|error| StepResult::error(format!("env {name}: {error}")))?;
                let in_force = [&self.variables.env[..], &frame.env[..]];
                add_below(&mut input.own, in_force, (name.clone(), text));
            }
            let args = match &action.runs.args {
                Some(args) => {
                    let args = args.iter().map(|arg| arg.text(&inner));
                    let args: Result<Vec<String>, _> = args.collect();
                    args.map_err(|error| error.to_string())
                }
                None => {
                    let args = overrides.get("args").map_or("", String::as_str);
                    words::split(args)
                }
            };
            let args = args.map_err(|error| StepResult::error(format!("args: {error}")))?;
            input.args = Some((overrides.remove("entrypoint"), args));
            Ok(())
        })
    }

    /// Runs one stage in a container of its own.
    pub(in super::super) async fn docker_stage(
        &mut self,
        action: &DockerAction,
        kind: DockerStageKind,
        input: StageInput,
    ) -> StepResult {
        if let Err(reason) = self.start_late(action).await {
            return StepResult::error(reason);
        }
        let image = match self.action_image(action).await {
            Ok(image) => image,
            Err(reason) => return StepResult::error(reason),
        };
        let member = match self.step_member() {
            Ok(member) => member,
            Err(reason) => return StepResult::error(reason),
        };
        if let Err(reason) = self.join(&member).await {
            return StepResult::error(reason);
        }
        let directory = self.own_directory();
        let state = self.node_actions.state.get(&action.slot);
        let state = state.into_iter().flatten();
        let state = state.map(|(name, value)| (format!("STATE_{name}"), value.clone()));
        let services = self.admission.iter().flat_map(|it| it.variables());
        let own = input.own.into_iter().chain(state).chain(services).collect();
        let env = self.process_env(&input.owner, &directory, own);
        let env: Vec<(String, String)> = self
            .proxy_variables()
            .into_iter()
            .chain(self.trust_variables())
            .chain(env)
            .filter(|(name, _)| name != "PATH")
            .map(|(name, value)| (name, in_container(&value, &directory)))
            .chain([("HOME".to_owned(), CONTAINER_HOME.to_owned())])
            .collect();
        let (given, args) = input.args.unwrap_or_default();
        let request = stage_request(action, kind, image, (given, args));
        let mounts = [
            BindMount::new(&self.folders.workspace, CONTAINER_WORKSPACE),
            BindMount::new(HOME, CONTAINER_HOME),
            BindMount::new(TEMP, CONTAINER_TEMP),
            BindMount::new(OWN_DIRECTORY, CONTAINER_WORKFLOW),
            BindMount::new(format!("{directory}/files"), CONTAINER_FILES),
        ];
        let launch = Launch {
            request: &request,
            member: &member,
            members: &self.containers.members,
            mounts: &mounts,
            env: &env,
        };
        let words = launch.step(CONTAINER_WORKSPACE);
        // The step's own container has gone when somebody looks.
        let around = self.process_env(&input.owner, &directory, Vec::new());
        let start = self
            .containers
            .start_of(&around, WORKSPACE, &self.variables.path);
        let words = ["step"].into_iter().chain(words.iter().map(String::as_str));
        let process = StepProcess {
            argv: engine_command(words),
            cwd: WORKSPACE.to_owned(),
            env: BTreeMap::new(),
            script: None,
            directory,
            limit: input.limit,
            within: Some(start),
        };
        let mut result = self.process(process).await;
        let left = std::mem::take(&mut result.state);
        let known = self.node_actions.state.entry(action.slot).or_default();
        left.into_iter().for_each(|pair| set(known, pair));
        result
    }

    /// The image of an action: named, or built of its Dockerfile the first time it is needed.
    async fn action_image(&mut self, action: &DockerAction) -> Result<ImageReference, String> {
        let file = match &action.runs.image {
            DockerImage::Named(name) | DockerImage::Bare(name) => {
                return name.parse().map_err(|error| format!("{error}"));
            }
            DockerImage::Dockerfile(file) => file,
        };
        let name = format!("localhost/orrery-action:{}", action.slot);
        let reference = name.parse().map_err(|error| format!("{error}"));
        if self.containers.built.contains_key(&action.slot) {
            return reference;
        }
        let location = action.location.as_ref();
        let folder = location.map(|location| location.path(&action.directory));
        let folder = folder.ok_or("an image by name has no Dockerfile")?;
        let text = format!("building the image of {}", action.uses);
        self.log.info(self.current.number, &text).await;
        let path = format!("{folder}/{file}");
        // What it copies lies beside it, wherever the action is, as on GitHub.
        let context = path.rsplit_once('/').map_or(".", |(context, _)| context);
        let dockerfile = format!("--file={path}");
        let tag = format!("--tag={name}");
        let words = [
            "build",
            // What is not in the runner's store was refused; the engine fetches nothing.
            "--pull=never",
            "--layers=false",
            "--isolation=chroot",
            "--network=host",
            &dockerfile,
            &tag,
            context,
        ];
        let exit = self.engine(words).await;
        let what = format!("the image of {} could not be built", action.uses);
        succeeded(&what, exit)?;
        self.containers.built.insert(action.slot, name);
        reference
    }

    /// A place in the job's network for one more step.
    fn step_member(&mut self) -> Result<JobContainer, String> {
        let before = self.containers.members.len();
        let number = u8::try_from(before + 2 + self.counters.next_container()).unwrap_or(u8::MAX);
        if number > LAST_MEMBER {
            return Err("a job has at most 248 containers".to_owned());
        }
        Ok(JobContainer {
            name: format!("step-{number}"),
            number,
            aliases: Vec::new(),
        })
    }
}

/// The container of a stage; entry point and arguments as the step gives them.
fn stage_request(
    action: &DockerAction,
    kind: DockerStageKind,
    image: ImageReference,
    (given, args): (Option<String>, Vec<String>),
) -> ContainerRequest {
    let stage = match kind {
        DockerStageKind::Pre => action.runs.pre.as_ref(),
        DockerStageKind::Main => None,
        DockerStageKind::Post => action.runs.post.as_ref(),
    };
    ContainerRequest {
        image,
        env: Vec::new(),
        ports: Vec::new(),
        volumes: Vec::new(),
        options: ContainerOptions::default(),
        credentials: None,
        command: if stage.is_some() { Vec::new() } else { args },
        entrypoint: match stage {
            Some(stage) => Some(stage.entrypoint.clone()),
            None => action.runs.entrypoint.clone().or(given),
        },
    }
}

/// Adds a variable of an action's own, where no `env` of the workflow that is in force has it.
fn add_below(
    own: &mut Vec<(String, String)>,
    in_force: [&[(String, String)]; 2],
    pair: (String, String),
) {
    let has = |pairs: &[(String, String)]| pairs.iter().any(|(name, _)| *name == pair.0);
    if !has(own) && !in_force.into_iter().any(has) {
        own.push(pair);
    }
}

/// A path of the machine as the container of an action has it.
fn in_container(value: &str, directory: &str) -> String {
    if let Some(rest) = below_workspace(value) {
        return format!("{CONTAINER_WORKSPACE}{rest}");
    }
    let files = format!("{directory}/files");
    let mapped = [
        (files.as_str(), CONTAINER_FILES),
        (OWN_DIRECTORY, CONTAINER_WORKFLOW),
        (TEMP, CONTAINER_TEMP),
    ];
    for (from, to) in mapped {
        if let Some(rest) = value.strip_prefix(from)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return format!("{to}{rest}");
        }
    }
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_paths_of_the_machine_are_those_of_a_docker_action() {
        let directory = "/tmp/.runner/7";
        for (path, expected) in [
            ("/workspace/a", "/github/workspace/a"),
            (
                "/tmp/.runner/7/files/output",
                "/github/file_commands/output",
            ),
            ("/tmp/.runner/event.json", "/github/workflow/event.json"),
            ("/tmp", "/github/runner_temp"),
            ("/tmp/report.xml", "/github/runner_temp/report.xml"),
            ("/tmpfs", "/tmpfs"),
            ("see /tmp/x", "see /tmp/x"),
        ] {
            assert_eq!(in_container(path, directory), expected, "{path}");
        }
    }

    #[test]
    fn i17_every_env_of_a_workflow_comes_before_that_of_an_action() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let (job, around) = ([pair("JOB", "job")], [pair("AROUND", "step")]);
        let mut own = vec![pair("OWN", "step")];
        for name in ["JOB", "AROUND", "OWN", "ACTION"] {
            add_below(&mut own, [&job, &around], pair(name, "action"));
        }
        assert_eq!(own, [pair("OWN", "step"), pair("ACTION", "action")]);
    }
}
