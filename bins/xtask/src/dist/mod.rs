//! `cargo xtask dist`: a release as `bins/dist/install.sh` fetches it.
//!
//! ```text
//! OUT/install.sh                        the installer, which knows where releases are
//! OUT/latest                            v1.2.3
//! OUT/v1.2.3/PROGRAM-v1.2.3-TARGET.tar.gz
//! OUT/v1.2.3/SHA256SUMS
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::project::Project;
use crate::{prerequisites, shell, terminal};

/// Where a release goes, and where it will be fetched from.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Folder for the release; what it holds of other versions stays
    #[arg(long, value_name = "FOLDER", default_value = "target/dist")]
    out: PathBuf,
    /// Address that the installer fetches from: the folder's on a server, or a repository's
    /// `…/releases/download`
    #[arg(long, value_name = "URL")]
    releases: Option<String>,
}

/// Programs of a release; `vm-guest` is built apart.
const PROGRAMS: [&str; 9] = [
    "search-server",
    "service-agent",
    "service-cli",
    "platform",
    "workflow-runner",
    "vm-manager",
    "orchestrator",
    "orchctl",
    "build-dispatch",
];

/// The line of the installer that names the place of releases.
const PLACE: &str = "releases=\"${ORRERY_RELEASES:-}\"";

/// Runs the command.
///
/// # Errors
/// When a program does not build, or the release cannot be written.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    let mut arguments = vec!["build", "--release", "--locked"];
    for program in PROGRAMS {
        arguments.extend(["--bin", program]);
    }
    shell::run(&mut shell::cargo(&project.root, &arguments))?;
    let built = project.target()?.join("release");
    let mut programs: Vec<PathBuf> = PROGRAMS.iter().map(|name| built.join(name)).collect();
    programs.push(prerequisites::vm_guest(project)?);

    let metadata = project.metadata()?;
    let of_workspace = metadata.packages.iter().find(|p| p.name == "platform");
    let version = of_workspace.context("there is no package `platform`")?;
    let release = Release {
        version: format!("v{}", version.version),
        target: host()?,
        out: project.root.join(&options.out),
    };
    release.write(&programs)?;
    let installer = fs::read_to_string(project.root.join("bins/dist/install.sh"))?;
    release.write_installer(&installer, options.releases.as_deref())?;
    terminal::line(&format!(
        "{} for {} is in {}",
        release.version,
        release.target,
        release.out.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// The target of programs that are built here.
fn host() -> Result<String> {
    let version = shell::quiet(shell::command("rustc", Path::new("/")).arg("-vV"))?.out;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .context("rustc -vV does not name its host")
}

/// A release in the making.
struct Release {
    version: String,
    target: String,
    out: PathBuf,
}

impl Release {
    fn folder(&self) -> PathBuf {
        self.out.join(&self.version)
    }

    /// Packs each program, and sums the archives.
    fn write(&self, programs: &[PathBuf]) -> Result<()> {
        let folder = self.folder();
        fs::create_dir_all(&folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        for program in programs {
            self.pack(program)?;
        }
        let archives = format!("*-{}-*.tar.gz", self.version);
        let script = format!("sha256sum -- {archives} > SHA256SUMS");
        shell::run(shell::command("sh", &folder).args(["-c", &script]))?;
        fs::write(self.out.join("latest"), format!("{}\n", self.version))?;
        Ok(())
    }

    /// The same program gives the same archive: owner, time and the header of gzip are fixed.
    fn pack(&self, program: &Path) -> Result<()> {
        let (Some(place), Some(name)) = (program.parent(), program.file_name()) else {
            bail!("{} is no program", program.display());
        };
        let name = name.to_string_lossy();
        let archive = format!("{name}-{}-{}.tar", self.version, self.target);
        let archive = self.folder().join(archive);
        let mut tar = shell::command("tar", place);
        tar.args(["--owner=0", "--group=0", "--numeric-owner", "--mode=755"]);
        tar.args(["--mtime=@0", "-cf"]);
        shell::run(tar.arg(&archive).arg(&*name))?;
        let mut gzip = shell::command("gzip", &self.folder());
        shell::run(gzip.args(["-nf9"]).arg(&archive))
    }

    /// Writes the installer, with the place of releases in it.
    fn write_installer(&self, installer: &str, releases: Option<&str>) -> Result<()> {
        if !installer.contains(PLACE) {
            bail!("bins/dist/install.sh has no line `{PLACE}`");
        }
        let text = match releases {
            Some(url) if url.chars().all(is_plain) => {
                installer.replace(PLACE, &format!("releases=\"${{ORRERY_RELEASES:-{url}}}\""))
            }
            Some(url) => {
                bail!("{url} is no address: it may hold letters, digits and -._~:/%@ only")
            }
            None => installer.to_owned(),
        };
        fs::write(self.out.join("install.sh"), text)?;
        Ok(())
    }
}

/// Whether a character of an address means nothing to a shell.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~:/%@".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(out: &Path) -> Release {
        Release {
            version: "v7.8.9".to_owned(),
            target: host().expect("rustc runs"),
            out: out.to_owned(),
        }
    }

    fn installer() -> String {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist/install.sh");
        fs::read_to_string(place).expect("the installer is there")
    }

    #[test]
    fn what_is_packed_the_installer_installs() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut programs = Vec::new();
        for name in PROGRAMS.iter().chain(&["vm-guest"]) {
            let program = folder.path().join(name);
            fs::write(&program, format!("#!/bin/sh\necho {name}\n")).expect("written");
            programs.push(program);
        }
        let out = folder.path().join("a release");
        let release = release(&out);
        release.write(&programs).expect("packed");
        let sums = fs::read(release.folder().join("SHA256SUMS")).expect("sums");
        release.write(&programs).expect("packed again");
        let again = fs::read(release.folder().join("SHA256SUMS")).expect("sums");
        assert_eq!(sums, again, "the same programs give the same archives");

        release
            .write_installer(&installer(), None)
            .expect("written");
        let mut install = shell::command("sh", folder.path());
        install.arg(out.join("install.sh")).arg("--all");
        install.arg("--install-dir").arg(folder.path().join("bin"));
        install.env(
            "ORRERY_RELEASES",
            format!("file://{}", out.display()).replace(' ', "%20"),
        );
        shell::run(&mut install).expect("installed");
        for name in PROGRAMS.iter().chain(&["vm-guest"]) {
            let mut program = shell::command(
                &folder.path().join("bin").join(name).to_string_lossy(),
                folder.path(),
            );
            let printed = shell::quiet(&mut program).expect("it runs").out;
            assert_eq!(printed.trim(), *name);
        }
    }

    #[test]
    fn the_installer_knows_where_its_releases_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let release = release(folder.path());
        let url = "https://forge.example/me/orrery/releases/download";
        release
            .write_installer(&installer(), Some(url))
            .expect("written");
        let text = fs::read_to_string(folder.path().join("install.sh")).expect("the installer");
        assert!(text.contains(&format!("releases=\"${{ORRERY_RELEASES:-{url}}}\"")));
        for wrong in [
            "https://x/$(reboot)",
            "https://x/\"; reboot",
            "https://x/`id`",
        ] {
            let refused = release.write_installer(&installer(), Some(wrong));
            assert!(refused.is_err(), "{wrong}");
        }
    }
}
