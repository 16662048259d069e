//! Actions that the runner does itself: checkout, artifacts, caches, tools.

use std::time::Duration;

use cluster_actors::vm_hosts::tarball;
use futures_util::StreamExt;
use runner_core::cache_scope::{CacheScope, cache_scopes};
use runner_core::job_folders::{JobFolders, below_workspace};
use runner_core::plan::{NativeAction, undone_value};
use runner_core::state::StepEnd;
use runner_core::workflow::CacheMode;

use super::frame::{CacheToSave, StepResult};
use super::native_input::{NativeStep, blocking, input, lines};
use super::packing::{OneFile, PACK, PackedFiles};
use super::step_runner::StepRunner;
use crate::log::LineKind;
use crate::stored_tar::PendingTar;

/// Longest time in which nothing of a transfer moves.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(900);

/// What a cache of the native action is stored as: one of other paths is another one, as on GitHub.
/// Its files have absolute names: where the checkout lies elsewhere, one with files of it is
/// another.
fn of_paths(paths: &[String], key: &str, folders: &JobFolders) -> String {
    let is_own = |path: &&str| !path.starts_with(['/', '~']) || below_workspace(path).is_some();
    let mut paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    if folders.is_hosted() && paths.iter().any(is_own) {
        paths.push(&folders.workspace);
    }
    let version = blake3::hash(paths.join("|").as_bytes());
    format!("{version}\n{key}")
}

/// The key of what is stored.
fn plain_key(stored: &str) -> &str {
    stored.split_once('\n').map_or(stored, |(_, key)| key)
}

/// Keys of a cache, as the toolkit takes them (`checkKey` of `@actions/cache`).
fn check_keys(key: &str, prefixes: &[String]) -> Result<(), String> {
    if prefixes.len() > 9 {
        return Err("`restore-keys` are more than 9".to_owned());
    }
    for key in prefixes.iter().map(String::as_str).chain([key]) {
        if key.encode_utf16().count() > 512 {
            let start: String = key.chars().take(40).collect();
            return Err(format!("the key `{start}…` has more than 512 characters"));
        }
        if key.contains(',') {
            return Err(format!("the key {} has a comma", config_core::quoted(key)));
        }
    }
    Ok(())
}

impl StepRunner<'_> {
    pub(super) async fn native(
        &mut self,
        action: NativeAction,
        uses: &str,
        step: NativeStep<'_>,
    ) -> StepResult {
        let inputs = step.inputs;
        // Values that only the run knows.
        let undone = |(name, value): &(String, String)| undone_value(uses, name, value);
        if let Some(reason) = inputs.iter().find_map(undone) {
            return StepResult::error(reason);
        }
        let result = match action {
            NativeAction::Checkout => self.checkout(uses, inputs).await,
            NativeAction::UploadArtifact => self.upload(inputs).await,
            NativeAction::DownloadArtifact => self.download(uses, inputs).await,
            NativeAction::Cache => self.cache(inputs, true).await,
            NativeAction::CacheRestore => self.cache(inputs, false).await,
            NativeAction::CacheSave => self.save_now(inputs).await,
            NativeAction::Setup(tool) => self.setup(tool, uses, step).await,
        };
        self.machine.user.record_root_files();
        result
    }

    pub(super) async fn cache(&mut self, inputs: &[(String, String)], save: bool) -> StepResult {
        let (key, paths) = (
            input(inputs, "key").to_owned(),
            lines(input(inputs, "path")),
        );
        if key.is_empty() || paths.is_empty() {
            return StepResult::error("the inputs `key` and `path` are needed");
        }
        let prefixes = lines(input(inputs, "restore-keys"));
        if let Err(reason) = check_keys(&key, &prefixes) {
            return StepResult::error(reason);
        }
        let prefixes: Vec<String> = prefixes
            .iter()
            .map(|prefix| of_paths(&paths, prefix, &self.folders))
            .collect();
        let wanted = of_paths(&paths, &key, &self.folders);
        let (caches, scopes) = (self.request.stores.caches.clone(), self.read_scopes().await);
        let found = match blocking(move || caches.find(&scopes, &wanted, &prefixes)).await {
            Ok(found) => found,
            // As if there was none: that costs speed only.
            Err(error) => {
                let text = format!("caches cannot be read: {error}");
                self.log.info(self.current.number, &text).await;
                None
            }
        };
        let found = found.map(|found| (plain_key(&found.key).to_owned(), found.file));
        let (found, file) = found.unzip();
        let hit = found.as_ref().is_some_and(|found| *found == key);
        match (&found, file) {
            (Some(found), Some(file)) if input(inputs, "lookup-only") != "true" => {
                let put = self.unless_cancelled(self.put_cache(file)).await;
                if let Err(result) = put {
                    return result;
                }
                self.log
                    .info(self.current.number, &format!("cache {found} is restored"))
                    .await;
            }
            (Some(found), _) => {
                self.log
                    .info(self.current.number, &format!("there is a cache {found}"))
                    .await;
            }
            (None, _) if input(inputs, "fail-on-cache-miss") == "true" => {
                return StepResult::error(format!("there is no cache for {key}"));
            }
            (None, _) => {
                self.log
                    .info(self.current.number, &format!("there is no cache for {key}"))
                    .await;
            }
        }
        if save && !hit {
            self.caches.push(CacheToSave {
                posts: self.node_actions.posts.len(),
                key: key.clone(),
                paths,
            });
        }
        // Nothing found is no hit and no miss: the output is empty then, as on GitHub.
        let is_hit = found.as_ref().map_or_else(String::new, |_| hit.to_string());
        StepResult::success(vec![
            ("cache-hit".to_owned(), is_hit),
            ("cache-primary-key".to_owned(), key),
            ("cache-matched-key".to_owned(), found.unwrap_or_default()),
        ])
    }

    async fn put_cache(&self, file: std::fs::File) -> Result<(), StepResult> {
        let _transfer = self.machine.transfer().await;
        let (vmm, vm) = (&self.machine.vmm, &self.machine.id);
        let put = vmm.put_files(vm, "/", tarball::of_open_file(file), TRANSFER_TIMEOUT);
        put.await.map_err(|error| {
            let text = format!("the cache could not be put into the VM: {error}");
            StepResult::not_put(&error, text)
        })
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
                self.log.info(self.current.number, &text).await;
                StepResult::success(Vec::new())
            }
            // A cache that is not saved costs speed only, as on GitHub.
            Err(result) if result.end == StepEnd::Error => {
                let text = format!(
                    "the cache {key} is not saved: {}",
                    result.reason.unwrap_or_default()
                );
                self.log
                    .line(self.current.number, LineKind::Warning, &text)
                    .await;
                StepResult::success(Vec::new())
            }
            Err(result) => result,
        }
    }

    /// After the last step: what was missed at the beginning is saved, so far as it comes before
    /// the stages that are left. Failing to costs speed only.
    pub(super) async fn save_caches(&mut self) {
        let left = self.node_actions.posts.len();
        let (mut due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.caches)
            .into_iter()
            .partition(|cache| cache.posts >= left);
        self.caches = later;
        due.reverse();
        for cache in due {
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
        let mode = self.cache_mode();
        if !mode.saves() {
            return Ok(format!(
                "the cache {key} is not saved: the cache-mode is {}",
                mode.name()
            ));
        }
        let caches = self.request.stores.caches.clone();
        // The first one is where it writes.
        let own = self.scopes().swap_remove(0);
        let stored = of_paths(paths, key, &self.folders);
        let (of, scope, named) = (caches.clone(), own.clone(), stored.clone());
        let has = blocking(move || of.contains(&scope, &named)).await;
        if has.map_err(|error| StepResult::error(format!("caches cannot be read: {error}")))? {
            return Ok(format!("the cache {key} exists already"));
        }
        let Some(packed) = self.pack("cache", paths, true).await? else {
            return Ok(format!("nothing to save for the cache {key}"));
        };
        let pending = self
            .fetch_into(&packed.tar, caches.create(&own, &stored))
            .await?;
        let bytes = blocking(move || caches.keep(&own, pending))
            .await
            .map_err(|error| StepResult::error(format!("it could not be stored: {error}")))?;
        Ok(format!("cache {key}: {bytes} bytes"))
    }

    fn cache_mode(&self) -> CacheMode {
        self.request.plan.jobs[self.request.job].cache_mode
    }

    /// Where caches are looked for: nowhere, where the job may restore none.
    async fn read_scopes(&self) -> Vec<CacheScope> {
        let mode = self.cache_mode();
        if mode.restores() {
            return self.scopes();
        }
        let text = format!("no cache is restored: the cache-mode is {}", mode.name());
        self.log.info(self.current.number, &text).await;
        Vec::new()
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
    ) -> Result<Option<PackedFiles>, StepResult> {
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
            StepEnd::Exited(0) => {
                let output = |name: &str| {
                    let mut outputs = ended.commands.outputs.iter();
                    let found = outputs.find(|(known, _)| known == name);
                    found.map(|(_, value)| value.clone()).unwrap_or_default()
                };
                Ok(Some(PackedFiles {
                    tar: file,
                    count: output("files").parse().unwrap_or_default(),
                    first: output("first"),
                }))
            }
            StepEnd::Exited(3) => Ok(None),
            StepEnd::Exited(4) => Err(StepResult::error(
                "it holds what is neither a file nor a link, or is setuid; the line before says which",
            )),
            StepEnd::Lost => Err(StepResult::lost(ended.reason.unwrap_or_default())),
            StepEnd::Cancelled => Err(StepResult::cancelled()),
            _ => Err(StepResult::error(format!(
                "packing failed: {}",
                ended.reason.unwrap_or_default()
            ))),
        }
    }

    /// Brings one file of the VM to the host, unless the step is cancelled meanwhile.
    pub(super) async fn fetch_into(
        &self,
        file: &str,
        pending: std::io::Result<PendingTar>,
    ) -> Result<PendingTar, StepResult> {
        self.unless_cancelled(self.fetch_whole(file, pending)).await
    }

    /// The manager packs the file once more, so its tar is taken apart on the way.
    async fn fetch_whole(
        &self,
        file: &str,
        pending: std::io::Result<PendingTar>,
    ) -> Result<PendingTar, StepResult> {
        let local =
            |error: std::io::Error| StepResult::error(format!("it could not be stored: {error}"));
        let mut pending = pending.map_err(local)?;
        let lost =
            |error: String| StepResult::lost(format!("it could not be read from the VM: {error}"));
        let _transfer = self.machine.transfer().await;
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
}
