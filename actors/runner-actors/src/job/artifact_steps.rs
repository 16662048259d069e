//! `actions/upload-artifact` and `actions/download-artifact`: the run's own artifacts, and those of
//! other runs that the step's token may read.

use std::time::Duration;

use config_core::{Secret, quoted};
use forge_core::RepoName;
use runner_core::glob::Pattern;
use runner_core::workflow::PermissionLevel;

use super::frame::{StepResult, in_workspace};
use super::native_input::{blocking, input, lines};
use super::step_runner::{StepRunner, forge_permissions};
use crate::tarball;

/// Longest time for a transfer.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(900);

impl StepRunner<'_> {
    pub(super) async fn upload(&mut self, inputs: &[(String, String)]) -> StepResult {
        let name = match input(inputs, "name") {
            "" => "artifact",
            name => name,
        };
        let paths = lines(input(inputs, "path"));
        if paths.is_empty() {
            return StepResult::error("the input `path` is missing");
        }
        let hidden = input(inputs, "include-hidden-files") == "true";
        let packed = self.pack("artifact", &paths, hidden).await;
        let file = match packed {
            Ok(Some(file)) => file,
            Ok(None) => {
                let text = format!("no files were found for {}", paths.join(", "));
                return match input(inputs, "if-no-files-found") {
                    "error" => StepResult::error(text),
                    "ignore" => StepResult::success(Vec::new()),
                    _ => {
                        self.log
                            .line(self.number, crate::log::LineKind::Warning, &text)
                            .await;
                        StepResult::success(Vec::new())
                    }
                };
            }
            Err(result) => return result,
        };
        let run = self.request.run.clone();
        let (artifacts, of, named) = (self.request.artifacts.clone(), run.clone(), name.to_owned());
        let (by, maker) = (self.request.maker(), self.request.maker());
        match blocking(move || artifacts.is_free(&of, &named, &maker)).await {
            Ok(false) if input(inputs, "overwrite") != "true" => {
                return StepResult::error(format!(
                    "the run has an artifact {name} already; `overwrite: true` replaces it"
                ));
            }
            Ok(_) => {}
            Err(error) => return StepResult::error(format!("artifacts cannot be read: {error}")),
        }
        let pending = self.request.artifacts.create(&run, name);
        let fetched = self.fetch_into(&file, pending).await;
        let kept = match fetched {
            Ok(pending) => {
                let artifacts = self.request.artifacts.clone();
                let kept = blocking(move || artifacts.keep(&run, pending, &by)).await;
                kept.map_err(|error| StepResult::error(format!("it could not be stored: {error}")))
            }
            Err(result) => Err(result),
        };
        match kept {
            Ok(bytes) => {
                self.log
                    .info(self.number, &format!("artifact {name}: {bytes} bytes"))
                    .await;
                StepResult::success(vec![("artifact-id".to_owned(), name.to_owned())])
            }
            Err(result) => result,
        }
    }

    pub(super) async fn download(&mut self, inputs: &[(String, String)]) -> StepResult {
        let (name, pattern) = (input(inputs, "name"), input(inputs, "pattern"));
        let directory = in_workspace(input(inputs, "path"));
        let run = match self.artifacts_run(inputs).await {
            Ok(run) => run,
            Err(reason) => return StepResult::error(reason),
        };
        let (artifacts, of) = (self.request.artifacts.clone(), run.clone());
        let all = match blocking(move || artifacts.list(&of)).await {
            Ok(all) => all,
            Err(error) => return StepResult::error(format!("artifacts cannot be read: {error}")),
        };
        let wanted: Vec<String> = match (name, pattern) {
            ("", "") => all.iter().map(|stored| stored.name.clone()).collect(),
            ("", pattern) => match Pattern::parse(pattern) {
                Ok(pattern) => all
                    .iter()
                    .filter(|stored| pattern.matches(&stored.name))
                    .map(|stored| stored.name.clone())
                    .collect(),
                Err(error) => return StepResult::error(format!("pattern: {error}")),
            },
            (name, _) => vec![name.to_owned()],
        };
        let merge = !name.is_empty() || input(inputs, "merge-multiple") == "true";
        for one in &wanted {
            let (artifacts, of) = (self.request.artifacts.clone(), run.clone());
            let name = one.clone();
            let file = match blocking(move || artifacts.find(&of, &name)).await {
                Ok(Some(file)) => file,
                Ok(None) => return StepResult::error(format!("the run has no artifact {one}")),
                Err(error) => {
                    let text = format!("the artifact {one} cannot be read: {error}");
                    return StepResult::error(text);
                }
            };
            // A name is a directory's name only when it is one.
            if !merge && (one.contains('/') || one == "..") {
                return StepResult::error(format!("the artifact {one} cannot be a folder"));
            }
            let target = if merge {
                directory.clone()
            } else {
                format!("{directory}/{one}")
            };
            let put = self
                .machine
                .vmm
                .put_files(
                    &self.machine.id,
                    &target,
                    tarball::of_file(&file),
                    TRANSFER_TIMEOUT,
                )
                .await;
            if let Err(error) = put {
                return StepResult::lost(format!(
                    "the artifact {one} could not be put into the VM: {error}"
                ));
            }
            self.log
                .info(self.number, &format!("artifact {one} is in {target}"))
                .await;
        }
        StepResult::success(vec![("download-path".to_owned(), directory)])
    }

    /// The run whose artifacts are asked for: the own one, or one that the step's `github-token`
    /// may read.
    async fn artifacts_run(&self, inputs: &[(String, String)]) -> Result<String, String> {
        let (named, repository) = (input(inputs, "run-id"), input(inputs, "repository"));
        let (request, token) = (self.request, input(inputs, "github-token"));
        let own = &request.event.repository;
        let is_own = repository.is_empty() || repository.eq_ignore_ascii_case(own);
        let is_this = named.is_empty() || named == request.run || named == request.facts.run_id;
        if is_own && is_this {
            return Ok(request.run.clone());
        }
        if token.is_empty() {
            return Err("artifacts of another run are read with a `github-token` only, as on GitHub: of this repository `${{ github.token }}`, with the job's permission `actions: read`".to_owned());
        }
        let repository = if repository.is_empty() {
            own
        } else {
            repository
        };
        self.check_artifacts_token(repository, is_own, token)
            .await?;
        let found = request.runs.find(named, repository).await;
        let found = found.map_err(|error| format!("runs cannot be read: {error}"))?;
        found.ok_or_else(|| {
            format!(
                "{repository} has no run {} here, or it is kept no longer",
                quoted(named)
            )
        })
    }

    /// Whether a token may read artifacts of a repository: the job's own by its permissions,
    /// another where the forge lets it read the repository.
    async fn check_artifacts_token(
        &self,
        repository: &str,
        is_own: bool,
        token: &str,
    ) -> Result<(), String> {
        if self.forge_token.as_deref() == Some(token) {
            let granted = forge_permissions(self.request).permissions;
            return match (is_own, granted.allows("actions", PermissionLevel::Read)) {
                (true, true) => Ok(()),
                (true, false) => Err("the job's `permissions` lack `actions: read`, by which its token reads artifacts of other runs".to_owned()),
                (false, _) => Err(format!(
                    "the token of the job is of {} only: artifacts of {} need another `github-token`",
                    self.request.event.repository,
                    quoted(repository)
                )),
            };
        }
        let name: RepoName = repository.parse().map_err(|_| {
            format!(
                "`repository` is {}; it is written owner/name",
                quoted(repository)
            )
        })?;
        let client = self.request.checkouts.repositories.forge_client();
        let client = client.ok_or("whether `github-token` may read the repository is not known: the runner has no `forge_url`")?;
        let asked = client
            .with_token(Secret::new(token.to_owned()))
            .can_read(&name)
            .await;
        match asked {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!(
                "the `github-token` does not read {name}, as its forge says"
            )),
            Err(error) => Err(format!(
                "whether `github-token` may read {name} is not known: {error}"
            )),
        }
    }
}
