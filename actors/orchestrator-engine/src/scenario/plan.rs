//! From the scenario folder to what the browser's script reads.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use config_core::Environment;
use serde::Serialize;

use super::file::{Scenario, parse};
use crate::names::safe_name;

/// The script that runs in node, with playwright-core.
const SCRIPT: &str = include_str!("run.mjs");
/// Most scenario files.
const MAX_FILES: usize = 500;
/// Largest scenario file, in bytes.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// Prepared files of one run of the browser agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserPlan {
    script: PathBuf,
    plan: PathBuf,
    reports: PathBuf,
}

impl BrowserPlan {
    /// The arguments for node.
    pub fn arguments(&self) -> Vec<OsString> {
        [&self.script, &self.plan, &self.reports]
            .map(OsString::from)
            .to_vec()
    }

    /// The folder of the run's report and pictures.
    pub fn reports(&self) -> &Path {
        &self.reports
    }
}

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioPlanError {
    /// Scenario files with mistakes; all of them, ready to be shown.
    #[error("{0}")]
    Wrong(String),
    /// There is no scenario file.
    #[error("{} holds no .toml file: write a scenario, or take the browser agent out", .0.display())]
    Empty(PathBuf),
    /// Too many files, or one that is too large or no plain file.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The disk refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
}

#[derive(Serialize)]
struct Plan<'a> {
    /// The file's name, under which its report stands, and what it holds.
    scenarios: Vec<(&'a str, &'a Scenario)>,
}

/// Checks all files of `scenarios`, and writes the script and the plan into `run_folder`; reports
/// go to `reports/<run>`.
///
/// # Errors
/// [`ScenarioPlanError`] with every mistake of every file.
pub fn prepare(
    scenarios: &Path,
    environment: &Environment,
    run_folder: &Path,
    reports: &Path,
    run: &str,
) -> Result<BrowserPlan, ScenarioPlanError> {
    let all = read_all(scenarios, environment)?;
    let plan = BrowserPlan {
        script: run_folder.join("scenarios.mjs"),
        plan: run_folder.join("scenarios.json"),
        reports: reports.join(safe_name(run)),
    };
    let listed = all
        .iter()
        .map(|(name, scenario)| (name.as_str(), scenario))
        .collect();
    let text = serde_json::to_vec(&Plan { scenarios: listed })
        .expect("texts and numbers always serialise");
    fs::create_dir_all(&plan.reports).map_err(error_at(&plan.reports))?;
    fs::create_dir_all(run_folder).map_err(error_at(run_folder))?;
    fs::write(&plan.script, SCRIPT).map_err(error_at(&plan.script))?;
    fs::write(&plan.plan, text).map_err(error_at(&plan.plan))?;
    Ok(plan)
}

/// Every scenario by its file's name without ending, in order.
fn read_all(
    folder: &Path,
    environment: &Environment,
) -> Result<Vec<(String, Scenario)>, ScenarioPlanError> {
    let entries = fs::read_dir(folder).map_err(error_at(folder))?;
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "toml");
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(is_toml)
        .collect();
    paths.sort();
    if paths.is_empty() {
        return Err(ScenarioPlanError::Empty(folder.to_owned()));
    }
    if paths.len() > MAX_FILES {
        return Err(ScenarioPlanError::Refused {
            path: folder.to_owned(),
            reason: "more than 500 scenario files",
        });
    }
    let (mut read, mut wrong) = (Vec::new(), Vec::new());
    for path in paths {
        let shown = path.display().to_string();
        match parse(&shown, &bytes(&path)?, environment) {
            Ok(scenario) => {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                read.push((safe_name(&name), scenario));
            }
            Err(diagnostics) => wrong.push(diagnostics.to_string()),
        }
    }
    if wrong.is_empty() {
        Ok(read)
    } else {
        Err(ScenarioPlanError::Wrong(wrong.join("\n")))
    }
}

/// A plain file only: a pipe or a device would be waited for.
fn bytes(path: &Path) -> Result<Vec<u8>, ScenarioPlanError> {
    let data = path.symlink_metadata().map_err(error_at(path))?;
    if !data.is_file() || data.len() > MAX_FILE_BYTES {
        let reason = "not a plain file of at most 256 KiB";
        return Err(ScenarioPlanError::Refused {
            path: path.to_owned(),
            reason,
        });
    }
    fs::read(path).map_err(error_at(path))
}

fn error_at(path: &Path) -> impl FnOnce(io::Error) -> ScenarioPlanError + '_ {
    move |source| ScenarioPlanError::Io {
        path: path.to_owned(),
        source,
    }
}
