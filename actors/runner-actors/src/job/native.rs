//! Actions that the runner does itself: checkout, artifacts, caches, checks of tools.

use std::time::Duration;

use futures_util::StreamExt;
use runner_core::cache_scope::{CacheScope, cache_scopes};
use runner_core::plan::{NativeAction, SetupTool, VersionRequirement, rust_parts, version_in_file};
use runner_core::problem_matcher::of_setup;
use runner_core::state::StepEnd;

use super::frame::{CacheToSave, StepResult, in_workspace};
use super::native_input::{blocking, input, lines};
use super::packing::{OneFile, PACK};
use super::step_runner::StepRunner;
use crate::stored_tar::PendingTar;
use crate::tarball;

/// Longest time for a transfer.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(900);

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
    pub(super) async fn pack(
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
    pub(super) async fn fetch_into(
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
