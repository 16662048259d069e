//! Running other programs: shown before they run, never asking anything.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::output::TaskOutput;
use crate::terminal;

/// What a program left behind.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// Its standard output, without colours.
    pub(crate) out: String,
    /// Its standard error, without colours.
    pub(crate) err: String,
}

impl ProgramOutput {
    /// Standard output, then standard error.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

/// A command that runs in `folder` and reads nothing from the terminal.
pub(crate) fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// `cargo` with these arguments; the same cargo that runs this program.
pub(crate) fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = command(&program, folder);
    command.args(arguments);
    clean(&mut command);
    command
}

/// A subcommand of cargo by its own program, called as cargo would.
pub(crate) fn cargo_tool(tool: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = command(&tool.to_string_lossy(), folder);
    let name = tool.file_name().unwrap_or_default().to_string_lossy();
    command
        .arg(name.trim_start_matches("cargo-"))
        .args(arguments);
    clean(&mut command);
    command
}

fn clean(command: &mut Command) {
    // What cargo tells this process about the xtask package must not reach the builds it starts:
    // build scripts watch some of it and would run again for nothing.
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR")
        {
            command.env_remove(name);
        }
    }
    if terminal::is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
}

/// The command as a person would type it.
pub(crate) fn display(command: &Command) -> String {
    let mut text = String::new();
    for (name, value) in command.get_envs() {
        if let (Some(name), Some(value)) = (name.to_str(), value.and_then(|value| value.to_str()))
            && name != "CARGO_TERM_COLOR"
        {
            let _ = write!(text, "{name}={} ", quoted(value));
        }
    }
    let program = Path::new(command.get_program());
    text.push_str(&program.file_name().unwrap_or_default().to_string_lossy());
    for argument in command.get_args() {
        let _ = write!(text, " {}", quoted(&argument.to_string_lossy()));
    }
    text
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Runs the command with its output passed on as it comes, and kept.
///
/// # Errors
/// When the program cannot be started; a bad exit is for the caller to judge.
pub(crate) fn tee(command: &mut Command) -> Result<ProgramOutput> {
    terminal::line(&format!("$ {}", display(command)));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = start(command)?;
    let out = child
        .stdout
        .take()
        .context("standard output was not piped")?;
    let err = child
        .stderr
        .take()
        .context("standard error was not piped")?;
    let output = terminal::output();
    let (out, err) = match &output {
        Some(output) => {
            let other = output.clone();
            let err = thread::spawn(move || copy_and_collect(err, |line| other.write(line)));
            (copy_and_collect(out, |line| output.write(line)), err)
        }
        None => {
            let err = thread::spawn(move || copy_and_collect(err, to(std::io::stderr())));
            (copy_and_collect(out, to(std::io::stdout())), err)
        }
    };
    let err = err.join().unwrap_or_default();
    Ok(ProgramOutput {
        status: wait(child)?,
        out: without_colours(&out),
        err: without_colours(&err),
    })
}

/// Runs the command with this terminal, or to where this thread prints; an exit other than 0 is an
/// error.
///
/// # Errors
/// When the program cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    terminal::line(&format!("$ {}", display(command)));
    let status = match terminal::output() {
        Some(output) => run_apart(command, output)?,
        None => wait(start(command)?)?,
    };
    if !status.success() {
        bail!("`{}` failed: {status}", display(command));
    }
    Ok(())
}

/// How long the output of what a program left running is waited for: one that went to the
/// background may hold the pipe open for ever.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Both outputs go through one pipe, so that their lines keep their order.
fn run_apart(command: &mut Command, output: TaskOutput) -> Result<ExitStatus> {
    let (reader, writer) = std::io::pipe().context("there is no pipe")?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let child = start(command);
    // The command holds the ends for writing: without them, the pipe ends with the program.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (is_done, done) = mpsc::channel::<()>();
    thread::spawn(move || {
        copy_and_collect(reader, |line| output.write(line));
        drop(is_done);
    });
    let status = wait(child?)?;
    let _ = done.recv_timeout(LAST_WORDS);
    Ok(status)
}

fn wait(mut child: Child) -> Result<ExitStatus> {
    child.wait().context("the program could not be waited for")
}

/// Runs the command silently and keeps its output.
///
/// # Errors
/// When the program cannot be started.
pub(crate) fn quiet(command: &mut Command) -> Result<ProgramOutput> {
    let output = command.output().with_context(|| not_started(command))?;
    let plain = |bytes: &[u8]| without_colours(&String::from_utf8_lossy(bytes));
    Ok(ProgramOutput {
        status: output.status,
        out: plain(&output.stdout),
        err: plain(&output.stderr),
    })
}

/// The first line a program prints, when it runs and ends well.
pub(crate) fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output
        .status
        .success()
        .then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// The program's place on `PATH`.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

fn start(command: &mut Command) -> Result<Child> {
    command.spawn().with_context(|| not_started(command))
}

fn not_started(command: &Command) -> String {
    format!(
        "`{}` cannot be started",
        command.get_program().to_string_lossy()
    )
}

/// Whatever a line is written to: a reader that went away (`| head`) must not stop the run, its
/// verdict still counts.
fn to(mut to: impl Write) -> impl FnMut(&[u8]) {
    move |line| {
        let _ = to.write_all(line);
    }
}

fn copy_and_collect(from: impl Read, mut to: impl FnMut(&[u8])) -> String {
    let mut kept = String::new();
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    while reader
        .read_until(b'\n', &mut line)
        .is_ok_and(|read| read > 0)
    {
        to(&line);
        kept.push_str(&String::from_utf8_lossy(&line));
        line.clear();
    }
    kept
}

/// The text without terminal escapes (ECMA-48 control sequences).
pub(crate) fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '\x1b' {
            plain.push(c);
        } else if characters.next() == Some('[') {
            characters.by_ref().find(|c| ('\x40'..='\x7e').contains(c));
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_off() {
        assert_eq!(without_colours("\x1b[32;1mok\x1b[0m, 2 é"), "ok, 2 é");
        assert_eq!(without_colours("plain"), "plain");
    }

    #[test]
    fn a_shown_command_can_be_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command
            .args(["doc", "a b", "it's"])
            .env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(
            display(&command),
            r"RUSTDOCFLAGS='-D warnings' cargo doc 'a b' 'it'\''s'"
        );
    }

    #[test]
    fn output_is_kept_and_the_exit_is_the_callers_to_judge() {
        let mut sh = command("sh", Path::new("/"));
        let finished = tee(sh.args(["-c", "echo out; echo err >&2; exit 3"])).expect("sh starts");
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!(finished.text(), "out\nerr\n");
        assert!(run(command("sh", Path::new("/")).args(["-c", "exit 3"])).is_err());
        assert!(run(&mut command("no-such-program", Path::new("/"))).is_err());
    }
}
