//! TLS to the server, by rustls: what `tokio-postgres` asks of a TLS library.

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::future::Future;
use std::io;
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
    /// Trusts the certificates in the file, or those of the system.
    ///
    /// # Errors
    /// There is none to trust.
    pub(super) fn trusting(file: Option<&Path>) -> Result<Self, String> {
        let roots = match file {
            Some(path) => in_file(path)?,
            None => of_the_system()?,
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring's provider serves the default versions");
        let config = builder.with_root_certificates(roots).with_no_client_auth();
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
    let failed = |error: &dyn std::fmt::Display| format!("sslrootcert {}: {error}", path.display());
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))?;
    for certificate in found {
        let certificate = certificate.map_err(|error| failed(&error))?;
        roots.add(certificate).map_err(|error| failed(&error))?;
    }
    match roots.is_empty() {
        true => Err(failed(&"it holds no certificate")),
        false => Ok(roots),
    }
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
    type Stream = Encrypted<S>;
    type TlsConnect = Connector;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Connector, InvalidDnsNameError> {
        // A Unix socket has no name, and no TLS either.
        let host = if host.is_empty() { "localhost" } else { host };
        let name = ServerName::try_from(host)?.to_owned();
        let config = Arc::clone(&self.0);
        Ok(Connector { config, name })
    }
}

/// One handshake to be made.
pub(super) struct Connector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl<S> TlsConnect<S> for Connector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let connector = tokio_rustls::TlsConnector::from(self.config);
            connector.connect(self.name, stream).await.map(Encrypted)
        })
    }
}

/// A stream of ciphertext.
pub(super) struct Encrypted<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, out)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
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
