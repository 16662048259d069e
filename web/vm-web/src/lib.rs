//! The VM manager's routes and its server.
//!
//! ```text
//! request ─▶ Edge (host, origin, limits) ─▶ token and scope ─▶ handler ─message─▶ VmScheduler, Vm
//!                                                                 └─────reads────▶ VmManagerView
//! ```
//! A handler turns a request into a message and the reply into JSON; it decides nothing. Whose
//! token a VM was ordered with decides who sees it: to others it does not exist.

mod api;
mod auth;
pub mod boot;
pub mod config;
mod follow;
mod handlers;
mod metrics;
mod problems;
mod server;
mod state;

pub use api::{openapi, routes};
pub use server::{ManagerServerOptions, VmServer};
