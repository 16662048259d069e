//! Which caches a run may restore and write, as GitHub scopes them.
//!
//! A cache belongs to the reference whose run wrote it. A run restores those of its own reference,
//! of a pull request's base branch, and of the default branch: what a branch writes never reaches
//! its base before it is merged. A stranger's pull request writes where only its own runs read.
//!
//! Source: <https://docs.github.com/en/actions/reference/workflows-and-actions/dependency-caching>,
//! "Restrictions for accessing a cache".

use crate::event::{EventContext, RunCommit};

/// Where a cache is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheScope {
    /// The repository, in small letters.
    pub repository: String,
    /// The reference whose runs write it.
    pub reference: String,
    /// It is written by strangers: kept apart, so that it crowds out nobody's.
    pub untrusted: bool,
}

/// Where the event's runs look for caches, in this order; the first one is where they write.
pub fn cache_scopes(event: &EventContext, default_branch: &str) -> Vec<CacheScope> {
    let scope = |reference: &str, untrusted| CacheScope {
        repository: event.repository.to_lowercase(),
        reference: reference.to_owned(),
        untrusted,
    };
    let branch = |name: &str| scope(&format!("refs/heads/{name}"), false);
    // Only events of the repository itself are trusted with what others read.
    let mut scopes = vec![match event.kind {
        // What strangers cause runs beside the default branch's own runs: those must not restore
        // what it left.
        kind if kind.is_open_to_strangers() => {
            scope(&format!("{}@{}", event.reference, kind.as_str()), true)
        }
        _ => scope(&event.reference, event.untrusted),
    }];
    let is_pull = event.kind.commit() == RunCommit::PullHead;
    let base = event.base_branch.as_deref().filter(|_| is_pull);
    let others = base.into_iter().chain([default_branch]);
    for other in others.filter(|name| !name.is_empty()).map(branch) {
        if !scopes.contains(&other) {
            scopes.push(other);
        }
    }
    scopes
}
