//! The settings of npm by which a step publishes to a registry, as `actions/setup-node` writes them
//! (its `docs/advanced-usage.md`, "Publish to npmjs and GPR with npm").

use config_core::quoted;

/// Where the settings lie: npm is told by [`VARIABLE`].
pub const FILE: &str = "/tmp/.npmrc";
/// Names the file to npm.
pub const VARIABLE: &str = "NPM_CONFIG_USERCONFIG";
/// The variable whose value is the token. Later steps have it where this one does.
pub const TOKEN: &str = "NODE_AUTH_TOKEN";
/// Adds lines to a file that keeps what it has but for the registry of the same scope. Arguments:
/// file, lines, `registry` with its scope.
pub const WRITE_SCRIPT: &str = r#"
umask 077
{ [ ! -f "$1" ] || awk -v start="$3" 'index(tolower($0), start) != 1' "$1"; printf '%s\n' "$2"; } > "$1.new" &&
  mv "$1.new" "$1"
"#;

/// What the file gets.
#[derive(Debug, PartialEq, Eq)]
pub struct NpmSettings {
    /// Its new lines.
    pub lines: String,
    /// How the line of the registry begins: `registry`, `@scope:registry`.
    pub registry: String,
}

/// Lines of the file for a registry. `owner` is the repository's: the scope of GitHub's own
/// registry where none is given.
///
/// # Errors
/// When the address is none.
pub fn settings(url: &str, scope: &str, owner: &str, auth: &str) -> Result<NpmSettings, String> {
    let rest = url
        .strip_prefix("https:")
        .or_else(|| url.strip_prefix("http:"));
    let rest = rest.filter(|rest| rest.starts_with("//") && rest.len() > 2);
    let rest = rest.filter(|rest| !rest.contains(|c: char| c.is_whitespace() || c.is_control()));
    let rest = rest.ok_or_else(|| {
        format!(
            "`registry-url` is {}: it takes the address of a registry, `https://…`",
            quoted(url)
        )
    })?;
    let slash = if rest.ends_with('/') { "" } else { "/" };
    let scope = match scope {
        "" if rest.contains("npm.pkg.github.com") => owner,
        scope => scope,
    };
    if scope.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(format!(
            "`scope` is {}: it takes one name, `@owner`",
            quoted(scope)
        ));
    }
    let scope = match scope {
        "" => String::new(),
        scope => format!("@{}:", scope.trim_start_matches('@').to_lowercase()),
    };
    let registry = format!("{scope}registry");
    let mut lines = format!("{rest}{slash}:_authToken=${{{TOKEN}}}\n{registry}={url}{slash}");
    if matches!(auth, "true" | "false") {
        lines += "\nalways-auth=";
        lines += auth;
    }
    Ok(NpmSettings { lines, registry })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_npm_is_told_of_a_registry_and_where_its_token_is() {
        let token = "${NODE_AUTH_TOKEN}";
        for ((url, scope, auth), expected) in [
            (
                ("https://r.example", "", ""),
                format!("//r.example/:_authToken={token}\nregistry=https://r.example/"),
            ),
            (
                ("https://npm.example/a/", "Team", "true"),
                format!(
                    "//npm.example/a/:_authToken={token}\n@team:registry=https://npm.example/a/\nalways-auth=true"
                ),
            ),
            (
                ("https://npm.pkg.github.com", "", ""),
                format!(
                    "//npm.pkg.github.com/:_authToken={token}\n@acme:registry=https://npm.pkg.github.com/"
                ),
            ),
        ] {
            let found = settings(url, scope, "Acme", auth).map(|found| found.lines);
            assert_eq!(found, Ok(expected));
        }
        for (url, scope, part) in [
            ("npmjs", "", "`registry-url` is `npmjs`"),
            ("https://a b", "", "`registry-url`"),
            ("https://a", "x y", "`scope`"),
        ] {
            let error = settings(url, scope, "acme", "").unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn i17_a_second_registry_keeps_the_lines_of_other_scopes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".npmrc");
        for (lines, registry) in [
            ("registry=1", "registry"),
            ("@a:registry=1", "@a:registry"),
            ("@A:registry=2", "@a:registry"),
            ("registry=2", "registry"),
        ] {
            let mut command = std::process::Command::new("sh");
            let command = command.args(["-c", WRITE_SCRIPT, "sh"]).arg(&file);
            assert!(command.args([lines, registry]).status().unwrap().success());
        }
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, "@A:registry=2\nregistry=2\n");
    }
}
