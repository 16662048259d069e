//! The version that a `setup-…` step wants: held against those in the image, or refused.

use std::cmp::Ordering;

/// What a step wants of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRequirement {
    /// One of these must hold, each of them wholly; none of them: any version will do.
    either: Vec<Vec<VersionBound>>,
    /// The release channel: `stable` is no nightly and no beta.
    channel: Option<ReleaseChannel>,
    /// Of Node, a release with long-term support: its major version is even.
    long_term: bool,
    /// It means another release tomorrow.
    moving: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReleaseChannel {
    Stable,
    Beta,
    Nightly,
}

/// One condition of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
struct VersionBound {
    sign: Comparison,
    /// As many parts as were written: `3.11` is every `3.11.x`.
    parts: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Same,
    Compatible,
    Near,
    AtLeast,
    Above,
    AtMost,
    Below,
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
        let either = text.split("||").map(|all| range(tool, all, text));
        Ok(Self {
            either: either.collect::<Result<_, _>>()?,
            ..Self::any()
        })
    }

    const fn any() -> Self {
        Self {
            either: Vec::new(),
            channel: None,
            long_term: false,
            moving: false,
        }
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
            let signs = [Comparison::Same, Comparison::Compatible, Comparison::Near];
            matches!(&bounds[..], [one] if signs.contains(&one.sign) && !one.parts.is_empty())
        };
        matches!(&self.either[..], [bounds] if is_one(bounds))
    }

    /// Whether a tool that says this of itself (`v18.19.0`, `Python 3.11.2`, …) is what is wanted.
    #[must_use]
    pub fn holds(&self, output: &str) -> bool {
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
        if self.either.is_empty() && !self.long_term {
            return true;
        }
        let Some(found) = version_in(output) else {
            return false;
        };
        if self.long_term && found.first().is_some_and(|major| major % 2 != 0) {
            return false;
        }
        let holds = |bounds: &Vec<VersionBound>| bounds.iter().all(|bound| bound.holds(&found));
        self.either.is_empty() || self.either.iter().any(holds)
    }
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
            long_term: true,
            ..moving
        },
        ("node", name) => {
            let name = name.strip_prefix("lts/")?.to_lowercase();
            let known = NODE_RELEASES.iter().find(|(known, _)| *known == name);
            let (_, major) = known?;
            let only = VersionBound {
                sign: Comparison::Same,
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

fn range(tool: &str, all: &str, whole: &str) -> Result<Vec<VersionBound>, String> {
    let unusable = || {
        format!(
            "{} is no version that the image can be held to: it is not of a release, or is no number; name one, for example `18` or `3.11`",
            config_core::quoted(whole)
        )
    };
    let version = |text: &str| parts(&plain_number(tool, text)).ok_or_else(unusable);
    if let Some((from, to)) = all.split_once(" - ") {
        let bound = |sign, text: &str| {
            Ok::<_, String>(VersionBound {
                sign,
                parts: version(text.trim())?,
            })
        };
        return Ok(vec![
            bound(Comparison::AtLeast, from)?,
            bound(Comparison::AtMost, to)?,
        ]);
    }
    if let Some(bounds) = feature_band(tool, all.trim()) {
        return Ok(bounds);
    }
    let mut bounds = Vec::new();
    let mut waiting = None;
    for word in all.split([' ', ',']).filter(|word| !word.is_empty()) {
        let (sign, rest) = sign_of(word);
        if rest.is_empty() && sign.is_some() && waiting.is_none() {
            // `>= 1.17`, with a space.
            waiting = sign;
            continue;
        }
        let sign = match (waiting.take(), sign) {
            (Some(_), Some(_)) => return Err(unusable()),
            (waiting, sign) => waiting.or(sign).unwrap_or(Comparison::Same),
        };
        let parts = version(rest)?;
        bounds.push(VersionBound { sign, parts });
    }
    if bounds.is_empty() || waiting.is_some() {
        return Err(unusable());
    }
    Ok(bounds)
}

/// Without what a tool's action takes beside the number: `3.13-dev` is any 3.13, `21.0.1+12` a
/// build of 21.0.1, Java 1.8 is 8, and `-0` lets prereleases in.
fn plain_number(tool: &str, text: &str) -> String {
    let text = match tool {
        "python3" => text.strip_suffix("-dev").unwrap_or(text),
        "java" => text.strip_prefix("1.").unwrap_or(text),
        _ => text,
    };
    let text = text.split('+').next().unwrap_or(text);
    text.strip_suffix("-0").unwrap_or(text).to_owned()
}

/// `8.0.1xx` of .NET: the releases of one feature band
/// (<https://learn.microsoft.com/dotnet/core/versions/>).
fn feature_band(tool: &str, text: &str) -> Option<Vec<VersionBound>> {
    let text = text.strip_suffix("xx").filter(|_| tool == "dotnet")?;
    let mut parts = parts(text).filter(|parts| parts.len() == 3)?;
    parts[2] *= 100;
    let mut next = parts.clone();
    next[2] += 100;
    let bound = |sign, parts| VersionBound { sign, parts };
    Some(vec![
        bound(Comparison::AtLeast, parts),
        bound(Comparison::Below, next),
    ])
}

fn sign_of(word: &str) -> (Option<Comparison>, &str) {
    let signs = [
        (">=", Comparison::AtLeast),
        ("<=", Comparison::AtMost),
        (">", Comparison::Above),
        ("<", Comparison::Below),
        ("^", Comparison::Compatible),
        ("~", Comparison::Near),
        ("=", Comparison::Same),
    ];
    signs
        .iter()
        .find_map(|(text, sign)| Some((Some(*sign), word.strip_prefix(text)?)))
        .unwrap_or((None, word))
}

/// The numbers before the first `x` or `*`; nothing when it is no version.
fn parts(text: &str) -> Option<Vec<u64>> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts = Vec::new();
    let mut open = false;
    for part in text.split('.') {
        match part {
            "x" | "X" | "*" => open = true,
            _ if open => return None,
            number => parts.push(number.parse().ok()?),
        }
    }
    (parts.len() <= 4 && (open || !parts.is_empty())).then_some(parts)
}

/// The first number with points in what a tool says of itself.
pub(super) fn version_in(output: &str) -> Option<Vec<u64>> {
    let start = output.find(|c: char| c.is_ascii_digit())?;
    let rest = &output[start..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    let number = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
    let mut parts: Vec<u64> = number
        .split('.')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    // Java 8 calls itself 1.8.
    if output.contains("version \"1.") && parts.len() > 1 {
        parts.remove(0);
    }
    Some(parts)
}

impl VersionBound {
    fn holds(&self, found: &[u64]) -> bool {
        let part = |parts: &[u64], at: usize| parts.get(at).copied().unwrap_or(0);
        // As far as it was written.
        let order = (0..self.parts.len())
            .map(|at| part(found, at).cmp(&self.parts[at]))
            .find(|order| *order != Ordering::Equal)
            .unwrap_or(Ordering::Equal);
        let same = |count: usize| {
            (0..count.min(self.parts.len())).all(|at| part(found, at) == self.parts[at])
        };
        match self.sign {
            Comparison::Same => order == Ordering::Equal,
            Comparison::AtLeast => order != Ordering::Less,
            Comparison::Above => order == Ordering::Greater,
            Comparison::AtMost => order != Ordering::Greater,
            Comparison::Below => order == Ordering::Less,
            Comparison::Near => order != Ordering::Less && same(2),
            Comparison::Compatible => {
                // The first part that is not zero may not change.
                let first = self.parts.iter().position(|part| *part != 0);
                let fixed = first.map_or(self.parts.len(), |at| at + 1);
                order != Ordering::Less && same(fixed)
            }
        }
    }
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
                .holds(output);
            assert_eq!(found, holds, "{wanted} {output}");
        }
        for (wanted, output, holds) in [
            ("stable", "rustc 1.75.0 (82e1608df 2023-12-21)", true),
            ("stable", "rustc 1.77.0-nightly (x)", false),
            ("nightly", "rustc 1.77.0-nightly (x)", true),
            ("1.75", "rustc 1.75.0 (x)", true),
        ] {
            let found = VersionRequirement::parse("rustc", wanted)
                .unwrap()
                .holds(output);
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
            ("dotnet", "8.0.1xx", "8.0.204 [/usr/lib/dotnet/sdk]", false),
            ("dotnet", "8.x", "8.0.204 [/usr/lib/dotnet/sdk]", true),
            ("deno", "v1.x", "deno 1.40.2 (release)", true),
        ] {
            let found = VersionRequirement::parse(tool, wanted).unwrap();
            assert_eq!(found.holds(output), holds, "{tool} {wanted} {output}");
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
            "lts/-1",
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
