//! Where the checkout of a job lies as its steps see it, and what is around it.

use crate::context::{RUNNER_WORKSPACE, WORKSPACE};
use crate::expr::ExprValue;

/// Where GitHub's machines have the folders around their checkouts.
const HOSTED: &str = concat!("/home/runner", "/work");

/// The folders of a job as its steps see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFolders {
    /// The checkout (`GITHUB_WORKSPACE`).
    pub workspace: String,
    /// The folder around it (`RUNNER_WORKSPACE`).
    pub around: String,
}

impl JobFolders {
    /// Those of a machine whose steps are root.
    #[must_use]
    pub fn for_root() -> Self {
        Self {
            workspace: WORKSPACE.to_owned(),
            around: RUNNER_WORKSPACE.to_owned(),
        }
    }

    /// Those of GitHub's machines, for a machine whose steps are a user that may not write beside
    /// `/workspace`: that is a link to the checkout then.
    #[must_use]
    pub fn hosted(repository: &str) -> Self {
        let name = folder_name(repository);
        let around = format!("{HOSTED}/{name}");
        Self {
            workspace: format!("{around}/{name}"),
            around,
        }
    }

    /// Whether `/workspace` is a link to the checkout.
    #[must_use]
    pub fn is_hosted(&self) -> bool {
        self.workspace != WORKSPACE
    }

    /// A path of the machine as steps see it.
    #[must_use]
    pub fn to_step_path(&self, path: &str) -> String {
        match strip_folder(path, WORKSPACE) {
            Some(rest) => format!("{}{rest}", self.workspace),
            None => path.to_owned(),
        }
    }

    /// A context (`github`, `runner`) with these folders.
    #[must_use]
    pub fn in_context(&self, context: ExprValue) -> ExprValue {
        let ExprValue::Object(known) = &context else {
            return context;
        };
        let folder = match known.get("workspace").map(ExprValue::as_text).as_deref() {
            Some(WORKSPACE) => &self.workspace,
            Some(RUNNER_WORKSPACE) => &self.around,
            _ => return context,
        };
        let mut own = (**known).clone();
        own.set("workspace", ExprValue::text(folder));
        ExprValue::Object(std::sync::Arc::new(own))
    }

    /// Corrects the variables that name them.
    pub fn correct(&self, variables: &mut [(String, String)]) {
        let named = variables.iter_mut();
        for (_, value) in named.filter(|(name, _)| name.ends_with("_WORKSPACE")) {
            let folder = match value.as_str() {
                WORKSPACE => &self.workspace,
                RUNNER_WORKSPACE => &self.around,
                _ => continue,
            };
            value.clone_from(folder);
        }
    }
}

/// The folder of a repository's checkout: its name.
#[must_use]
pub fn folder_name(repository: &str) -> &str {
    let name = repository.rsplit('/').next().unwrap_or_default();
    match name {
        "" | "." | ".." => "checkout",
        name => name,
    }
}

/// What follows the workspace in a path, from its `/` on, whichever of its names the path begins
/// with; nothing where it is the workspace itself. `None`: it lies elsewhere.
#[must_use]
pub fn below_workspace(path: &str) -> Option<&str> {
    strip_folder(path, WORKSPACE).or_else(|| {
        let rest = strip_folder(path, HOSTED)?.strip_prefix('/')?;
        let (around, rest) = rest.split_once('/')?;
        strip_folder(rest, around)
    })
}

fn strip_folder<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::runner;

    fn path(rest: &str) -> String {
        format!("{HOSTED}/{rest}")
    }

    #[test]
    fn i17_the_checkout_is_the_same_by_each_of_its_names() {
        for (path, expected) in [
            ("/workspace".to_owned(), Some("")),
            ("/workspace/a/b".to_owned(), Some("/a/b")),
            ("/workspaces".to_owned(), None),
            (path("rocket/rocket"), Some("")),
            (path("rocket/rocket/a"), Some("/a")),
            (path("rocket/rockets/a"), None),
            (path("rocket/build"), None),
            (path("rocket"), None),
            ("a".to_owned(), None),
        ] {
            assert_eq!(below_workspace(&path), expected, "{path}");
        }
    }

    #[test]
    fn i17_steps_of_a_user_see_the_folders_of_github_s_machines() {
        let folders = JobFolders::hosted("acme/rocket");
        assert_eq!(folders.workspace, path("rocket/rocket"));
        assert_eq!(folders.around, path("rocket"));
        assert_eq!(
            folders.to_step_path("/workspace/own"),
            path("rocket/rocket/own")
        );
        assert_eq!(folders.to_step_path("/tmp/x"), "/tmp/x");
        assert!(folders.is_hosted() && !JobFolders::for_root().is_hosted());
        let context = folders.in_context(runner("X64", false));
        let own = context.get("workspace").map(|it| it.as_text().to_string());
        assert_eq!(own, Some(path("rocket")));
        let mut variables = [
            ("GITHUB_WORKSPACE", "/workspace"),
            ("RUNNER_WORKSPACE", "/tmp/work"),
            ("OTHER", "/workspace"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        folders.correct(&mut variables);
        let values = variables.map(|(_, value)| value);
        assert_eq!(
            values,
            [path("rocket/rocket"), path("rocket"), "/workspace".into()]
        );
        assert_eq!(folder_name("acme/.."), "checkout");
    }
}
