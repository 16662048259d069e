//! What the search server's tests need of the machine: MCP servers of npm, and a Python with
//! packages of PyPI.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::project::ProjectCheckout;
use crate::{install, shell, terminal};

/// The reference servers of the Model Context Protocol; they are released together.
const MCP_SERVERS: [&str; 3] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
];

/// The official SDK, a server made with it, and a language-model server with what writes a model
/// for it.
const PYTHON_PACKAGES: [&str; 4] = [
    "mcp==2.3.0",
    "mcp-server-git==2026.10.19",
    "xllamacpp==2026.10.11549",
    "gguf==0.19.0",
];

/// Programs, and Debian's packages for them.
const PROGRAMS: [(&[&str], &str); 1] = [(&["task"], "taskwarrior")];

/// A page of Python's documentation, made by Sphinx.
const PYTHON_DOCS: (&str, &str) = ("/usr/share/doc/python3-doc/html/objects.inv", "python3-doc");

/// Makes sure that everything is there; gives the variables by which tests find them.
///
/// # Errors
/// Which one is missing and how it is installed, when that cannot be done here.
pub(crate) fn prepare(project: &ProjectCheckout) -> Result<Vec<(&'static str, PathBuf)>> {
    for (names, package) in PROGRAMS {
        install::program(names, package)?;
    }
    install::system_program(PYTHON_DOCS.0, PYTHON_DOCS.1)?;
    Ok(vec![
        (
            "ORRERY_MCP_SERVERS",
            install::node_packages(project, "mcp-servers-2026.8.31", &MCP_SERVERS)?,
        ),
        ("ORRERY_PYTHON", python(project)?),
    ])
}

/// A Python of its own, with the packages.
fn python(project: &ProjectCheckout) -> Result<PathBuf> {
    let folder = project.cache.join("pypi").join("search-parts");
    let python = folder.join("bin/python");
    let complete = folder.join("complete");
    // What was installed is written last: an interrupted or older install is done again.
    let wanted = PYTHON_PACKAGES.join("\n");
    if std::fs::read_to_string(&complete).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let system = install::program(&["python3"], "python3")?;
    std::fs::create_dir_all(&folder)?;
    terminal::line("Python packages for tests are missing: installing them from PyPI");
    let mut make = shell::command(&system.to_string_lossy(), &folder);
    shell::run(make.args(["-m", "venv", "--clear", "."])).context("install python3-venv")?;
    let mut install = shell::command(&python.to_string_lossy(), &folder);
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    shell::run(install.args(PYTHON_PACKAGES))
        .with_context(|| format!("run it by hand in {}", folder.display()))?;
    std::fs::write(complete, wanted)?;
    Ok(python)
}
