//! Debian packages: a folder for each as it will lie on the machine, and `dpkg-deb`.
//!
//! By hand and not by cargo-deb: that packs the programs of one crate each, and these packages are
//! made of several; it is a tool to be built first, while `dpkg-deb` is on every Debian system.
//! Files are dated, owned and ordered the same in every build, so equal programs give equal
//! packages.

mod description;
mod scripts;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use self::description::{Description, Descriptions};
use self::tree::{Material, PackageTree};
use super::source_date;
use crate::project::ProjectCheckout;
use crate::{install, shell};

/// How packages are to be made.
#[derive(Debug)]
pub(crate) struct PackagingOptions<'a> {
    /// Where the programs are.
    pub(crate) programs: &'a Path,
    /// The static agent of VMs.
    pub(crate) guest: &'a Path,
    /// Debian's version.
    pub(crate) version: &'a str,
    /// Where the packages go.
    pub(crate) out: &'a Path,
    /// Whether they are made to be small, rather than at once.
    pub(crate) small: bool,
}

/// Makes all packages; gives their files.
///
/// # Errors
/// When a program is missing, or `dpkg-deb` refuses a package.
pub(crate) fn make(
    project: &ProjectCheckout,
    packaging: &PackagingOptions<'_>,
) -> Result<Vec<PathBuf>> {
    install::program(&["dpkg-deb"], "dpkg")?;
    install::program(&["dpkg-shlibdeps"], "dpkg-dev")?;
    let all = Descriptions::read(&project.root)?;
    fs::create_dir_all(packaging.out)?;
    let epoch = source_date::epoch(&project.root)?;
    let material = Material {
        root: &project.root,
        programs: packaging.programs,
        guest: packaging.guest,
        changelog: changelog(packaging.version, &all.maintainer, epoch)?,
    };
    let work = packaging.out.join(".packages");
    let mut made = Vec::new();
    for package in &all.package {
        let tree = PackageTree::new(work.join(&package.name))?;
        tree.fill(package, &material)?;
        let architecture = match &package.architecture {
            Some(architecture) => architecture.clone(),
            None => architecture()?,
        };
        let libraries = libraries(&tree, package)?;
        let control = control(&all, package, packaging.version, &architecture, &libraries);
        tree.write("DEBIAN/control", control, 0o644)?;
        tree.write("DEBIAN/md5sums", sums(&tree)?, 0o644)?;
        let name = format!("{}_{}_{architecture}.deb", package.name, packaging.version);
        let deb = packaging.out.join(name);
        build(&tree, &deb, epoch, packaging.small)?;
        made.push(deb);
    }
    fs::remove_dir_all(&work)?;
    Ok(made)
}

fn build(tree: &PackageTree, deb: &Path, epoch: u64, small: bool) -> Result<()> {
    let place = tree.folder();
    // What dpkg-deb leaves alone because it is older than the build.
    let dated = shell::quiet(shell::command("find", place).args([
        ".",
        "-exec",
        "touch",
        "--no-dereference",
        &format!("--date=@{epoch}"),
        "{}",
        "+",
    ]))?;
    ensure!(dated.status.success(), "touch: {}", dated.err);
    let modes = "find . -type d -exec chmod 755 {} +";
    shell::quiet(shell::command("sh", place).args(["-c", modes]))?;
    let mut command = shell::command("dpkg-deb", place);
    command.env("SOURCE_DATE_EPOCH", epoch.to_string());
    command.args(["--root-owner-group", if small { "-Zxz" } else { "-Zgzip" }]);
    // Threads cut what they compress differently.
    command.args([
        if small { "-z6" } else { "-z1" },
        "--threads-max=1",
        "--build",
        ".",
    ]);
    let done = shell::quiet(command.arg(deb))?;
    ensure!(done.status.success(), "{}: {}", deb.display(), done.text());
    Ok(())
}

/// Debian's name of this machine's kind.
fn architecture() -> Result<String> {
    let mut ask = shell::command("dpkg", Path::new("/"));
    let asked = shell::quiet(ask.arg("--print-architecture"))?;
    ensure!(asked.status.success(), "dpkg: {}", asked.err);
    Ok(asked.out.trim().to_owned())
}

/// What the programs of a package are linked with, as `Depends` says it.
fn libraries(tree: &PackageTree, package: &Description) -> Result<String> {
    if package.programs.is_empty() {
        return Ok(String::new());
    }
    // It wants to stand in the folder of a source package.
    tree.write("debian/control", "Source: orrery\n", 0o644)?;
    let mut command = shell::command("dpkg-shlibdeps", tree.folder());
    command.args(["-O", "--ignore-missing-info"]);
    for program in &package.programs {
        command.arg(format!("-eusr/bin/{program}"));
    }
    let found = shell::quiet(&mut command)?;
    fs::remove_dir_all(tree.folder().join("debian"))?;
    ensure!(found.status.success(), "dpkg-shlibdeps: {}", found.err);
    let line = found
        .out
        .lines()
        .find_map(|line| line.strip_prefix("shlibs:Depends="));
    Ok(line.unwrap_or_default().to_owned())
}

/// The package's description for dpkg.
fn control(
    all: &Descriptions,
    package: &Description,
    version: &str,
    architecture: &str,
    libraries: &str,
) -> String {
    let mut text = format!(
        "Package: {}\nSource: orrery\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: {}\nSection: {}\nPriority: optional\n",
        package.name, all.maintainer, all.section
    );
    let mut depends: Vec<String> = Vec::new();
    if package.unit.is_some() {
        // systemd-sysusers and systemd-tmpfiles, and the service's manager.
        depends.push("systemd".to_owned());
    }
    // The parts of one release belong together.
    depends.extend(package.depends.iter().map(|name| {
        let own = name.starts_with("orrery");
        if own {
            format!("{name} (= {version})")
        } else {
            name.clone()
        }
    }));
    if !libraries.is_empty() {
        depends.push(libraries.to_owned());
    }
    for (field, names) in [
        ("Depends", &depends),
        ("Recommends", &package.recommends),
        ("Suggests", &package.suggests),
    ] {
        if !names.is_empty() {
            text += &format!("{field}: {}\n", names.join(", "));
        }
    }
    text += &format!("Description: {}\n", package.summary);
    for line in wrapped(&package.description, 76) {
        text += &format!(" {line}\n");
    }
    text
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let full = lines
            .last()
            .is_some_and(|line| line.len() + word.len() >= width);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// The checksums by which `dpkg --verify` finds changed files.
fn sums(tree: &PackageTree) -> Result<String> {
    let mut command = shell::command("md5sum", tree.folder());
    let summed = shell::quiet(command.arg("--").args(tree.files()?))?;
    ensure!(summed.status.success(), "md5sum: {}", summed.err);
    Ok(summed.out)
}

/// Debian's changelog, after the package's name: what changed is in CHANGELOG.md.
fn changelog(version: &str, maintainer: &str, epoch: u64) -> Result<String> {
    let mut date = shell::command("date", Path::new("/"));
    date.env("LC_ALL", "C").args(["-u", "-R", "-d"]);
    let said = shell::quiet(date.arg(format!("@{epoch}")))?;
    ensure!(said.status.success(), "date: {}", said.err);
    Ok(format!(
        "({version}) unstable; urgency=medium\n\n  * See /usr/share/doc/orrery/CHANGELOG.md.\n\n -- {maintainer}  {}\n",
        said.out.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_file_ties_the_parts_of_a_release_together() {
        let text = "section = \"net\"\nmaintainer = \"A <a@b>\"\n[[package]]\nname = \"orrery-x\"\n\
                    summary = \"a thing\"\ndescription = \"One. Two.\"\ndepends = [\"orrery-common\", \"git\"]\n\
                    unit = \"x\"\n";
        let all: Descriptions = toml::from_str(text).expect("it is well formed");
        let control = control(&all, &all.package[0], "1.2", "amd64", "libc6 (>= 2.34)");
        let depends = "Depends: systemd, orrery-common (= 1.2), git, libc6 (>= 2.34)\n";
        assert!(control.contains(depends), "{control}");
        assert!(
            control.ends_with("Description: a thing\n One. Two.\n"),
            "{control}"
        );
    }

    #[test]
    fn descriptions_are_wrapped_between_words() {
        assert_eq!(wrapped("aa bb cc", 6), ["aa bb", "cc"]);
        assert_eq!(wrapped("abcdefgh", 3).concat(), "abcdefgh");
    }
}
