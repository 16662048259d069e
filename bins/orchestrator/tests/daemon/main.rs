//! The daemon itself, over its sockets, with a scripted forge and real agents.

mod attacks;
mod check;
mod ends;
mod fanout;
mod faults;
mod forge;
mod harness;
mod hosts;
mod intrusions;
mod limits;
mod mentions;
mod outside;
mod process;
mod receiver;
mod reload;
mod replicas;
mod run_page;
mod secrets;
mod shared_logs;
mod socket;
mod streams;
mod vms;
mod walls;
mod wire;
