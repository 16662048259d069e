//! The sample repository: a checkout, and a bare repository that it is pushed to.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The workflow that is run.
pub(super) const WORKFLOW: &str = r#"name: Sample
on: [push]
env: { ORRERY_RERUN_LOST: 3 }
jobs:
  test:
    runs-on: ubuntu-latest
    outputs:
      lines: ${{ steps.count.outputs.lines }}
    steps:
      - uses: actions/checkout@v4
      - name: Say hello
        run: sh hello.sh "$(uname -sr)"
      - id: count
        run: echo "lines=$(wc -l < README.md)" >> "$GITHUB_OUTPUT"
  report:
    needs: test
    runs-on: ubuntu-latest
    steps:
      - run: echo "the README has ${{ needs.test.outputs.lines }} lines"
"#;

const FILES: [(&str, &str); 4] = [
    (".github/workflows/sample.yml", WORKFLOW),
    (
        "README.md",
        "# Sample\n\nA repository to try a platform with.\n",
    ),
    ("LICENSE", "This sample is in the public domain.\n"),
    ("hello.sh", "echo \"Hello from $1\"\n"),
];

/// The repository in a folder of its own.
#[derive(Debug)]
pub(super) struct SampleRepository {
    folder: PathBuf,
}

impl SampleRepository {
    /// Makes it anew, with one commit.
    ///
    /// # Errors
    /// When git fails.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        if folder.exists() {
            std::fs::remove_dir_all(folder)
                .with_context(|| format!("{} cannot be emptied", folder.display()))?;
        }
        let sample = Self {
            folder: folder.to_owned(),
        };
        for (name, text) in FILES {
            let path = sample.checkout().join(name);
            let parent = path.parent().context("a file has a folder")?;
            std::fs::create_dir_all(parent)?;
            std::fs::write(path, text)?;
        }
        sample.git(&["init", "--quiet", "--initial-branch=main", "."])?;
        sample.git(&["init", "--quiet", "--bare", "../main.git"])?;
        sample.commit("A sample")?;
        sample.push("main")?;
        Ok(sample)
    }

    /// The checkout.
    pub(super) fn checkout(&self) -> PathBuf {
        self.folder.join("main")
    }

    /// What is to be served over HTTP: it holds `main.git` and the checkout, nothing of anybody
    /// else.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The commit that is checked out.
    ///
    /// # Errors
    /// When git fails.
    pub(super) fn head(&self) -> Result<String> {
        self.git(&["rev-parse", "HEAD"])
    }

    /// A branch with one more commit, pushed; gives that commit. `main` is checked out again
    /// afterwards.
    ///
    /// # Errors
    /// When git fails.
    pub(super) fn branch(&self, name: &str) -> Result<String> {
        self.git(&["switch", "--quiet", "--create", name])?;
        std::fs::write(
            self.checkout().join("hello.sh"),
            "echo \"Good morning from $1\"\n",
        )?;
        self.commit(&format!("Say good morning ({name})"))?;
        self.push(name)?;
        let head = self.head()?;
        self.git(&["switch", "--quiet", "main"])?;
        Ok(head)
    }

    fn commit(&self, message: &str) -> Result<()> {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--message", message])?;
        Ok(())
    }

    fn push(&self, branch: &str) -> Result<()> {
        let to = format!("HEAD:refs/heads/{branch}");
        self.git(&["push", "--quiet", "../main.git", &to])?;
        // What a server of plain files needs to be cloned from.
        self.git(&["--git-dir=../main.git", "update-server-info"])?;
        Ok(())
    }

    fn git(&self, arguments: &[&str]) -> Result<String> {
        let mut git = Command::new("git");
        git.current_dir(self.checkout()).stdin(Stdio::null());
        // Whatever the user has configured: no hooks, no signing, no template.
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
            .args(arguments);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(name);
        }
        let finished = git.output().context("`git` cannot be started")?;
        if !finished.status.success() {
            bail!(
                "git {} failed: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&finished.stderr).trim()
            );
        }
        let out = String::from_utf8_lossy(&finished.stdout);
        Ok(out.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_made_anew_and_can_be_cloned_from() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = home.path().join("sample");
        let first = SampleRepository::create(&folder).expect("git works");
        std::fs::write(first.checkout().join("left"), "over").expect("it is writable");
        let sample = SampleRepository::create(&folder).expect("git works");
        assert!(!sample.checkout().join("left").exists());
        let base = sample.head().expect("there is a commit");
        let head = sample.branch("topic").expect("git works");
        assert_ne!(head, base);
        let other = sample.branch("other").expect("git works");
        assert_ne!(head, other, "each branch has a commit of its own");
        assert_eq!(sample.head().expect("main is back"), base);
        let info = std::fs::read_to_string(folder.join("main.git/info/refs")).expect("it is there");
        for wanted in ["refs/heads/main", "refs/heads/topic", &base, &head] {
            assert!(info.contains(wanted), "{wanted} in {info}");
        }
    }
}
