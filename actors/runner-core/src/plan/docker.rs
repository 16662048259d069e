//! Steps that are containers, and the images that a job's containers are made of.

use super::action_paths::join;
use super::build::Builder;
use super::input::resolved;
use super::steps::StepPlanner;
use super::types::{ActionLocation, DockerAction, Instances, StepKind};
use super::used_actions::{ActionRefusal, StepUse, undeclared};
use crate::container::dockerfile::base_images;
use crate::container::{ImageReference, request};
use crate::expr::{ContextName, Data, ExprScope, ExprTemplate, ExprValue};
use crate::source_location::{Located, SourceLocation};
use crate::workflow::{DockerImage, DockerRuns, FeatureRefusal, Need};

/// Inputs of every step that is a container: what replaces its entry point and its arguments.
const OVERRIDES: [&str; 2] = ["entrypoint", "args"];

impl StepPlanner<'_> {
    /// `uses: docker://image`.
    pub(super) fn docker_step(&mut self, used: StepUse<'_>, image: &str) -> StepKind {
        let runs = DockerRuns {
            image: DockerImage::Named(image.to_owned()),
            entrypoint: None,
            args: None,
            env: Vec::new(),
            pre: None,
            post: None,
        };
        let inputs = undeclared(&[], used.with).collect();
        self.docker(
            used,
            runs,
            None,
            String::new(),
            inputs,
            vec![image.to_owned()],
        )
    }

    /// An action with a Dockerfile and without an `action.yml`.
    pub(super) fn bare_dockerfile(
        &mut self,
        used: StepUse<'_>,
        location: ActionLocation,
        directory: String,
        dockerfile: &[u8],
    ) -> StepKind {
        let runs = DockerRuns {
            image: DockerImage::Dockerfile("Dockerfile".to_owned()),
            entrypoint: None,
            args: None,
            env: Vec::new(),
            pre: None,
            post: None,
        };
        let images = base_images(&String::from_utf8_lossy(dockerfile));
        let inputs = undeclared(&[], used.with).collect();
        self.docker(used, runs, Some(location), directory, inputs, images)
    }

    /// An action whose file says that it is a container.
    pub(super) fn docker_action(
        &mut self,
        used: StepUse<'_>,
        mut runs: DockerRuns,
        location: ActionLocation,
        directory: String,
        inputs: Vec<(String, Option<ExprTemplate>)>,
    ) -> StepKind {
        let input = self.input;
        let read = |file: &str| {
            let path = resolved(&join(&directory, file))?;
            match &location {
                ActionLocation::Workspace => (input.files)(&path),
                ActionLocation::Stored(origin) => input.actions.read(&origin.locked, &path),
            }
        };
        let (file, bytes) = match &runs.image {
            DockerImage::Named(name) => (name.clone(), None),
            DockerImage::Dockerfile(file) => match read(file) {
                Some(bytes) => (file.clone(), Some(bytes)),
                None => {
                    let file = config_core::quoted(file);
                    let why = format!("it is made of {file}, which is not in its repository");
                    return self.unusable(used, ActionRefusal::own(&why));
                }
            },
            DockerImage::Bare(name) => match (read(name), location.stored()) {
                (None, Some(_)) => {
                    let name = config_core::quoted(name);
                    let why = format!(
                        "it is made of {name}, which is neither a file of its repository nor begins with `docker://`"
                    );
                    return self.unusable(used, ActionRefusal::own(&why));
                }
                (bytes, _) => (name.clone(), bytes),
            },
        };
        let images = match &bytes {
            Some(bytes) => base_images(&String::from_utf8_lossy(bytes)),
            None => vec![file.clone()],
        };
        runs.image = match bytes {
            Some(_) => DockerImage::Dockerfile(file),
            None => DockerImage::Named(file),
        };
        self.docker(used, runs, Some(location), directory, inputs, images)
    }

    fn docker(
        &mut self,
        used: StepUse<'_>,
        runs: DockerRuns,
        location: Option<ActionLocation>,
        directory: String,
        inputs: Vec<(String, Option<ExprTemplate>)>,
        images: Vec<String>,
    ) -> StepKind {
        let feature = format!("uses: {}", used.uses);
        for name in &images {
            if let Err((need, reason)) = find(self.input.actions, name) {
                self.refuse_for(need, &feature, &reason, used.place);
            }
        }
        StepKind::Docker(Box::new(DockerAction {
            uses: used.uses.to_owned(),
            location,
            directory,
            slot: self.count,
            runs,
            inputs,
            images,
        }))
    }
}

/// Whether an input of a Docker action is no input of the program in it.
#[must_use]
pub fn is_override(input: &str) -> bool {
    OVERRIDES
        .iter()
        .any(|name| input.eq_ignore_ascii_case(name))
}

/// What is not known before a job starts.
const PENDING: [ContextName; 4] = [
    ContextName::Needs,
    ContextName::Inputs,
    ContextName::Secrets,
    ContextName::Env,
];

fn find(actions: &dyn crate::actions::ActionSource, name: &str) -> Result<(), (Need, String)> {
    let image: ImageReference =
        name.parse()
            .map_err(|error: crate::container::ImageReferenceError| {
                (Need::OwnFiles, error.to_string())
            })?;
    let found = actions.image(&image);
    found.map_err(|reason| (Need::Image(image.familiar()), reason))
}

impl Builder<'_> {
    /// Refuses a job whose containers cannot be had, as far as their images are known before its
    /// copies start.
    pub(super) fn check_containers(
        &self,
        at: usize,
        file: &str,
        refusals: &mut Vec<FeatureRefusal>,
    ) {
        let planned = &self.jobs[at];
        let mut scopes = vec![ExprValue::Null];
        let mut pending = PENDING.to_vec();
        // `check` knows none.
        let vars = self.input.contexts.get(ContextName::Vars);
        if !matches!(vars, ExprValue::Object(known) if !known.is_empty()) {
            pending.push(ContextName::Vars);
        }
        match &planned.instances {
            Instances::Known(instances) => {
                scopes = instances.iter().map(|copy| copy.matrix.clone()).collect();
            }
            Instances::Later => pending.extend([ContextName::Matrix, ContextName::Strategy]),
        }
        let mut refuse = |feature: &str, need: Need, reason: String, place: SourceLocation| {
            let known =
                |refusal: &FeatureRefusal| refusal.feature == feature && refusal.reason == reason;
            if !refusals.iter().any(known) {
                let refusal = FeatureRefusal::new(feature, &reason, file, place);
                refusals.push(refusal.needing(need));
            }
        };
        for matrix in scopes {
            let contexts = self
                .input
                .contexts
                .clone()
                .with(ContextName::Matrix, matrix);
            let scope = ExprScope::new(&contexts);
            let container = planned.job.container.iter();
            let container = container.map(|data| ("container".to_owned(), data.place, &data.value));
            let services = planned.job.services.iter();
            let services = services.flat_map(named);
            for (feature, place, data) in container.chain(services) {
                // What cannot be evaluated yet is looked at when the job starts.
                let image =
                    image_of(data, &scope, &pending).filter(|image| !image.trim().is_empty());
                if let Some(Err((need, reason))) = image.map(|it| find(self.input.actions, &it)) {
                    refuse(&feature, need, reason, place);
                }
            }
        }
    }
}

/// The services, each by its name.
fn named(services: &Located<Data>) -> Vec<(String, SourceLocation, &Data)> {
    let Data::Map(entries) = &services.value else {
        return Vec::new();
    };
    let entries = entries.iter();
    entries
        .map(|(name, data)| (format!("services.{name}"), services.place, data))
        .collect()
}

/// The image that a container names, where that can be said now.
fn image_of(data: &Data, scope: &ExprScope<'_>, pending: &[ContextName]) -> Option<String> {
    let image = match data {
        Data::Map(entries) => &entries.iter().find(|(key, _)| key == "image")?.1,
        Data::Scalar(_) => data,
        Data::List(_) | Data::Computed(_) => return None,
    };
    if pending.iter().any(|context| image.refers_to(*context)) {
        return None;
    }
    match image.value(scope).ok()? {
        ExprValue::Null | ExprValue::List(_) => None,
        ExprValue::Object(object) => {
            let value = ExprValue::Object(object);
            let request = request::container(&value).ok()??;
            Some(request.image.familiar())
        }
        text => Some(text.as_text().to_string()),
    }
}
