//! The store as its users see it, over both engines, and what disks, kills and servers do to it.
//! One binary, a module for each topic.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

mod backends;
mod blob_cuts;
mod crash_cuts;
mod crash_kills;
#[path = "../engines/mod.rs"]
mod engines;
#[path = "../faulty_disk/mod.rs"]
mod faulty_disk;
mod file_identity;
mod full_disk;
mod intake_page;
mod lock;
mod maintenance;
mod model;
mod moving;
mod postgres;
mod postgres_bodies;
mod postgres_probe;
mod postgres_tls;
#[path = "../recorded_disk/mod.rs"]
mod recorded_disk;
mod requests;
mod round_trips;
mod schema;
mod shared;
mod silent_server;
mod two_servers;
mod upgrade;
mod warnings;
