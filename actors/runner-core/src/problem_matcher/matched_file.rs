//! Files that lines name, as paths from the workspace.

use crate::context::WORKSPACE;
use crate::job_folders::below_workspace;

/// Where containers have the workspace, beside its own path.
const IN_CONTAINERS: [&str; 2] = ["/__w", "/github/workspace"];

/// The file of the machine that `add-matcher` names: a relative one is meant from the workspace,
/// and a container's path of the workspace is the machine's.
#[must_use]
pub fn matcher_path(given: &str) -> String {
    let given = given.trim();
    for prefix in IN_CONTAINERS {
        if let Some(rest) = given
            .strip_prefix(prefix)
            .and_then(|it| it.strip_prefix('/'))
        {
            return format!("{WORKSPACE}/{rest}");
        }
    }
    match given.strip_prefix('/') {
        Some(_) => given.to_owned(),
        None => format!("{WORKSPACE}/{given}"),
    }
}

/// The path from the workspace of a file that a line names. A relative one is meant from the
/// folder of `from`, else from the workspace. `None`: it lies elsewhere.
pub(super) fn in_workspace(file: &str, from: Option<&str>) -> Option<String> {
    let file = file.trim().replace('\\', "/");
    let file = file.strip_prefix("file://").unwrap_or(&file);
    let folder = from.map(|from| from.trim().replace('\\', "/"));
    let folder = folder.as_deref().and_then(|from| from.rsplit_once('/'));
    let full = match folder {
        Some((folder, _)) if !file.starts_with('/') => matcher_path(&format!("{folder}/{file}")),
        _ => matcher_path(file),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in full.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    let full = format!("/{}", parts.join("/"));
    let below = below_workspace(&full)?.strip_prefix('/')?;
    Some(below.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_files_are_named_from_the_workspace() {
        for (file, from, expected) in [
            ("src/a.ts", None, Some("src/a.ts")),
            ("./src/../a.ts", None, Some("a.ts")),
            ("/workspace/src/a.ts", None, Some("src/a.ts")),
            ("/__w/src/a.ts", None, Some("src/a.ts")),
            ("/github/workspace/a.ts", None, Some("a.ts")),
            ("src\\a.cs", None, Some("src/a.cs")),
            (
                "Program.cs",
                Some("/workspace/app/app.csproj"),
                Some("app/Program.cs"),
            ),
            ("../b.cs", Some("app/x/app.csproj"), Some("app/b.cs")),
            ("Program.cs", Some("app.csproj"), Some("Program.cs")),
            (
                "/workspace/a.cs",
                Some("/workspace/app/app.csproj"),
                Some("a.cs"),
            ),
            ("/usr/lib/python3/x.py", None, None),
            ("../../etc/passwd", None, None),
            ("/workspaces/a", None, None),
            ("<stdin>", None, Some("<stdin>")),
        ] {
            assert_eq!(in_workspace(file, from).as_deref(), expected, "{file}");
        }
        assert_eq!(matcher_path("/__w/m.json"), "/workspace/m.json");
        assert_eq!(matcher_path(".github/m.json"), "/workspace/.github/m.json");
        assert_eq!(matcher_path("/opt/m.json"), "/opt/m.json");
    }
}
