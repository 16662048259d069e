//! Every call to the outside world over HTTP: one client with deadlines, limits, retries and an
//! address policy, and on it the protocols that are spoken.
//!
//! - [`http`]: the client.
//! - [`forward`]: requests of others passed on to a server of this machine.
//! - [`forge`]: Gitea, Forgejo and GitHub.
//! - [`lfs`]: Git LFS servers.
//! - [`llm`]: language-model servers, Ollama's protocol and the OpenAI-style one.
//! - [`atomic`]: signed requests to an Atomic Data server.
//! - [`objects`]: large immutable things, in a folder or in S3-compatible storage.
//! - [`registry`]: registries of container images.
//! - [`vmm`]: the VM manager's API, as the runner uses it.
//! - [`ws`]: a WebSocket to another server.
//!
//! This crate is the only user of awc but for the command-line clients, and of object_store.
//! Clients belong to one thread: each arbiter makes its own, cheaply.

pub mod atomic;
pub mod forge;
pub mod forward;
pub mod http;
pub mod lfs;
mod lines;
pub mod llm;
pub mod objects;
pub mod registry;
pub mod vmm;
pub mod ws;
