//! Whose grammar a workflow file is read by.

use forge_core::Forge;
use serde::Serialize;

/// The grammar of a file. What one forge refuses, the runners of others run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// GitHub's: what it refuses is a mistake.
    #[default]
    GitHub,
    /// That of Forgejo Actions, most of it Gitea's too: some keys more, and less that is a mistake.
    Forge,
    /// That of Gitea Actions, which knows no mistake in a key that it does not know.
    Gitea,
}

impl Dialect {
    /// Of a file by its folder alone: `.forgejo/workflows` and `.gitea/workflows` are read by those
    /// forges only.
    #[must_use]
    pub fn of_file(file: &str) -> Self {
        let is_below = |folder: &str| {
            let before = file.find(folder).map(|at| &file[..at]);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        match (is_below(".forgejo/"), is_below(".gitea/")) {
            (true, _) => Self::Forge,
            (false, true) => Self::Gitea,
            (false, false) => Self::GitHub,
        }
    }

    /// Of a file of a repository of this forge: Gitea and Forgejo run `.github/workflows` too.
    #[must_use]
    pub fn for_file(file: &str, forge: Forge) -> Self {
        match forge {
            Forge::GitHub => Self::of_file(file),
            Forge::Gitea => Self::Gitea,
            Forge::Forgejo => Self::Forge,
        }
    }

    /// Whether it is that of Gitea or Forgejo.
    #[must_use]
    pub fn is_forge(self) -> bool {
        matches!(self, Self::Forge | Self::Gitea)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_folder_or_its_forge_says_whose_grammar_a_file_has() {
        for (file, github) in [
            (".forgejo/workflows/ci.yml", Dialect::Forge),
            ("a/.gitea/workflows/ci.yml", Dialect::Gitea),
            (".github/workflows/ci.yml", Dialect::GitHub),
            ("x.forgejo/ci.yml", Dialect::GitHub),
        ] {
            assert_eq!(Dialect::for_file(file, Forge::GitHub), github, "{file}");
            assert_eq!(
                Dialect::for_file(file, Forge::Forgejo),
                Dialect::Forge,
                "{file}"
            );
            assert_eq!(
                Dialect::for_file(file, Forge::Gitea),
                Dialect::Gitea,
                "{file}"
            );
        }
    }
}
