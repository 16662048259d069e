//! Small files of the VM, read into memory.

use std::time::Duration;

use cluster_actors::vm_hosts::tarball;
use futures_util::StreamExt;
use runner_core::problem_matcher::MAX_FILE_BYTES;

use super::machine::JobMachine;

/// Longest time to read a file of problem matchers: the step's output waits for it.
const MATCHERS_TIMEOUT: Duration = Duration::from_secs(30);

/// Why small files could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("they are larger than allowed")]
    TooLarge,
    #[error("{0}")]
    Unread(String),
}

impl From<FetchError> for String {
    fn from(error: FetchError) -> Self {
        error.to_string()
    }
}

/// A file of problem matchers.
pub(super) async fn matcher_file(machine: &JobMachine, path: &str) -> Result<Vec<u8>, String> {
    let fetch = fetch(machine, path, MAX_FILE_BYTES, MAX_FILE_BYTES);
    let files = tokio::time::timeout(MATCHERS_TIMEOUT, fetch).await;
    let files = files.map_err(|_| "it could not be read in time".to_owned())??;
    let mut files = files.into_iter();
    match (files.next(), files.next()) {
        (Some((_, bytes)), None) => Ok(bytes),
        _ => Err("it is no file".to_owned()),
    }
}

/// The files of a directory of at most `limit` bytes, `total` of them all.
pub(super) async fn fetch(
    machine: &JobMachine,
    path: &str,
    limit: usize,
    total: usize,
) -> Result<Vec<(String, Vec<u8>)>, FetchError> {
    let unread = |error: &dyn std::fmt::Display| FetchError::Unread(error.to_string());
    let _transfer = machine.transfer().await;
    let stream = machine.vmm.get_files(&machine.id, path).await;
    let mut stream = stream.map_err(|error| unread(&error))?;
    let mut tar = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| unread(&error))?;
        tar.extend_from_slice(&chunk);
        if tar.len() > total + (64 << 10) {
            return Err(FetchError::TooLarge);
        }
    }
    tarball::files_in(&tar, limit).map_err(|error| unread(&error))
}
