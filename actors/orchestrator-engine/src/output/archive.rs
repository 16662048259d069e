//! A log in one file, for other machines: a tar of its segments and its end.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use super::log::{END_FILE, LogError, LogSummary};
use super::reader::{abandon, end_of, kept_bytes};

/// What is known of a log without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogExtent {
    /// Bytes of the output so far.
    pub bytes: u64,
    /// Whether its writer has closed it.
    pub complete: bool,
}

/// How long the log in `folder` is; `None` where nothing was printed.
///
/// # Errors
/// [`LogError`] when the log cannot be read.
pub fn extent(folder: &Path) -> Result<Option<LogExtent>, LogError> {
    // Looked at first: whatever was written before the end is found below.
    let end = end_of(folder)?;
    let (printed, _) = kept_bytes(folder)?;
    let complete = end.is_some_and(|end| end.complete);
    let bytes = end.map_or(printed, |end| end.bytes.max(printed));
    Ok((bytes > 0).then_some(LogExtent { bytes, complete }))
}

/// Writes what there is of the log in `folder` into one file; the log may be written meanwhile.
///
/// # Errors
/// [`LogError`] when the log cannot be read, or the file not be written.
pub fn pack(folder: &Path, to: &Path) -> Result<(), LogError> {
    let mut archive = tar::Builder::new(File::create(to).map_err(LogError::at_path(to))?);
    // First, for the same reason.
    let end = fs::read(folder.join(END_FILE)).ok();
    let mut names: Vec<String> = fs::read_dir(folder)
        .map_err(LogError::at_path(folder))?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_segment(name))
        .collect();
    names.sort_unstable();
    for name in names {
        let path = folder.join(&name);
        let file = match File::open(&path) {
            // Given up meanwhile: a gap that readers are told about.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file.map_err(LogError::at_path(&path))?,
        };
        // As long as it is now: output goes on coming.
        let length = file.metadata().map_err(LogError::at_path(&path))?.len();
        let appended = archive.append_data(&mut header(length), &name, file.take(length));
        appended.map_err(LogError::at_path(&path))?;
    }
    if let Some(end) = end {
        let mut header = header(end.len() as u64);
        let appended = archive.append_data(&mut header, END_FILE, &*end);
        appended.map_err(LogError::at_path(to))?;
    }
    archive
        .into_inner()
        .map(drop)
        .map_err(LogError::at_path(to))
}

/// Puts the log of such a file into `folder`, in place of what is there. One that was never closed
/// is closed.
///
/// # Errors
/// [`LogError`] when the file is none of [`pack`], or cannot be read or written.
pub fn unpack(from: &Path, folder: &Path) -> Result<LogSummary, LogError> {
    let fresh = folder.with_extension("fetched");
    let _ = fs::remove_dir_all(&fresh);
    fs::create_dir_all(&fresh).map_err(LogError::at_path(&fresh))?;
    unpack_into(from, &fresh).map_err(LogError::at_path(from))?;
    let summary = abandon(&fresh)?;
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::rename(&fresh, folder),
    }
    .map_err(LogError::at_path(folder))?;
    Ok(summary)
}

fn unpack_into(from: &Path, folder: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(File::open(from)?);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if name != END_FILE && !is_segment(&name) {
            let text = format!("it holds `{name}`, which no log has");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        io::copy(&mut entry, &mut File::create_new(folder.join(name))?)?;
    }
    Ok(())
}

fn is_segment(name: &str) -> bool {
    let digits = name.strip_suffix(".log").unwrap_or_default();
    digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn header(length: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(length);
    header.set_mode(0o600);
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{AgentLogReader, LogSizes, Redactor, RunLog};

    const SIZES: LogSizes = LogSizes { head: 8, tail: 8 };

    fn text(folder: &Path) -> String {
        AgentLogReader::tail(folder, 1 << 20).unwrap()
    }

    #[test]
    fn i18_a_log_is_the_same_on_another_machine() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut log = RunLog::create(&path("a"), SIZES, Redactor::new(Vec::new())).unwrap();
        assert_eq!(extent(&path("a")).unwrap(), None);
        log.push(b"one two three four five six seven ");
        let open = extent(&path("a")).unwrap().unwrap();
        assert!(open.bytes > 0 && !open.complete, "{open:?}");
        pack(&path("a"), &path("open.tar")).unwrap();
        unpack(&path("open.tar"), &path("b")).unwrap();
        assert!(
            text(&path("b")).starts_with("one two "),
            "{}",
            text(&path("b"))
        );
        let there = extent(&path("b")).unwrap().unwrap();
        assert_eq!((there.bytes, there.complete), (open.bytes, false));

        log.push(b"eight");
        let (summary, _) = log.finish();
        pack(&path("a"), &path("whole.tar")).unwrap();
        assert_eq!(unpack(&path("whole.tar"), &path("b")).unwrap(), summary);
        assert_eq!(text(&path("b")), text(&path("a")));
        assert!(
            text(&path("b")).ends_with("seven eight"),
            "{}",
            text(&path("b"))
        );
        assert!(extent(&path("b")).unwrap().unwrap().complete);
    }

    #[test]
    fn i18_what_is_no_log_is_not_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let tar = folder.path().join("x.tar");
        let mut archive = tar::Builder::new(File::create(&tar).unwrap());
        archive
            .append_data(&mut header(1), "etc/passwd", &b"x"[..])
            .unwrap();
        archive.into_inner().unwrap();
        let refused = unpack(&tar, &folder.path().join("log")).unwrap_err();
        assert!(refused.to_string().contains("no log has"), "{refused}");
        assert!(!folder.path().join("log").exists());
    }
}
