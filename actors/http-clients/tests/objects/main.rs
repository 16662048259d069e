//! Object storage: a folder, and a real server that checks signatures.

mod mount;
mod storage;
