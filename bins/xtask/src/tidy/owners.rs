//! One owner per outside world: which package may use which library.

use super::finding::Finding;
use super::layers::{CrateLayer, layer};
use super::packages::{DependencyUse, Package};

/// A library that only some packages may use.
struct OwnedLibrary {
    library: &'static str,
    /// Packages by name.
    packages: &'static [&'static str],
    /// Whole layers.
    layers: &'static [CrateLayer],
    reason: &'static str,
}

/// The whole table; uses for tests and benchmarks are free.
const OWNED: [OwnedLibrary; 11] = [
    OwnedLibrary {
        library: "redb",
        packages: &["store"],
        layers: &[],
        reason: "durable state has one owner, and one durability",
    },
    OwnedLibrary {
        library: "rusqlite",
        packages: &["store"],
        layers: &[],
        reason: "durable state has one owner",
    },
    OwnedLibrary {
        library: "tokio-postgres",
        packages: &["store"],
        layers: &[],
        reason: "durable state has one owner, and one durability",
    },
    OwnedLibrary {
        library: "tantivy",
        packages: &["search-engine"],
        layers: &[],
        reason: "the index's format is the engine's secret",
    },
    OwnedLibrary {
        library: "object_store",
        packages: &["http-clients"],
        layers: &[],
        reason: "what is kept apart from rows has one owner, one way to fail and one to be removed",
    },
    OwnedLibrary {
        library: "awc",
        packages: &["http-clients", "service-agent", "orchctl"],
        layers: &[],
        reason: "timeouts, limits and retries live in one place",
    },
    OwnedLibrary {
        library: "ring",
        packages: &["forge-core", "vm-core", "http-clients"],
        layers: &[],
        reason: "signatures are made and checked in one place",
    },
    OwnedLibrary {
        library: "clap",
        packages: &[],
        layers: &[CrateLayer::Bin],
        reason: "arguments belong to programs",
    },
    OwnedLibrary {
        library: "anyhow",
        packages: &[],
        layers: &[CrateLayer::Bin],
        reason: "a library's errors are typed",
    },
    OwnedLibrary {
        library: "actix-web",
        packages: &[],
        layers: &[CrateLayer::Web, CrateLayer::Bin],
        reason: "HTTP is a bridge at the edge",
    },
    OwnedLibrary {
        library: "tracing-subscriber",
        packages: &["edge-web"],
        layers: &[CrateLayer::Bin],
        reason: "the program decides where its log goes",
    },
];

/// What a pure crate must not need: runtimes, the network, files, the environment, clocks.
const NOT_IN_CORE: [&str; 20] = [
    "actix",
    "actix-rt",
    "actix-http",
    "actix-web",
    "awc",
    "cap-std",
    "fs-err",
    "ignore",
    "mimalloc",
    "notify",
    "object_store",
    "rand",
    "redb",
    "reqwest",
    "rusqlite",
    "rustix",
    "tantivy",
    "tempfile",
    "tokio",
    "walkdir",
];

/// What blocking work must not need: actors and the edge.
const NOT_IN_ENGINE: [&str; 5] = ["actix", "actix-rt", "actix-http", "actix-web", "awc"];

/// Libraries that nothing here may use, tests included.
const NOWHERE: [(&str, &str); 3] = [
    ("serde_yaml", "it is no longer maintained"),
    (
        "actix-web-actors",
        "it is superseded by actix-ws, and hides an actor behind every socket",
    ),
    (
        "openssl-sys",
        "TLS is rustls: one implementation, no system library",
    ),
];

/// Checks every library that every package names.
pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        for (library, kind) in &package.dependencies {
            let place = format!("{}/Cargo.toml", package.folder);
            findings
                .extend(refusal(package, library, *kind).map(|text| Finding::error(place, text)));
        }
    }
    findings
}

fn refusal(package: &Package, library: &str, kind: DependencyUse) -> Option<String> {
    let name = &package.name;
    if let Some((_, reason)) = NOWHERE.iter().find(|(nowhere, _)| *nowhere == library) {
        return Some(format!("{name} must not need {library}: {reason}"));
    }
    let own = layer(package)?;
    if kind == DependencyUse::Dev || own == CrateLayer::Whole {
        return None;
    }
    if own == CrateLayer::Core && NOT_IN_CORE.contains(&library) {
        return Some(format!(
            "{name} must not need {library}: core crates are pure"
        ));
    }
    if own == CrateLayer::Engine && NOT_IN_ENGINE.contains(&library) {
        return Some(format!(
            "{name} must not need {library}: engines block and know no actors"
        ));
    }
    let owned = OWNED.iter().find(|owned| owned.library == library)?;
    let allowed = owned.packages.contains(&name.as_str()) || owned.layers.contains(&own);
    (!allowed).then(|| format!("{name} must not need {library}: {}", owned.reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(folder: &str, library: &str, kind: DependencyUse) -> bool {
        !check(&[Package::example(folder, &[(library, kind)])]).is_empty()
    }

    #[test]
    fn every_owned_library_is_refused_elsewhere_and_allowed_to_its_owner() {
        for owned in &OWNED {
            assert!(
                refused("actors/other-actors", owned.library, DependencyUse::Normal),
                "{}",
                owned.library
            );
            assert!(
                !refused("actors/other-actors", owned.library, DependencyUse::Dev),
                "{}",
                owned.library
            );
            for owner in owned.packages {
                let folder = if owner.ends_with("-core")
                    || ["store", "http-clients", "search-engine"].contains(owner)
                {
                    format!("actors/{owner}")
                } else {
                    format!("bins/{owner}")
                };
                assert!(
                    !refused(&folder, owned.library, DependencyUse::Normal),
                    "{owner} owns {}",
                    owned.library
                );
            }
        }
    }

    #[test]
    fn lower_layers_know_neither_runtimes_nor_actors() {
        for library in NOT_IN_CORE {
            assert!(
                refused("actors/search-core", library, DependencyUse::Normal),
                "{library} in core"
            );
        }
        for library in NOT_IN_ENGINE {
            assert!(
                refused("actors/search-engine", library, DependencyUse::Normal),
                "{library} in engine"
            );
        }
        assert!(!refused(
            "actors/search-engine",
            "notify",
            DependencyUse::Normal
        ));
        assert!(!refused(
            "web/search-web",
            "actix-web",
            DependencyUse::Normal
        ));
    }

    #[test]
    fn banned_libraries_are_banned_in_tests_too() {
        for (library, _) in NOWHERE {
            assert!(
                refused("integration-tests", library, DependencyUse::Dev),
                "{library}"
            );
            assert!(
                refused("bins/platform", library, DependencyUse::Normal),
                "{library}"
            );
        }
    }
}
