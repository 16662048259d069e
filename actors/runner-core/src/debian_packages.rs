//! Packages that scripts install by `apt-get` and that Ubuntu, GitHub's machine, has in one of its
//! releases and Debian 13, the image `full`, has not: said by `check` before apt does.
//!
//! Sources: the package indexes of Ubuntu 24.04 (noble) and of Debian 13 (trixie).

use crate::expr::{ContextName, Contexts, ExprScope, ExprTemplate};
use crate::plan::{JobInstance, PlannedStep, StepKind};

/// A program of which each system has other releases.
struct Releases {
    /// What its packages are called, around the release, as a `*` has it.
    names: &'static [&'static str],
    /// Those that Ubuntu alone has.
    absent: &'static [&'static str],
    /// Those that Debian has.
    present: &'static str,
}

/// A name that ends in `…` is the beginning of one.
const RELEASES: [Releases; 6] = [
    Releases {
        names: &[
            "clang-*",
            "clang-*-…",
            "clangd-*",
            "clang-tidy-*",
            "clang-format-*",
            "clang-tools-*",
            "lld-*",
            "lldb-*",
            "llvm-*",
            "llvm-*-…",
            "flang-*",
            "libclang-*-…",
            "libllvm*",
            "libc++-*-…",
            "libc++abi-*-…",
            "libomp-*-…",
            "libunwind-*-…",
        ],
        absent: &["6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"],
        present: "clang-17 to clang-19",
    },
    Releases {
        names: &[
            "gcc-*",
            "gcc-*-…",
            "g++-*",
            "g++-*-…",
            "gfortran-*",
            "gfortran-*-…",
            "cpp-*",
            "libgcc-*-dev",
            "libstdc++-*-dev",
        ],
        absent: &["5", "6", "7", "8", "9", "10", "11"],
        present: "gcc-12 to gcc-14",
    },
    Releases {
        names: &["python*", "python*-…", "libpython*", "libpython*-…"],
        absent: &["3.8", "3.9", "3.10", "3.11", "3.12"],
        present: "python3.13",
    },
    Releases {
        names: &["openjdk-*-…"],
        absent: &["8", "11", "17"],
        present: "openjdk-21",
    },
    Releases {
        names: &["php*", "php*-…", "libapache2-mod-php*"],
        absent: &["7.4", "8.0", "8.1", "8.2", "8.3"],
        present: "php8.4",
    },
    Releases {
        names: &[
            "postgresql-*",
            "postgresql-*-…",
            "postgresql-client-*",
            "postgresql-contrib-*",
        ],
        absent: &["12", "14", "16"],
        present: "postgresql-17",
    },
];

/// The note of a job whose scripts install such packages.
pub(crate) fn package_note(steps: &[PlannedStep], copies: &[JobInstance]) -> Option<String> {
    let mut found: Vec<(String, &str)> = Vec::new();
    collect_packages(steps, copies, &mut found);
    if found.is_empty() {
        return None;
    }
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let mut others: Vec<&str> = Vec::new();
    for (_, present) in &found {
        if !others.contains(present) {
            others.push(present);
        }
    }
    let (names, others) = (names.join(", "), others.join(", "));
    Some(format!(
        "its scripts install {names}, which Ubuntu has (24.04 or an older release) and Debian 13, the image `full`, has not: apt will not find them (it has {others})"
    ))
}

/// The note of a job whose scripts add package sources of Ubuntu.
pub(crate) fn source_note(steps: &[PlannedStep]) -> Option<String> {
    adds_source(steps).then(|| {
        "its scripts add package sources of Ubuntu: the image `full`, for which its label stands, is Debian 13, which those packages are not built for"
            .to_owned()
    })
}

fn adds_source(steps: &[PlannedStep]) -> bool {
    steps.iter().any(|step| match &step.work {
        StepKind::Run { script, .. } => script.source.lines().any(is_source),
        StepKind::Composite(action) => adds_source(&action.steps),
        _ => false,
    })
}

/// `add-apt-repository ppa:a/b`, or a line with the address of Ubuntu's archive.
fn is_source(line: &str) -> bool {
    let line = line.trim_start();
    let mut words = line.split_whitespace();
    let adds = words.any(|word| matches!(word, "add-apt-repository" | "apt-add-repository"));
    let of_ubuntu = [
        "ppa:",
        "archive.ubuntu.com",
        "ports.ubuntu.com",
        "ppa.launchpad",
    ];
    let names = of_ubuntu.iter().any(|name| line.contains(name));
    !line.starts_with('#') && names && (adds || line.contains("deb "))
}

/// A script as it is written, or as the copies have it whose matrix it names.
fn scripts(script: &ExprTemplate, copies: &[JobInstance]) -> Vec<String> {
    if copies.is_empty() || !script.refers_to(ContextName::Matrix) {
        return vec![script.source.to_string()];
    }
    let of_copy = |copy: &JobInstance| {
        let contexts = Contexts::default().with(ContextName::Matrix, copy.matrix.clone());
        let text = script.text(&ExprScope::new(&contexts));
        text.unwrap_or_else(|_| script.source.to_string())
    };
    copies.iter().map(of_copy).collect()
}

fn collect_packages(
    steps: &[PlannedStep],
    copies: &[JobInstance],
    found: &mut Vec<(String, &'static str)>,
) {
    for step in steps {
        match &step.work {
            StepKind::Run { script, .. } => {
                let scripts = scripts(script, copies);
                for name in scripts.iter().flat_map(|script| installed(script)) {
                    let known = found.iter().any(|(known, _)| *known == name);
                    if let Some(present) = absent(&name).filter(|_| !known) {
                        found.push((name, present));
                    }
                }
            }
            StepKind::Composite(action) => collect_packages(&action.steps, copies, found),
            _ => {}
        }
    }
}

/// What a script installs by apt, as it is written there.
fn installed(script: &str) -> Vec<String> {
    let joined = script.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.starts_with('#'));
    let commands = lines.flat_map(|line| line.split([';', '|', '&', '(', ')', '`']));
    let mut names = Vec::new();
    for command in commands {
        let mut words = command.split_whitespace();
        let is_apt = words.any(|word| matches!(word, "apt-get" | "apt" | "aptitude"));
        if is_apt && words.any(|word| word == "install") {
            let given = words.filter(|word| !word.starts_with('-'));
            names.extend(given.map(|word| word.trim_matches(['"', '\'']).to_owned()));
        }
    }
    names
}

/// What Debian has in place of a package that it has not.
fn absent(package: &str) -> Option<&'static str> {
    // `gcc-11=11.4.0`, `gcc-11/noble`, `gcc-11:i386`
    let name = package.split(['=', '/', ':']).next().unwrap_or_default();
    let found = RELEASES.iter().find(|one| {
        let mut patterns = one.names.iter();
        patterns.any(|pattern| {
            let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
            let rest = name.strip_prefix(before);
            rest.is_some_and(|rest| {
                one.absent.iter().any(|release| {
                    let tail = rest.strip_prefix(release);
                    tail.is_some_and(|tail| match after.strip_suffix('…') {
                        Some(begin) => tail.strip_prefix(begin).is_some_and(|end| !end.is_empty()),
                        None => tail == after,
                    })
                })
            })
        })
    });
    found.map(|one| one.present)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_packages_that_debian_has_not_are_found_in_scripts() {
        for (script, expected) in [
            ("sudo apt-get install clang-14 valgrind", &["clang-14"][..]),
            (
                "apt-get update && apt-get install -y --no-install-recommends \\\n  gcc-11 \\\n  g++-11=11.4.0 make",
                &["gcc-11", "g++-11=11.4.0"],
            ),
            (
                "sudo DEBIAN_FRONTEND=noninteractive apt -y install 'openjdk-17-jdk'",
                &["openjdk-17-jdk"],
            ),
            (
                "if x; then (apt install python3.12-venv php8.3-cli postgresql-16); fi",
                &["python3.12-venv", "php8.3-cli", "postgresql-16"],
            ),
            (
                "apt-get install clang-17 clang-19 gcc-12 gcc-14 openjdk-21-jdk-headless",
                &[],
            ),
            (
                "apt-get install clang clang-format gcc g++ python3-venv php postgresql",
                &[],
            ),
            (
                "apt-get install libclang-15-dev llvm-15-tools llvm-1",
                &["libclang-15-dev", "llvm-15-tools"],
            ),
            (
                "# apt-get install gcc-11\nbrew install gcc-11\napt-get remove gcc-11",
                &[],
            ),
            ("apt-get update\ninstall gcc-11 /usr/bin", &[]),
            ("apt-get install gcc-111 gcc-11x python3.120", &[]),
            (
                "apt-get install clang-11 g++-5 php8.1 python3.10-venv",
                &["clang-11", "g++-5", "php8.1", "python3.10-venv"],
            ),
        ] {
            let found = installed(script).into_iter();
            let found: Vec<String> = found.filter(|name| absent(name).is_some()).collect();
            assert_eq!(found, expected, "{script}");
        }
    }

    #[test]
    fn i17_package_sources_of_ubuntu_are_found() {
        for line in [
            "sudo add-apt-repository -y ppa:ubuntu-toolchain-r/test",
            "apt-add-repository 'deb http://archive.ubuntu.com/ubuntu jammy main'",
            "echo 'deb http://archive.ubuntu.com/ubuntu focal main' | sudo tee x",
        ] {
            assert!(is_source(line), "{line}");
        }
        for line in [
            "# add-apt-repository ppa:a/b",
            "add-apt-repository 'deb https://apt.llvm.org/trixie x main'",
            "echo ppa:a/b",
        ] {
            assert!(!is_source(line), "{line}");
        }
    }
}
