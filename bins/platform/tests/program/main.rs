//! The platform as its users start it: `--check`, all products on ports of their own, one signal,
//! exit codes.

mod check;
mod cluster_samples;
mod demo;
mod front;
mod news;
mod process;
mod running;
mod site;
