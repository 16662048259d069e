//! Actions that the runner does itself: checkout, artifacts, caches, checks of tools.

use std::time::Duration;

use futures_util::StreamExt;
use runner_core::cache_scope::{CacheScope, cache_scopes};
use runner_core::glob::Pattern;
use runner_core::plan::{NativeAction, SetupTool, VersionRequirement, rust_parts, version_in_file};
use runner_core::problem_matcher::of_setup;
use runner_core::state::StepEnd;

use super::frame::{CacheToSave, StepResult, in_workspace};
use super::packing::{OneFile, PACK};
use super::step_runner::StepRunner;
use crate::stored_tar::PendingTar;
use crate::tarball;

/// Longest time for a transfer.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(900);

fn input<'i>(inputs: &'i [(String, String)], name: &str) -> &'i str {
    let found = inputs
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map_or("", |(_, value)| value.trim())
}

fn lines(text: &str) -> Vec<String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

impl StepRunner<'_> {
    pub(super) async fn native(
        &mut self,
        action: NativeAction,
        uses: &str,
        inputs: &[(String, String)],
    ) -> StepResult {
        match action {
            NativeAction::Checkout => self.checkout(inputs).await,
            NativeAction::UploadArtifact => self.upload(inputs).await,
            NativeAction::DownloadArtifact => self.download(inputs).await,
            NativeAction::Cache => self.cache(inputs, true).await,
            NativeAction::CacheRestore => self.cache(inputs, false).await,
            NativeAction::CacheSave => self.save_now(inputs).await,
            NativeAction::Setup(tool) => self.setup(tool, uses, inputs).await,
        }
    }

    async fn upload(&mut self, inputs: &[(String, String)]) -> StepResult {
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

    async fn download(&mut self, inputs: &[(String, String)]) -> StepResult {
        let (name, pattern) = (input(inputs, "name"), input(inputs, "pattern"));
        let directory = in_workspace(input(inputs, "path"));
        let (artifacts, run) = (self.request.artifacts.clone(), self.request.run.clone());
        let all = match blocking(move || artifacts.list(&run)).await {
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
            let (artifacts, run) = (self.request.artifacts.clone(), self.request.run.clone());
            let name = one.clone();
            let file = match blocking(move || artifacts.find(&run, &name)).await {
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

    async fn cache(&mut self, inputs: &[(String, String)], save: bool) -> StepResult {
        let (key, paths) = (
            input(inputs, "key").to_owned(),
            lines(input(inputs, "path")),
        );
        if key.is_empty() || paths.is_empty() {
            return StepResult::error("the inputs `key` and `path` are needed");
        }
        let prefixes = lines(input(inputs, "restore-keys"));
        let (caches, scopes, wanted) = (self.request.caches.clone(), self.scopes(), key.clone());
        let found = match blocking(move || caches.find(&scopes, &wanted, &prefixes)).await {
            Ok(found) => found,
            // As if there was none: that costs speed only.
            Err(error) => {
                let text = format!("caches cannot be read: {error}");
                self.log.info(self.number, &text).await;
                None
            }
        };
        let (found, file) = found.map(|found| (found.key, found.file)).unzip();
        let hit = found.as_ref().is_some_and(|found| *found == key);
        match (&found, file) {
            (Some(found), Some(file)) if input(inputs, "lookup-only") != "true" => {
                let put = self
                    .machine
                    .vmm
                    .put_files(
                        &self.machine.id,
                        "/",
                        tarball::of_open_file(file),
                        TRANSFER_TIMEOUT,
                    )
                    .await;
                if let Err(error) = put {
                    return StepResult::lost(format!(
                        "the cache could not be put into the VM: {error}"
                    ));
                }
                self.log
                    .info(self.number, &format!("cache {found} is restored"))
                    .await;
            }
            (Some(found), _) => {
                self.log
                    .info(self.number, &format!("there is a cache {found}"))
                    .await;
            }
            (None, _) if input(inputs, "fail-on-cache-miss") == "true" => {
                return StepResult::error(format!("there is no cache for {key}"));
            }
            (None, _) => {
                self.log
                    .info(self.number, &format!("there is no cache for {key}"))
                    .await;
            }
        }
        if save && !hit {
            self.caches.push(CacheToSave {
                key: key.clone(),
                paths,
            });
        }
        let matched = found.unwrap_or_default();
        StepResult::success(vec![
            ("cache-hit".to_owned(), hit.to_string()),
            ("cache-primary-key".to_owned(), key),
            ("cache-matched-key".to_owned(), matched),
        ])
    }

    async fn save_now(&mut self, inputs: &[(String, String)]) -> StepResult {
        let (key, paths) = (
            input(inputs, "key").to_owned(),
            lines(input(inputs, "path")),
        );
        if key.is_empty() || paths.is_empty() {
            return StepResult::error("the inputs `key` and `path` are needed");
        }
        match self.save(&key, &paths).await {
            Ok(text) => {
                self.log.info(self.number, &text).await;
                StepResult::success(Vec::new())
            }
            Err(result) => result,
        }
    }

    /// After the last step: what was missed at the beginning is saved. Failing to costs speed only.
    pub(super) async fn save_caches(&mut self) {
        for cache in std::mem::take(&mut self.caches) {
            let text = match self.save(&cache.key, &cache.paths).await {
                Ok(text) => text,
                Err(result) => format!(
                    "the cache {} is not saved: {}",
                    cache.key,
                    result.reason.unwrap_or_default()
                ),
            };
            self.log.info(0, &text).await;
        }
    }

    async fn save(&mut self, key: &str, paths: &[String]) -> Result<String, StepResult> {
        let caches = self.request.caches.clone();
        // The first one is where it writes.
        let own = self.scopes().swap_remove(0);
        let (of, scope, named) = (caches.clone(), own.clone(), key.to_owned());
        let has = blocking(move || of.has(&scope, &named)).await;
        if has.map_err(|error| StepResult::error(format!("caches cannot be read: {error}")))? {
            return Ok(format!("the cache {key} exists already"));
        }
        let Some(file) = self.pack("cache", paths, true).await? else {
            return Ok(format!("nothing to save for the cache {key}"));
        };
        let pending = self.fetch_into(&file, caches.create(&own, key)).await?;
        let bytes = blocking(move || caches.keep(&own, pending))
            .await
            .map_err(|error| StepResult::error(format!("it could not be stored: {error}")))?;
        Ok(format!("cache {key}: {bytes} bytes"))
    }

    fn scopes(&self) -> Vec<CacheScope> {
        cache_scopes(&self.request.event, &self.request.facts.default_branch)
    }

    /// Packs files of the VM into a tar in the VM; `None` when no file was found. The patterns go
    /// as arguments to a constant script.
    async fn pack(
        &mut self,
        what: &str,
        paths: &[String],
        hidden: bool,
    ) -> Result<Option<String>, StepResult> {
        let file = format!("/tmp/.runner-{what}-{}.tar", uuid::Uuid::new_v4());
        let mut argv = vec![
            "python3".to_owned(),
            "-c".to_owned(),
            PACK.to_owned(),
            file.clone(),
        ];
        argv.push(
            if what == "cache" {
                "absolute"
            } else {
                "relative"
            }
            .to_owned(),
        );
        argv.push(if hidden { "hidden" } else { "visible" }.to_owned());
        argv.extend(paths.iter().cloned());
        let ended = self.command(argv).await;
        match ended.end {
            StepEnd::Exited(0) => Ok(Some(file)),
            StepEnd::Exited(3) => Ok(None),
            StepEnd::Exited(4) => Err(StepResult::error(
                "it holds what is neither a file nor a link, or is setuid; the line before says which",
            )),
            StepEnd::Lost => Err(StepResult::lost(ended.reason.unwrap_or_default())),
            _ => Err(StepResult::error(format!(
                "packing failed: {}",
                ended.reason.unwrap_or_default()
            ))),
        }
    }

    /// Brings one file of the VM to the host: the manager packs it once more, so its tar is taken
    /// apart on the way.
    async fn fetch_into(
        &self,
        file: &str,
        pending: std::io::Result<PendingTar>,
    ) -> Result<PendingTar, StepResult> {
        let local =
            |error: std::io::Error| StepResult::error(format!("it could not be stored: {error}"));
        let mut pending = pending.map_err(local)?;
        let lost =
            |error: String| StepResult::lost(format!("it could not be read from the VM: {error}"));
        let mut stream = self
            .machine
            .vmm
            .get_files(&self.machine.id, file)
            .await
            .map_err(|error| lost(error.to_string()))?;
        let mut inner = OneFile::default();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| lost(error.to_string()))?;
            inner
                .push(&chunk, |bytes| pending.write(bytes))
                .map_err(local)?;
        }
        if !inner.is_whole() {
            return Err(lost("the file is not whole".to_owned()));
        }
        Ok(pending)
    }

    /// Checks that the tool is in the image, in the version that is wanted.
    async fn setup(
        &mut self,
        tool: SetupTool,
        uses: &str,
        inputs: &[(String, String)],
    ) -> StepResult {
        let named = uses.split_once('@').map_or("", |(_, version)| version);
        let version = match input(inputs, tool.version_input) {
            "" if tool.named_by_reference => named.to_owned(),
            "" => match self.version_in_file(tool, inputs).await {
                Ok(version) => version,
                Err(result) => return result,
            },
            given => given.to_owned(),
        };
        let version = version.as_str();
        let wanted = match VersionRequirement::parse(tool.command, version) {
            Ok(wanted) => wanted,
            Err(reason) => {
                return StepResult::error(format!("{}: {reason}", tool.version_input));
            }
        };
        let script = "command -v \"$1\" >/dev/null || { echo \"$1 is not in the image\" >&2; exit 4; }; \
             found=$(\"$1\" \"$2\" 2>&1 | head -n 1); echo \"$found\"; echo \"::set-output name=found::$found\"";
        let argv = [
            "sh",
            "-c",
            script,
            "sh",
            tool.command,
            tool.version_argument,
        ];
        let ended = self.command_in_job(argv.map(str::to_owned).to_vec()).await;
        let found = ended
            .commands
            .outputs
            .iter()
            .find(|(name, _)| name == "found");
        let found = found.map_or("", |(_, found)| found.as_str());
        match ended.end {
            StepEnd::Exited(0) if wanted.holds(found) => {
                // Those of the job come first: they are many only where the job made them so.
                let _ = self.matchers.add(of_setup(tool.command));
                self.rust_parts(tool, inputs).await
            }
            StepEnd::Exited(0) => StepResult::error(format!(
                "the image has another version of {} than {version}: {found}",
                tool.command
            )),
            StepEnd::Lost => StepResult::lost(ended.reason.unwrap_or_default()),
            StepEnd::Exited(4) => StepResult::error(format!(
                "{} is not in the image of this label",
                tool.command
            )),
            _ => StepResult {
                end: ended.end,
                ..StepResult::error(ended.reason.unwrap_or_default())
            },
        }
    }
    /// The version in the file that an input names; nothing where it names none.
    async fn version_in_file(
        &self,
        tool: SetupTool,
        inputs: &[(String, String)],
    ) -> Result<String, StepResult> {
        let file = match tool.version_file_input {
            "" => "",
            name => input(inputs, name),
        };
        if file.is_empty() {
            return Ok(String::new());
        }
        let files = self.fetch_small(&in_workspace(file)).await;
        let name = file.rsplit('/').next().unwrap_or(file);
        let files = files.unwrap_or_default().into_iter();
        let mut named = files.filter(|(found, _)| found.rsplit('/').next() == Some(name));
        let Some((_, bytes)) = named.next() else {
            let reason = format!("{}: there is no file {file}", tool.version_file_input);
            return Err(StepResult::error(reason));
        };
        let version = version_in_file(tool.command, file, &String::from_utf8_lossy(&bytes));
        version
            .map_err(|reason| StepResult::error(format!("{}: {reason}", tool.version_file_input)))
    }

    /// Checks that the image's Rust has the components and targets that are wanted.
    async fn rust_parts(&mut self, tool: SetupTool, inputs: &[(String, String)]) -> StepResult {
        if tool.command != "rustc" {
            return StepResult::success(Vec::new());
        }
        let targets = format!("{},{}", input(inputs, "targets"), input(inputs, "target"));
        let parts = match rust_parts(input(inputs, "components"), &targets) {
            Ok(parts) => parts,
            Err(reason) => return StepResult::error(format!("components: {reason}")),
        };
        for part in parts {
            let argv = ["sh", "-c", part.test, "sh", &part.name].map(str::to_owned);
            let ended = self.command(argv.to_vec()).await;
            match ended.end {
                StepEnd::Exited(0) => {}
                StepEnd::Lost => return StepResult::lost(ended.reason.unwrap_or_default()),
                _ => {
                    let reason = format!("the image's Rust has no {}", part.name);
                    return StepResult::error(reason);
                }
            }
        }
        StepResult::success(Vec::new())
    }
}

/// Reads or writes what is kept, on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(std::io::Error::other).flatten()
}
