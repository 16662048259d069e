//! The modules of a crate import each other in one direction: no file uses a file that uses it.

mod graph;
mod resolve;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use self::graph::{Graph, ModuleCycle};
use self::resolve::{Module, Modules};
use super::finding::Finding;
use super::module_source::ModuleSource;
use super::packages::Package;
use super::syntax::Syntax;

/// Crates that have a cycle still. Each that loses its last one leaves the list.
const KNOWN_CYCLES: [&str; 0] = [];

/// Checks every crate of every package.
pub(super) fn check(packages: &[Package], syntax: &Syntax) -> Vec<Finding> {
    check_but(packages, syntax, &KNOWN_CYCLES)
}

fn check_but(packages: &[Package], syntax: &Syntax, known: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut tangled = BTreeSet::new();
    for package in packages {
        for root in &package.roots {
            let knots = match read(root, syntax) {
                Ok(modules) => Graph::new(&modules).knots(),
                Err(error) => {
                    findings.push(Finding::error(root, format!("{error:#}")));
                    continue;
                }
            };
            if !knots.is_empty() && known.contains(&package.name.as_str()) {
                tangled.insert(package.name.as_str());
                continue;
            }
            findings.extend(knots.iter().map(|knot| describe(&package.name, knot)));
        }
    }
    let free = known.iter().filter(|name| !tangled.contains(*name));
    findings.extend(free.map(|name| {
        Finding::error(
            *name,
            "no cycle is left: take it off KNOWN_CYCLES in bins/xtask/src/tidy/modules",
        )
    }));
    findings
}

/// The graph of one package's crates, as lines for people.
///
/// # Errors
/// When there is no such package, or one of its files cannot be parsed.
pub(super) fn show(package: &str, packages: &[Package], syntax: &Syntax) -> Result<Vec<String>> {
    let Some(package) = packages.iter().find(|known| known.name == package) else {
        bail!("there is no package `{package}`");
    };
    let mut lines = Vec::new();
    for root in &package.roots {
        lines.push(root.clone());
        lines.extend(Graph::new(&read(root, syntax)?).lines());
    }
    Ok(lines)
}

fn describe(package: &str, knot: &ModuleCycle) -> Finding {
    let mut way = String::new();
    let mut reasons = Vec::new();
    for (from, to, evidence) in &knot.cycle {
        if way.is_empty() {
            way.push_str(from);
        }
        way.push_str(&format!(" → {to}"));
        reasons.push(format!("`{}` at {}", evidence.path, evidence.place));
    }
    let place = knot
        .cycle
        .first()
        .map(|(_, _, evidence)| evidence.place.clone());
    let more = match knot.modules.len() - knot.cycle.len() {
        0 => String::new(),
        _ => format!(
            "; all {} in cycles: {}",
            knot.modules.len(),
            knot.modules.join(", ")
        ),
    };
    let text = format!(
        "modules of {package} import each other: {way}, by {}{more}: move what they share into a module below",
        reasons.join(", ")
    );
    Finding::error(place.unwrap_or_default(), text)
}

/// Reads the modules of the crate whose root file is `root`.
fn read(root: &str, syntax: &Syntax) -> Result<Modules> {
    let mut modules = Modules::default();
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    read_file(
        &mut modules,
        syntax,
        root.to_owned(),
        folder,
        Vec::new(),
        None,
    )?;
    Ok(modules)
}

/// Reads one file and the modules it declares, which stand in `folder`.
fn read_file(
    modules: &mut Modules,
    syntax: &Syntax,
    file: String,
    folder: &str,
    name: Vec<String>,
    parent: Option<usize>,
) -> Result<usize> {
    let source = syntax.file(&file)?.source.clone();
    let at = modules.0.len();
    insert(
        modules,
        syntax,
        ModuleFile {
            file,
            name,
            parent,
            node: at,
        },
        folder,
        source,
    )
}

/// Where a module stands.
struct ModuleFile {
    file: String,
    name: Vec<String>,
    parent: Option<usize>,
    node: usize,
}

fn insert(
    modules: &mut Modules,
    syntax: &Syntax,
    place: ModuleFile,
    folder: &str,
    mut source: ModuleSource,
) -> Result<usize> {
    let at = modules.0.len();
    let (files, inline) = (
        std::mem::take(&mut source.files),
        std::mem::take(&mut source.inline),
    );
    let ModuleFile {
        file,
        name,
        parent,
        node,
    } = place;
    modules.0.push(Module {
        name: name.clone(),
        file: file.clone(),
        node,
        parent,
        children: BTreeMap::new(),
        source,
    });
    let inner = |child: &str| {
        name.iter()
            .cloned()
            .chain([child.to_owned()])
            .collect::<Vec<_>>()
    };
    for child in files {
        let inside = format!("{folder}/{child}");
        let beside = [format!("{inside}.rs"), format!("{inside}/mod.rs")];
        // Neither: generated at build time, and none of the graph's.
        let Some(found) = beside.into_iter().find(|path| syntax.holds(path)) else {
            continue;
        };
        let index = read_file(modules, syntax, found, &inside, inner(&child), Some(at))?;
        modules.0[at].children.insert(child, index);
    }
    for (child, source) in inline {
        let place = ModuleFile {
            file: file.clone(),
            name: inner(&child),
            parent: Some(at),
            node,
        };
        let index = insert(modules, syntax, place, &format!("{folder}/{child}"), source)?;
        modules.0[at].children.insert(child, index);
    }
    Ok(at)
}
