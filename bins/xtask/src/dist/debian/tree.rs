//! The files of one package, in a folder as they will lie on the machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::description::Description;
use super::scripts;
use crate::dist::manuals;
use crate::shell;

/// What all packages of a release are made with.
#[derive(Debug)]
pub(super) struct Material<'a> {
    /// The checkout.
    pub(super) root: &'a Path,
    /// Where the programs are.
    pub(super) programs: &'a Path,
    /// Where `vm-guest` is.
    pub(super) guest: &'a Path,
    /// The line of Debian's changelog that names the version, and who makes it.
    pub(super) changelog: String,
}

/// A package's folder in the making.
#[derive(Debug)]
pub(super) struct PackageTree {
    folder: PathBuf,
}

impl PackageTree {
    /// An empty one.
    pub(super) fn new(folder: PathBuf) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("{} cannot be emptied", folder.display()))?;
        }
        fs::create_dir_all(folder.join("DEBIAN"))?;
        Ok(Self { folder })
    }

    /// Where it is.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts all files of the package in their places.
    ///
    /// # Errors
    /// When one is missing.
    pub(super) fn fill(&self, package: &Description, material: &Material<'_>) -> Result<()> {
        for program in &package.programs {
            let built = material.programs.join(program);
            self.copy(&built, &format!("usr/bin/{program}"), 0o755)?;
            self.manuals(&built, program)?;
        }
        for library in &package.libraries {
            self.copy(material.guest, &format!("usr/lib/orrery/{library}"), 0o755)?;
        }
        if package.documents {
            self.documents(material.root)?;
        }
        let own = material.root.join("bins/dist/debian");
        for (from, place) in package.files.iter().chain(&package.configuration) {
            self.copy(&own.join(from), place, 0o644)?;
        }
        self.service(package, material.root)?;
        self.legal(package, material)
    }

    /// Files of the tree that are no folders, by their paths within it.
    ///
    /// # Errors
    /// When the tree cannot be read.
    pub(super) fn files(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut open = vec![self.folder.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let inner = path.strip_prefix(&self.folder)?.to_string_lossy();
                    if !inner.starts_with("DEBIAN/") {
                        found.push(inner.into_owned());
                    }
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Writes a file, and the folders above it.
    pub(super) fn write(&self, place: &str, bytes: impl AsRef<[u8]>, mode: u32) -> Result<()> {
        let path = self.folder.join(place);
        let folder = path.parent().context("a file has a folder")?;
        fs::create_dir_all(folder)?;
        fs::write(&path, bytes).with_context(|| format!("{} cannot be written", path.display()))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        Ok(())
    }

    fn copy(&self, from: &Path, place: &str, mode: u32) -> Result<()> {
        let bytes = fs::read(from).with_context(|| format!("{} cannot be read", from.display()))?;
        self.write(place, bytes, mode)
    }

    /// A file that Debian wants compressed, without name and time in it.
    fn compressed(&self, place: &str, text: impl AsRef<[u8]>) -> Result<()> {
        self.write(place, text, 0o644)?;
        let mut gzip = shell::command("gzip", &self.folder);
        let done = shell::quiet(gzip.args(["-nf9", place]))?;
        anyhow::ensure!(done.status.success(), "gzip {place}: {}", done.err);
        Ok(())
    }

    fn manuals(&self, built: &Path, program: &str) -> Result<()> {
        for (name, text) in manuals::pages(built, program)? {
            self.compressed(&format!("usr/share/man/man1/{name}"), text)?;
        }
        for (place, text) in manuals::completions(built, program)? {
            self.write(&format!("usr/share/{place}"), text, 0o644)?;
        }
        Ok(())
    }

    fn documents(&self, root: &Path) -> Result<()> {
        let mut list = shell::command("git", root);
        list.args([
            "ls-files",
            "-z",
            "--",
            "docs/*.md",
            "docs/*.svg",
            "README.md",
        ]);
        list.args(["CHANGELOG.md", "config-samples/*"]);
        let listed = shell::quiet(&mut list)?;
        anyhow::ensure!(listed.status.success(), "git ls-files: {}", listed.err);
        for name in listed.out.split('\0').filter(|name| !name.is_empty()) {
            let place = match name.split_once('/') {
                Some(("docs", rest)) => format!("usr/share/doc/orrery/{rest}"),
                Some(("config-samples", rest))
                    if rest.starts_with("invalid") || rest.ends_with(".gitignore") =>
                {
                    continue;
                }
                Some(("config-samples", rest)) => format!("usr/share/doc/orrery/examples/{rest}"),
                _ => format!("usr/share/doc/orrery/{name}"),
            };
            self.copy(&root.join(name), &place, 0o644)?;
        }
        self.copy(
            &root.join("bins/dist/debian/would-start"),
            "usr/lib/orrery/would-start",
            0o755,
        )
    }

    fn service(&self, package: &Description, root: &Path) -> Result<()> {
        let Some(unit) = &package.unit else {
            return Ok(());
        };
        let text = fs::read_to_string(root.join(format!("bins/dist/systemd/{unit}.service")))?;
        let text = packaged_unit(&text);
        self.write(&format!("lib/systemd/system/{unit}.service"), &text, 0o644)?;
        let name = &package.name;
        if let Some(users) = scripts::sysusers(package, &text) {
            self.write(&format!("usr/lib/sysusers.d/{name}.conf"), users, 0o644)?;
        }
        if let Some(folders) = scripts::tmpfiles(package) {
            self.write(&format!("usr/lib/tmpfiles.d/{name}.conf"), folders, 0o644)?;
        }
        let all = [
            ("postinst", scripts::after_install(package)),
            ("prerm", scripts::before_removal(package)),
            ("postrm", scripts::after_removal(package)),
        ];
        for (script, text) in all {
            if let Some(text) = text {
                self.write(&format!("DEBIAN/{script}"), text, 0o755)?;
            }
        }
        let settings = package.configuration.iter();
        let settings: String = settings.map(|(_, place)| format!("/{place}\n")).collect();
        if settings.is_empty() {
            return Ok(());
        }
        self.write("DEBIAN/conffiles", settings, 0o644)
    }

    fn legal(&self, package: &Description, material: &Material<'_>) -> Result<()> {
        let folder = format!("usr/share/doc/{}", package.name);
        let changelog = format!("{} {}", package.name, material.changelog);
        self.compressed(
            &format!("{folder}/changelog.gz").replace(".gz", ""),
            changelog,
        )?;
        let licence = |name: &str| -> Result<String> {
            let text = fs::read_to_string(material.root.join(name))?;
            let lines = text.lines().map(str::trim_end);
            Ok(lines
                .map(|line| format!(" {}\n", if line.is_empty() { "." } else { line }))
                .collect())
        };
        let text = format!(
            "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
             Upstream-Name: Orrery\n\nFiles: *\nCopyright: the contributors of Orrery\n\
             License: Apache-2.0 or Expat\n\nLicense: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n\n\
             License: Expat\n{}",
            licence("LICENSE-MIT")?
        );
        self.write(&format!("{folder}/copyright"), text, 0o644)
    }
}

/// A unit with the places of packages: the checkout's are those of whoever installs by hand.
pub(super) fn packaged_unit(text: &str) -> String {
    let mut lines = Vec::new();
    let mut head = true;
    for line in text.lines() {
        // How to install it by hand, at the top.
        head &= line.starts_with('#') || line.is_empty();
        if !head {
            lines.push(line);
        }
    }
    let text = lines.join("\n") + "\n";
    text.replace("/usr/local/bin/", "/usr/bin/")
        .replace("/usr/local/share/", "/usr/share/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packaged_unit_names_the_packages_places_and_no_work_by_hand() {
        let unit = "# Install: useradd\n\n[Unit]\nDocumentation=file:/usr/local/share/doc/x\n\n\
                    [Service]\n# Kept.\nExecStart=/usr/local/bin/x\n";
        assert_eq!(
            packaged_unit(unit),
            "[Unit]\nDocumentation=file:/usr/share/doc/x\n\n[Service]\n# Kept.\nExecStart=/usr/bin/x\n"
        );
    }
}
