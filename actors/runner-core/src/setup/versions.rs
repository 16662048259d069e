//! The version that a `setup-…` step wants: held against those in the image, or refused.

use super::python_build::{PythonBuild, spelled};
use super::version_bounds::{VersionBound, VersionOperator, range, version_in};

/// What a step wants of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRequirement {
    /// One of these must hold, each of them wholly; none of them: any version will do.
    either: Vec<Vec<VersionBound>>,
    /// The release channel: `stable` is no nightly and no beta.
    channel: Option<ReleaseChannel>,
    /// Of Node and .NET, whether it is of a line with long-term support: its major version is even.
    long_term: Option<bool>,
    /// It means another release tomorrow.
    moving: bool,
    /// So many lines before the newest: `lts/-1` of Node, `oldstable` of Go.
    lines_back: usize,
    /// How Python is built.
    build: PythonBuild,
    /// PyPy's own version.
    pypy: Vec<VersionBound>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReleaseChannel {
    Stable,
    Beta,
    Nightly,
}

impl VersionRequirement {
    /// Reads what was written: `18`, `v18.x`, `3.11`, `^20.1.0`, `~1.2`, `>=1.17 <2`, `1.2 - 3`,
    /// `18 || 20`, and the names that the tool's own action knows: `lts/*`, `stable`, `latest`.
    ///
    /// # Errors
    /// Why the image cannot be held to it, for people.
    pub fn parse(tool: &str, text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(named) = named(tool, text) {
            return Ok(named);
        }
        let (build, number, pypy) = match tool {
            "python3" => spelled(text),
            _ => (PythonBuild::CPython, text.to_owned(), None),
        };
        let either = number.split("||").map(|all| range(tool, all, text));
        let mut either: Vec<_> = either.collect::<Result<_, _>>()?;
        if let ("rustc", Some(bound)) = (tool, minor_bound(&either)) {
            // YAML reads 1.80 as a number, which is 1.8.
            let cut = [10, 100].map(|times| vec![bound.times_minor(times)]);
            either.extend(cut);
        }
        let pypy = pypy.map(|version| range("pypy", version, text));
        Ok(Self {
            either,
            build,
            pypy: pypy.transpose()?.unwrap_or_default(),
            ..Self::any()
        })
    }

    const fn any() -> Self {
        Self {
            either: Vec::new(),
            channel: None,
            long_term: None,
            moving: false,
            lines_back: 0,
            build: PythonBuild::CPython,
            pypy: Vec::new(),
        }
    }

    /// The same of the Python without the global lock, as `freethreaded: true` wants it.
    #[must_use]
    pub fn free_threaded(self) -> Self {
        Self {
            build: PythonBuild::FreeThreaded,
            ..self
        }
    }

    /// How many lines of releases newer than the wanted one there are.
    pub(super) fn lines_back(&self) -> usize {
        self.lines_back
    }

    /// How Python is built.
    pub(super) fn build(&self) -> PythonBuild {
        self.build
    }

    /// Whether it is PyPy's own version that is wanted, of what it says of itself.
    pub(super) fn holds_of_pypy(&self, says: &str) -> bool {
        let found = version_in(says).unwrap_or_default();
        self.pypy.iter().all(|bound| bound.matches(&found))
    }

    /// Whether it means another release tomorrow, `latest`: the image has the one that it has.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.moving
    }

    /// Whether any release that is right is as right as another: it is of one line, `18` or
    /// `~3.11`.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        let is_one = |bounds: &Vec<VersionBound>| {
            let signs = [
                VersionOperator::Same,
                VersionOperator::Compatible,
                VersionOperator::Near,
            ];
            matches!(&bounds[..], [one] if signs.contains(&one.sign) && !one.parts.is_empty())
        };
        matches!(&self.either[..], [bounds] if is_one(bounds))
    }

    /// Whether a tool that says this of itself (`v18.19.0`, `Python 3.11.2`, …) is what is wanted.
    #[must_use]
    pub fn is_met_by(&self, output: &str) -> bool {
        if let Some(channel) = self.channel {
            let is = |word: &str| output.contains(word);
            let found = if is("nightly") {
                ReleaseChannel::Nightly
            } else if is("beta") {
                ReleaseChannel::Beta
            } else {
                ReleaseChannel::Stable
            };
            return channel == found;
        }
        if self.either.is_empty() && self.long_term.is_none() {
            return true;
        }
        let Some(found) = version_in(output) else {
            return false;
        };
        let is_even = found.first().is_some_and(|major| major % 2 == 0);
        if self.long_term.is_some_and(|wanted| wanted != is_even) {
            return false;
        }
        let holds = |bounds: &Vec<VersionBound>| bounds.iter().all(|bound| bound.matches(&found));
        self.either.is_empty() || self.either.iter().any(holds)
    }
}

/// The one condition of a version of Rust without its last part, `1.8`.
fn minor_bound(either: &[Vec<VersionBound>]) -> Option<VersionBound> {
    let [bounds] = either else { return None };
    let [bound] = &bounds[..] else { return None };
    (bound.sign == VersionOperator::Same && bound.parts.len() == 2).then(|| bound.clone())
}

/// Releases of Node with long-term support, by the names that `lts/…` has for them.
const NODE_RELEASES: [(&str, u64); 11] = [
    ("argon", 4),
    ("boron", 6),
    ("carbon", 8),
    ("dubnium", 10),
    ("erbium", 12),
    ("fermium", 14),
    ("gallium", 16),
    ("hydrogen", 18),
    ("iron", 20),
    ("jod", 22),
    ("krypton", 24),
];

/// A version by a name instead of a number.
fn named(tool: &str, text: &str) -> Option<VersionRequirement> {
    let any = VersionRequirement::any();
    let moving = VersionRequirement {
        moving: true,
        ..VersionRequirement::any()
    };
    let channel = |channel| VersionRequirement {
        channel: Some(channel),
        moving: true,
        ..VersionRequirement::any()
    };
    Some(match (tool, text) {
        (_, "") => any,
        ("rustc", "stable") => channel(ReleaseChannel::Stable),
        ("rustc", "beta") => channel(ReleaseChannel::Beta),
        ("rustc", "nightly") => channel(ReleaseChannel::Nightly),
        ("node", "node" | "current")
        | ("go" | "deno", "stable")
        | ("deno", "lts")
        | ("node" | "go" | "java" | "deno" | "bun" | "dotnet", "latest") => moving,
        ("node", "lts" | "lts/*") => VersionRequirement {
            long_term: Some(true),
            ..moving
        },
        ("dotnet", name) if name.eq_ignore_ascii_case("lts") => VersionRequirement {
            long_term: Some(true),
            ..moving
        },
        ("dotnet", name) if name.eq_ignore_ascii_case("sts") => VersionRequirement {
            long_term: Some(false),
            ..moving
        },
        ("go", "oldstable") => VersionRequirement {
            lines_back: 1,
            ..moving
        },
        ("node", name) => {
            let name = name.strip_prefix("lts/")?.to_lowercase();
            if let Some(count) = name.strip_prefix('-') {
                return Some(VersionRequirement {
                    long_term: Some(true),
                    lines_back: count.parse().ok().filter(|count| *count > 0)?,
                    ..moving
                });
            }
            let known = NODE_RELEASES.iter().find(|(known, _)| *known == name);
            let (_, major) = known?;
            let only = VersionBound {
                sign: VersionOperator::Same,
                parts: vec![*major],
            };
            VersionRequirement {
                either: vec![vec![only]],
                ..any
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x3_versions_are_held_to_what_they_say() {
        let node = "v18.19.0";
        for (wanted, output, holds) in [
            ("", node, true),
            ("18", node, true),
            ("v18.x", node, true),
            ("18.*", node, true),
            ("18.1", node, false),
            ("18.19.0", node, true),
            ("1", node, false),
            ("20", node, false),
            ("^18.2.0", node, true),
            ("^18.20", node, false),
            ("^17", node, false),
            ("~18.19", node, true),
            ("~18.18.0", node, false),
            (">=16", node, true),
            (">= 16 <18", node, false),
            (">16.0 <=18.19", node, true),
            ("16 || 18", node, true),
            ("x", node, true),
            ("3.11", "Python 3.11.2", true),
            ("3.1", "Python 3.11.2", false),
            ("1.21.x", "go version go1.21.5 linux/amd64", true),
            ("^0.3.1", "tool 0.4.0", false),
            ("17", "openjdk version \"17.0.9\" 2023-10-17", true),
            ("8", "openjdk version \"1.8.0_392\"", true),
            ("1.40", "deno 1.40.2 (release)", true),
            ("18", "no number", false),
            ("16 - 18", node, true),
            ("16.1 - 17", node, false),
            ("lts/*", node, true),
            ("lts/*", "v19.1.0", false),
            ("lts/Hydrogen", node, true),
            ("lts/iron", node, false),
            ("latest", node, true),
            ("~18.19.0-0", node, true),
        ] {
            let found = VersionRequirement::parse("node", wanted)
                .unwrap()
                .is_met_by(output);
            assert_eq!(found, holds, "{wanted} {output}");
        }
        for (wanted, output, holds) in [
            ("stable", "rustc 1.75.0 (82e1608df 2023-12-21)", true),
            ("stable", "rustc 1.77.0-nightly (x)", false),
            ("nightly", "rustc 1.77.0-nightly (x)", true),
            ("1.75", "rustc 1.75.0 (x)", true),
            ("1.8", "rustc 1.80.1 (x)", true),
            ("1.1", "rustc 1.100.0 (x)", true),
            ("1.8", "rustc 1.81.0 (x)", false),
            ("1.8.0", "rustc 1.80.0 (x)", false),
        ] {
            let found = VersionRequirement::parse("rustc", wanted)
                .unwrap()
                .is_met_by(output);
            assert_eq!(found, holds, "{wanted} {output}");
        }
    }

    #[test]
    fn i17_names_and_spellings_of_the_tools_own_actions_are_known() {
        for (tool, wanted, output, holds) in [
            ("python3", "3.11-dev", "Python 3.11.2", true),
            ("python3", "3.12-dev", "Python 3.11.2", false),
            (
                "java",
                "17.0.9+9",
                "openjdk version \"17.0.9\" 2023-10-17",
                true,
            ),
            ("java", "1.8", "openjdk version \"1.8.0_392\"", true),
            ("go", "stable", "go version go1.21.5 linux/amd64", true),
            ("dotnet", "8.0.1xx", "8.0.105 [/usr/lib/dotnet/sdk]", true),
            ("dotnet", "LTS", "8.0.204 [/usr/lib/dotnet/sdk]", true),
            ("dotnet", "sts", "8.0.204 [/usr/lib/dotnet/sdk]", false),
            ("dotnet", "STS", "9.0.100 [/usr/lib/dotnet/sdk]", true),
            ("dotnet", "8.0.1xx", "8.0.204 [/usr/lib/dotnet/sdk]", false),
            ("dotnet", "8.x", "8.0.204 [/usr/lib/dotnet/sdk]", true),
            ("deno", "v1.x", "deno 1.40.2 (release)", true),
        ] {
            let found = VersionRequirement::parse(tool, wanted).unwrap();
            assert_eq!(found.is_met_by(output), holds, "{tool} {wanted} {output}");
        }
        for (tool, text, moves, is_narrow) in [
            ("node", "18", false, true),
            ("node", "^18.2", false, true),
            ("node", "x", false, false),
            ("node", ">=18", false, false),
            ("node", "18 || 20", false, false),
            ("node", "lts/*", true, false),
            ("node", "lts/iron", false, true),
            ("go", "stable", true, false),
            ("rustc", "stable", true, false),
            ("node", "", false, false),
        ] {
            let found = VersionRequirement::parse(tool, text).unwrap();
            assert_eq!(
                (found.moves(), found.is_narrow()),
                (moves, is_narrow),
                "{text}"
            );
        }
    }

    #[test]
    fn x3_versions_that_mean_nothing_here_are_refused() {
        for wanted in [
            "stable",
            "lts/-x",
            "pypy3.10",
            ">=",
            "18\n20",
            "1 - x - 3",
            "a.b",
            ">= >1",
            "18-rc.1",
        ] {
            let error = VersionRequirement::parse("node", wanted).unwrap_err();
            assert!(error.contains("the image"), "{wanted}: {error}");
        }
    }
}
