//! TLS to the server, by rustls: what `tokio-postgres` asks of a TLS library.

use super::url::ClientFiles;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::future::Future;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};

/// Makes a connector for each host. The server's certificate is checked, and its name.
#[derive(Clone)]
pub(super) struct MakeTls(Arc<ClientConfig>);

impl MakeTls {
    /// Trusts the certificates in the file, or those of the system, and shows the client's own
    /// where the address names one. Files are read at each connection: a new certificate counts
    /// from the next one on.
    ///
    /// # Errors
    /// There is none to trust, or the client's cannot be shown.
    pub(super) fn trusting(
        file: Option<&Path>,
        client: Option<&ClientFiles>,
    ) -> Result<Self, String> {
        let roots = match file {
            Some(path) => in_file(path)?,
            None => of_the_system()?,
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring's provider serves the default versions");
        let builder = builder.with_root_certificates(roots);
        let config = match client {
            None => builder.with_no_client_auth(),
            Some(files) => {
                let (certificates, key) = client_certificate(files)?;
                let config = builder.with_client_auth_cert(certificates, key);
                config.map_err(|error| {
                    let (of, key) = (files.certificate.display(), files.key.display());
                    format!("sslcert {of} with sslkey {key}: {error}")
                })?
            }
        };
        Ok(Self(Arc::new(config)))
    }

    /// For connections without TLS: trusts nobody.
    pub(super) fn none() -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring's provider serves the default versions");
        let roots = RootCertStore::empty();
        Self(Arc::new(
            builder.with_root_certificates(roots).with_no_client_auth(),
        ))
    }
}

fn in_file(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("sslrootcert", path)? {
        let added = roots.add(certificate);
        added.map_err(|error| format!("sslrootcert {}: {error}", path.display()))?;
    }
    Ok(roots)
}

/// The certificates of a file, of which there is one at least.
fn certificates(parameter: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error: &dyn fmt::Display| format!("{parameter} {}: {error}", path.display());
    let found = CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))?;
    let found: Result<Vec<_>, _> = found.collect();
    let found = found.map_err(|error| failed(&error))?;
    match found.is_empty() {
        true => Err(failed(&"it holds no certificate")),
        false => Ok(found),
    }
}

/// A client's certificates and its key, which nobody else may read.
fn client_certificate(
    files: &ClientFiles,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let failed = |error: &dyn fmt::Display| format!("sslkey {}: {error}", files.key.display());
    let metadata = std::fs::metadata(&files.key).map_err(|error| failed(&error))?;
    // As libpq has it: a key of root's may be read by a group.
    let others = if metadata.uid() == 0 { 0o027 } else { 0o077 };
    if metadata.mode() & others != 0 {
        return Err(failed(&"others can read it; chmod 600"));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| failed(&error))?;
    Ok((certificates("sslcert", &files.certificate)?, key))
}

fn of_the_system() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(found.certs) {
        (0, _) => Err(
            "this machine has no certificates to trust: install ca-certificates, or name a file \
             with sslrootcert="
                .to_owned(),
        ),
        _ => Ok(roots),
    }
}

impl<S> MakeTlsConnect<S> for MakeTls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = CiphertextStream<S>;
    type TlsConnect = TlsHandshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<TlsHandshake, InvalidDnsNameError> {
        // A Unix socket has no name, and no TLS either.
        let host = if host.is_empty() { "localhost" } else { host };
        let name = ServerName::try_from(host)?.to_owned();
        let config = Arc::clone(&self.0);
        Ok(TlsHandshake { config, name })
    }
}

/// One handshake to be made.
pub(super) struct TlsHandshake {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl<S> TlsConnect<S> for TlsHandshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = CiphertextStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<CiphertextStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let connector = tokio_rustls::TlsConnector::from(self.config);
            connector
                .connect(self.name, stream)
                .await
                .map(CiphertextStream)
        })
    }
}

/// A stream of ciphertext.
pub(super) struct CiphertextStream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for CiphertextStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for CiphertextStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, out)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for CiphertextStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
