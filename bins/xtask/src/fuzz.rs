//! `cargo xtask fuzz`: the fuzz targets, each for a given time, on the stable toolchain.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::project::ProjectCheckout;
use crate::{install, shell, terminal};

/// From so many seconds on, a run's progress is shown.
const WATCHED: u32 = 30;

/// What to fuzz, and for how long.
#[derive(Debug, Args)]
pub(crate) struct FuzzOptions {
    /// The target to run; all of them when not given
    target: Option<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u32,
    /// List the targets and stop
    #[arg(long)]
    list: bool,
}

/// Runs the command.
///
/// # Errors
/// When a target is unknown, cannot be built, or finds an input that breaks it.
pub(crate) fn run(project: &ProjectCheckout, options: &FuzzOptions) -> Result<ExitCode> {
    let targets = targets(project)?;
    if options.list {
        targets.iter().for_each(|target| terminal::line(target));
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = match &options.target {
        Some(name) if targets.contains(name) => vec![name.clone()],
        Some(name) => bail!("no fuzz target `{name}`; there are: {}", targets.join(", ")),
        None => targets,
    };
    let broken = run_targets(project, &chosen, options.seconds)?;
    if broken.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    bail!("broken by an input: {}", broken.join(", "))
}

/// The targets' names, in the order of their manifest.
///
/// # Errors
/// When there is no fuzz package, or its manifest cannot be read.
pub(crate) fn targets(project: &ProjectCheckout) -> Result<Vec<String>> {
    let manifest = folder(project).join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest)
        .with_context(|| format!("{} cannot be read", manifest.display()))?;
    target_names(&text)
}

/// Builds all targets; returns the tool that runs them.
///
/// # Errors
/// When the tool cannot be installed or a target does not build.
pub(crate) fn build_targets(project: &ProjectCheckout) -> Result<PathBuf> {
    let tool = install::cargo_tool(project, "cargo-fuzz")?;
    // libFuzzer is C++ and is built from source.
    install::program(&["c++", "g++", "clang++"], "g++")?;
    shell::run(&mut cargo_fuzz(project, &tool, "build"))?;
    Ok(tool)
}

/// Builds all targets once, then runs those given; returns those that an input broke.
///
/// # Errors
/// When the tool cannot be installed or a target does not build.
pub(crate) fn run_targets(
    project: &ProjectCheckout,
    targets: &[String],
    seconds: u32,
) -> Result<Vec<String>> {
    // Apart from the runs, so that a target that does not build is not taken for a broken one.
    let tool = build_targets(project)?;
    if seconds >= WATCHED {
        let mut broken = Vec::new();
        for target in targets {
            if shell::run(&mut run_one(project, &tool, target, seconds)?).is_err() {
                broken.push(target.clone());
            }
        }
        return Ok(broken);
    }
    let commands = targets.iter().map(|target| {
        let command = run_one(project, &tool, target, seconds)?;
        Ok((target.clone(), command))
    });
    // Each takes one processor.
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    run_beside(commands.collect::<Result<_>>()?, at_once)
}

/// Runs commands beside each other, so many at once, and shows what each has said when it has
/// ended; the names of those that failed, in their order.
fn run_beside(commands: Vec<(String, Command)>, at_once: usize) -> Result<Vec<String>> {
    let order: Vec<String> = commands.iter().map(|(name, _)| name.clone()).collect();
    let waiting = Mutex::new(commands.into_iter());
    let next = || waiting.lock().ok()?.next();
    let output = terminal::output();
    let work = || -> Result<Vec<String>> {
        terminal::print_to(output.clone());
        let mut failed = Vec::new();
        while let Some((name, mut command)) = next() {
            let finished = shell::quiet(&mut command)?;
            let text = finished.text();
            terminal::line(&format!(
                "$ {}\n{}",
                shell::display(&command),
                text.trim_end()
            ));
            if !finished.status.success() {
                failed.push(name);
            }
        }
        Ok(failed)
    };
    let mut failed = Vec::new();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once.max(1)).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            match worker.join() {
                Ok(found) => failed.extend(found?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        anyhow::Ok(())
    })?;
    Ok(order
        .into_iter()
        .filter(|name| failed.contains(name))
        .collect())
}

/// Whether the project has fuzz targets at all.
pub(crate) fn exists(project: &ProjectCheckout) -> bool {
    folder(project).join("Cargo.toml").is_file()
}

fn folder(project: &ProjectCheckout) -> PathBuf {
    project.root.join("integration-tests/fuzz")
}

fn cargo_fuzz(project: &ProjectCheckout, tool: &Path, task: &str) -> Command {
    let mut command = shell::cargo_tool(tool, &project.root, &[task]);
    command.arg("--fuzz-dir").arg(folder(project));
    command.arg("--target-dir").arg(project.cache.join("fuzz"));
    // Sanitizers and coverage are unstable flags; this makes the stable compiler accept them, so
    // that no second toolchain is needed.
    command.env("RUSTC_BOOTSTRAP", "1");
    command
}

/// The corpus grows in the cache folder; inputs kept in the tree are read as well.
fn run_one(project: &ProjectCheckout, tool: &Path, target: &str, seconds: u32) -> Result<Command> {
    let corpus = project.cache.join("fuzz-corpus").join(target);
    std::fs::create_dir_all(&corpus)?;
    let mut command = cargo_fuzz(project, tool, "run");
    command.arg(target).arg(corpus);
    let seeds = folder(project).join("seeds").join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let time = format!("-max_total_time={seconds}");
    command.args(["--", &time, "-timeout=10", "-print_final_stats=1"]);
    if seconds < WATCHED {
        // A line for each new input is thousands of lines: for those who watch a long run only.
        command.arg("-verbosity=0");
    }
    Ok(command)
}

fn target_names(manifest: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse().context("the fuzz manifest is not TOML")?;
    let bins = manifest
        .get("bin")
        .and_then(toml::Value::as_array)
        .cloned()
        .unwrap_or_default();
    let name = |bin: &toml::Value| {
        bin.get("name")
            .and_then(toml::Value::as_str)
            .map(str::to_owned)
    };
    let names: Vec<String> = bins.iter().filter_map(name).collect();
    if names.is_empty() {
        bail!("the fuzz manifest names no [[bin]] target");
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_runs_stand_beside_each_other_and_those_that_fail_are_named_in_order() {
        let sh = |name: &str, script: &str| {
            let mut command = shell::command("sh", Path::new("/"));
            command.args(["-c", script]);
            (name.to_owned(), command)
        };
        let folder = tempfile::tempdir().expect("a folder");
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        // Each ends only when the other has begun.
        let meet = |own: &Path, other: &Path| {
            let (own, other) = (own.display(), other.display());
            format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done; exit 1")
        };
        let commands = vec![
            sh("b", &meet(&one, &two)),
            sh("good", "true"),
            sh("a", &meet(&two, &one)),
        ];
        let failed = run_beside(commands, 2).expect("sh starts");
        assert_eq!(failed, ["b", "a"]);
        let missing = vec![(
            "x".to_owned(),
            shell::command("no-such-program", Path::new("/")),
        )];
        assert!(run_beside(missing, 1).is_err());
        assert!(run_beside(Vec::new(), 0).expect("nothing to do").is_empty());
    }

    #[test]
    fn targets_are_the_bins_of_the_manifest() {
        let manifest =
            "[package]\nname = 'fuzz'\n[[bin]]\nname = 'a'\npath = 'a.rs'\n[[bin]]\nname = 'b'\n";
        assert_eq!(target_names(manifest).expect("two targets"), ["a", "b"]);
        assert!(
            target_names("[package]\nname = 'fuzz'\n").is_err(),
            "no target is no success"
        );
        assert!(target_names("[[bin]\n").is_err());
    }
}
