//! What each program is made of, as CycloneDX 1.6: for whoever looks for a component with a known
//! fault. Made of `cargo metadata` and Cargo.lock, which know everything there is to say; a tool of
//! its own (cargo-cyclonedx) would be one more to build and to trust.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use serde_json::{Value, json};

use super::programs::{PROGRAMS, host};
use crate::project::ProjectCheckout;
use crate::shell;

/// Writes a bill for each program of the release.
///
/// # Errors
/// When cargo does not know the packages, or the files cannot be written.
pub(super) fn write(
    project: &ProjectCheckout,
    version: &str,
    folder: &Path,
    epoch: u64,
) -> Result<()> {
    let metadata = MetadataCommand::new()
        .manifest_path(project.root.join("Cargo.toml"))
        .other_options(vec![
            "--locked".to_owned(),
            "--filter-platform".to_owned(),
            host()?,
        ])
        .exec()
        .context("cargo metadata failed")?;
    let lock = fs::read_to_string(project.root.join("Cargo.lock"))?;
    let sums = checksums(&lock)?;
    let time = time(epoch)?;
    for program in PROGRAMS.iter().chain(&["vm-guest"]) {
        let bill = bill(&metadata, &sums, program, &time)?;
        let text = serde_json::to_string_pretty(&bill)? + "\n";
        fs::write(folder.join(format!("{program}-{version}.cdx.json")), text)?;
    }
    Ok(())
}

/// The bill of one program: what is linked into it, and what each part is linked with. Build
/// scripts and macros are parts too: what they write is in the program.
fn bill(
    metadata: &Metadata,
    sums: &BTreeMap<(String, String), String>,
    program: &str,
    time: &str,
) -> Result<Value> {
    let root = metadata
        .workspace_packages()
        .into_iter()
        .find(|package| {
            package
                .targets
                .iter()
                .any(|t| t.is_bin() && t.name == program)
        })
        .with_context(|| format!("no package has the program {program}"))?;
    let resolve = metadata.resolve.as_ref().context("nothing was resolved")?;
    let edges: BTreeMap<&PackageId, BTreeSet<&PackageId>> = resolve
        .nodes
        .iter()
        .map(|node| {
            let linked = node.deps.iter().filter(|dependency| {
                let kinds = &dependency.dep_kinds;
                kinds
                    .iter()
                    .any(|info| info.kind != DependencyKind::Development)
            });
            (&node.id, linked.map(|dependency| &dependency.pkg).collect())
        })
        .collect();
    let mut reached = BTreeSet::from([&root.id]);
    let mut open = vec![&root.id];
    while let Some(id) = open.pop() {
        for next in edges.get(id).into_iter().flatten() {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    let mut parts: Vec<&Package> = reached.iter().map(|id| &metadata[id]).collect();
    parts.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    let components = parts.iter().filter(|part| part.id != root.id);
    let components: Vec<Value> = components.map(|part| component(part, sums)).collect();
    let dependencies: Vec<Value> = parts
        .iter()
        .map(|part| {
            let on = edges.get(&part.id).into_iter().flatten();
            let on: BTreeSet<String> = on.map(|id| reference(&metadata[id])).collect();
            json!({ "ref": reference(part), "dependsOn": on })
        })
        .collect();
    let mut main = component(root, sums);
    main["type"] = "application".into();
    main["name"] = program.into();
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "tools": { "components": [{ "type": "application", "name": "cargo xtask dist", "version": env!("CARGO_PKG_VERSION") }] },
            "component": main,
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn component(package: &Package, sums: &BTreeMap<(String, String), String>) -> Value {
    let mut part = json!({
        "type": "library",
        "bom-ref": reference(package),
        "name": package.name.to_string(),
        "version": package.version.to_string(),
        "purl": reference(package),
        "scope": "required",
    });
    if let Some(text) = &package.description {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        part["description"] = line.into();
    }
    if let Some(licence) = &package.license {
        // Old packages separate licences by a stroke, which is no expression.
        let expression = licence.replace('/', " OR ");
        part["licenses"] = json!([{ "expression": expression }]);
    }
    if let Some(repository) = &package.repository
        && repository.starts_with("http")
    {
        part["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    let key = (package.name.to_string(), package.version.to_string());
    if let Some(sum) = sums.get(&key) {
        part["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    part
}

/// The checksums of a lock file by name and version.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = toml::from_str(lock).context("Cargo.lock cannot be read")?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let entries = packages.into_iter().flatten().filter_map(|package| {
        let text = |key| Some(package.get(key)?.as_str()?.to_owned());
        Some(((text("name")?, text("version")?), text("checksum")?))
    });
    Ok(entries.collect())
}

fn time(epoch: u64) -> Result<String> {
    let mut date = shell::command("date", Path::new("/"));
    date.args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d"]);
    let said = shell::quiet(date.arg(format!("@{epoch}")))?.out;
    Ok(said.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_names_each_part_once_and_every_edge_leads_to_one() {
        let project = ProjectCheckout::find().expect("tests run inside the checkout");
        let folder = tempfile::tempdir().expect("a folder");
        write(&project, "v0.0.0", folder.path(), 86_400).expect("written");
        let path = folder.path().join("orchctl-v0.0.0.cdx.json");
        let text = fs::read_to_string(path).expect("the bill");
        let bill: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(bill["metadata"]["timestamp"], "1970-01-02T00:00:00Z");
        assert_eq!(bill["metadata"]["component"]["name"], "orchctl");
        let parts = bill["components"].as_array().expect("components");
        let own = &bill["metadata"]["component"];
        let names: Vec<&str> = parts
            .iter()
            .chain([own])
            .map(|part| part["bom-ref"].as_str().expect("a reference"))
            .collect();
        let unique: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(unique.len(), names.len());
        for edge in bill["dependencies"].as_array().expect("edges") {
            for end in edge["dependsOn"]
                .as_array()
                .expect("ends")
                .iter()
                .chain([&edge["ref"]])
            {
                assert!(unique.contains(end.as_str().expect("text")), "{end}");
            }
        }
        let clap = parts
            .iter()
            .find(|part| part["name"] == "clap")
            .expect("it uses clap");
        let sum = clap["hashes"][0]["content"].as_str().expect("its checksum");
        assert_eq!(sum.len(), 64);
        assert!(
            parts.iter().all(|part| part["name"] != "vt100"),
            "only tests use it"
        );
    }
}
