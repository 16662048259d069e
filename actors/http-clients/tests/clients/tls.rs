//! TLS against a real handshake.

use std::net::SocketAddr;
use std::sync::Arc;

use http_clients::http::{HttpClient, HttpError, HttpOptions, Redirects, Request, Tls};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::common::options;

/// A TLS server for `localhost` that answers this; and its certificate.
async fn secure(answer: &'static str, says_goodbye: bool) -> (SocketAddr, Vec<u8>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    actix_rt::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            actix_rt::spawn(async move {
                let Ok(mut tls) = acceptor.accept(connection).await else {
                    return;
                };
                let mut request = [0; 8192];
                let _ = tls.read(&mut request).await;
                let _ = tls.write_all(answer.as_bytes()).await;
                let _ = tls.flush().await;
                if says_goodbye {
                    let _ = tls.shutdown().await;
                }
            });
        }
    });
    (address, cert.der().to_vec())
}

fn client(tls: Tls) -> HttpClient {
    HttpClient::new(HttpOptions {
        tls,
        redirects: Redirects::Anywhere(2),
        ..options()
    })
}

fn localhost(address: SocketAddr) -> url::Url {
    format!("https://localhost:{}/", address.port())
        .parse()
        .unwrap()
}

const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

#[actix_rt::test]
async fn a_trusted_certificate_is_accepted() {
    let (server, certificate) = secure(HELLO, true).await;
    let client = client(Tls::with_authorities([certificate]).unwrap());
    let response = client.call(Request::get(localhost(server))).await.unwrap();
    assert_eq!(response.body, "hello");
}

#[actix_rt::test]
async fn a_stranger_and_a_wrong_name_are_refused() {
    let (server, _) = secure(HELLO, true).await;
    let (_, other) = secure(HELLO, true).await;
    let client = client(Tls::with_authorities([other.clone()]).unwrap());
    let error = client
        .call(Request::get(localhost(server)))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, HttpError::Unavailable { sent: false, reason, .. } if reason.contains("TLS")),
        "{error}"
    );
    let (server, certificate) = secure(HELLO, true).await;
    let client = self::client(Tls::with_authorities([certificate]).unwrap());
    let by_address = format!("https://127.0.0.1:{}/", server.port())
        .parse()
        .unwrap();
    let error = client.call(Request::get(by_address)).await.unwrap_err();
    assert!(
        matches!(error, HttpError::Unavailable { sent: false, .. }),
        "{error}"
    );
}

#[actix_rt::test]
async fn a_body_cut_short_is_seen_through_tls_even_with_a_goodbye() {
    let half = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n";
    for says_goodbye in [true, false] {
        let (server, certificate) = secure(half, says_goodbye).await;
        let client = client(Tls::with_authorities([certificate]).unwrap());
        let error = client
            .call(Request::get(localhost(server)))
            .await
            .unwrap_err();
        assert!(
            matches!(error, HttpError::BadBody { .. }),
            "{says_goodbye}: {error}"
        );
    }
}

#[actix_rt::test]
async fn a_redirect_out_of_tls_is_not_followed() {
    let to_plain =
        "HTTP/1.1 302 Found\r\nlocation: http://localhost:1/\r\ncontent-length: 0\r\n\r\n";
    let (server, certificate) = secure(to_plain, true).await;
    let client = client(Tls::with_authorities([certificate]).unwrap());
    let error = client
        .call(Request::get(localhost(server)))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("it would leave TLS"), "{error}");
}

#[actix_rt::test]
async fn plain_text_where_tls_is_expected_fails() {
    let plain = crate::common::raw(HELLO, std::time::Duration::ZERO).await;
    let (_, certificate) = secure(HELLO, true).await;
    let client = client(Tls::with_authorities([certificate]).unwrap());
    let error = client
        .call(Request::get(localhost(plain)))
        .await
        .unwrap_err();
    assert!(
        matches!(error, HttpError::Unavailable { sent: false, .. }),
        "{error}"
    );
}

#[test]
fn what_is_no_certificate_is_refused() {
    assert!(Tls::with_authorities([b"nonsense".to_vec()]).is_err());
}
