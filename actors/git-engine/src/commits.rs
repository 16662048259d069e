//! What commits of a mirror say of themselves, many at once.

use forge_core::CommitSha;

use crate::error::GitError;
use crate::mirror::Mirror;

/// Bytes of all that is asked for at once.
const MAX_FACTS: usize = 4 << 20;
/// Between the facts of a commit; git lets none into names.
const FORMAT: &str = "--format=%H%x00%T%x00%cI%x00%an%x00%ae%x00%cn%x00%ce%x00%s";

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFacts {
    /// Its id.
    pub id: String,
    /// Its tree's.
    pub tree: String,
    /// When it was committed, RFC 3339.
    pub committed_at: String,
    /// Name and address of its author.
    pub author: (String, String),
    /// The same of who committed it.
    pub committer: (String, String),
    /// The first line of its message.
    pub subject: String,
}

impl Mirror {
    /// The facts of those of the commits that are here; nothing is fetched.
    ///
    /// # Errors
    /// When git fails.
    pub fn commits(&self, ids: &[CommitSha]) -> Result<Vec<CommitFacts>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let call = self.call("log").at_most(MAX_FACTS);
        let call = call.env("GIT_NO_LAZY_FETCH", "1").args([
            "--no-walk=unsorted",
            "--ignore-missing",
            "--no-show-signature",
            "--encoding=UTF-8",
            "-z",
            FORMAT,
        ]);
        let output = call.args(ids.iter().map(CommitSha::as_str)).arg("--");
        let output = output.output()?;
        let fields: Vec<String> = output
            .split(|byte| *byte == 0)
            .map(|field| String::from_utf8_lossy(field).into_owned())
            .collect();
        let facts = fields.chunks_exact(8).map(|fields| CommitFacts {
            id: fields[0].clone(),
            tree: fields[1].clone(),
            committed_at: fields[2].clone(),
            author: (fields[3].clone(), fields[4].clone()),
            committer: (fields[5].clone(), fields[6].clone()),
            subject: fields[7].clone(),
        });
        Ok(facts.collect())
    }
}
