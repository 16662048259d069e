//! Containers of a job without I/O: what `container`, `services` and Docker actions ask for, as
//! checked values, and the commands of the container engine that carry it out.
//!
//! ```text
//! Data ──value──▶ request::ContainerRequest ──▶ engine::create, engine::run ──▶ arguments of podman
//!                   ├─ image::ImageReference ──▶ store, lock
//!                   ├─ ports::assign ──▶ ports of the machine
//!                   └─ health::HealthWatch: is it ready, or has it failed
//! ```

pub mod compose_file;
pub mod dockerfile;
pub mod engine;
pub mod health;
mod image;
pub mod lock;
pub mod oci;
pub mod options;
pub mod ports;
pub mod request;
pub mod script;
pub mod stored;
pub mod words;

pub use image::{ImageReference, ImageReferenceError, how_to_add_image, is_digest};
pub use request::{ContainerRequest, Credentials, container, services};
