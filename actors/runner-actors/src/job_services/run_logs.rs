//! What jobs have printed, as the forge's REST API gives it: a text of a job, a zip of a run.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Seek as _, Write};
use std::path::Path;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::blob::{BlobDownload, Content, SignedBlob};
use super::{JobSession, ServiceFault};
use crate::log::{LineKind, LogLine, Logs};

/// Jobs whose lines are taken out of a log at once: each has a file of its own meanwhile.
const AT_ONCE: usize = 64;
/// Jobs of a run whose logs are packed.
const MAX_JOBS: usize = 1_024;
/// The longest name in a zip, in characters.
const MAX_NAME: usize = 90;

/// A job whose log is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoggedJob {
    /// The run in which it ran.
    pub(super) run: String,
    pub(super) name: String,
    /// Numbers and names of its steps.
    pub(super) steps: Vec<(u32, String)>,
}

impl JobSession {
    /// Where the text of a job's log is read. Blocks.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn job_log(&self, logs: &Logs, job: &LoggedJob) -> Result<String, ServiceFault> {
        self.offer("text/plain; charset=utf-8", "job.txt", |to| {
            let mut to = BufWriter::new(to);
            for_lines(logs, &job.run, |line| match line.job == job.name {
                true => to.write_all(text_of(&line).as_bytes()),
                false => Ok(()),
            })?;
            to.flush()
        })
    }

    /// Where the zip of a run's logs is read. Blocks.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn run_logs(&self, logs: &Logs, jobs: &[LoggedJob]) -> Result<String, ServiceFault> {
        let folder = self.folder();
        std::fs::create_dir_all(&folder)?;
        let offered = self.offer("application/zip", "logs.zip", |to| {
            zip_of(logs, jobs, &folder, to)
        });
        // Its files have no names by now.
        let _ = std::fs::remove_dir_all(&folder);
        offered
    }

    /// Where something is read that is written once.
    fn offer(
        &self,
        content_type: &str,
        name: &str,
        write: impl FnOnce(File) -> std::io::Result<()>,
    ) -> Result<String, ServiceFault> {
        let folder = self.folder();
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("file");
        let to = File::create_new(&path)?;
        // The folder goes with the address from here on.
        let mut download = BlobDownload {
            path,
            bytes: 0,
            content_type: content_type.to_owned(),
            name: name.to_owned(),
            folder: Some(folder),
            room: None,
        };
        write(to)?;
        download.bytes = std::fs::metadata(&download.path)?.len();
        let download = download.counted(&self.grant.room)?;
        self.open(SignedBlob::new(Content::Download(download)))
    }
}

/// Goes through the lines of a run's log; one that was never written has none.
fn for_lines(
    logs: &Logs,
    run: &str,
    mut each: impl FnMut(LogLine) -> std::io::Result<()>,
) -> std::io::Result<()> {
    logs.fetch(run)?;
    let file = match File::open(logs.path(run)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line)? > 0 {
        // The last one may still be on its way.
        if let Ok(line) = serde_json::from_slice::<LogLine>(&line) {
            each(line)?;
        }
        line.clear();
    }
    Ok(())
}

/// A line as GitHub writes it.
fn text_of(line: &LogLine) -> String {
    let at = i64::try_from(line.at).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    let command = match line.kind {
        LineKind::Info | LineKind::Out | LineKind::Err => "",
        LineKind::Group => "##[group]",
        LineKind::EndGroup => "##[endgroup]",
        LineKind::Notice => "##[notice]",
        LineKind::Warning => "##[warning]",
        LineKind::Error => "##[error]",
    };
    format!("{at:.7} {command}{}\n", line.text)
}

/// A name as it stands in the zip: clients look for it so, and unpack it.
fn entry_name(name: &str) -> String {
    let plain = |letter: &char| !letter.is_control() && !"/\\:*?\"<>|".contains(*letter);
    let name: String = name.chars().filter(plain).take(MAX_NAME).collect();
    match name.trim_matches(['.', ' ']).is_empty() {
        true => format!("job{name}").replace('.', "_"),
        false => name,
    }
}

/// Packs a text of each job, and of each of its steps.
fn zip_of(logs: &Logs, jobs: &[LoggedJob], folder: &Path, to: File) -> std::io::Result<()> {
    let mut zip = ZipWriter::new(BufWriter::new(to));
    let options = SimpleFileOptions::default();
    let mut names = BTreeSet::new();
    let jobs = &jobs[..jobs.len().min(MAX_JOBS)];
    for (first, some) in jobs.chunks(AT_ONCE).enumerate() {
        for (at, (job, mut lines)) in taken(logs, some, folder)?.into_iter().enumerate() {
            let own = entry_name(&job.name);
            let number = first * AT_ONCE + at;
            zip.start_file(format!("{number}_{own}.txt"), options)?;
            lines.rewind()?;
            pack(&lines, None, &mut zip)?;
            // Of two jobs with one name the first has the folder.
            if !names.insert(own.clone()) {
                continue;
            }
            for (step, name) in &job.steps {
                let name = entry_name(name);
                zip.start_file(format!("{own}/{step}_{name}.txt"), options)?;
                lines.rewind()?;
                pack(&lines, Some(*step), &mut zip)?;
            }
        }
    }
    zip.finish()?.flush()
}

/// The lines of some jobs, each behind its step's number.
fn taken<'j>(
    logs: &Logs,
    jobs: &'j [LoggedJob],
    folder: &Path,
) -> std::io::Result<Vec<(&'j LoggedJob, File)>> {
    let mut files = Vec::new();
    for _ in jobs {
        files.push(BufWriter::new(tempfile::tempfile_in(folder)?));
    }
    let runs: BTreeSet<&str> = jobs.iter().map(|job| job.run.as_str()).collect();
    for run in runs {
        for_lines(logs, run, |line| {
            let is = |job: &LoggedJob| job.run == run && job.name == line.job;
            match jobs.iter().position(is) {
                Some(at) => write!(files[at], "{} {}", line.step, text_of(&line)),
                None => Ok(()),
            }
        })?;
    }
    let files = files.into_iter().map(|file| {
        let file = file.into_inner();
        file.map_err(std::io::IntoInnerError::into_error)
    });
    let files: std::io::Result<Vec<File>> = files.collect();
    Ok(jobs.iter().zip(files?).collect())
}

/// Writes the lines of a step, or all.
fn pack(lines: &File, step: Option<u32>, to: &mut impl Write) -> std::io::Result<()> {
    let mut lines = BufReader::new(lines);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let space = line.iter().position(|byte| *byte == b' ');
        let (number, text) = line.split_at(space.map_or(0, |at| at + 1));
        let number = String::from_utf8_lossy(number);
        if step.is_none_or(|step| number.trim_end() == step.to_string()) {
            to.write_all(text)?;
        }
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(job: &str, step: u32, kind: LineKind, text: &str) -> LogLine {
        LogLine {
            at: 1_795_000_000_123,
            job: job.to_owned(),
            step,
            kind,
            text: text.to_owned(),
        }
    }

    #[test]
    fn i17_lines_are_written_as_github_writes_them() {
        assert_eq!(
            text_of(&line("a", 1, LineKind::Out, "x y")),
            "2026-11-18T11:06:40.1230000Z x y\n"
        );
        let error = text_of(&line("a", 1, LineKind::Error, "no"));
        assert!(error.ends_with("Z ##[error]no\n"), "{error}");
    }

    #[test]
    fn i17_no_name_leads_out_of_a_zip() {
        for (name, entry) in [
            ("build (1, a/b)", "build (1, ab)"),
            ("..", "job__"),
            ("../../x", "....x"),
            ("a:b\\c\n", "abc"),
            ("", "job"),
        ] {
            assert_eq!(entry_name(name), entry);
        }
        assert_eq!(entry_name(&"x".repeat(500)).len(), MAX_NAME);
    }

    #[test]
    fn i17_the_logs_of_a_run_are_packed_by_job_and_step() {
        let folder = tempfile::tempdir().unwrap();
        let logs = Logs::open(folder.path()).unwrap();
        let write = |run: &str, lines: &[LogLine]| {
            let mut text = String::new();
            for line in lines {
                text += &serde_json::to_string(line).unwrap();
                text.push('\n');
            }
            // The last one is cut off.
            text += "{\"at\":1,";
            std::fs::write(logs.path(run), text).unwrap();
        };
        write("r1", &[line("old", 1, LineKind::Out, "kept")]);
        write(
            "r2",
            &[
                line("", 0, LineKind::Info, "of the run"),
                line("new", 0, LineKind::Info, "a machine"),
                line("new", 1, LineKind::Out, "one"),
                line("new", 12, LineKind::Out, "twelve"),
                line("old", 1, LineKind::Out, "of another"),
            ],
        );
        let job = |run: &str, name: &str, steps: &[u32]| LoggedJob {
            run: run.to_owned(),
            name: name.to_owned(),
            steps: steps
                .iter()
                .map(|step| (*step, "do/it".to_owned()))
                .collect(),
        };
        let jobs = [job("r1", "old", &[1]), job("r2", "new", &[1, 12])];
        let path = folder.path().join("zip");
        zip_of(&logs, &jobs, folder.path(), File::create(&path).unwrap()).unwrap();
        let mut zip = zip::ZipArchive::new(File::open(&path).unwrap()).unwrap();
        let mut text = |name: &str| {
            let mut entry = zip.by_name(name).unwrap();
            std::io::read_to_string(&mut entry).unwrap()
        };
        assert!(text("0_old.txt").ends_with("Z kept\n"));
        assert_eq!(text("1_new.txt").lines().count(), 3);
        assert!(text("new/1_doit.txt").ends_with("Z one\n"));
        assert!(text("new/12_doit.txt").ends_with("Z twelve\n"));
        assert!(text("old/1_doit.txt").ends_with("Z kept\n"));
    }
}
