//! The settings of Bun that `oven-sh/setup-bun` writes for `registries`
//! (<https://bun.com/docs/runtime/bunfig#install-registry>).

use std::fmt::Write as _;

use config_core::quoted;

/// Adds tables to a file. Arguments: file, text. One that has such tables is the project's own.
pub const WRITE_SCRIPT: &str = r#"
if grep -q '^ *\[install' "$1" 2>/dev/null; then
  echo "$1 has a table [install] already: add the registries there" >&2
  exit 1
fi
printf '\n%s' "$2" >> "$1"
"#;

/// `[install]` for these registries: `https://…`, `@scope:https://…`, each with `|$VARIABLE` behind
/// it where its token is in another one than `BUN_AUTH_TOKEN`.
///
/// # Errors
/// What is no registry, or a second one without a scope.
pub fn settings(registries: &[String]) -> Result<String, String> {
    let (mut global, mut scopes) = (None, String::new());
    for registry in registries {
        let wrong = || {
            format!(
                "a registry is {}: it is written `https://…` or `@scope:https://…`",
                quoted(registry)
            )
        };
        let (place, token) = match registry.split_once('|') {
            Some((place, token)) => (place, Some(token)),
            None => (registry.as_str(), None),
        };
        let (scope, url) = match place.strip_prefix('@') {
            Some(rest) => {
                let (scope, url) = rest.split_once(':').ok_or_else(wrong)?;
                (Some(scope), url)
            }
            None => (None, place),
        };
        let is_address = url.starts_with("https://") || url.starts_with("http://");
        let is_plain =
            |text: &str| !text.contains(|c: char| c == '"' || c == '\\' || c.is_control());
        if !is_address || !is_plain(registry) {
            return Err(wrong());
        }
        match (scope, token) {
            (Some(scope), token) => {
                let token = token.unwrap_or("$BUN_AUTH_TOKEN");
                let _ = writeln!(
                    scopes,
                    "\"@{scope}\" = {{ url = \"{url}\", token = \"{token}\" }}"
                );
            }
            (None, _) if global.is_some() => {
                return Err("two registries have no scope: one at most may be without".to_owned());
            }
            (None, Some(token)) => {
                global = Some(format!("{{ url = \"{url}\", token = \"{token}\" }}"));
            }
            (None, None) => global = Some(format!("\"{url}\"")),
        }
    }
    let mut text = "[install]\n".to_owned();
    if let Some(global) = global {
        let _ = writeln!(text, "registry = {global}");
    }
    if !scopes.is_empty() {
        let _ = write!(text, "[install.scopes]\n{scopes}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_bun_is_told_of_registries() {
        let given = |all: &[&str]| {
            let all: Vec<String> = all.iter().map(|one| (*one).to_owned()).collect();
            settings(&all)
        };
        let text = given(&[
            "https://r.example",
            "@a:https://a.example|$A",
            "@b:https://b.example",
        ]);
        assert_eq!(
            text.unwrap(),
            "[install]\nregistry = \"https://r.example\"\n[install.scopes]\n\"@a\" = { url = \"https://a.example\", token = \"$A\" }\n\"@b\" = { url = \"https://b.example\", token = \"$BUN_AUTH_TOKEN\" }\n"
        );
        for (all, part) in [
            (&["r.example"][..], "`r.example`"),
            (&["@a"], "`@a`"),
            (&["https://a\"b"], "it is written"),
            (&["https://a", "https://b"], "two registries"),
        ] {
            let error = given(all).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
