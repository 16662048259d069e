//! Versions that stand in files of the repository, as `setup-…` actions read them.

use jsonc_parser::ParseOptions;
use serde_json::Value;

/// The file that a tool's action looks at when neither a version nor a file is given.
#[must_use]
pub fn usual_version_file(tool: &str) -> Option<&'static str> {
    match tool {
        "python3" => Some(".python-version"),
        "dotnet" => Some("global.json"),
        "bun" => Some("package.json"),
        _ => None,
    }
}

/// The version that a file names for a tool (`node`, `python3`, `go`, `java`, `dotnet`, `deno`,
/// `bun`).
///
/// # Errors
/// When it names none.
pub fn version_in_file(tool: &str, file: &str, text: &str) -> Result<String, String> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let found = match name {
        "package.json" if tool == "bun" => of_bun_package(text),
        "package.json" => of_package(text),
        "global.json" => of_global_json(text),
        ".sdkmanrc" => of_sdkman(text),
        "Pipfile" => of_pipfile(text),
        ".tool-versions" => of_tool_versions(tool, text),
        "go.mod" | "go.work" => of_go(text),
        "pyproject.toml" => of_python_project(text),
        "mise.toml" | ".mise.toml" => of_mise(tool, text),
        _ => plain(text),
    };
    let found = found.map(|version| match tool {
        "java" => without_vendor(&version).to_owned(),
        "python3" => without_environments(&version),
        _ => version,
    });
    let found = found.filter(|version| !version.is_empty());
    found.ok_or_else(|| {
        let (file, tool) = (config_core::quoted(file), config_core::quoted(tool));
        format!("{file} names no version of {tool}")
    })
}

/// `volta.node`, `devEngines.runtime` of node, or `engines.node`.
fn of_package(text: &str) -> Option<String> {
    let package: Value = serde_json::from_str(text).ok()?;
    let text = |value: Option<&Value>| value?.as_str().map(str::to_owned);
    let runtime = package.pointer("/devEngines/runtime");
    let runtimes = runtime.map(|it| {
        it.as_array()
            .map_or(std::slice::from_ref(it), Vec::as_slice)
    });
    let node = runtimes.unwrap_or_default().iter();
    let mut node = node.filter(|it| it.get("name").and_then(Value::as_str) == Some("node"));
    text(package.pointer("/volta/node"))
        .or_else(|| text(node.next()?.get("version")))
        .or_else(|| text(package.pointer("/engines/node")))
}

/// `bun@1.2.0` as the package manager, or `engines.bun`.
fn of_bun_package(text: &str) -> Option<String> {
    let package: Value = serde_json::from_str(text).ok()?;
    let manager = package.get("packageManager").and_then(Value::as_str);
    let manager = manager.and_then(|manager| manager.strip_prefix("bun@"));
    let engine = || package.pointer("/engines/bun").and_then(Value::as_str);
    manager.or_else(engine).map(str::to_owned)
}

/// `sdk.version` of .NET, as far as `rollForward` holds it
/// (<https://learn.microsoft.com/dotnet/core/tools/global-json>).
fn of_global_json(text: &str) -> Option<String> {
    // With comments, as .NET takes it.
    let text = text.trim_start_matches('\u{feff}');
    let json: Value = jsonc_parser::parse_to_serde_value(text, &ParseOptions::default()).ok()?;
    let version = json.pointer("/sdk/version")?.as_str()?;
    let forward = json.pointer("/sdk/rollForward").and_then(Value::as_str);
    let mut parts = version.splitn(3, '.');
    let (major, minor, patch) = (parts.next()?, parts.next()?, parts.next()?);
    Some(match forward {
        Some("latestMajor") => "latest".to_owned(),
        Some("latestMinor") => major.to_owned(),
        Some("latestFeature") => format!("{major}.{minor}"),
        Some("latestPatch") => format!("{major}.{minor}.{}xx", patch.get(..1)?),
        _ => version.to_owned(),
    })
}

/// `java=17.0.9-tem`, of SDKMAN.
fn of_sdkman(text: &str) -> Option<String> {
    let mut versions = lines(text).filter_map(|line| line.strip_prefix("java="));
    versions.next().map(|version| {
        let number = version.split('-').next().unwrap_or(version);
        number.to_owned()
    })
}

/// `python_version = "3.11"`, or the whole one.
fn of_pipfile(text: &str) -> Option<String> {
    let value = |key: &str| {
        let mut values = lines(text).filter_map(|line| {
            let (name, value) = line.split_once('=')?;
            (name.trim() == key).then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        });
        values.next()
    };
    value("python_full_version").or_else(|| value("python_version"))
}

/// `3.10/envs/mine` of pyenv is an environment of 3.10.
fn without_environments(versions: &str) -> String {
    let plain = |line: &str| line.split('/').next().unwrap_or_default().to_owned();
    versions.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// `temurin-17.0.9+9` names a vendor before the version.
fn without_vendor(version: &str) -> &str {
    let number = version.rsplit('-').find(|part| {
        let mut bytes = part.bytes();
        bytes.next().is_some_and(|byte| byte.is_ascii_digit())
    });
    number.unwrap_or(version)
}

/// `nodejs 20.1.0`, of asdf and mise.
fn of_tool_versions(tool: &str, text: &str) -> Option<String> {
    let own = [tool];
    let names: &[&str] = match tool {
        "node" => &["nodejs", "node"],
        "python3" => &["python"],
        "go" => &["golang", "go"],
        _ => &own,
    };
    lines(text).find_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        names.contains(&name).then(|| words.next())?.map(bare)
    })
}

/// `[tools]` of mise: `node = "22"`, or with `version` in a table
/// (<https://mise.jdx.dev/configuration.html>).
fn of_mise(tool: &str, text: &str) -> Option<String> {
    let settings: toml::Table = text.parse().ok()?;
    let name = match tool {
        "python3" => "python",
        other => other,
    };
    let tool = settings.get("tools")?.get(name)?;
    let version = tool.get("version").unwrap_or(tool).as_str()?;
    Some(bare(version))
}

/// The file that `volta.extends` of a `package.json` (`file`, in the repository) names, where that
/// says nothing of Node itself.
#[must_use]
pub fn extended_package(file: &str, text: &str) -> Option<String> {
    let package: Value = serde_json::from_str(text).ok()?;
    let extends = package.pointer("/volta/extends")?.as_str()?;
    if of_package(text).is_some() {
        return None;
    }
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in extends.split('/') {
        match part {
            "" | "." => {}
            // What lies outside the repository is not there.
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a `package.json` says that npm is the project's package manager.
#[must_use]
pub fn is_npm_project(text: &str) -> bool {
    let Ok(package) = serde_json::from_str::<Value>(text) else {
        return false;
    };
    let is_npm = |name: Option<&Value>| {
        let name = name.and_then(Value::as_str).unwrap_or_default();
        let name = name.strip_prefix('^').unwrap_or(name);
        name == "npm" || name.starts_with("npm@")
    };
    let engines = package.pointer("/devEngines/packageManager");
    let engines = engines.map_or(&[][..], |it| {
        it.as_array()
            .map_or(std::slice::from_ref(it), Vec::as_slice)
    });
    engines.iter().any(|it| is_npm(it.get("name"))) || is_npm(package.get("packageManager"))
}

/// `toolchain go1.22.1`, else `go 1.22`.
fn of_go(text: &str) -> Option<String> {
    let of = |word: &str, start: &str| {
        text.lines().find_map(|line| {
            let line = line.split("//").next().unwrap_or_default();
            let rest = line.trim().strip_prefix(word)?;
            let version = rest.strip_prefix([' ', '\t'])?.trim();
            version.strip_prefix(start).map(str::to_owned)
        })
    };
    of("toolchain", "go").or_else(|| of("go", ""))
}

/// `requires-python` of the project, else what poetry depends on.
fn of_python_project(text: &str) -> Option<String> {
    let mut table = "";
    let mut of_poetry = None;
    for line in lines(text) {
        if line.starts_with('[') {
            table = line;
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let value = value.trim();
        let quoted = value.strip_prefix(['"', '\'']);
        let value = quoted.and_then(|value| value.split(['"', '\'']).next());
        match (table, key.trim(), value) {
            ("[project]", "requires-python", Some(value)) => return Some(value.to_owned()),
            ("[tool.poetry.dependencies]", "python", Some(value)) => {
                of_poetry = Some(value.to_owned());
            }
            _ => {}
        }
    }
    of_poetry
}

/// `.nvmrc`, `.python-version` and the like: a version alone. Several stay several.
fn plain(text: &str) -> Option<String> {
    let versions: Vec<String> = lines(text).map(bare).collect();
    (!versions.is_empty()).then(|| versions.join("\n"))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
}

/// Without what stands before the number: `v20`, `go1.22`.
fn bare(version: &str) -> String {
    let number = version.strip_prefix('v').unwrap_or(version);
    number.strip_prefix("go").unwrap_or(number).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_name_versions_as_the_actions_read_them() {
        let project = "[build-system]\nrequires = [\"x\"]\n[project]\nname = \"a\"\nrequires-python = '>=3.9' # why\n";
        let poetry = "[tool.poetry.dependencies]\npython = \"^3.8\"\n";
        let tools = "# ours\nnodejs 20.1.0\npython 3.11.4 3.9\ngolang 1.22\n";
        for (tool, file, text, expected) in [
            ("node", ".nvmrc", "v18.19.0\n", Some("18.19.0")),
            ("node", ".node-version", " 20 # lts\n", Some("20")),
            (
                "node",
                "web/package.json",
                r#"{"engines": {"node": ">=18"}}"#,
                Some(">=18"),
            ),
            (
                "node",
                "package.json",
                r#"{"volta": {"node": "20.1.0"}, "engines": {"node": ">=18"}}"#,
                Some("20.1.0"),
            ),
            (
                "node",
                "package.json",
                r#"{"devEngines": {"runtime": [{"name": "bun"}, {"name": "node", "version": "22"}]}}"#,
                Some("22"),
            ),
            (
                "python3",
                ".python-version",
                "3.10/envs/mine\n3.11\n",
                Some("3.10\n3.11"),
            ),
            ("node", ".nvmrc", "lts/iron\n", Some("lts/iron")),
            ("node", "package.json", "{}", None),
            ("node", "mise.toml", "[tools]\nnode = 'v22'\n", Some("22")),
            (
                "python3",
                "mise.toml",
                "[tools.python]\nversion = '3.12'\n",
                Some("3.12"),
            ),
            ("node", "mise.toml", "[tools]\ngo = '1'\n", None),
            (
                "dotnet",
                "global.json",
                "\u{feff}{ // ours\n \"sdk\": {\"version\": \"8.0.105\",},}",
                Some("8.0.105"),
            ),
            ("node", "package.json", "no json", None),
            ("node", ".tool-versions", tools, Some("20.1.0")),
            ("python3", ".tool-versions", tools, Some("3.11.4")),
            ("go", ".tool-versions", tools, Some("1.22")),
            ("java", ".tool-versions", tools, None),
            ("go", "go.mod", "module x\n\ngo 1.21 // old\n", Some("1.21")),
            (
                "go",
                "go.work",
                "go 1.21\ntoolchain go1.22.3\n",
                Some("1.22.3"),
            ),
            ("go", "go.mod", "module gone\n", None),
            ("python3", ".python-version", "3.11\n", Some("3.11")),
            (
                "python3",
                ".python-version",
                "3.11\n3.12\n",
                Some("3.11\n3.12"),
            ),
            ("python3", "pyproject.toml", project, Some(">=3.9")),
            ("python3", "pyproject.toml", poetry, Some("^3.8")),
            ("python3", "pyproject.toml", "[project]\n", None),
            ("node", ".nvmrc", "# nothing\n", None),
        ] {
            let found = version_in_file(tool, file, text);
            assert_eq!(found.ok().as_deref(), expected, "{tool} {file}");
        }
    }

    #[test]
    fn i17_files_of_more_tools_name_versions() {
        for (tool, file, text, expected) in [
            ("java", ".java-version", "17\n", Some("17")),
            (
                "java",
                ".tool-versions",
                "java temurin-17.0.9+9\n",
                Some("17.0.9+9"),
            ),
            (
                "java",
                ".sdkmanrc",
                "# x\njava=21.0.1-tem\n",
                Some("21.0.1"),
            ),
            (
                "python3",
                "Pipfile",
                "[requires]\npython_version = \"3.11\"\n",
                Some("3.11"),
            ),
            (
                "bun",
                "package.json",
                r#"{"packageManager": "bun@1.2.0"}"#,
                Some("1.2.0"),
            ),
            (
                "bun",
                "package.json",
                r#"{"engines": {"bun": ">=1"}}"#,
                Some(">=1"),
            ),
            ("bun", ".bun-version", "1.1.0\n", Some("1.1.0")),
            ("deno", ".dvmrc", "v1.40.2\n", Some("1.40.2")),
            (
                "dotnet",
                "global.json",
                r#"{"sdk": {"version": "8.0.105"}}"#,
                Some("8.0.105"),
            ),
            (
                "dotnet",
                "global.json",
                r#"{"sdk": {"version": "8.0.105", "rollForward": "latestFeature"}}"#,
                Some("8.0"),
            ),
            (
                "dotnet",
                "global.json",
                r#"{"sdk": {"version": "8.0.105", "rollForward": "latestPatch"}}"#,
                Some("8.0.1xx"),
            ),
            ("dotnet", "global.json", "{}", None),
        ] {
            let found = version_in_file(tool, file, text);
            assert_eq!(found.ok().as_deref(), expected, "{tool} {file}");
        }
    }

    #[test]
    fn i17_a_package_names_its_manager_and_what_it_extends() {
        for (text, is_npm) in [
            (r#"{"packageManager": "npm@10.1.0"}"#, true),
            (r#"{"packageManager": "^npm"}"#, true),
            (r#"{"packageManager": "npmx@1"}"#, false),
            (r#"{"packageManager": "pnpm@9"}"#, false),
            (
                r#"{"devEngines": {"packageManager": {"name": "npm"}}}"#,
                true,
            ),
            (
                r#"{"devEngines": {"packageManager": [{"name": "yarn"}, {"name": "npm"}]}}"#,
                true,
            ),
            ("{}", false),
            ("no json", false),
        ] {
            assert_eq!(is_npm_project(text), is_npm, "{text}");
        }
        for (file, text, extends) in [
            (
                "a/b/package.json",
                r#"{"volta": {"extends": "../package.json"}}"#,
                Some("a/package.json"),
            ),
            (
                "package.json",
                r#"{"volta": {"extends": "./base/p.json"}}"#,
                Some("base/p.json"),
            ),
            (
                "package.json",
                r#"{"volta": {"extends": "../p.json"}}"#,
                None,
            ),
            (
                "a/package.json",
                r#"{"volta": {"extends": "../a.json", "node": "20"}}"#,
                None,
            ),
            ("package.json", "{}", None),
        ] {
            let found = extended_package(file, text);
            assert_eq!(found.as_deref(), extends, "{file}: {text}");
        }
    }
}
