//! What a former incarnation left in folders that begin empty.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Has nothing at `folder` any more. What is there is moved aside and removed on a thread of its
/// own: some thousand files of jobs that were ended take seconds, and for these nobody would lead.
pub(crate) fn clear(folder: &Path) {
    let mut left = moved_aside(folder);
    let fresh = folder.with_extension(format!("left-{}", uuid::Uuid::new_v4().simple()));
    match fs::rename(folder, &fresh) {
        Ok(()) => left.push(fresh),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // What stays is in nobody's way: all that is made in it has a name of its own.
        Err(_) => left.push(folder.to_owned()),
    }
    if left.is_empty() {
        return;
    }
    let remove = move || {
        for one in left {
            // What cannot be removed now is tried again at the next start.
            let _ = fs::remove_dir_all(one);
        }
    };
    let thread = std::thread::Builder::new().name("leftovers".to_owned());
    if let Err(error) = thread.spawn(remove) {
        tracing::warn!(event = "run.leftovers_kept", %error);
    }
}

/// What was moved aside before, by a process that ended meanwhile.
fn moved_aside(folder: &Path) -> Vec<PathBuf> {
    let aside = folder.with_extension("left-");
    let (Some(parent), Some(begin)) = (aside.parent(), aside.file_name()) else {
        return Vec::new();
    };
    let begin = begin.to_string_lossy();
    let found = fs::read_dir(parent).into_iter().flatten().flatten();
    let ours = found.filter(|entry| entry.file_name().to_string_lossy().starts_with(&*begin));
    ours.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn i18_what_jobs_left_is_out_of_the_way_at_once_and_gone_in_the_end() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("checkouts");
        clear(&folder);
        for of in [
            "checkouts/run/deep/er",
            "checkouts.left-before/run",
            "other",
        ] {
            fs::create_dir_all(home.path().join(of)).expect("room");
            fs::write(home.path().join(of).join("file"), "left").expect("room");
        }
        clear(&folder);
        assert!(!folder.exists());
        fs::create_dir_all(folder.join("next")).expect("it can be used");
        let names = || {
            let found = fs::read_dir(home.path()).expect("a folder");
            let names = found.map(|entry| entry.expect("an entry").file_name());
            let mut names: Vec<_> = names
                .map(|name| name.to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        let until = Instant::now() + Duration::from_secs(30);
        while names() != ["checkouts", "other"] {
            assert!(Instant::now() < until, "{:?}", names());
            std::thread::yield_now();
        }
        assert!(folder.join("next").is_dir(), "what is new stays");
    }
}
