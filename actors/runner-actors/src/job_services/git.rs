//! git for jobs, by their placeholder: reading over the repository's mirror, pushes through a
//! quarantine.
//!
//! ```text
//! git fetch ─▶ 127.0.0.1:3128/owner/repo ─▶ decide_git ─▶ mirror brought up to date ─▶ upload-pack
//! git push  ─▶ …/git-receive-pack ─▶ pack (index-pack --strict) ─▶ rules ─▶ noted ─▶ forge (FORGE_TOKEN)
//!                                                            report-status ◀── its answer for each reference
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git_engine::{Mirror, PushedRef, Quarantine, Remote};
use runner_core::event::PullRequestCommit;
use runner_core::gateway::{
    GitCall, GitService, MAX_PUSH_HEAD, PushCommand, PushHead, asked_pulls, decide_git,
    forge_messages, parse_porcelain, parse_push, push_advertisement, push_report,
};
use tokio::sync::OwnedSemaphorePermit;

use super::forge::{ForgeGrant, GatewayRefusal, UNTOLD, not_served, refusal};
use super::git_backend::GitBackend;
use super::push_checks::{checked, pack_fault, permitted};
use super::{BASE, JobServices};
use crate::clock::now_ms;
use crate::token_pushes;

/// Most bytes of what a client says that it has and wants: a line for each reference.
const MAX_READ_REQUEST: u64 = 16 << 20;
/// Most bytes of a request in which pull requests are looked for.
const MAX_NAMES: u64 = 64 << 10;

/// A request of git's.
#[derive(Debug)]
pub struct GitRequest {
    /// What it shows as its token.
    pub token: String,
    /// The method's word.
    pub method: String,
    /// The path behind the gateway's address for git, as it came.
    pub path: String,
    /// The query, as it stands there.
    pub query: Option<String>,
    /// The version of the protocol, as git asks for it.
    pub protocol: Option<String>,
}

/// What git is answered.
#[derive(Debug)]
pub enum GitAnswer {
    /// A short answer, and its content type.
    Whole(String, Vec<u8>),
    /// One in a file, which is removed with what holds it.
    File(String, PathBuf, GitFolder),
    /// Ask there.
    Elsewhere(String),
}

/// A folder of one request, gone with it; what a kill leaves is swept at the next start.
#[derive(Debug)]
pub struct GitFolder(PathBuf);

impl GitFolder {
    /// A new one in the folder of what is on its way.
    pub(super) fn new(within: &Path) -> std::io::Result<Self> {
        let name = format!("git-{}", uuid::Uuid::new_v4().simple());
        let folder = within.join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    /// Where its repository is made.
    pub(super) fn quarantine(&self) -> PathBuf {
        self.0.join("quarantine.git")
    }

    /// Where the request's body is written.
    #[must_use]
    pub fn body(&self) -> PathBuf {
        self.0.join("body")
    }
}

impl Drop for GitFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(event = "run.quarantine_left", %error, "a quarantine is removed at the next start");
        }
    }
}

/// A request that is served.
pub struct AdmittedGit {
    services: JobServices,
    grant: Arc<ForgeGrant>,
    call: GitCall,
    request: GitRequest,
    turn: Option<OwnedSemaphorePermit>,
}

/// Where git finds the gateway: repositories are at the top, as programs expect that read a host,
/// an owner and a name out of an address.
pub(crate) fn git_address() -> String {
    BASE.to_owned()
}

impl JobServices {
    /// Decides on a request of git's.
    ///
    /// # Errors
    /// Why it is not served.
    pub fn admit_git(&self, request: GitRequest) -> Result<AdmittedGit, GatewayRefusal> {
        let grant = self.forge_grant(&request.token)?;
        let asked = (
            request.method.as_str(),
            request.path.as_str(),
            request.query.as_deref(),
        );
        let may = &grant.may;
        let call = decide_git(asked, &may.repository, &may.permissions);
        let call = call.map_err(|refused| refusal(403, refused.to_string()))?;
        grant.count(now_ms())?;
        Ok(AdmittedGit {
            services: self.clone(),
            grant,
            call,
            request,
            turn: None,
        })
    }
}

impl AdmittedGit {
    /// A folder for its body and all that comes of it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn folder(&self) -> std::io::Result<GitFolder> {
        GitFolder::new(&self.services.shared.folder)
    }

    /// Waits for its turn among the job's requests: before anything of it is on the disk. It has it
    /// to its end, whether the client waits or not.
    pub async fn wait_for_turn(&mut self) {
        let turn = Arc::clone(&self.grant.git_at_once).acquire_owned().await;
        self.turn = turn.ok();
    }

    /// Most bytes of its body: what a client has and wants is no pack.
    #[must_use]
    pub fn max_body(&self) -> u64 {
        if matches!(self.call, GitCall::Serve(GitService::UploadPack)) {
            return MAX_READ_REQUEST;
        }
        let forge = self.services.shared.forge.as_ref();
        let git = forge.and_then(|forge| forge.git.as_ref());
        git.map_or(0, |git| git.max_pack + MAX_PUSH_HEAD as u64)
    }

    /// Whether it comes with a body.
    #[must_use]
    pub fn has_body(&self) -> bool {
        matches!(self.call, GitCall::Serve(_))
    }

    /// Unpacks a body that came packed. Blocks.
    ///
    /// # Errors
    /// When it is not packed, or larger than a body may be.
    pub fn unpack(&self, folder: &GitFolder) -> std::io::Result<()> {
        let most = self.max_body();
        let unpacked = folder.0.join("unpacked");
        let packed = std::io::BufReader::new(File::open(folder.body())?);
        let mut plain = flate2::bufread::GzDecoder::new(packed).take(most + 1);
        let bytes = std::io::copy(&mut plain, &mut File::create(&unpacked)?)?;
        if bytes > most {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        std::fs::rename(unpacked, folder.body())
    }

    /// Serves it; the body lies in the folder, where there is one. A client that goes away stops
    /// nothing.
    ///
    /// # Errors
    /// Why it is not served.
    pub async fn serve(self, folder: GitFolder) -> Result<GitAnswer, GatewayRefusal> {
        let among_all = Arc::clone(&self.services.shared.git_at_once);
        let among_all = among_all.acquire_owned().await;
        let served = tokio::task::spawn_blocking(move || {
            let _among_all = among_all;
            self.served(folder)
        });
        served.await.unwrap_or_else(|_| Err(refusal(500, UNTOLD)))
    }

    /// Blocks.
    fn served(&self, folder: GitFolder) -> Result<GitAnswer, GatewayRefusal> {
        let forge = self.services.shared.forge.as_ref();
        let forge = forge.ok_or_else(|| refusal(404, "git is not served here"))?;
        let may = &self.grant.may;
        if let GitCall::Elsewhere(path) = &self.call {
            let own = may.clone_url.strip_suffix(".git").unwrap_or(&may.clone_url);
            let base = own.get(..own.len().saturating_sub(may.repository.len()));
            let base = base.filter(|base| base.starts_with("http"));
            let base = base.ok_or_else(|| refusal(404, "there is no such repository"))?;
            let query = self.request.query.as_deref().unwrap_or_default();
            return Ok(GitAnswer::Elsewhere(format!("{base}{path}?{query}")));
        }
        let (backend, mirror, remote) = forge.git_places(may)?;
        let told = |error: &dyn std::fmt::Display| not_served(may, error);
        let (GitCall::Advertise(service) | GitCall::Serve(service)) = self.call else {
            return Err(refusal(404, UNTOLD));
        };
        let is_request = matches!(self.call, GitCall::Serve(_));
        let word = if is_request {
            "result"
        } else {
            "advertisement"
        };
        let kind = format!("application/x-{}-{word}", service.name());
        // Before a large request git asks whether it may, by one that is empty.
        if is_request && std::fs::metadata(folder.body()).is_ok_and(|body| body.len() == 4) {
            return Ok(GitAnswer::Whole(kind, Vec::new()));
        }
        let quarantine = Quarantine::open(&mirror, &remote, &folder.quarantine());
        let quarantine = quarantine.map_err(|error| told(&error))?;
        match service {
            GitService::ReceivePack if is_request => {
                let answer = self.push(backend, &quarantine, &remote, &folder.body());
                answer.map(|answer| GitAnswer::Whole(kind, answer))
            }
            GitService::ReceivePack => {
                let answer = push_advertisement(quarantine.references());
                Ok(GitAnswer::Whole(kind, answer))
            }
            GitService::UploadPack => {
                if is_request {
                    self.show_pulls(&quarantine, (&mirror, &remote), &folder);
                }
                let read = self.read(&quarantine, (&mirror, &remote), &folder, is_request);
                let answer = read.map_err(|error| told(&error))?;
                Ok(GitAnswer::File(kind, answer, folder))
            }
        }
    }

    /// What git asks for by the names of pull requests is fetched first, but for the merge that the
    /// run is of, which the runner has made; what is not there is not shown.
    fn show_pulls(
        &self,
        quarantine: &Quarantine,
        (mirror, remote): (&Mirror, &Remote),
        folder: &GitFolder,
    ) {
        let mut begin = Vec::new();
        let file = File::open(folder.body());
        let read = file.and_then(|file| file.take(MAX_NAMES).read_to_end(&mut begin));
        if read.is_err() {
            return;
        }
        let own = self.grant.may.merged.as_ref();
        for (number, which) in asked_pulls(&begin) {
            let own = own.filter(|own| own.0 == number && which == PullRequestCommit::Merge);
            let shown = match own {
                Some((_, commit)) => quarantine.show(commit, &format!("refs/pull/{number}/merge")),
                None => quarantine.show_pull(mirror, remote, (number, which.word())),
            };
            if let Err(error) = shown {
                tracing::debug!(event = "run.pull_not_fetched", number, %error, "a job asks for a pull request that is not there");
            }
        }
    }

    fn read(
        &self,
        quarantine: &Quarantine,
        (mirror, remote): (&Mirror, &Remote),
        folder: &GitFolder,
        is_request: bool,
    ) -> std::io::Result<PathBuf> {
        use std::io::Write as _;
        let path = folder.0.join("answer");
        let mut answer = File::create(&path)?;
        let protocol = self.request.protocol.as_deref();
        let request = match is_request {
            true => Some(File::open(folder.body())?),
            false => {
                quarantine
                    .point_head(mirror, remote)
                    .map_err(std::io::Error::other)?;
                // The second version begins with its own words.
                if !protocol.is_some_and(|protocol| protocol.contains("version=2")) {
                    answer.write_all(b"001e# service=git-upload-pack\n0000")?;
                }
                None
            }
        };
        let served = quarantine.upload_pack(request, protocol, answer);
        served.map_err(std::io::Error::other)?;
        Ok(path)
    }

    /// One push, from its request to its answer.
    fn push(
        &self,
        backend: &GitBackend,
        quarantine: &Quarantine,
        remote: &Remote,
        body: &Path,
    ) -> Result<Vec<u8>, GatewayRefusal> {
        let broken = |error: &dyn std::fmt::Display| refusal(400, format!("the push: {error}"));
        let mut file = File::open(body).map_err(|error| broken(&error))?;
        let mut begin = Vec::new();
        let most = MAX_PUSH_HEAD as u64;
        let read = (&mut file).take(most).read_to_end(&mut begin);
        read.map_err(|error| broken(&error))?;
        let head = parse_push(&begin).map_err(|error| broken(&error))?;
        let (head, at) = head.ok_or_else(|| broken(&"it breaks off"))?;
        let found = file.seek(SeekFrom::Start(at as u64));
        found.map_err(|error| broken(&error))?;
        if head.commands.is_empty() {
            return Ok(Vec::new());
        }
        let refused = |reason: &str| {
            head.commands
                .iter()
                .map(|_| Err(reason.to_owned()))
                .collect()
        };
        if head.commands.iter().any(|command| !command.removes())
            && let Err(error) = quarantine.take_pack(file, backend.max_pack)
        {
            let reason = pack_fault(&error, backend.max_pack);
            let results: Vec<_> = refused("unpacker error");
            return Ok(push_report(&head, &[], Err(&reason), &results));
        }
        let mut results: Vec<Result<(), String>> = head
            .commands
            .iter()
            .map(|one| permitted(quarantine, one))
            .collect();
        let moved = |results: &[Result<(), String>]| {
            let both = head.commands.iter().zip(results);
            let moved = both.filter(|(_, result)| result.is_ok());
            moved
                .map(|(command, _)| command.clone())
                .collect::<Vec<_>>()
        };
        if let Err(reason) = checked(quarantine, &moved(&results)) {
            for result in &mut results {
                *result = result.clone().and(Err(reason.clone()));
            }
        }
        if head.atomic && results.iter().any(Result::is_err) {
            for result in &mut results {
                *result = result.clone().and(Err("atomic push failed".to_owned()));
            }
        }
        let wanted = moved(&results);
        let mut messages = Vec::new();
        if !wanted.is_empty() {
            let (said, answers) = self.ask_forge(backend, quarantine, remote, (&head, &wanted));
            messages = said;
            for (command, result) in head.commands.iter().zip(&mut results) {
                if let Some(answer) = answers.get(&command.reference) {
                    *result = answer.clone();
                }
            }
        }
        Ok(push_report(&head, &messages, Ok(()), &results))
    }

    /// Pushes with the runner's own token; what the forge says, and of each reference what became
    /// of it.
    fn ask_forge(
        &self,
        backend: &GitBackend,
        quarantine: &Quarantine,
        remote: &Remote,
        (head, wanted): (&PushHead, &[PushCommand]),
    ) -> (Vec<String>, HashMap<String, Result<(), String>>) {
        let all = |reason: &str| {
            let refused = wanted.iter();
            refused
                .map(|one| (one.reference.clone(), Err(reason.to_owned())))
                .collect::<HashMap<_, _>>()
        };
        // What was asked for is looked at for minutes: the job may have ended meanwhile.
        if self.services.forge_grant(&self.request.token).is_err() {
            return (Vec::new(), all("the job has ended, and its token with it"));
        }
        let repository = self.grant.may.repository.clone();
        let (noted, noted_ms) = (wanted.to_vec(), now_ms());
        let of = repository.clone();
        let note = backend
            .store
            .write_blocking(move |rows| token_pushes::record_pushes(rows, &of, &noted, noted_ms));
        if let Err(error) = note {
            tracing::warn!(event = "run.push_not_noted", %repository, %error, "a job's push is refused: it cannot be noted");
            return (
                Vec::new(),
                all("the runner cannot note the push now; try again"),
            );
        }
        fn or_none(id: &str, is_none: bool) -> &str {
            if is_none { "" } else { id }
        }
        let references: Vec<PushedRef<'_>> = wanted
            .iter()
            .map(|one| PushedRef {
                reference: &one.reference,
                expected: or_none(&one.old, one.makes()),
                target: or_none(&one.new, one.removes()),
            })
            .collect();
        let answer = match quarantine.push(remote, &references, head.atomic) {
            Ok(answer) => answer,
            Err(error) => {
                tracing::warn!(event = "run.push_lost", %repository, %error, "what became of a job's push is not known");
                return (Vec::new(), all("the forge gave no answer in time"));
            }
        };
        let mut told = parse_porcelain(&answer.porcelain);
        let mut results = HashMap::new();
        for one in wanted {
            let result = told
                .remove(&one.reference)
                .unwrap_or_else(|| match answer.is_success {
                    true => Ok(()),
                    false => Err(format!("the forge refuses: {}", answer.reason)),
                });
            results.insert(one.reference.clone(), result);
        }
        let refused = wanted.iter().filter(|one| results[&one.reference].is_err());
        let refused: Vec<PushCommand> = refused.cloned().collect();
        tracing::info!(event = "run.pushed", %repository, references = wanted.len(), refused = refused.len(), "a job has pushed with its token");
        if !refused.is_empty() {
            let forgotten = backend.store.write_blocking(move |rows| {
                token_pushes::forget(rows, &repository, &refused, noted_ms)
            });
            // Then a push of the same by somebody else within a day starts nothing.
            if let Err(error) = forgotten {
                tracing::warn!(event = "run.push_not_forgotten", %error, "a refused push stays noted");
            }
        }
        (forge_messages(&answer.messages), results)
    }
}
