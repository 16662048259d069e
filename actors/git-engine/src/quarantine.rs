//! A bare repository for one request: the references of the remote over the objects of its mirror,
//! for reading, and for a push that is looked at before the remote gets it.
//!
//! ```text
//! mirror ──objects (alternates), references──▶ Quarantine ◀── pack of a stranger (index-pack --strict)
//!                                                  └── push, with the leases that the client named ──▶ remote
//! ```

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command::{Git, GitInvocation, last_line};
use crate::error::GitError;
use crate::mirror::Mirror;
use crate::remote::Remote;

/// Commits that one push may bring.
const MAX_NEW_COMMITS: usize = 20_000;
/// What a reference leads to, through a tag or not, then itself.
const FORMAT: &str = "--format=%(if)%(*objectname)%(then)%(*objecttype) %(*objectname)%(else)%(objecttype) %(objectname)%(end) %(objectname) %(refname)";
/// Longest listing of references.
const MAX_REFERENCES: usize = 64 << 20;
/// Clones without files may be had, and none by patterns that cost much.
const FILTERS: [&str; 4] = [
    "uploadpack.allowFilter=true",
    "uploadpackfilter.allow=false",
    "uploadpackfilter.blob:none.allow=true",
    "uploadpackfilter.tree.allow=true",
];
const DEFAULT_BRANCH_TIMEOUT: Duration = Duration::from_secs(60);

/// The repository of one request; whoever made its folder removes it.
#[derive(Debug)]
pub struct Quarantine {
    git: Git,
    folder: PathBuf,
    references: Vec<(String, String)>,
    /// What the references lead to.
    commits: Vec<String>,
}

/// A reference that is to be moved at the remote.
#[derive(Debug, Clone, Copy)]
pub struct PushedRef<'a> {
    /// The whole name; whoever gives it has checked it.
    pub reference: &'a str,
    /// Where it must be; empty: nowhere.
    pub expected: &'a str,
    /// Where it shall be; empty: removed.
    pub target: &'a str,
}

/// What the remote says to a push.
#[derive(Debug)]
pub struct ForgeAnswer {
    /// All was done.
    pub is_success: bool,
    /// As `--porcelain` has it.
    pub porcelain: String,
    /// What git and the remote said beside it.
    pub messages: String,
    /// The lines of it that say what went wrong, in one.
    pub reason: String,
}

impl Quarantine {
    /// One in `folder`, which must not exist, with what the remote has now.
    ///
    /// # Errors
    /// When the remote cannot be reached or refuses, or the folder cannot be written.
    pub fn open(mirror: &Mirror, remote: &Remote, folder: &Path) -> Result<Self, GitError> {
        mirror.fetch_named(remote)?;
        let absolute = |path: &Path| std::path::absolute(path).map_err(|e| GitError::io(path, e));
        let (folder, objects) = (
            absolute(folder)?,
            absolute(&mirror.folder().join("objects"))?,
        );
        std::fs::create_dir_all(&folder).map_err(|e| GitError::io(&folder, e))?;
        let git = mirror.git().clone();
        git.call(&folder, "init")
            .args(["--quiet", "--bare", "."])
            .output()?;
        let listed = mirror.call("for-each-ref").at_most(MAX_REFERENCES);
        let listed = listed.args([FORMAT, "refs/named/"]).text()?;
        let (mut references, mut commits) = (Vec::new(), BTreeSet::new());
        for line in listed.lines() {
            let mut words = line.splitn(4, ' ');
            let (kind, commit) = (words.next(), words.next());
            let (Some(commit), Some(id), Some(name)) = (commit, words.next(), words.next()) else {
                continue;
            };
            if let Some(name) = name.strip_prefix("refs/named/") {
                references.push((id.to_owned(), format!("refs/{name}")));
                commits.extend((kind == Some("commit")).then(|| commit.to_owned()));
            }
        }
        let packed = references.iter().map(|(id, name)| format!("{id} {name}\n"));
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|e| GitError::io(&path, e))
        };
        write("packed-refs", packed.collect())?;
        write(
            "objects/info/alternates",
            format!("{}\n", objects.display()),
        )?;
        Ok(Self {
            git,
            folder,
            references,
            commits: commits.into_iter().collect(),
        })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Branches and tags of the remote: what each points to, and its whole name.
    pub fn references(&self) -> &[(String, String)] {
        &self.references
    }

    /// Lets clients see a reference of a pull request (its `head`, or its `merge`), beside branches
    /// and tags; it counts as none of the remote's references.
    ///
    /// # Errors
    /// When the remote cannot be reached, refuses, or has none.
    pub fn show_pull(
        &self,
        mirror: &Mirror,
        remote: &Remote,
        (number, which): (u64, &str),
    ) -> Result<(), GitError> {
        let commit = mirror.fetch_pull(remote, (number, which))?;
        self.show(&commit, &format!("refs/pull/{number}/{which}"))
    }

    /// Lets clients see a commit of the mirror by this name; the remote need not know of it.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn show(&self, commit: &str, reference: &str) -> Result<(), GitError> {
        use std::io::Write as _;
        let path = self.folder.join("packed-refs");
        let line = format!("{commit} {reference}\n");
        let appended = std::fs::OpenOptions::new().append(true).open(&path);
        let written = appended.and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(|error| GitError::io(&path, error))
    }

    /// Lets `HEAD` be the remote's default branch, as clones ask for it.
    ///
    /// # Errors
    /// When the remote cannot be reached or refuses.
    pub fn point_head(&self, mirror: &Mirror, remote: &Remote) -> Result<(), GitError> {
        let call = mirror
            .call("ls-remote")
            .remote(remote)
            .with_limit(DEFAULT_BRANCH_TIMEOUT);
        let listed = call
            .args(["--quiet", "--symref", "--", remote.address(), "HEAD"])
            .text()?;
        let head = listed.lines().find_map(|line| {
            let (name, _) = line.strip_prefix("ref: ")?.split_once('\t')?;
            name.starts_with("refs/heads/").then(|| name.to_owned())
        });
        let Some(head) = head else { return Ok(()) };
        let point = self.call("symbolic-ref").args(["HEAD", &head]);
        point.output().map(drop)
    }

    /// Serves what a client reads: the references, or one request from a file; `protocol` is the
    /// version that the client asked for, as it said it.
    ///
    /// # Errors
    /// When git fails, takes too long or sends more than is allowed.
    pub fn upload_pack(
        &self,
        request: Option<File>,
        protocol: Option<&str>,
        answer: File,
    ) -> Result<(), GitError> {
        let mut call = self.call("upload-pack").output_file(answer);
        for setting in FILTERS {
            call = call.setting(setting);
        }
        let call = match protocol {
            Some(protocol) => call.env("GIT_PROTOCOL", protocol),
            None => call,
        };
        let call = call.args(["--strict", "--stateless-rpc"]);
        let call = match request {
            None => call.arg("--advertise-refs"),
            Some(request) => call.input_file(request),
        };
        let ended = call.arg(".").run_to_end()?;
        self.succeeded("upload-pack", ended.status, &ended.err)
    }

    fn succeeded(
        &self,
        what: &str,
        status: std::process::ExitStatus,
        err: &[u8],
    ) -> Result<(), GitError> {
        if status.success() {
            return Ok(());
        }
        Err(self.git.refined(GitError::Failed {
            what: what.to_owned(),
            status: status.to_string(),
            message: last_line(err),
        }))
    }

    /// Takes a pack in, of at most `limit` bytes, with every object checked.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take_pack(&self, pack: File, limit: u64) -> Result<(), GitError> {
        let call = self.call("index-pack").input_file(pack);
        let call = call.args(["--stdin", "--fix-thin", "--strict"]);
        let ended = call.arg(format!("--max-input-size={limit}")).run_to_end()?;
        self.succeeded("index-pack", ended.status, &ended.err)
    }

    /// Brings in what the remote has behind a reference or an id, every object checked.
    ///
    /// # Errors
    /// When the remote cannot be reached, refuses, or has no such thing.
    pub fn fetch(&self, remote: &Remote, what: &str) -> Result<(), GitError> {
        let call = self.call("fetch").remote(remote);
        let call = call.setting("fetch.fsckObjects=true").args([
            "--quiet",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
        ]);
        let call = call.args(["--", remote.address(), what]);
        call.output()
            .map(drop)
            .map_err(|error| self.git.refined(error))
    }

    /// The commit behind an object; `None`: there is none.
    ///
    /// # Errors
    /// When git cannot run.
    pub fn commit(&self, object: &str) -> Result<Option<String>, GitError> {
        let peeled = format!("{object}^{{commit}}");
        let call = self.call("rev-parse");
        match call
            .args(["--quiet", "--verify", "--end-of-options", &peeled])
            .text()
        {
            Ok(id) => Ok(Some(id)),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Commits behind these tips that the remote has on no branch and no tag, with their parents.
    ///
    /// # Errors
    /// When something is missing of what the tips need, or there are too many.
    pub fn new_commits(&self, tips: &[String]) -> Result<Vec<(String, Vec<String>)>, GitError> {
        let tips = || format!("{}\n", tips.join("\n")).into_bytes();
        const NEW: [&str; 3] = ["--stdin", "--not", "--all"];
        // All that the tips need is here: trees and files of the new commits, too.
        let objects = self.call("rev-list").input(tips());
        objects.args(["--quiet", "--objects"]).args(NEW).output()?;
        let call = self.call("rev-list").input(tips());
        let most = format!("--max-count={}", MAX_NEW_COMMITS + 1);
        let listed = call.args(["--parents", &most]).args(NEW).text()?;
        let commits = listed.lines().filter_map(|line| {
            let mut ids = line.split(' ').map(str::to_owned);
            Some((ids.next()?, ids.collect()))
        });
        let commits: Vec<(String, Vec<String>)> = commits.collect();
        if commits.len() > MAX_NEW_COMMITS {
            return Err(GitError::Unexpected {
                what: "push".to_owned(),
                reason: format!("more than {MAX_NEW_COMMITS} new commits"),
            });
        }
        Ok(commits)
    }

    /// Of these commits, given with their parents, those that have something else at one of the
    /// paths than each of their parents, or anything there and no parents: with the first such
    /// path. What stands there is compared by kind and id: a link to an object that is not here is
    /// not the folder of that id.
    ///
    /// # Errors
    /// When git fails.
    pub fn changing(
        &self,
        commits: &[(String, Vec<String>)],
        paths: &[&str],
    ) -> Result<Vec<(String, String)>, GitError> {
        let asked = commits.iter().map(|(id, _)| format!("{id}\n"));
        let found = self.differences(asked.collect(), paths)?;
        let changing = commits.iter().filter_map(|(id, parents)| {
            let (differing, path) = found.get(id)?;
            (*differing >= parents.len()).then(|| (id.clone(), path.clone()))
        });
        Ok(changing.collect())
    }

    /// Whether a commit has something at one of the paths, and at all of them what a branch or tag
    /// of the remote has there.
    ///
    /// # Errors
    /// When git fails.
    pub fn is_known(&self, commit: &str, paths: &[&str]) -> Result<bool, GitError> {
        let call = self
            .call("ls-tree")
            .args(["--full-tree", "-z", commit, "--"]);
        let has_none = call.args(paths.iter().copied()).output()?.is_empty();
        if has_none || self.commits.is_empty() {
            return Ok(false);
        }
        // As if they were its parents: it is compared with each.
        let line = format!("{commit} {}\n", self.commits.join(" "));
        let found = self.differences(line, paths)?;
        let differing = found.get(commit).map_or(0, |(differing, _)| *differing);
        Ok(differing < self.commits.len())
    }

    /// Of each commit named in these lines, with parents or with its own: how many of them have
    /// something else at one of the paths, and the first such path.
    fn differences(
        &self,
        lines: String,
        paths: &[&str],
    ) -> Result<HashMap<String, (usize, String)>, GitError> {
        let call = self.call("diff-tree").input(lines.into_bytes());
        let call = call.at_most(MAX_REFERENCES).args(["--stdin", "-m"]);
        let call = call.args(["--root", "-r", "-t", "--raw", "--no-abbrev", "--no-renames"]);
        let listed = call.arg("--").args(paths.iter().copied()).text()?;
        let mut found: HashMap<String, (usize, String)> = HashMap::new();
        let mut current = String::new();
        for line in listed.lines() {
            match line.split_once('\t') {
                None => {
                    line.clone_into(&mut current);
                    found.entry(current.clone()).or_default().0 += 1;
                }
                Some((_, path)) => {
                    // What is above a folder differs with it.
                    let inside = paths.iter().find(|one| path.starts_with(*one));
                    let first = &mut found.entry(current.clone()).or_default().1;
                    if let (true, Some(inside)) = (first.is_empty(), inside) {
                        (*inside).clone_into(first);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Moves references at the remote, each only where it is where it is expected.
    ///
    /// # Errors
    /// When git cannot run or takes too long; then it is not known what was moved.
    pub fn push(
        &self,
        remote: &Remote,
        references: &[PushedRef<'_>],
        atomic: bool,
    ) -> Result<ForgeAnswer, GitError> {
        // Else a reference that is called like a commit's id would be pushed in its place.
        let packed = self.folder.join("packed-refs");
        std::fs::write(&packed, "").map_err(|error| GitError::io(&packed, error))?;
        let call = self.call("push").remote(remote);
        let call = call.args(["--porcelain", "--no-verify", "--no-follow-tags"]);
        let call = call.args(["--no-signed", "--recurse-submodules=no"]);
        let call = if atomic { call.arg("--atomic") } else { call };
        let lease =
            |one: &PushedRef<'_>| format!("--force-with-lease={}:{}", one.reference, one.expected);
        let call = call.args(references.iter().map(lease));
        let moved = |one: &PushedRef<'_>| format!("{}:{}", one.target, one.reference);
        let call = call.args(["--", remote.address()]);
        let ended = call.args(references.iter().map(moved)).run_to_end()?;
        Ok(ForgeAnswer {
            is_success: ended.status.success(),
            porcelain: String::from_utf8_lossy(&ended.out).into_owned(),
            messages: String::from_utf8_lossy(&ended.err).into_owned(),
            reason: last_line(&ended.err),
        })
    }

    fn call(&self, what: &str) -> GitInvocation {
        // Nothing above the folder is taken for the repository.
        self.git
            .call(&self.folder, what)
            .env("GIT_DIR", &self.folder)
    }
}
