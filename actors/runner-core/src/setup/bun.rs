//! What `oven-sh/setup-bun` does beside the choice of a release: the registries of `bunfig.toml`
//! (<https://bun.com/docs/runtime/bunfig#install-registry>), and a release from an address.

use config_core::quoted;
use toml::{Table, Value};

/// The project's settings.
pub const FILE: &str = "bunfig.toml";
/// The token of `registry-url`.
pub const TOKEN: &str = "$BUN_AUTH_TOKEN";
/// Puts a release of an address into the home folder. Argument: the address.
pub const DOWNLOAD_SCRIPT: &str = r#"
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT || exit 1
curl -fsSL --retry 3 -o "$folder/bun.zip" "$1" && unzip -q -o "$folder/bun.zip" -d "$folder" || exit 1
for inner in "$folder"/bun*.zip "$folder"/*/bun*.zip; do
  [ "$inner" = "$folder/bun.zip" ] || [ ! -f "$inner" ] || unzip -q -o "$inner" -d "$folder" || exit 1
done
found=$(find "$folder" -type f -name bun | head -n 1)
[ -n "$found" ] || { echo "the archive has no program bun" >&2; exit 1; }
mkdir -p "$HOME/.bun/bin" && mv -f "$found" "$HOME/.bun/bin/bun" && chmod 755 "$HOME/.bun/bin/bun" || exit 1
ln -sf bun "$HOME/.bun/bin/bunx"
printf '::set-output name=path::%s\n' "$HOME/.bun/bin/bun"
"#;
/// Says a release's revision: `1.2.0+b0c1d2e3f`. Argument: the program.
pub const REVISION_SCRIPT: &str =
    r#"printf '::set-output name=revision::%s\n' "$("$1" --revision 2>/dev/null)""#;

/// A registry that packages come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BunRegistry {
    /// With its `@`; empty: of all packages that have none.
    pub scope: String,
    /// Its address.
    pub url: String,
    /// What signs in; empty: nothing.
    pub token: String,
}

/// Reads a line of `registries`: `https://…`, `@scope:https://…`, with `|token` behind it.
///
/// # Errors
/// When it is none.
pub fn registry(line: &str) -> Result<BunRegistry, String> {
    let (place, token) = line.split_once('|').unwrap_or((line, ""));
    let scheme = place.find("://").unwrap_or(place.len());
    let (scope, url) = match place.split_once(':') {
        Some((scope, url)) if scope.len() < scheme && url.contains("://") => (scope, url),
        _ => ("", place),
    };
    new_registry(scope, url.trim(), token.trim())
}

/// A registry of three inputs.
///
/// # Errors
/// When the address is none.
pub fn new_registry(scope: &str, url: &str, token: &str) -> Result<BunRegistry, String> {
    if url::Url::parse(url).is_err() {
        return Err(format!(
            "a registry is {}: it is written `https://…` or `@scope:https://…`",
            quoted(url)
        ));
    }
    let scope = match scope.trim_start_matches('@').to_lowercase() {
        scope if scope.is_empty() => scope,
        scope => format!("@{scope}"),
    };
    Ok(BunRegistry {
        scope,
        url: url.to_owned(),
        token: token.to_owned(),
    })
}

/// The project's settings with these registries.
///
/// # Errors
/// When a second one has no scope, or the settings are no TOML.
pub fn settings(project: &str, registries: &[BunRegistry]) -> Result<String, String> {
    let parsed: Result<Table, _> = project.parse();
    let mut settings =
        parsed.map_err(|error| format!("{FILE} cannot be read: {}", error.message()))?;
    let mut install = taken(&mut settings, "install");
    let mut scopes = taken(&mut install, "scopes");
    let mut plain = 0;
    for registry in registries {
        let mut entry = Table::new();
        entry.insert("url".to_owned(), Value::String(registry.url.clone()));
        if !registry.token.is_empty() {
            entry.insert("token".to_owned(), Value::String(registry.token.clone()));
        }
        if registry.scope.is_empty() {
            plain += 1;
            install.insert("registry".to_owned(), Value::Table(entry));
        } else {
            scopes.insert(registry.scope.clone(), Value::Table(entry));
        }
    }
    if plain > 1 {
        return Err("two registries have no scope: one at most may be without".to_owned());
    }
    if !scopes.is_empty() {
        install.insert("scopes".to_owned(), Value::Table(scopes));
    }
    settings.insert("install".to_owned(), Value::Table(install));
    Ok(settings.to_string())
}

/// A table out of a table; an empty one where there is none.
fn taken(of: &mut Table, name: &str) -> Table {
    match of.remove(name) {
        Some(Value::Table(table)) => table,
        _ => Table::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_registries_of_bun_are_read_as_they_are_written() {
        for (line, (scope, url, token)) in [
            ("https://r.example/", ("", "https://r.example/", "")),
            ("https://r.example/|t1", ("", "https://r.example/", "t1")),
            (
                "@Own:https://r.example/",
                ("@own", "https://r.example/", ""),
            ),
            (
                "own:https://r.example/|$T",
                ("@own", "https://r.example/", "$T"),
            ),
            (
                "@own:https://me:secret@r.example:8/",
                ("@own", "https://me:secret@r.example:8/", ""),
            ),
        ] {
            let found = registry(line).unwrap();
            assert_eq!(
                (&*found.scope, &*found.url, &*found.token),
                (scope, url, token)
            );
        }
        for line in ["r.example", "@a", "@a:r.example", ""] {
            assert!(registry(line).is_err(), "{line}");
        }
    }

    #[test]
    fn i17_bun_is_told_of_registries_beside_the_projects_own_settings() {
        let given = |project: &str, lines: &[&str]| {
            let all = lines.iter().map(|line| registry(line));
            settings(project, &all.collect::<Result<Vec<_>, _>>().unwrap())
        };
        let project = "smol = true\n[install]\noptional = false\nregistry = 'https://old.example'\n[install.scopes]\n'@a' = 'https://old.example'\n";
        let text = given(project, &["https://r.example|t", "@b:https://b.example"]).unwrap();
        let written: Table = text.parse().unwrap();
        let expected = "smol = true\n[install]\noptional = false\nregistry = { url = 'https://r.example', token = 't' }\n[install.scopes]\n'@a' = 'https://old.example'\n'@b' = { url = 'https://b.example' }\n";
        assert_eq!(written, expected.parse().unwrap());
        for (project, lines, part) in [
            (
                "",
                &["https://a.example", "https://b.example"][..],
                "two registries",
            ),
            (
                "no toml",
                &["https://a.example"],
                "bunfig.toml cannot be read",
            ),
        ] {
            let error = given(project, lines).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
