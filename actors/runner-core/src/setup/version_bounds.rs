//! Conditions on versions: how they are written, and whether a version is right.

use std::cmp::Ordering;

/// One condition of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VersionBound {
    pub(super) sign: VersionOperator,
    /// As many parts as were written: `3.11` is every `3.11.x`.
    pub(super) parts: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionOperator {
    Same,
    Compatible,
    Near,
    AtLeast,
    Above,
    AtMost,
    Below,
}

/// The conditions that are written: all of them must hold.
pub(super) fn range(tool: &str, all: &str, whole: &str) -> Result<Vec<VersionBound>, String> {
    let example = match tool {
        "rustc" | "rust" => "1.75",
        "go" => "1.22",
        "python3" => "3.11",
        _ => "18",
    };
    let unusable = || {
        format!(
            "{} is no version that the image can be held to: it is not of a release, or is no number; name one, for example `{example}`",
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
            bound(VersionOperator::AtLeast, from)?,
            bound(VersionOperator::AtMost, to)?,
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
            (waiting, sign) => waiting.or(sign).unwrap_or(VersionOperator::Same),
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
        bound(VersionOperator::AtLeast, parts),
        bound(VersionOperator::Below, next),
    ])
}

fn sign_of(word: &str) -> (Option<VersionOperator>, &str) {
    let signs = [
        // Of Python, as its action reads them.
        ("~=", VersionOperator::Near),
        ("==", VersionOperator::Same),
        (">=", VersionOperator::AtLeast),
        ("<=", VersionOperator::AtMost),
        (">", VersionOperator::Above),
        ("<", VersionOperator::Below),
        ("^", VersionOperator::Compatible),
        ("~", VersionOperator::Near),
        ("=", VersionOperator::Same),
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
    /// The same with its second part so many times as large.
    pub(super) fn times_minor(&self, times: u64) -> Self {
        let mut bound = self.clone();
        if let Some(minor) = bound.parts.get_mut(1) {
            *minor = minor.saturating_mul(times);
        }
        bound
    }

    /// Whether a version is right.
    pub(super) fn matches(&self, found: &[u64]) -> bool {
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
            VersionOperator::Same => order == Ordering::Equal,
            VersionOperator::AtLeast => order != Ordering::Less,
            VersionOperator::Above => order == Ordering::Greater,
            VersionOperator::AtMost => order != Ordering::Greater,
            VersionOperator::Below => order == Ordering::Less,
            VersionOperator::Near => order != Ordering::Less && same(2),
            VersionOperator::Compatible => {
                // The first part that is not zero may not change.
                let first = self.parts.iter().position(|part| *part != 0);
                let fixed = first.map_or(self.parts.len(), |at| at + 1);
                order != Ordering::Less && same(fixed)
            }
        }
    }
}
