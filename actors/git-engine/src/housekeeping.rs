//! Housekeeping of a mirror: many small packs become one, old references of ours go, and what
//! nothing names is dropped.
//!
//! git's own (`gc.auto`, `maintenance.auto`) is off: it would run whenever it likes, beside a fetch
//! and without limits.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::command::GitInvocation;
use crate::error::GitError;

/// Packs from which on it is worth it; each fetch leaves one.
const PACKS: usize = 20;
/// Loose objects in one of 256 folders from which on it is worth it, as `git gc --auto` guesses.
const LOOSE: usize = 27;
/// Between two attempts, whatever came of the first: one that takes too long must not be begun
/// again at once.
const RETRY_INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// So long is kept what nothing names: a repository that borrows from this one may use it still.
const PRUNE: &str = "--prune=14.days.ago";
/// References of ours that are kept, newest commits first: what they alone name is fetched again
/// when it is needed.
const KEPT_REFERENCES: usize = 5_000;
/// A file whose time says when it was tried last.
const STAMP: &str = "housekeeping";

/// The references of a mirror that nobody outside made.
#[derive(Debug, Clone, Copy)]
pub struct References<'a> {
    /// Those that only keep a commit from being dropped; old ones go.
    pub pinned: &'a str,
    /// Whether references may be packed into one file.
    pub pack: bool,
}

/// Tidies the bare repository in `folder`, in which `call` calls git, where that is worth it and
/// was not tried for a day. Whether it did. The caller sees to it that nobody else writes
/// meanwhile.
///
/// # Errors
/// When git fails or takes longer than a call may; nothing is lost then.
pub fn housekeep(
    call: &dyn Fn(&str) -> GitInvocation,
    folder: &Path,
    references: References<'_>,
    now: SystemTime,
) -> Result<bool, GitError> {
    if !is_worth_it(folder) || was_tried(folder, now) {
        return Ok(false);
    }
    let stamp = folder.join(STAMP);
    std::fs::write(&stamp, "").map_err(|error| GitError::io(&stamp, error))?;
    drop_old(call, references.pinned)?;
    let gc = call("gc")
        .setting(&format!("gc.packRefs={}", references.pack))
        .setting("pack.windowMemory=64m");
    gc.args(["--quiet", PRUNE]).output()?;
    Ok(true)
}

fn is_worth_it(folder: &Path) -> bool {
    let count = |folder: &str, of: &dyn Fn(&str) -> bool| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter(|entry| of(&entry.file_name().to_string_lossy()));
        names.count()
    };
    let objects = folder.join("objects");
    let in_objects = |name: &str| objects.join(name).to_string_lossy().into_owned();
    count(&in_objects("pack"), &|name| name.ends_with(".pack")) >= PACKS
        || count(&in_objects("17"), &|_| true) >= LOOSE
}

fn was_tried(folder: &Path, now: SystemTime) -> bool {
    let tried = folder
        .join(STAMP)
        .metadata()
        .and_then(|data| data.modified());
    // A time in the future says nothing.
    tried.is_ok_and(|tried| {
        now.duration_since(tried)
            .is_ok_and(|age| age < RETRY_INTERVAL)
    })
}

fn drop_old(call: &dyn Fn(&str) -> GitInvocation, pinned: &str) -> Result<(), GitError> {
    let all =
        call("for-each-ref").args(["--sort=-creatordate", "--format=%(refname)", "--", pinned]);
    let all = all.text()?;
    let old: String = all
        .lines()
        .skip(KEPT_REFERENCES)
        .map(|name| format!("delete {name}\n"))
        .collect();
    if old.is_empty() {
        return Ok(());
    }
    let update = call("update-ref").arg("--stdin");
    update.input(old.into_bytes()).output().map(|_| ())
}
