//! What a step with `actions/checkout` asks for, with whose rights it is read, and where submodules
//! come from.

mod address;
mod fork_code;
mod lfs;
mod request;
mod ssh;

pub use address::{is_plainly_of, repository_url, same_repository, submodule_url};
pub use fork_code::refused_fork_code;
pub use lfs::{LfsPointer, MAX_POINTER_BYTES, is_own_lfs, lfs_endpoint, lfs_url};
pub use request::{CheckoutRequest, History, ReadBy, RepositoryPattern, Submodules, read_by};
pub use ssh::{MACHINE_CONNECT, SshInputs, is_ssh, machine_command, ssh_url, submodule_address};
