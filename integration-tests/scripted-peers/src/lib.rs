//! Peers for tests that cannot be had on one machine: they listen on a port of their own, keep what
//! they are told in memory, fail as planned, and record every request.
//!
//! - [`ScriptedForge`]: Gitea and GitHub, as far as the platform speaks to them, with the facts
//!   that were seen on the wire.
//! - [`GitForge`]: repositories that git reads over HTTP, some of them with a token only.
//! - [`ScriptedLlm`]: a server that answers language-model requests with what it was given, byte
//!   for byte.
//! - [`EmbeddingPeer`]: a server that embeds and reranks by counting words.
//! - [`ScriptedVmm`]: a VM manager whose machines play what a test says.
//! - [`BertShape`]: folders of models with made-up numbers.
//! - [`Sshd`]: a real OpenSSH server, with keys of its own.
//! - [`postgres`]: a real PostgreSQL server, with a folder of its own.
//! - [`s3`]: a real S3-compatible server, and a proxy in front of it that makes faults.
//!
//! And the workspace's own programs: [`Program`], a process of its own, [`VmManager`], with what
//! its VMs are made of, and [`assert_understood`], which reads the examples of a `--help`.

mod bert;
mod embedding;
mod examples;
mod forge;
mod git_forge;
mod git_lfs;
mod llm;
pub mod postgres;
mod program;
pub mod s3;
mod server;
mod sshd;
mod vm_manager;
mod vmm;
mod wire;

pub use bert::BertShape;
pub use embedding::{EmbeddingPeer, Manner};
pub use examples::assert_understood;
pub use forge::{Comment, Failure, Hook, PlannedFailure, Pull, Release, ScriptedForge, Status};
pub use git_forge::{GitForge, GitRepository, git};
pub use llm::{Answer, ScriptedLlm};
pub use program::Program;
pub use server::Recorded;
pub use sshd::Sshd;
pub use vm_manager::{VmCache, VmManager};
pub use vmm::{Command, Misbehaviour, Play, ScriptedVmm};
pub use wire::{Reply, ask, ask_within, deliver, deliver_within, exchange, push_event};
