//! What decoding a file needs beside the file, and projects.

use std::path::Path;

use config_core::{ConfigItem, Environment, ValueError, ValueKind as _, quoted, record};
use forge_core::{ProjectId, RepoName};

use super::agent::AgentSpec;
use super::declared::{DeclaredAt, DeclaredNames, unknown};
use super::input::{ConfigFile, ConfigHost, Folder};
use super::model::Project;
use super::secrets::project_secrets;
use super::top_keys::{FRAGMENT, PROJECT, PROJECT_MENTIONS, blank_project};
use super::values::{folder, id};

/// Shared by all files of one check.
pub(super) struct DecodeContext<'c> {
    pub(super) file: &'c str,
    pub(super) folder: &'c Path,
    pub(super) environment: &'c Environment,
    pub(super) declared: &'c DeclaredNames,
    pub(super) host: &'c dyn ConfigHost,
    /// Whether prompts of agents may name programs that are missing.
    pub(super) missing_programs: &'c std::cell::RefCell<Vec<(String, String)>>,
}

/// What a file adds.
#[derive(Debug, Default)]
pub(super) struct FileParts {
    pub(super) projects: Vec<Project>,
    pub(super) agents: Vec<AgentSpec>,
}

/// Reads a file of `conf.d`.
pub(super) fn fragment(
    item: &ConfigItem<'_>,
    file: &ConfigFile,
    context: &DecodeContext<'_>,
) -> Option<FileParts> {
    FRAGMENT.fields(item, |fields| {
        if fields.contains("pr_dispatch") {
            let error = ValueError::new("`[pr_dispatch]` belongs into orchestrator.toml");
            fields.error_at("pr_dispatch", error.help("a file of conf.d cannot have it"));
        }
        let declared_here = fields.optional("project", |item| context.project(item));
        let id = match &declared_here {
            Some(project) => Some(project.id.clone()),
            None if fields.contains("project") => None,
            None => owner(fields, file, context),
        };
        let mentions = fields.optional("mentions", |item| {
            record(&PROJECT_MENTIONS, blank_project).read(item)
        });
        let mut parts = FileParts::default();
        fields.optional("agents", |item| {
            item.list(|item| {
                parts
                    .agents
                    .extend(context.agent(item, Some((file.stem(), id.as_ref()))));
                Some(())
            })
        });
        if let Some(mut project) = declared_here {
            if let Some(mentions) = mentions {
                project.mentions = mentions.mentions;
                project.allow = mentions.allow;
            }
            parts.projects.push(project);
        } else if fields.contains("mentions") && !fields.contains("project") {
            let error =
                ValueError::new("`[mentions]` of a project stands where its `[project]` is");
            fields.error_at("mentions", error);
        }
        Some(parts)
    })
}

/// The project of a fragment that declares none: the one it is named after.
fn owner(
    fields: &config_core::ObjectFields<'_>,
    file: &ConfigFile,
    context: &DecodeContext<'_>,
) -> Option<ProjectId> {
    let stem = file.stem();
    if !context.declared.projects.contains_key(stem) {
        let message = format!("no project is called {}, as this file is", quoted(stem));
        let help = "add `[project]` here, or name the file after a project";
        fields.error(ValueError::new(message).help(help));
        return None;
    }
    stem.parse().ok()
}

impl DecodeContext<'_> {
    /// An id that a project has.
    pub(super) fn known_project(&self, item: &ConfigItem<'_>) -> Option<ProjectId> {
        let project: ProjectId = id(item)?;
        if self.declared.projects.contains_key(project.as_str()) {
            return Some(project);
        }
        let known = self.declared.projects.keys().map(String::as_str);
        item.error(unknown("project", project.as_str(), known));
        None
    }

    /// Whether the value at `path` of this file is the first to declare its name.
    pub(super) fn is_first(&self, place: Option<&DeclaredAt>, path: &str) -> Result<(), String> {
        match place {
            Some((file, at)) if file != self.file || at != path => {
                Err(format!("it is in {file} already"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn project(&self, item: &ConfigItem<'_>) -> Option<Project> {
        let path = item.path().to_owned();
        PROJECT.fields(item, |fields| {
            let project: Option<ProjectId> = fields.required("id", |item| {
                let project: ProjectId = id(item)?;
                let first = self.declared.projects.get(project.as_str());
                if let Err(help) = self.is_first(first, &path) {
                    let message = format!(
                        "a project called {} exists already",
                        quoted(project.as_str())
                    );
                    item.error(ValueError::new(message).help(help));
                    return None;
                }
                Some(project)
            });
            let repository: Option<RepoName> = fields.required("repository", |item| {
                let name: RepoName = id(item)?;
                let first = self
                    .declared
                    .repositories
                    .get(&name.as_str().to_ascii_lowercase());
                if let Err(help) = self.is_first(first, &path) {
                    let message =
                        format!("two projects have the repository {}", quoted(name.as_str()));
                    item.error(ValueError::new(message).help(help));
                    return None;
                }
                Some(name)
            });
            let working_dir = fields.required("working_dir", |item| self.git_folder(item));
            let worktree_root = fields.optional("worktree_root", |item| {
                let root = folder(item)?;
                if working_dir.as_ref() == Some(&root) {
                    item.error("the worktree root is the working directory itself");
                    return None;
                }
                Some(root)
            });
            let mut rest = blank_project();
            PROJECT.read_rows(fields, &mut rest);
            let webhook = project_secrets(fields);
            let project = project?;
            Some(Project {
                worktree_root: worktree_root
                    .unwrap_or_else(|| self.folder.join("worktrees").join(project.as_str())),
                id: project,
                repository: repository?,
                working_dir: working_dir?,
                webhook,
                ..rest
            })
        })
    }

    fn git_folder(&self, item: &ConfigItem<'_>) -> Option<std::path::PathBuf> {
        let path = folder(item)?;
        let help = "clone the project's repository there";
        let wrong = match self.host.folder(&path) {
            Folder::Git => return self.without_credentials(item, path),
            Folder::Plain => "the working directory is no git repository",
            Folder::Missing => "the working directory does not exist",
        };
        item.error(ValueError::new(wrong).help(help));
        None
    }

    /// A token in the address of `origin` stands in a file that every agent of the project can
    /// read.
    fn without_credentials(
        &self,
        item: &ConfigItem<'_>,
        path: std::path::PathBuf,
    ) -> Option<std::path::PathBuf> {
        let origin = self.host.origin(&path);
        let origin = origin.and_then(|origin| url::Url::parse(&origin).ok());
        let held = |origin: &url::Url| {
            let is_web = matches!(origin.scheme(), "http" | "https");
            is_web && (!origin.username().is_empty() || origin.password().is_some())
        };
        let Some(mut origin) = origin.filter(held) else {
            return Some(path);
        };
        // These fail only for addresses that cannot have a user.
        let _ = origin.set_username("");
        let _ = origin.set_password(None);
        let message = "the address of `origin` there holds a user or a token, which every agent of the project can read";
        let help = format!(
            "git -C {} remote set-url origin {origin}; the token of `[forge]` is used to fetch, and replace the one that stood there",
            path.display()
        );
        item.error(ValueError::new(message).help(help));
        None
    }
}
