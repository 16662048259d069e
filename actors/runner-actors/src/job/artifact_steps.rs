//! `actions/upload-artifact` and `actions/download-artifact`: the run's own artifacts, and those of
//! other runs that the step's token may read.

use std::time::Duration;

use cluster_actors::vm_hosts::tarball;
use config_core::{Secret, quoted};
use forge_core::RepoName;
use runner_core::name_pattern::NamePattern;
use runner_core::plan::is_release_since;
use runner_core::state::StepEnd;
use runner_core::workflow::PermissionLevel;

use super::frame::{StepResult, in_workspace};
use super::native_input::{blocking, input, lines, script};
use super::step_runner::{StepRunner, forge_permissions};
use crate::artifacts::{Artifact, NewArtifact, check_artifact_name, expiry};
use crate::job_services::tar_of_zipped;
use crate::log::LineKind;

/// Longest time in which nothing of a transfer moves.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(900);

/// Says the home folder.
const HOME: &str = "printf '::set-output name=home::%s\\n' \"$HOME\"";

/// The names of the artifacts that are asked for; all without a name, numbers and a pattern.
fn wanted_artifacts(
    all: &[Artifact],
    name: &str,
    ids: &str,
    pattern: &str,
) -> Result<Vec<String>, String> {
    let names = |wanted: &dyn Fn(&str) -> bool| {
        let names = all.iter().map(|stored| &stored.name);
        names.filter(|name| wanted(name)).cloned().collect()
    };
    match (name, ids, pattern) {
        ("", "", "") => Ok(names(&|_| true)),
        ("", "", pattern) => {
            let pattern = NamePattern::parse(pattern)?;
            Ok(names(&|name| pattern.matches(name)))
        }
        ("", ids, _) => by_numbers(ids, all),
        (name, "", _) => Ok(vec![name.to_owned()]),
        _ => Err("`name` and `artifact-ids` cannot be given both, as on GitHub".to_owned()),
    }
}

/// The names of the artifacts that have these numbers, between commas; those that there are none
/// of are passed over where there is another.
fn by_numbers(ids: &str, all: &[Artifact]) -> Result<Vec<String>, String> {
    let ids = numbers(ids)?;
    let found = all.iter().filter(|stored| ids.contains(&stored.id()));
    let names: Vec<String> = found.map(|stored| stored.name.clone()).collect();
    match names.is_empty() {
        false => Ok(names),
        true => Err(format!(
            "the run has no artifact with the number {}",
            join(&ids)
        )),
    }
}

fn join(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    numbers.join(", ")
}

fn numbers(ids: &str) -> Result<Vec<u64>, String> {
    let ids = ids.split(',').map(str::trim).filter(|id| !id.is_empty());
    let numbers = ids.map(|id| {
        id.parse().map_err(|_| {
            format!(
                "`artifact-ids` has {}; it takes numbers between commas",
                quoted(id)
            )
        })
    });
    numbers.collect()
}

/// Whether an input has one of the values that it takes.
fn check_value(inputs: &[(String, String)], name: &str, values: &[&str]) -> Result<(), String> {
    match input(inputs, name) {
        "" => Ok(()),
        value if values.contains(&value) => Ok(()),
        other => Err(format!(
            "`{name}` is {}; it is one of {}",
            quoted(other),
            values.join(", ")
        )),
    }
}

/// Inputs of an upload that are wrong whatever is found.
fn check_upload(inputs: &[(String, String)]) -> Result<(), String> {
    match input(inputs, "name") {
        "" => {}
        name => check_artifact_name(name).map_err(|reason| format!("`name`: {reason}"))?,
    }
    let level = input(inputs, "compression-level");
    if !matches!(level, "" | "-1") && level.parse::<u8>().is_ok_and(|level| level > 9) {
        return Err(format!(
            "`compression-level` is {}; it takes 0 to 9",
            quoted(level)
        ));
    }
    retention(input(inputs, "retention-days"))?;
    check_value(inputs, "if-no-files-found", &["warn", "error", "ignore"])
}

/// How long an artifact is kept, in days; 0: as long as its run.
fn retention(days: &str) -> Result<u64, String> {
    if days.is_empty() {
        return Ok(0);
    }
    days.parse().map_err(|_| {
        format!(
            "`retention-days` is {}; it takes a number of days",
            quoted(days)
        )
    })
}

impl StepRunner<'_> {
    pub(super) async fn upload(&mut self, inputs: &[(String, String)]) -> StepResult {
        let paths = lines(input(inputs, "path"));
        if paths.is_empty() {
            return StepResult::error("the input `path` is missing");
        }
        if let Err(reason) = check_upload(inputs) {
            return StepResult::error(reason);
        }
        let hidden = input(inputs, "include-hidden-files") == "true";
        let packed = match self.pack("artifact", &paths, hidden).await {
            Ok(Some(packed)) => packed,
            Ok(None) => return self.nothing_found(&paths, inputs).await,
            Err(result) => return result,
        };
        let single = input(inputs, "archive").eq_ignore_ascii_case("false");
        if single && packed.count != 1 {
            return StepResult::error(format!(
                "{} files were found for {}; with `archive: false` an artifact is one file",
                packed.count,
                paths.join(", ")
            ));
        }
        // One file by itself has its own name, as on GitHub.
        let name = match input(inputs, "name") {
            _ if single => packed.first.as_str(),
            "" => "artifact",
            name => name,
        };
        if let Err(reason) = check_artifact_name(name) {
            return StepResult::error(reason);
        }
        match self.store_artifact(name, &packed.tar, single, inputs).await {
            Ok(result) | Err(result) => result,
        }
    }

    async fn nothing_found(&self, paths: &[String], inputs: &[(String, String)]) -> StepResult {
        let text = format!("no files were found for {}", paths.join(", "));
        match input(inputs, "if-no-files-found") {
            "error" => return StepResult::error(text),
            "ignore" => {}
            _ => {
                self.log
                    .line(self.current.number, LineKind::Warning, &text)
                    .await;
            }
        }
        StepResult::success(Vec::new())
    }

    /// Brings a tar of the machine into the store; the outputs of the step.
    async fn store_artifact(
        &mut self,
        name: &str,
        tar: &str,
        single: bool,
        inputs: &[(String, String)],
    ) -> Result<StepResult, StepResult> {
        let run = self.request.run.clone();
        let (artifacts, of, named) = (
            self.request.stores.artifacts.clone(),
            run.clone(),
            name.to_owned(),
        );
        let (by, maker) = (self.request.maker(), self.request.maker());
        let is_free = blocking(move || artifacts.is_free(&of, &named, &maker)).await;
        let is_free = is_free
            .map_err(|error| StepResult::error(format!("artifacts cannot be read: {error}")))?;
        if !is_free && input(inputs, "overwrite") != "true" {
            return Err(StepResult::error(format!(
                "the run has an artifact {name} already; `overwrite: true` replaces it"
            )));
        }
        let origin = self.request.artifact_origin();
        let (artifacts, of) = (self.request.stores.artifacts.clone(), origin.clone());
        let maker = self.request.maker();
        let room = blocking(move || artifacts.check_room(&maker, &of)).await;
        room.map_err(|error| StepResult::error(format!("it could not be stored: {error}")))?;
        let pending = self.request.stores.artifacts.create(&run, name);
        let pending = self.fetch_into(tar, pending).await?;
        let artifacts = self.request.stores.artifacts.clone();
        let days = retention(input(inputs, "retention-days"));
        let new = NewArtifact {
            raw: single.then(|| "application/octet-stream".to_owned()),
            expires_at: expiry(days.map_err(StepResult::error)?),
            shown: Some(self.secrets.mask(name)).filter(|shown| shown != name),
            origin: Some(origin),
        };
        let kept = blocking(move || {
            let digest = pending.sha256()?;
            let kept = artifacts.keep(&run, pending, &by, new)?;
            Ok((kept, digest))
        });
        let (kept, digest) = kept
            .await
            .map_err(|error| StepResult::error(format!("it could not be stored: {error}")))?;
        let text = format!("artifact {name}: {} bytes", kept.bytes);
        self.log.info(self.current.number, &text).await;
        let mut outputs = vec![
            ("artifact-id".to_owned(), kept.id().to_string()),
            ("artifact-digest".to_owned(), digest),
        ];
        if let Some(mut page) = self.request.page.clone() {
            if let Ok(mut parts) = page.path_segments_mut() {
                parts.extend(["artifacts", name]);
            }
            outputs.push(("artifact-url".to_owned(), page.to_string()));
        }
        Ok(StepResult::success(outputs))
    }

    pub(super) async fn download(&mut self, uses: &str, inputs: &[(String, String)]) -> StepResult {
        let mismatches = ["ignore", "info", "warn", "error"];
        if let Err(reason) = check_value(inputs, "digest-mismatch", &mismatches) {
            return StepResult::error(reason);
        }
        let (name, pattern) = (input(inputs, "name"), input(inputs, "pattern"));
        let directory = match self.download_folder(input(inputs, "path")).await {
            Ok(directory) => directory,
            Err(result) => return result,
        };
        let run = match self.artifacts_run(inputs).await {
            Ok(run) => run,
            Err(reason) => return StepResult::error(reason),
        };
        let (artifacts, of) = (self.request.stores.artifacts.clone(), run.clone());
        let all = match blocking(move || artifacts.list(&of)).await {
            Ok(all) => all,
            Err(error) => return StepResult::error(format!("artifacts cannot be read: {error}")),
        };
        let ids = input(inputs, "artifact-ids");
        let wanted = match wanted_artifacts(&all, name, ids, pattern) {
            Ok(wanted) => wanted,
            Err(reason) => return StepResult::error(reason),
        };
        self.log_absent(ids, &all).await;
        // One that is named lies in the folder itself; since release 5 one that is alone, too.
        let is_alone = wanted.len() == 1 && (!ids.is_empty() || is_release_since(uses, 5));
        let is_one = !name.is_empty() || is_alone;
        let merge = is_one || input(inputs, "merge-multiple") == "true";
        let packed = input(inputs, "skip-decompress") == "true";
        for one in &wanted {
            // A name is a directory's name only when it is one.
            if !merge && (one.contains('/') || one == "..") {
                return StepResult::error(format!("the artifact {one} cannot be a folder"));
            }
            let target = if merge {
                directory.clone()
            } else {
                format!("{directory}/{one}")
            };
            if let Err(result) = self.put_artifact(&run, one, &target, packed).await {
                return result;
            }
            self.log
                .info(
                    self.current.number,
                    &format!("artifact {one} is in {target}"),
                )
                .await;
        }
        StepResult::success(vec![("download-path".to_owned(), directory)])
    }

    /// The folder that an input names; below the home folder with `~`.
    async fn download_folder(&mut self, path: &str) -> Result<String, StepResult> {
        let Some(below) = path.strip_prefix('~') else {
            return Ok(in_workspace(path));
        };
        let argv = script(HOME, &[]);
        let exit = self.command(argv).await;
        match (exit.end, exit.commands.outputs.first()) {
            (StepEnd::Exited(0), Some((_, home))) if home.starts_with('/') => {
                Ok(format!("{}{below}", home.trim_end_matches('/')))
            }
            (StepEnd::Lost, _) => Err(StepResult::lost(exit.reason.unwrap_or_default())),
            _ => Err(StepResult::error("the home folder of `path` is not known")),
        }
    }

    /// Says which of the numbers there are none of.
    async fn log_absent(&self, ids: &str, all: &[Artifact]) {
        let mut absent = numbers(ids).unwrap_or_default();
        absent.retain(|id| all.iter().all(|stored| stored.id() != *id));
        if !absent.is_empty() {
            let text = format!("the run has no artifact with the number {}", join(&absent));
            self.log
                .line(self.current.number, LineKind::Warning, &text)
                .await;
        }
    }

    /// Puts an artifact into a folder of the machine; `packed`: as the zip that GitHub has of it.
    async fn put_artifact(
        &self,
        run: &str,
        name: &str,
        target: &str,
        packed: bool,
    ) -> Result<(), StepResult> {
        let (artifacts, of, wanted) = (
            self.request.stores.artifacts.clone(),
            run.to_owned(),
            name.to_owned(),
        );
        let opened = move || {
            let Some(file) = artifacts.find(&of, &wanted)? else {
                return Ok(None);
            };
            // One that was uploaded as a file is none in a zip.
            let known = match packed {
                true => artifacts.listed(&of, &wanted)?,
                false => None,
            };
            match known.is_some_and(|known| known.raw.is_none()) {
                true => tar_of_zipped(&file, &wanted).map(Some),
                false => std::fs::File::open(file).map(Some),
            }
        };
        let file = match blocking(opened).await {
            Ok(Some(file)) => file,
            Ok(None) => {
                let text = format!("the run has no artifact {name}");
                return Err(StepResult::error(text));
            }
            Err(error) => {
                let text = format!("the artifact {name} cannot be read: {error}");
                return Err(StepResult::error(text));
            }
        };
        let (vmm, vm) = (&self.machine.vmm, &self.machine.id);
        let put = async {
            let _transfer = self.machine.transfer().await;
            let put = vmm.put_files(vm, target, tarball::of_open_file(file), TRANSFER_TIMEOUT);
            put.await.map_err(|error| {
                let text = format!("the artifact {name} could not be put into the VM: {error}");
                StepResult::not_put(&error, text)
            })
        };
        self.unless_cancelled(put).await
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
        let found = request.stores.runs.find(named, repository).await;
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
        if self.checkouts.forge_token.as_deref() == Some(token) {
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
        let client = self.request.source.checkouts.repositories.forge_client();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_artifacts_are_found_by_their_numbers() {
        let stored = |name: &str| Artifact {
            name: name.to_owned(),
            bytes: 1,
            at: 7,
            raw: None,
            by: None,
            expires_at: None,
            shown: None,
            origin: None,
            digest: None,
        };
        let all = [stored("a"), stored("b"), stored("c")];
        let both = format!("{}, {},", all[2].id(), all[0].id());
        let found = Ok(vec!["a".to_owned(), "c".to_owned()]);
        assert_eq!(by_numbers(&both, &all), found);
        let one_is_absent = format!("{both}12");
        assert_eq!(by_numbers(&one_is_absent, &all), found);
        for (ids, part) in [("x", "takes numbers"), ("12", "the number 12")] {
            let error = by_numbers(ids, &all).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
