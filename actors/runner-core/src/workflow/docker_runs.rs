//! `runs` of an action that is a container (page "Metadata syntax", "`runs` for Docker container
//! actions").

use serde::Serialize;

use super::availability::{ACTION_CONDITION, ACTION_TEXT};
use super::fields::MappingFields;
use super::reader::WorkflowReader;
use crate::expr::{ExprTemplate, IfCondition};
use crate::yaml::YamlNode;

/// What a Docker action runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DockerRuns {
    /// Its image.
    pub image: DockerImage,
    /// What runs in place of the image's entry point.
    pub entrypoint: Option<String>,
    /// Its arguments; without them those of the step.
    pub args: Option<Vec<ExprTemplate>>,
    /// Variables.
    pub env: Vec<(String, ExprTemplate)>,
    /// What runs before the job's first step.
    pub pre: Option<DockerStage>,
    /// What runs after the job's last step.
    pub post: Option<DockerStage>,
}

/// The image of a Docker action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DockerImage {
    /// Of a store or registry, as written behind `docker://`.
    Named(String),
    /// Built of this file, relative to the action's folder.
    Dockerfile(String),
    /// Neither `docker://` nor the name of a Dockerfile: a file of the action's folder if there is
    /// one of that name, else an image, in an action of the repository itself only.
    Bare(String),
}

impl DockerImage {
    /// What `image` names, as GitHub's runner reads it (`ContainerActionHandler`, `DockerUtil`).
    #[must_use]
    pub fn parse(image: &str) -> Self {
        const SCHEME: &str = "docker://";
        let (start, rest) = image.split_at_checked(SCHEME.len()).unwrap_or(("", image));
        if start.eq_ignore_ascii_case(SCHEME) {
            return Self::Named(rest.to_owned());
        }
        let name = image.rsplit(['/', '\\']).next().unwrap_or(image);
        let name = name.to_ascii_lowercase();
        match name.starts_with("dockerfile.") || name.ends_with("dockerfile") {
            true => Self::Dockerfile(image.to_owned()),
            false => Self::Bare(image.to_owned()),
        }
    }
}

/// An entry point of the same image that runs before or after the steps of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DockerStage {
    /// The program.
    pub entrypoint: String,
    /// Whether it runs; always without one.
    pub condition: Option<IfCondition>,
}

/// Reads `runs` of `using: docker`.
pub(super) fn read(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<DockerRuns> {
    let known = [
        "using",
        "image",
        "entrypoint",
        "args",
        "env",
        "pre-entrypoint",
        "pre-if",
        "post-entrypoint",
        "post-if",
    ];
    let fields = reader.fields(node, "runs", &known)?;
    let plain = |key: &str| fields.read(reader, key, |node| reader.plain(node, key));
    let Some(image) = plain("image") else {
        let help = "for example `image: Dockerfile`, or `image: docker://alpine:3`";
        reader.error_help(node.place, "a Docker action has no `image`", help);
        return None;
    };
    let image = DockerImage::parse(&image);
    let args = fields.read(reader, "args", |node| {
        let args = reader.one_or_more(node, "args")?.into_iter();
        args.map(|node| reader.template(node, "args", ACTION_TEXT))
            .collect()
    });
    let env = fields.read(reader, "env", |node| {
        Some(reader.templates(node, "a variable", ACTION_TEXT))
    });
    Some(DockerRuns {
        image,
        entrypoint: plain("entrypoint"),
        args,
        env: env.unwrap_or_default(),
        pre: stage(reader, fields, "pre"),
        post: stage(reader, fields, "post"),
    })
}

fn stage(
    reader: &WorkflowReader<'_>,
    fields: MappingFields<'_>,
    name: &str,
) -> Option<DockerStage> {
    let key = format!("{name}-entrypoint");
    let entrypoint = fields.read(reader, &key, |node| reader.plain(node, &key))?;
    let condition = fields.read(reader, &format!("{name}-if"), |node| {
        reader.condition(node, ACTION_CONDITION)
    });
    Some(DockerStage {
        entrypoint,
        condition,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Images without `docker://` were taken for missing files.
    #[test]
    fn i17_an_image_is_told_from_a_dockerfile_as_on_github() {
        let dockerfile = |name: &str| DockerImage::Dockerfile(name.to_owned());
        let bare = |name: &str| DockerImage::Bare(name.to_owned());
        for (image, expected) in [
            (
                "docker://debian:10",
                DockerImage::Named("debian:10".to_owned()),
            ),
            ("DOCKER://a", DockerImage::Named("a".to_owned())),
            ("debian:10", bare("debian:10")),
            ("sub/build.docker", bare("sub/build.docker")),
            ("Dockerfile/x", bare("Dockerfile/x")),
            ("Dockerfile", dockerfile("Dockerfile")),
            ("x/Dockerfile", dockerfile("x/Dockerfile")),
            ("dockerfile.ci", dockerfile("dockerfile.ci")),
            ("my.Dockerfile", dockerfile("my.Dockerfile")),
        ] {
            assert_eq!(DockerImage::parse(image), expected, "{image}");
        }
    }
}
