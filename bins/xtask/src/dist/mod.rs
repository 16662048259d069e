//! `cargo xtask dist`: a release as `bins/dist/install.sh` fetches it.
//!
//! ```text
//! OUT/install.sh                        the installer, which knows where releases are
//! OUT/latest                            v1.2.3
//! OUT/v1.2.3/PROGRAM-v1.2.3-TARGET.tar.gz
//! OUT/v1.2.3/orrery-share-v1.2.3.tar.gz manuals, completions, units
//! OUT/v1.2.3/PACKAGE_1.2.3_amd64.deb
//! OUT/v1.2.3/PROGRAM-v1.2.3.cdx.json    what the program is made of (CycloneDX)
//! OUT/v1.2.3/SHA256SUMS
//! ```

mod archive;
pub(crate) mod debian;
mod manuals;
pub(crate) mod programs;
mod reproducible;
mod sbom;
mod source_date;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use self::programs::{PROGRAMS, host};
use crate::project::ProjectCheckout;
use crate::{prerequisites, shell, terminal};

/// Where a release goes, and where it will be fetched from.
#[derive(Debug, Args)]
pub(crate) struct DistOptions {
    /// Folder for the release; what it holds of other versions stays
    #[arg(long, value_name = "FOLDER", default_value = "target/dist")]
    out: PathBuf,
    /// Address that the installer fetches from: the folder's on a server, or a repository's
    /// `…/releases/download`
    #[arg(long, value_name = "URL")]
    releases: Option<String>,
    /// Make only these parts
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART[,PART]")]
    only: Vec<Part>,
    /// Pack the programs of this folder instead of building them; `vm-guest` is built anyway
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
    /// Compress packages at once rather than well, to try them
    #[arg(long)]
    fast: bool,
    /// Instead of a release: build twice, from two folders, and compare the archives
    #[arg(long)]
    check_reproducible: bool,
    /// The programs that are built twice
    #[arg(
        long,
        value_name = "PROGRAM[,PROGRAM]",
        value_delimiter = ',',
        requires = "check_reproducible",
        default_value = "build-dispatch,vm-guest"
    )]
    twice: Vec<String>,
    /// The profile that they are built in
    #[arg(
        long,
        value_name = "PROFILE",
        requires = "check_reproducible",
        default_value = "release"
    )]
    profile: String,
}

/// A part of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// An archive of each program, and one of what belongs beside them
    Archives,
    /// Debian packages
    Packages,
    /// What each program is made of
    Sbom,
}

/// The line of the installer that names the place of releases.
const PLACE: &str = "releases=\"${ORRERY_RELEASES:-}\"";

/// Runs the command.
///
/// # Errors
/// When a program does not build, or the release cannot be written.
pub(crate) fn run(project: &ProjectCheckout, options: &DistOptions) -> Result<ExitCode> {
    if options.check_reproducible {
        return reproducible::check(project, &options.twice, &options.profile);
    }
    let wanted = |part| options.only.is_empty() || options.only.contains(&part);
    let built = match &options.programs {
        Some(folder) => project.root.join(folder),
        None => build(project)?,
    };
    let guest = prerequisites::vm_guest(project)?;
    let release = Release {
        version: format!("v{}", version(project)?),
        target: host()?,
        out: project.root.join(&options.out),
        epoch: source_date::epoch(&project.root)?,
    };
    let folder = release.folder();
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    if wanted(Part::Archives) {
        let mut programs: Vec<PathBuf> = PROGRAMS.iter().map(|name| built.join(name)).collect();
        programs.push(guest.clone());
        release.write(&programs)?;
        release.write_share(&project.root, &built)?;
        let installer = fs::read_to_string(project.root.join("bins/dist/install.sh"))?;
        release.write_installer(&installer, options.releases.as_deref())?;
    }
    if wanted(Part::Packages) {
        debian::make(
            project,
            &debian::PackagingOptions {
                programs: &built,
                guest: &guest,
                version: release.version.trim_start_matches('v'),
                out: &folder,
                small: !options.fast,
            },
        )?;
    }
    if wanted(Part::Sbom) {
        sbom::write(project, &release.version, &folder, release.epoch)?;
    }
    release.write_sums()?;
    terminal::line(&format!(
        "{} for {} is in {}",
        release.version,
        release.target,
        release.out.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Builds all programs, without this checkout's place in them; gives their folder.
fn build(project: &ProjectCheckout) -> Result<PathBuf> {
    let mut arguments = vec!["build", "--release", "--locked"];
    for program in PROGRAMS {
        arguments.extend(["--bin", program]);
    }
    // Beside other builds: their flags differ, and cargo would build everything anew each time.
    let target = project.target()?.join("dist-build");
    let mut command = shell::cargo(&project.root, &arguments);
    command.env("CARGO_TARGET_DIR", &target);
    reproducible::remap_paths(&mut command, &project.root)?;
    shell::run(&mut command)?;
    Ok(target.join("release"))
}

/// The version of the workspace.
pub(crate) fn version(project: &ProjectCheckout) -> Result<String> {
    let metadata = project.metadata()?;
    let of_workspace = metadata.packages.iter().find(|p| p.name == "platform");
    let version = of_workspace.context("there is no package `platform`")?;
    Ok(version.version.to_string())
}

/// A release in the making.
struct Release {
    version: String,
    target: String,
    out: PathBuf,
    /// Seconds since 1970 that every file is dated with.
    epoch: u64,
}

impl Release {
    fn folder(&self) -> PathBuf {
        self.out.join(&self.version)
    }

    /// Packs each program.
    fn write(&self, programs: &[PathBuf]) -> Result<()> {
        for program in programs {
            let (Some(place), Some(name)) = (program.parent(), program.file_name()) else {
                bail!("{} is no program", program.display());
            };
            let name = name.to_string_lossy();
            let archive = format!("{name}-{}-{}.tar.gz", self.version, self.target);
            archive::pack(place, &[&name], &self.folder().join(archive), self.epoch)?;
        }
        fs::write(self.out.join("latest"), format!("{}\n", self.version))?;
        Ok(())
    }

    /// Packs what belongs beside the programs: manuals, completions, units.
    fn write_share(&self, root: &Path, built: &Path) -> Result<()> {
        let work = self.folder().join(".share");
        if work.exists() {
            fs::remove_dir_all(&work)?;
        }
        let put = |place: &str, text: String| -> Result<()> {
            let path = work.join(place);
            fs::create_dir_all(path.parent().context("a file has a folder")?)?;
            Ok(fs::write(path, text)?)
        };
        for program in PROGRAMS {
            let built = built.join(program);
            for (name, text) in manuals::pages(&built, program)? {
                put(&format!("share/man/man1/{name}"), text)?;
            }
            for (place, text) in manuals::completions(&built, program)? {
                put(&format!("share/{place}"), text)?;
            }
        }
        for entry in fs::read_dir(root.join("bins/dist/systemd"))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            put(&format!("systemd/{name}"), fs::read_to_string(&path)?)?;
        }
        let archive = format!("orrery-share-{}.tar.gz", self.version);
        let folders: Vec<&str> = ["share", "systemd"]
            .into_iter()
            .filter(|name| work.join(name).is_dir())
            .collect();
        archive::pack(&work, &folders, &self.folder().join(archive), self.epoch)?;
        Ok(fs::remove_dir_all(&work)?)
    }

    /// Sums all that was made of this version.
    fn write_sums(&self) -> Result<()> {
        let script = "LC_ALL=C; export LC_ALL; rm -f SHA256SUMS; sha256sum -- * > .sums; mv .sums SHA256SUMS";
        shell::run(shell::command("sh", &self.folder()).args(["-c", script]))
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
            epoch: 86_400,
        }
    }

    fn installer() -> String {
        let place = std::path::absolute("../dist/install.sh").expect("a folder to work in");
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
        fs::create_dir_all(release.folder()).expect("made");
        release.write(&programs).expect("packed");
        release.write_sums().expect("summed");
        let sums = fs::read(release.folder().join("SHA256SUMS")).expect("sums");
        release.write(&programs).expect("packed again");
        release.write_sums().expect("summed again");
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
