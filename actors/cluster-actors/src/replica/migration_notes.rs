//! What a migration has copied and compared, so that the next pass need not read it again.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use parking_lot::Mutex;

/// The file within the folder of the migration.
const FILE: &str = "copied";

/// The objects of one target, a line each below the target's name. A line that was cut names none.
pub(crate) struct MigrationNotes {
    known: HashSet<String>,
    file: Mutex<File>,
}

impl MigrationNotes {
    /// The notes about this target; those about another one are forgotten.
    pub(crate) fn open(folder: &Path, target: &str) -> io::Result<Self> {
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let of_target = text.strip_prefix(&format!("{target}\n"));
        // The last one only with its end.
        let whole = of_target.and_then(|lines| lines.rsplit_once('\n'));
        let known = whole.map(|(lines, _)| lines.lines().map(str::to_owned).collect());
        let mut file = File::options().create(true).append(true).open(&path)?;
        if of_target.is_none() {
            file.set_len(0)?;
            file.write_all(format!("{target}\n").as_bytes())?;
        } else {
            // Ends a line that was cut.
            file.write_all(b"\n")?;
        }
        Ok(Self {
            known: known.unwrap_or_default(),
            file: Mutex::new(file),
        })
    }

    /// Whether an object was copied and compared.
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.known.contains(key)
    }

    /// Remembers that it was.
    pub(crate) fn record(&self, key: &str) -> io::Result<()> {
        match self.contains(key) {
            true => Ok(()),
            false => self.file.lock().write_all(format!("{key}\n").as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_notes_are_of_one_target_and_a_cut_line_names_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let open = |target| MigrationNotes::open(folder.path(), target).unwrap();
        let notes = open("s3://a");
        notes.record("objects/aa/1").unwrap();
        notes.record("objects/bb/2").unwrap();
        assert!(
            !notes.contains("objects/aa/1"),
            "what this pass did it knows itself"
        );
        let path = folder.path().join(FILE);
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("objects/cc/3-cut");
        std::fs::write(&path, text).unwrap();
        let notes = open("s3://a");
        assert!(notes.contains("objects/aa/1") && notes.contains("objects/bb/2"));
        assert!(!notes.contains("objects/cc/3-cut"));
        notes.record("objects/dd/4").unwrap();
        assert!(open("s3://a").contains("objects/dd/4"));
        assert!(!open("s3://b").contains("objects/aa/1"));
        assert!(
            !open("s3://a").contains("objects/aa/1"),
            "the other one began anew"
        );
    }
}
