//! `actions/checkout`: laid out on the host, put into the machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cluster_actors::vm_hosts::tarball;
use runner_core::checkout::{CheckoutRequest, MACHINE_CONNECT, Submodules, refused_fork_code};
use runner_core::context::WORKSPACE;
use runner_core::gateway::basic_credentials;
use runner_core::plan::{ActionLocation, is_release_since};
use runner_core::state::StepEnd;

use super::checked_out::CheckedOutTree;
use super::frame::StepResult;
use super::hash::CheckedOut;
use super::native_input::input;
use super::step_runner::StepRunner;
use crate::checkout_source::LaidOut;

/// Longest time in which nothing of a repository goes into the machine.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(900);
/// The input that allows the code of forks.
const ALLOW_FORK: &str = "allow-unsafe-pr-checkout";
/// Makes a folder empty, and a folder of what is something else.
const EMPTY: &str = "[ -d \"$1\" ] || rm -f -- \"$1\"; mkdir -p -- \"$1\" && find \"$1/\" -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +";
/// Takes the files of the commit away and leaves all others, as git does when it goes to another.
const TAKE_AWAY: &str = "command -v git >/dev/null || { echo '`clean: false` over a former checkout needs git in the image' >&2; exit 4; }; git -C \"$1\" rm -r -f -q --ignore-unmatch -- .";

/// Lets git in the machine take pointers for what they stand for, as the action does, and the large
/// files for unchanged: their sizes in the index are those of the pointers.
const INSTALL_LFS: &str = "cd -- \"$1\" || exit 1; git lfs version >/dev/null 2>&1 || { echo 'git-lfs is not in the image: to git large files are changed'; exit 0; }; git lfs install --local >/dev/null && git ls-files -z -- ':(attr:filter=lfs)' | git update-index -q -z --refresh --stdin";

/// Adds the clones below a folder of a checkout, from the checkout: its submodules. Links are not
/// followed.
fn add_clones(top: &Path, below: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(top.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_name() == ".git" || !entry.file_type()?.is_dir() {
            continue;
        }
        if top.join(&path).join(".git/config").is_file() {
            found.push(path.clone());
        }
        add_clones(top, &path, found)?;
    }
    Ok(())
}

impl StepRunner<'_> {
    pub(super) async fn checkout(&mut self, uses: &str, inputs: &[(String, String)]) -> StepResult {
        let order = self.request;
        let (own, server) = (&order.event.repository, &order.facts.server_url);
        let request = match CheckoutRequest::parse(inputs, own, server) {
            Ok(request) => self.without_placeholder(request),
            Err(reason) => return StepResult::error(reason),
        };
        // As its releases since the 7th; of others it is the author's own risk, as on GitHub.
        let allows = input(inputs, ALLOW_FORK).eq_ignore_ascii_case("true");
        if is_release_since(uses, 7)
            && !allows
            && let Some(reason) = refused_fork_code(&order.event, &request)
        {
            return StepResult::error(reason);
        }
        // A checkout of another repository says nothing of the run's own.
        if request
            .repository
            .to_string()
            .eq_ignore_ascii_case(&order.event.repository)
        {
            self.checkouts.keeps_token = request.persist;
        }
        if request.is_usual() {
            return self.usual_checkout(&request).await;
        }
        if !request.token.is_empty() {
            // The action masks what it writes down.
            self.secrets.add(&request.token);
            self.secrets.add(&basic_credentials(&request.token));
        }
        if let Some(ssh) = &request.ssh {
            self.secrets.add(ssh.key.expose());
        }
        let name = format!("{}-{}", order.vm_key, self.counters.next_process());
        let laid_out = match self.laid_out(request.clone(), name).await {
            Ok(laid_out) => Arc::new(laid_out),
            Err(result) => return result,
        };
        if let Err(result) = self.put_checkout(&request, Some(&laid_out)).await {
            return result;
        }
        if request.lfs {
            let argv = ["sh", "-c", INSTALL_LFS, "sh", &request.directory].map(str::to_owned);
            let ended = self.command(argv.to_vec()).await;
            match ended.end {
                StepEnd::Exited(0) => {}
                StepEnd::Lost => return StepResult::lost(ended.reason.unwrap_or_default()),
                _ => return StepResult::error("`git lfs install --local` failed; see above"),
            }
        }
        let (commit, reference) = (laid_out.commit.to_string(), laid_out.reference.clone());
        let said = match reference.as_str() {
            "" => format!("{} {commit} is checked out", request.repository),
            reference => format!(
                "{} {reference} ({commit}) is checked out",
                request.repository
            ),
        };
        self.log.info(self.current.number, &said).await;
        StepResult::success(vec![
            ("commit".to_owned(), commit),
            ("ref".to_owned(), reference),
        ])
    }

    /// What the step asks for, laid out on the host. Where the step is cancelled git goes on to its
    /// end or its limit, and what it has laid out is removed then.
    async fn laid_out(
        &self,
        request: CheckoutRequest,
        name: String,
    ) -> Result<LaidOut, StepResult> {
        let (source, event) = (
            self.request.source.checkouts.clone(),
            Arc::clone(&self.request.event),
        );
        let work = async move { source.lay_out(request, &event, &name).await };
        let work = actix_rt::spawn(work);
        let done = async {
            let done = work.await;
            done.unwrap_or_else(|error| Err(error.to_string()))
                .map_err(StepResult::error)
        };
        self.unless_cancelled(done).await
    }

    /// The event's commit: it lies in the workspace from the start, and is put there again when
    /// something else has run before.
    async fn usual_checkout(&mut self, request: &CheckoutRequest) -> StepResult {
        let counts = self.counters.now();
        let untouched = self.checkouts.has_commit
            && counts.steps == 1
            && counts.processes == 0
            && self.checkouts.trees.is_empty();
        if untouched {
            self.checkouts.trees.push(CheckedOutTree {
                directory: request.directory.clone(),
                repository: request.repository.to_string(),
                laid_out: None,
            });
        } else if let Err(result) = self.put_checkout(request, None).await {
            return result;
        }
        let event = &self.request.event;
        let said = format!("{} is checked out", event.sha);
        self.log.info(self.current.number, &said).await;
        StepResult::success(vec![
            ("commit".to_owned(), event.sha.clone()),
            ("ref".to_owned(), event.reference.clone()),
        ])
    }

    /// The forge's token is the runner's to use: a step that names it gets what it gets without.
    fn without_placeholder(&self, mut request: CheckoutRequest) -> CheckoutRequest {
        let placeholder = self.checkouts.forge_token.as_deref();
        if placeholder.is_some_and(|placeholder| placeholder == request.token) {
            request.token.clear();
        }
        request
    }

    /// Makes room in the machine and puts the files there.
    async fn put_checkout(
        &mut self,
        request: &CheckoutRequest,
        laid_out: Option<&Arc<LaidOut>>,
    ) -> Result<(), StepResult> {
        let directory = &request.directory;
        let former = self
            .checkouts
            .trees
            .iter()
            .find(|tree| tree.directory == *directory);
        let same = former.is_some_and(|tree| {
            tree.repository
                .eq_ignore_ascii_case(request.repository.as_ref())
        });
        let keeps = !request.clean && same;
        let script = if keeps { TAKE_AWAY } else { EMPTY };
        let argv = ["sh", "-c", script, "sh", directory].map(str::to_owned);
        let ended = self.command(argv.to_vec()).await;
        match ended.end {
            StepEnd::Exited(0) => {}
            StepEnd::Lost => return Err(StepResult::lost(ended.reason.unwrap_or_default())),
            end => {
                let reason = format!("no room could be made in {directory}; see above");
                return Err(StepResult {
                    end: if end == StepEnd::Cancelled {
                        end
                    } else {
                        StepEnd::Error
                    },
                    ..StepResult::error(reason)
                });
            }
        }
        let folder = laid_out.map_or(&self.request.source.checkout, |laid_out| &laid_out.folder);
        let (vmm, vm) = (&self.machine.vmm, &self.machine.id);
        let tar = tarball::of_directory(folder);
        let put = async {
            let _transfer = self.machine.transfer().await;
            let put = vmm.put_files(vm, directory, tar, TRANSFER_TIMEOUT);
            put.await.map_err(|error| {
                StepResult::lost(format!(
                    "the files could not be put into {directory}: {error}"
                ))
            })
        };
        self.unless_cancelled(put).await?;
        if let Some(laid_out) = laid_out {
            self.put_credentials(request, laid_out).await?;
            self.put_key(request, laid_out).await?;
        }
        // What lay in the folder is gone with it.
        let below = format!("{directory}/");
        let gone = |tree: &CheckedOutTree| {
            tree.directory == *directory || (!keeps && tree.directory.starts_with(&below))
        };
        self.checkouts.trees.retain(|tree| !gone(tree));
        self.checkouts.trees.push(CheckedOutTree {
            directory: directory.clone(),
            repository: request.repository.to_string(),
            laid_out: laid_out.cloned(),
        });
        Ok(())
    }

    /// Lets git in the machine use the step's own token, as the action does: in submodules, too.
    async fn put_credentials(
        &self,
        request: &CheckoutRequest,
        laid_out: &LaidOut,
    ) -> Result<(), StepResult> {
        let (Some(origin), false, true) =
            (&laid_out.origin, request.token.is_empty(), request.persist)
        else {
            return Ok(());
        };
        let wrong = |reason: String| StepResult::error(format!("persist-credentials: {reason}"));
        let mut clones = vec![PathBuf::new()];
        if request.submodules != Submodules::None {
            let (folder, mut found) = (laid_out.folder.clone(), Vec::new());
            let below = tokio::task::spawn_blocking(move || {
                add_clones(&folder, Path::new(""), &mut found).map(|()| found)
            });
            let below = below.await.map_err(|error| wrong(error.to_string()))?;
            clones.extend(below.map_err(|error| wrong(error.to_string()))?);
        }
        for clone in clones {
            let config = std::fs::read_to_string(laid_out.folder.join(&clone).join(".git/config"));
            let config = config.map_err(|error| wrong(error.to_string()))?;
            let config = format!(
                "{config}[http \"{origin}/\"]\n\textraheader = AUTHORIZATION: basic {}\n{}",
                basic_credentials(&request.token),
                self.own_address(request)
            );
            let directory = Path::new(&request.directory).join(clone).join(".git");
            let files = [("config", config.as_bytes(), 0o600)];
            let put = self.put(&directory.to_string_lossy(), &files).await;
            put.map_err(StepResult::lost)?;
        }
        Ok(())
    }

    /// Keeps git in a clone with a token of its own from being led to the gateway: of two settings
    /// that fit alike, git takes the one of the clone.
    fn own_address(&self, request: &CheckoutRequest) -> String {
        let event = &self.request.event.repository;
        if !request.repository.to_string().eq_ignore_ascii_case(event) {
            return String::new();
        }
        let cloned = &self.request.source.checkouts.clone_url;
        let cloned = cloned.strip_suffix(".git").unwrap_or(cloned);
        let server = format!("{}/{event}", self.request.facts.server_url);
        let mut places = vec![cloned.to_owned(), server];
        places.dedup();
        let setting = |place: &String| format!("[url {place:?}]\n\tinsteadOf = {place}\n");
        places.iter().map(setting).collect()
    }

    /// Puts the step's key where its clone looks for it, as the action does.
    async fn put_key(
        &mut self,
        request: &CheckoutRequest,
        laid_out: &LaidOut,
    ) -> Result<(), StepResult> {
        let Some(ssh) = request.ssh.as_ref().filter(|_| request.persist) else {
            return Ok(());
        };
        let (key, hosts) = (format!("{}\n", ssh.key.expose().trim()), ssh.hosts());
        let files = [
            ("key", key.as_bytes(), 0o600),
            ("known_hosts", hosts.as_bytes(), 0o600),
            ("connect", MACHINE_CONNECT.as_bytes(), 0o644),
        ];
        self.checkouts.keys.push(laid_out.key_folder.clone());
        let put = self.put(&laid_out.key_folder, &files).await;
        put.map_err(StepResult::lost)
    }

    /// Takes the keys of all checkouts away again, as the action does at the end of its job: a
    /// machine may be kept after it.
    pub(super) async fn remove_keys(&mut self) {
        for folder in std::mem::take(&mut self.checkouts.keys) {
            if let Err(reason) = self.put(&folder, &[("key", b"", 0o600)]).await {
                let said = format!("the key of a checkout stays in the machine: {reason}");
                self.log.error(self.current.number, &said).await;
            }
        }
    }

    /// The folders of the workspace and where their files are on the host, each before those in it.
    pub(super) fn checked_out(&self) -> Vec<CheckedOut> {
        let event = || self.request.source.checkout.clone();
        let trees = self.checkouts.trees.iter().map(|tree| {
            let laid_out = tree.laid_out.as_ref();
            let place = laid_out.map_or_else(event, |laid_out| laid_out.folder.clone());
            let below = tree.directory.strip_prefix(WORKSPACE).unwrap_or_default();
            (PathBuf::from(below.trim_start_matches('/')), place)
        });
        let has_top = self
            .checkouts
            .trees
            .iter()
            .any(|tree| tree.directory == WORKSPACE);
        let start = (self.checkouts.has_commit && !has_top).then(|| (PathBuf::new(), event()));
        let mut all: Vec<CheckedOut> = start.into_iter().chain(trees).collect();
        all.sort_by_key(|(below, _)| below.components().count());
        all
    }

    /// An action of the workspace was planned as the event's commit has it: whether another one
    /// lies there now.
    pub(super) fn is_another(&self, location: &ActionLocation, directory: &str) -> bool {
        let moved = !self.checkouts.has_commit
            || self
                .checkouts
                .trees
                .iter()
                .any(|tree| tree.laid_out.is_some());
        let folder = PathBuf::from(directory.trim_start_matches("./"));
        // What lies beside the checkout was planned as it lies there.
        let is_beside = folder.starts_with("..");
        if !moved || is_beside || *location != ActionLocation::Workspace {
            return false;
        }
        let roots = self.checked_out();
        let last = roots
            .iter()
            .rev()
            .find(|(below, _)| folder.starts_with(below));
        let now = last.map(|(below, place)| {
            let rest = folder.strip_prefix(below).unwrap_or(&folder);
            place.join(rest)
        });
        let planned = self.request.source.checkout.join(&folder);
        let read = |folder: &PathBuf| {
            let names = ["action.yml", "action.yaml"].iter();
            names
                .map(|name| std::fs::read(folder.join(name)).ok())
                .collect::<Vec<_>>()
        };
        now.as_ref().map(read) != Some(read(&planned))
    }
}
