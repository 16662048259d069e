//! What the sample jobs need: the repository, its web server, the forge, the secrets.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::Value;

use super::forge::DemoForge;
use super::ports::Ports;
use super::sample::SampleRepository;
use super::secrets::DemoSecrets;
use super::{files, http};

/// All of it; it ends with this process.
pub(super) struct SampleEnvironment {
    /// Where the products listen.
    pub(super) ports: Ports,
    /// The secrets of this start.
    pub(super) secrets: DemoSecrets,
    /// The repository.
    pub(super) sample: SampleRepository,
    /// The forge.
    pub(super) forge: DemoForge,
    files: SocketAddr,
}

impl SampleEnvironment {
    /// Makes it, with the repository in `folder`.
    ///
    /// # Errors
    /// When git fails or no port is free.
    pub(super) fn new(folder: &Path, ports: Ports) -> Result<Self> {
        let secrets = DemoSecrets::new();
        let sample = SampleRepository::create(folder)?;
        Ok(Self {
            ports,
            files: files::serve(sample.folder())?,
            forge: DemoForge::start(&secrets.forge)?,
            secrets,
            sample,
        })
    }

    /// Where the repository is cloned from.
    pub(super) fn clone_url(&self) -> String {
        format!("http://{}/main.git", self.files)
    }

    /// Sends a signed webhook, as a forge would; gives the reply.
    ///
    /// # Errors
    /// When it is refused.
    pub(super) fn deliver(&self, to: SocketAddr, event: &str, body: &str) -> Result<Value> {
        let answer = self.secrets.post(to, event, None, body)?;
        if answer.status != 202 {
            bail!(
                "the {event} was answered with {}: {}",
                answer.status,
                answer.body
            );
        }
        http::json(&answer, event)
    }
}
