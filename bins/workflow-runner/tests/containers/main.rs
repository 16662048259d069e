//! Containers of workflows in real, emulated VMs: services, a job's container, Docker actions, a
//! registry, and what scripts do with `docker`. Agent, kernel and images come from the cache folder
//! (`ORRERY_CACHE`, else `~/.cache/orrery`) and are made there once: the image `full`, and an image
//! of containers of Debian's packages.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

mod axios;
mod background;
mod documents;
mod hosted;
mod kept;
mod lab;
mod labels;
mod languages;
mod own_address;
mod own_registry;
mod platforms;
mod scripts;
mod services;
mod setup;
#[path = "../site/mod.rs"]
mod site;
#[path = "../stage/mod.rs"]
mod stage;
