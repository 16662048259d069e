//! What a plan is made from, and why none can be made.

use std::cell::Cell;
use std::sync::Arc;

use config_core::Diagnostics;

use crate::actions::ActionSource;
use crate::expr::Contexts;
use crate::source_location::SourceLocation;

/// Gives the bytes of a file of the commit, by its path in the repository.
pub type FileLookup<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// What a plan is made from.
#[derive(Clone, Copy)]
pub struct PlanInput<'a> {
    /// The contexts github, vars and inputs (see [`crate::context`]).
    pub contexts: &'a Contexts,
    /// The files of the commit.
    pub files: FileLookup<'a>,
    /// The actions of other repositories.
    pub actions: &'a dyn ActionSource,
}

/// Why no plan can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A called workflow or a local action is wrong.
    #[error("{0}")]
    File(Diagnostics),
    /// An expression of the workflow itself has no value.
    #[error("{file}:{place}: {message}")]
    Workflow {
        /// The file.
        file: Arc<str>,
        /// Where.
        place: SourceLocation,
        /// Why.
        message: String,
    },
}

/// Takes from the budget of called files; false when there is not enough left.
pub(super) fn spend(budget: &Cell<usize>, bytes: usize) -> bool {
    let left = budget.get().checked_sub(bytes);
    budget.set(left.unwrap_or(0));
    left.is_some()
}

/// A path without `.` and `..`; nothing where it leads out of its repository.
pub(super) fn resolved(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_dockerfile_may_lie_elsewhere_in_its_repository() {
        let cases = [
            ("act/../docker/Dockerfile", Some("docker/Dockerfile")),
            ("act/./Dockerfile", Some("act/Dockerfile")),
            ("../Dockerfile", None),
            ("a/../../Dockerfile", None),
        ];
        for (path, found) in cases {
            assert_eq!(resolved(path).as_deref(), found, "{path}");
        }
    }
}
