//! `hashFiles` over what steps have left in the workspace: the files are hashed in the machine.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use runner_core::context::WORKSPACE;
use runner_core::hashed::hashed_patterns;
use runner_core::plan::PlannedStep;
use runner_core::state::StepEnd;

use super::frame::{Frame, StepResult};
use super::hash::{CheckedOut, Patterns, hash_files, hash_of, pattern_lines, relative};
use super::step_runner::StepRunner;

/// What `hashFiles` gives in one step.
pub(super) struct FileHashes {
    /// Of the workspace as it is now, by the patterns.
    known: HashMap<Vec<String>, Result<String, String>>,
    /// What is checked out, for all others.
    roots: Vec<CheckedOut>,
}

impl FileHashes {
    pub(super) fn hash(&self, patterns: &[String]) -> Result<String, String> {
        let known = self.known.get(patterns).cloned();
        known.unwrap_or_else(|| hash_files(&self.roots, patterns))
    }
}

/// Where the files' hashes are written.
const DIRECTORY: &str = "hashed";
/// Arguments: where to write, the workspace, how `find` takes links, then pairs of a folder and the
/// names looked for.
const SCRIPT: &str = "mkdir -p \"$1\" && cd \"$2\" || exit 1; out=\"$1/list\"; links=\"$3\"; shift 3; \
while [ $# -gt 1 ]; do [ ! -e \"./$1\" ] || find \"$links\" \"./$1\" -name .git -prune -o -name \"$2\" \\( -type f -o -type l -exec test -f {} \\; \\) -print0; shift 2; done \
| sort -zu | xargs -0 -r sha256sum -z -- > \"$out\"";

impl StepRunner<'_> {
    /// The hashes that a step asks for, of the workspace as it is now. None while nothing but
    /// checkouts has run: what is checked out is on the host too, where links to folders are not
    /// followed.
    pub(super) async fn file_hashes(
        &mut self,
        step: &PlannedStep,
        frame: &Frame,
    ) -> Result<FileHashes, StepResult> {
        let mut known = HashMap::new();
        let contexts = self.step_contexts(step, frame);
        for patterns in hashed_patterns(step, &contexts) {
            if self.is_of_machine(&patterns) {
                let hash = self.machine_hash(&patterns).await?;
                known.insert(patterns, hash);
            }
        }
        let roots = self.checked_out();
        Ok(FileHashes { known, roots })
    }

    /// Whether more than checkouts has run.
    fn has_run_more(&self) -> bool {
        self.counters.now().steps as usize > self.checkouts.trees.len()
    }

    /// Whether files are hashed in the machine.
    fn is_of_machine(&self, patterns: &[String]) -> bool {
        let follows = pattern_lines(patterns).is_ok_and(|(follows, _)| follows);
        follows || self.has_run_more()
    }

    /// The hash of files as they are now; empty where no file is meant.
    pub(super) async fn hash_now(&mut self, patterns: &[String]) -> Result<String, StepResult> {
        let hash = if self.is_of_machine(patterns) {
            self.machine_hash(patterns).await?
        } else {
            hash_files(&self.checked_out(), patterns)
        };
        hash.map_err(StepResult::error)
    }

    async fn machine_hash(
        &mut self,
        patterns: &[String],
    ) -> Result<Result<String, String>, StepResult> {
        let parsed = match Patterns::parse(patterns) {
            Ok(parsed) => parsed,
            Err(reason) => return Ok(Err(reason)),
        };
        // Of its own: steps beside each other hash at the same time.
        let directory = format!("{}/{DIRECTORY}", self.own_directory());
        let (follows, lines) = match pattern_lines(patterns) {
            Ok(read) => read,
            Err(reason) => return Ok(Err(reason)),
        };
        let links = if follows { "-L" } else { "-P" };
        let mut argv = ["sh", "-c", SCRIPT, "sh", &directory, WORKSPACE, links]
            .map(str::to_owned)
            .to_vec();
        for line in lines.into_iter().filter(|line| !line.starts_with('!')) {
            let (folder, names) = search(&relative(line));
            // What lies outside of the workspace is never hashed.
            if !folder.split('/').any(|part| part == "..") {
                argv.extend([folder, names]);
            }
        }
        let exit = self.command(argv).await;
        if exit.end == StepEnd::Lost {
            return Err(StepResult::lost(exit.reason.unwrap_or_default()));
        }
        if exit.end == StepEnd::Cancelled {
            return Err(StepResult::cancelled());
        }
        if exit.end != StepEnd::Exited(0) {
            let why = exit.reason.unwrap_or_default();
            return Ok(Err(format!(
                "the machine's files could not be hashed (it needs find, sort, xargs and sha256sum): {why}"
            )));
        }
        let files = self.fetch_small(&directory).await;
        let listed = files.map_err(String::from);
        let listed = listed.map(|files| files.into_iter().next().map(|(_, bytes)| bytes));
        Ok(listed.map(|bytes| {
            let digests = digests(&bytes.unwrap_or_default());
            let selected = digests.iter().filter(|(path, _)| parsed.select(path));
            hash_of(selected.map(|(_, digest)| digest.as_slice()))
        }))
    }
}

/// Where files that match a pattern can be, and names that all of them have.
fn search(pattern: &str) -> (String, String) {
    let is_glob = |part: &str| part.contains(['*', '?', '[', '+', '{', '\\']);
    let parts: Vec<&str> = pattern.split('/').collect();
    let fixed = parts.iter().take_while(|part| !is_glob(part)).count();
    let folder = parts[..fixed].join("/");
    let last = parts.last().copied().unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._*-".contains(&byte);
    // What looks like the name of a folder may be one, with files below it.
    let of_file = last.rfind('.').is_some_and(|at| at > 0) && last.bytes().all(plain);
    let names = if fixed < parts.len() && of_file && !last.contains("**") {
        last
    } else {
        "*"
    };
    (folder, names.to_owned())
}

/// The output of `sha256sum -z`: hashes by path.
fn digests(listed: &[u8]) -> BTreeMap<PathBuf, Vec<u8>> {
    let lines = listed.split(|byte| *byte == 0);
    let pairs = lines.filter_map(|line| {
        let line = String::from_utf8_lossy(line);
        let (digest, path) = line.split_once("  ")?;
        let digest = (0..digest.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(digest.get(at..at + 2)?, 16).ok());
        let path = path.trim_start_matches("./").trim_start_matches('/');
        Some((PathBuf::from(path), digest.collect::<Option<Vec<u8>>>()?))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_files_are_looked_for_where_a_pattern_can_match() {
        let cases = [
            ("**/package-lock.json", ("", "package-lock.json")),
            ("a/b/*.lock", ("a/b", "*.lock")),
            ("coverage.xml", ("coverage.xml", "*")),
            ("src", ("src", "*")),
            ("**/src", ("", "*")),
            ("**/.config", ("", "*")),
            ("a/**", ("a", "*")),
            ("a?/x.txt", ("", "x.txt")),
            ("x/[ab].txt", ("x", "*")),
        ];
        for (pattern, (folder, names)) in cases {
            assert_eq!(
                search(pattern),
                (folder.to_owned(), names.to_owned()),
                "{pattern}"
            );
        }
    }

    #[test]
    fn i17_what_the_machine_lists_are_hashes_by_path() {
        let found = digests(b"00ff  ./a b\0abcd  .//x/y\0nonsense\0zz  ./z\0");
        let found: Vec<_> = found
            .iter()
            .map(|(path, digest)| (path.to_str().unwrap(), &digest[..]))
            .collect();
        assert_eq!(found, [("a b", &[0, 255][..]), ("x/y", &[0xab, 0xcd])]);
    }
}
