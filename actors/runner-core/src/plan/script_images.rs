//! The images that the scripts of a job name, so that its machine gets those that the runner has.

use super::input::{FileLookup, resolved};
use super::types::{PlannedStep, StepKind};
use crate::container::script::ImageNames;
use crate::expr::ExprTemplate;

/// What builds an image as its inputs say.
const BUILDS: &str = "docker/build-push-action@";

/// The images of all scripts of these steps, those of composite actions included. `usual` is the
/// folder that a script begins in where its step names none.
pub(super) fn script_images(
    steps: &[PlannedStep],
    usual: Option<&ExprTemplate>,
    files: FileLookup<'_>,
) -> Vec<String> {
    let mut found = ImageNames::default();
    collect(steps, usual, files, &mut found);
    found.into_images()
}

fn collect(
    steps: &[PlannedStep],
    usual: Option<&ExprTemplate>,
    files: FileLookup<'_>,
    found: &mut ImageNames,
) {
    for step in steps {
        match &step.work {
            StepKind::Run {
                script,
                working_directory,
                ..
            } => {
                let folder = working_directory.as_ref().or(usual);
                let folder = folder.and_then(ExprTemplate::fixed);
                let folder = folder.map(|folder| folder.as_text().to_string());
                let folder = folder.unwrap_or_default();
                let read = |path: &str| files(&resolve_path(&folder, path)?);
                found.script(&script.source, &read);
            }
            StepKind::Composite(action) => collect(&action.steps, None, files, found),
            StepKind::Node(action) if action.uses.starts_with(BUILDS) => {
                let input = |name: &str| {
                    let given = action.inputs.iter().find(|(known, _)| known == name);
                    let value = given.and_then(|(_, value)| value.as_ref()?.fixed());
                    value.map(|value| value.as_text().to_string())
                };
                let context = input("context").unwrap_or_default();
                let file = input("file").unwrap_or_default();
                let read = |path: &str| files(&resolve_path("", path)?);
                let tags = input("tags").unwrap_or_default();
                let tags = tags.split(['\n', ',']).map(str::trim);
                found.build(&context, &file, tags, &read);
            }
            _ => {}
        }
    }
}

/// A path of the repository: a folder of it and a path from there. Nothing where it leads out.
fn resolve_path(folder: &str, path: &str) -> Option<String> {
    let joined = match path.strip_prefix("/workspace/") {
        Some(path) => path.to_owned(),
        None => format!("{folder}/{path}"),
    };
    resolved(&joined)
}
