//! Dependencies go bins → web → actors → engine → core, and products do not see each other.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::packages::{DependencyUse, Package};

/// The layers, lowest first; a package may need its own layer and those below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CrateLayer {
    /// `*-core`: data in, data out.
    Core,
    /// `*-engine`: blocking work without actors.
    Engine,
    /// `*-actors`, and what all actors stand on: supervision, store, the clients.
    Actors,
    /// `*-web` and the interface.
    Web,
    /// Programs people run.
    Bin,
    /// Tests of the whole: may need anything.
    Whole,
}

/// The layer a package's folder and name put it in.
pub(super) fn layer(package: &Package) -> Option<CrateLayer> {
    let (group, _) = package
        .folder
        .split_once('/')
        .unwrap_or((&package.folder, ""));
    let suffix = package.name.rsplit('-').next().unwrap_or_default();
    match (group, suffix) {
        ("actors", "core") => Some(CrateLayer::Core),
        ("actors", "engine") => Some(CrateLayer::Engine),
        ("actors", "actors" | "supervision" | "store" | "clients") => Some(CrateLayer::Actors),
        ("web", "web") => Some(CrateLayer::Web),
        ("bins", _) => Some(CrateLayer::Bin),
        ("integration-tests", _) => Some(CrateLayer::Whole),
        _ => None,
    }
}

/// The product a package is a part of; `None` for what all share. The VM manager is the runner's.
pub(super) fn product(name: &str) -> Option<&'static str> {
    match name.split_once('-')?.0 {
        "search" => Some("search"),
        "runner" | "vm" => Some("runner"),
        "orchestrator" => Some("orchestrator"),
        _ => None,
    }
}

/// Checks every dependency between two packages of the workspace; those for tests are free.
pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    let by_name: BTreeMap<&str, &Package> = packages.iter().map(|p| (p.name.as_str(), p)).collect();
    let mut findings = Vec::new();
    for package in packages {
        let place = format!("{}/Cargo.toml", package.folder);
        let Some(own) = layer(package) else {
            findings.push(Finding::error(place, NO_LAYER));
            continue;
        };
        let normal = package
            .dependencies
            .iter()
            .filter(|(_, kind)| *kind == DependencyUse::Normal);
        let inside = normal.filter_map(|(name, _)| by_name.get(name.as_str()));
        findings.extend(inside.filter_map(|other| check_pair(&place, package, own, other)));
    }
    findings
}

const NO_LAYER: &str =
    "the name tells no layer: in actors/ end it in -core, -engine or -actors, in web/ in -web";

fn check_pair(place: &str, package: &Package, own: CrateLayer, other: &Package) -> Option<Finding> {
    let theirs = layer(other)?;
    // The forge of `platform demo` is that of the tests.
    let is_demo_forge = package.name == "platform" && other.name == "scripted-peers";
    if theirs > own && !is_demo_forge {
        let text = format!(
            "{} ({own:?}) must not need {} ({theirs:?}): dependencies go down",
            package.name, other.name
        );
        return Some(Finding::error(place, text));
    }
    let crossing = match (product(&package.name), product(&other.name)) {
        (Some(mine), Some(other)) => mine != other,
        // What all products share cannot know one of them.
        (None, Some(_)) => true,
        (_, None) => false,
    };
    if crossing && own < CrateLayer::Bin {
        let text = format!(
            "{} must not need {}: products share only what belongs to none",
            package.name, other.name
        );
        return Some(Finding::error(place, text));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the rule says when `from` needs `to`.
    fn refusal(from: &str, kind: DependencyUse, to: &str) -> Option<String> {
        let name = to.rsplit('/').next().expect("a folder has a last part");
        let packages = [
            Package::example(from, &[(name, kind)]),
            Package::example(to, &[]),
        ];
        check(&packages)
            .into_iter()
            .next()
            .map(|finding| finding.text)
    }

    #[test]
    fn dependencies_go_down() {
        for (from, to) in [
            ("actors/search-core", "actors/search-engine"),
            ("actors/search-core", "actors/supervision"),
            ("actors/search-engine", "actors/search-actors"),
            ("actors/store", "web/edge-web"),
            ("actors/search-actors", "web/search-web"),
            ("web/search-web", "bins/search-server"),
            ("web/search-web", "web/runner-web"),
            ("bins/platform", "integration-tests"),
            ("bins/search-server", "integration-tests/scripted-peers"),
        ] {
            assert!(
                refusal(from, DependencyUse::Normal, to).is_some(),
                "{from} → {to} must be refused"
            );
            assert_eq!(
                refusal(from, DependencyUse::Dev, to),
                None,
                "{from} → {to} for its tests"
            );
        }
    }

    #[test]
    fn what_the_design_needs_is_allowed() {
        for (from, to) in [
            ("actors/search-core", "actors/config-core"),
            ("actors/search-actors", "actors/supervision"),
            ("actors/runner-actors", "actors/vm-core"),
            ("web/search-web", "web/edge-web"),
            ("bins/platform", "actors/search-core"),
            ("bins/platform", "actors/runner-actors"),
            ("integration-tests", "bins/platform"),
            ("bins/platform", "integration-tests/scripted-peers"),
        ] {
            assert_eq!(
                refusal(from, DependencyUse::Normal, to),
                None,
                "{from} → {to}"
            );
        }
    }

    #[test]
    fn products_do_not_see_each_other() {
        for (from, to) in [
            ("actors/search-actors", "actors/orchestrator-core"),
            ("actors/runner-core", "actors/search-core"),
            ("actors/supervision", "actors/search-core"),
            ("web/edge-web", "actors/search-core"),
        ] {
            let refusal = refusal(from, DependencyUse::Normal, to).unwrap_or_default();
            assert!(
                refusal.contains("products share"),
                "{from} → {to}: {refusal}"
            );
        }
    }

    #[test]
    fn a_name_without_a_layer_is_refused() {
        for folder in ["actors/helpers", "web/pages", "tools/thing"] {
            let findings = check(&[Package::example(folder, &[])]);
            assert_eq!(findings.len(), 1, "{folder}");
        }
    }
}
