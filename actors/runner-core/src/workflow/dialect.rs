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
    /// That of Gitea Actions and Forgejo Actions: some keys more, and less that is a mistake.
    Forge,
}

impl Dialect {
    /// Of a file by its folder alone: `.forgejo/workflows` and `.gitea/workflows` are read by those
    /// forges only.
    #[must_use]
    pub fn of_file(file: &str) -> Self {
        let own = [".forgejo/", ".gitea/"];
        let is_own = |folder: &&str| {
            let before = file.find(*folder).map(|at| &file[..at]);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        match own.iter().any(is_own) {
            true => Self::Forge,
            false => Self::GitHub,
        }
    }

    /// Of a file of a repository of this forge: Gitea and Forgejo run `.github/workflows` too.
    #[must_use]
    pub fn of(file: &str, forge: Forge) -> Self {
        match forge {
            Forge::GitHub => Self::of_file(file),
            Forge::Gitea | Forge::Forgejo => Self::Forge,
        }
    }

    /// Whether it is that of Gitea and Forgejo.
    #[must_use]
    pub fn is_forge(self) -> bool {
        self == Self::Forge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_folder_or_its_forge_says_whose_grammar_a_file_has() {
        let forge = Dialect::Forge;
        for (file, github, gitea) in [
            (".forgejo/workflows/ci.yml", forge, forge),
            ("a/.gitea/workflows/ci.yml", forge, forge),
            (".github/workflows/ci.yml", Dialect::GitHub, forge),
            ("x.forgejo/ci.yml", Dialect::GitHub, forge),
        ] {
            assert_eq!(Dialect::of(file, Forge::GitHub), github, "{file}");
            assert_eq!(Dialect::of(file, Forge::Forgejo), gitea, "{file}");
        }
    }
}
