//! What a body that is no JSON may be meant to be.

/// What to do about a body that looks like something else.
pub(super) fn hint(body: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    let text = text.trim_start();
    let first = text
        .lines()
        .find(|line| !line.trim_start().starts_with('#'))?
        .trim();
    if text.starts_with('<') {
        return Some("it looks like HTML or XML; send JSON");
    }
    if text.contains(['\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}'])
        && text.starts_with(['{', '[', '\u{201c}'])
    {
        return Some("it has typographic quotes; JSON wants \"straight\" ones");
    }
    if text.starts_with("{'") || text.starts_with("['") {
        return Some("it has single quotes; JSON wants \"double\" ones");
    }
    if text.starts_with(['{', '"']) {
        return None;
    }
    let table = first.trim_matches(['[', ']']);
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "-_.".contains(c))
    };
    if first.starts_with('[')
        && first.ends_with(']')
        && is_name(table)
        && !table.starts_with(|c: char| c.is_ascii_digit())
    {
        return Some("it looks like TOML; send JSON");
    }
    if first.contains('&') && !first.contains(' ') && first.contains('=') {
        return Some("it looks like a form; send JSON, with curl by --json");
    }
    if first
        .split_once('=')
        .is_some_and(|(name, _)| is_name(name.trim()))
    {
        return Some(if first.contains(" =") {
            "it looks like TOML; send JSON"
        } else {
            "it looks like a form or TOML; send JSON"
        });
    }
    let is_key = first
        .split_once(':')
        .is_some_and(|(name, rest)| is_name(name) && (rest.is_empty() || rest.starts_with(' ')));
    if is_key || first == "---" || first.starts_with("- ") {
        return Some("it looks like YAML; send JSON");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn y8_what_is_no_json_is_named() {
        for (body, named) in [
            ("roles:\n  - name: a\n", "YAML"),
            ("---\na: 1\n", "YAML"),
            ("- a\n- b\n", "YAML"),
            ("# roles\nname: a", "YAML"),
            ("name = \"a\"\n", "TOML"),
            ("[search]\nlisten = 1\n", "TOML"),
            ("[[roles]]\nname = 1\n", "TOML"),
            ("a=1&b=2", "form"),
            ("a=1", "form"),
            ("<html>", "HTML"),
            ("{\u{201c}a\u{201d}: 1}", "typographic"),
            ("{'a': 1}", "single quotes"),
        ] {
            let said = hint(body.as_bytes()).unwrap_or_else(|| panic!("{body}"));
            assert!(said.contains(named), "{body}: {said}");
        }
        for json in [
            "",
            "{\"a\": 1,}",
            "{",
            "[1, 2",
            "[true",
            "\"a",
            "nul",
            "12a",
            "{\"a=b\": 1",
        ] {
            assert_eq!(hint(json.as_bytes()), None, "{json}");
        }
    }
}
