//! Real git, run safely, for whoever needs a repository's files: mirrors, fetches of one exact
//! commit, checkouts.
//!
//! ```text
//! caller ──Remote (checked URL, token, addresses)──▶ Mirror ──Git::command──▶ git, own process group
//!                                                      │
//!                                      files at a commit, changed paths, a checkout with `.git`
//! ```
//!
//! # What always holds
//!
//! - **No shell, no hooks, no host configuration.** git gets an argument list and a clean
//!   environment: neither `/etc/gitconfig` nor a home folder is read, templates and hooks are off,
//!   nothing is asked on a terminal.
//! - **Only allowed transports.** A URL is `https`, or what the caller allows beside it
//!   ([`Transports`]); one that holds a password, begins with `-` or names another helper (`ext::`)
//!   is refused before git sees it, and git is told the same list. Redirects are not followed; a
//!   host can be pinned to addresses that the caller has checked ([`Remote::pinned`]).
//! - **Tokens stand in no URL and no argument list.** git asks a credential helper, which reads
//!   them from the environment of that one process, for that one host.
//! - **Keys of SSH stand in no file of a disk.** ssh is started with one key and the hosts that are
//!   known to the caller, without a configuration, an agent or a question ([`Remote::ssh`]).
//! - **Everything ends.** Each call has a time limit, and its whole process group is ended with it;
//!   output is kept up to a limit.
//! - **What is laid out is counted before.** [`Mirror::tree_size`] counts entries, bytes and depth
//!   from the object store, each object once, so that a few kilobytes of folders that name each
//!   other cannot become millions of files.
//! - **Nothing grows for ever.** [`housekeep`] packs what many fetches left, and drops what nothing
//!   has named for two weeks.
//! - **What a stranger pushes is apart.** A [`Quarantine`] has the references and, as alternates,
//!   the objects of one mirror; its own objects are checked, and gone with it.
//! - **Repositories of others are read only.** [`LocalRepository`] asks git for names, trees and
//!   differences, [`Objects`] for contents, by commands that run nothing the repository names.
//! - **The repository's content is data.** git follows no submodules (they are
//!   [listed](WorkTree::submodules), and the caller decides), no filters run (none is configured),
//!   and files are read from the object database, never through a path in a work tree.

mod command;
mod commits;
mod digest;
mod error;
mod heads;
mod housekeeping;
mod measure;
mod merge;
mod mirror;
mod objects;
mod quarantine;
mod remote;
mod repository;
mod run;
mod session;
mod ssh;
mod submodules;
mod tracked;
mod tree;
mod work_tree;

pub use command::{Git, GitInvocation};
pub use commits::CommitFacts;
pub use digest::{TreeDigest, tree_digest};
pub use error::GitError;
pub use heads::{Heads, MAX_HEADS};
pub use housekeeping::{References, housekeep};
pub use measure::{TreeLimits, TreeSize, tree_size};
pub use merge::Merge;
pub use mirror::{Depth, Mirror, Mirrors};
pub use objects::{BlobLookup, GitBlob, Objects};
pub use quarantine::{ForgeAnswer, PushedRef, Quarantine};
pub use remote::{Remote, RemoteUrlError, Transports};
pub use repository::{
    LocalRepository, RefStamp, RepositoryError, TreeChange, TreeChanges, TreeItem, TreeItems,
};
pub use ssh::SshAccess;
pub use submodules::Submodule;
pub use tracked::TrackedFiles;
pub use tree::{TreeEntry, TreeEntryKind};
pub use work_tree::{Fetch, Sparse, WorkTree};
