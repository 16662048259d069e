//! The commit that a pull request would be merged as.

use forge_core::{CommitSha, ObjectFormats};

use crate::error::GitError;
use crate::mirror::Mirror;

/// Who makes such commits.
const NAME: &str = "workflow-runner";
const EMAIL: &str = "workflow-runner@localhost";
/// Bytes of what git says of files that conflict.
const MAX_OUTPUT: usize = 1 << 20;

/// What a merge comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// The commit: its first parent is the base.
    Commit(CommitSha),
    /// The files in which both contradict each other.
    Conflict(Vec<String>),
}

impl Mirror {
    /// Merges `head` into `base`, which are both here, without any work tree. The same two give the
    /// same commit, whenever and wherever it is made; a reference keeps it.
    ///
    /// # Errors
    /// When one of them is not here, they have no commit in common, or git takes too long.
    pub fn merge(&self, base: &CommitSha, head: &CommitSha) -> Result<Merge, GitError> {
        let tree = match self.merged_tree(base, head)? {
            Ok(tree) => tree,
            Err(files) => return Ok(Merge::Conflict(files)),
        };
        // The time of the head: that of the clock would make another commit each time.
        let time = self
            .call("show")
            .args(["-s", "--format=%ct", head.as_str()]);
        let time = format!("@{} +0000", time.text()?);
        let message = format!("Merge {head} into {base}\n");
        let commit = self.call("commit-tree");
        let commit = commit
            .env("GIT_AUTHOR_NAME", NAME)
            .env("GIT_AUTHOR_EMAIL", EMAIL)
            .env("GIT_AUTHOR_DATE", &time)
            .env("GIT_COMMITTER_NAME", NAME)
            .env("GIT_COMMITTER_EMAIL", EMAIL)
            .env("GIT_COMMITTER_DATE", &time);
        let commit = commit.args(["--no-gpg-sign", &tree, "-p", base.as_str(), "-p"]);
        let commit = commit.arg(head.as_str()).input(message.into_bytes());
        let commit = parsed("commit-tree", &commit.text()?)?;
        self.keep(&commit)?;
        Ok(Merge::Commit(commit))
    }

    /// The tree of both, or the files that conflict.
    fn merged_tree(
        &self,
        base: &CommitSha,
        head: &CommitSha,
    ) -> Result<Result<String, Vec<String>>, GitError> {
        let call = self.call("merge-tree").at_most(MAX_OUTPUT);
        let call = call.args(["--write-tree", "--no-messages", "--name-only", "-z"]);
        let ended = call.args([base.as_str(), head.as_str()]).run_to_end()?;
        let said = String::from_utf8_lossy(&ended.out).into_owned();
        let mut said = said.split('\0').filter(|part| !part.is_empty());
        match (ended.status.code(), said.next()) {
            (Some(0), Some(tree)) => Ok(Ok(tree.to_owned())),
            (Some(1), Some(_)) => Ok(Err(said.map(str::to_owned).collect())),
            _ => Err(GitError::Failed {
                what: "merge-tree".to_owned(),
                status: ended.status.to_string(),
                message: crate::command::last_line(&ended.err),
            }),
        }
    }
}

fn parsed(what: &str, text: &str) -> Result<CommitSha, GitError> {
    CommitSha::parse(text.trim(), ObjectFormats::Sha1AndSha256).map_err(|error| {
        GitError::Unexpected {
            what: what.to_owned(),
            reason: error.to_string(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Git;
    use crate::mirror::Mirrors;

    /// A commit of these files, made where it is.
    fn commit(mirror: &Mirror, parents: &[&CommitSha], files: &[(&str, &str)]) -> CommitSha {
        let mut tree = String::new();
        for (name, text) in files {
            let blob = mirror.call("hash-object").args(["-w", "--stdin"]);
            let blob = blob.input(text.as_bytes().to_vec()).text().unwrap();
            tree.push_str(&format!("100644 blob {blob}\t{name}\n"));
        }
        let tree = mirror.call("mktree").input(tree.into_bytes()).text();
        let call = mirror.call("commit-tree").args([tree.unwrap().as_str()]);
        let call = call
            .env("GIT_AUTHOR_NAME", "t")
            .env("GIT_AUTHOR_EMAIL", "t");
        let call = call.env("GIT_COMMITTER_NAME", "t");
        let call = call.env("GIT_COMMITTER_EMAIL", "t").args(["-m", "x"]);
        let parents = parents.iter().flat_map(|parent| ["-p", parent.as_str()]);
        parsed("commit-tree", &call.args(parents).text().unwrap()).unwrap()
    }

    #[test]
    fn i17_a_head_is_merged_into_its_base_and_the_same_two_give_the_same_commit() {
        let root = tempfile::TempDir::new().unwrap();
        let git = Git::new("git", &std::env::var("PATH").unwrap());
        let mirrors = Mirrors::new(git, root.path());
        let mirror = mirrors.open(&"a/b".parse().unwrap()).unwrap();
        let first = commit(&mirror, &[], &[("a", "1\n")]);
        let head = commit(&mirror, &[&first], &[("a", "2\n")]);
        let base = commit(&mirror, &[&first], &[("a", "1\n"), ("b", "1\n")]);
        let merge = mirror.merge(&base, &head).unwrap();
        let Merge::Commit(merged) = &merge else {
            panic!("{merge:?}");
        };
        assert_eq!(mirror.read(merged, "a", 9).unwrap(), b"2\n");
        assert_eq!(mirror.changed(&base, merged).unwrap(), ["a"]);
        let text = mirror.message(merged, 200).unwrap();
        assert_eq!(text, format!("Merge {head} into {base}"));
        assert_eq!(mirror.merge(&base, &head).unwrap(), merge);
        let other = commit(&mirror, &[&first], &[("a", "3\n")]);
        let conflict = Merge::Conflict(vec!["a".to_owned()]);
        assert_eq!(mirror.merge(&other, &head).unwrap(), conflict);
        let alone = commit(&mirror, &[], &[("a", "2\n")]);
        let error = mirror.merge(&alone, &head).unwrap_err();
        assert!(error.to_string().contains("unrelated"), "{error}");
    }
}
