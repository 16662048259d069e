//! The program as its users start it: settings, tokens, and real VMs.

mod images;
mod machines;
mod manager;
mod network;
mod process;
mod settings;
mod shared_images;
mod shared_machines;
