//! TLS: rustls with ring; which certificates are trusted.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// Which certificates are trusted.
#[derive(Debug, Clone, Default)]
pub enum Tls {
    /// Those of the system, which also know a private authority of the house. They are read with
    /// the first connection that needs them, once for the process.
    #[default]
    System,
    /// Those signed by these authorities, and no others.
    Only(TrustedRoots),
}

/// Certificate authorities to trust.
#[derive(Clone)]
pub struct TrustedRoots(Arc<ClientConfig>);

impl std::fmt::Debug for TrustedRoots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TrustedRoots")
    }
}

/// Why certificates cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// A certificate of an authority is not one.
    #[error("the certificate of an authority is unusable: {0}")]
    Certificate(String),
    /// The system has no certificates, or they cannot be read.
    #[error("no certificates of this system can be used, install its ca-certificates: {0}")]
    NoSystemRoots(String),
}

impl Tls {
    /// Trusts these authorities only (certificates in DER).
    ///
    /// # Errors
    /// [`TlsError::Certificate`].
    pub fn with_authorities(
        authorities: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            let added = roots.add(CertificateDer::from(authority));
            added.map_err(|error| TlsError::Certificate(error.to_string()))?;
        }
        Ok(Self::Only(TrustedRoots(config(roots))))
    }

    /// The configuration of rustls, for HTTP/1.1.
    ///
    /// # Errors
    /// [`TlsError::NoSystemRoots`].
    pub fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        match self {
            Self::System => system(),
            Self::Only(TrustedRoots(config)) => Ok(config.clone()),
        }
    }
}

/// The system's certificates never change while a program runs, and take milliseconds to read.
fn system() -> Result<Arc<ClientConfig>, TlsError> {
    static SYSTEM: OnceLock<Result<Arc<ClientConfig>, TlsError>> = OnceLock::new();
    let read = || {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (usable, _) = roots.add_parsable_certificates(found.certs);
        if usable == 0 {
            let reasons: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
            return Err(TlsError::NoSystemRoots(reasons.join("; ")));
        }
        Ok(config(roots))
    };
    SYSTEM.get_or_init(read).clone()
}

fn config(roots: RootCertStore) -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring's provider serves the default versions");
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}
