//! A server of releases, with and without TLS.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;

/// Serves files below a folder for `localhost` with TLS; what it does not have is `elsewhere`, or
/// where a file `NAME.moved` says. Returns its address, and writes its certificate to a file.
pub(crate) fn serve(folder: PathBuf, certificate: &Path, elsewhere: Option<String>) -> String {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let der = certificate.with_extension("der");
    std::fs::write(&der, made.cert.der()).unwrap();
    let base64 = Command::new("base64").arg(der).output().unwrap().stdout;
    let base64 = String::from_utf8(base64).unwrap();
    let pem = format!("-----BEGIN CERTIFICATE-----\n{base64}-----END CERTIFICATE-----\n");
    std::fs::write(certificate, pem).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let stream = rustls::StreamOwned::new(session, stream);
            // A client that does not trust the certificate hangs up.
            let _ = answer(stream, &folder, elsewhere.as_deref());
        }
    });
    format!("https://localhost:{port}")
}

fn answer(
    stream: impl Read + Write,
    folder: &Path,
    elsewhere: Option<&str>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut first, mut line) = (String::new(), String::from("x"));
    stream.read_line(&mut first)?;
    while !line.trim().is_empty() {
        line.clear();
        stream.read_line(&mut line)?;
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let stream = stream.get_mut();
    let file = folder.join(path.trim_start_matches('/'));
    let moved = std::fs::read_to_string(format!("{}.moved", file.display())).ok();
    let elsewhere = elsewhere.map(|elsewhere| format!("{elsewhere}{path}"));
    match (std::fs::read(file), moved.or(elsewhere)) {
        (Ok(body), _) => {
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            )?;
            stream.write_all(&body)?;
        }
        (Err(_), Some(elsewhere)) => write!(
            stream,
            "HTTP/1.1 302 Found\r\nLocation: {elsewhere}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )?,
        (Err(_), None) => write!(
            stream,
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )?,
    }
    stream.flush()
}

/// Serves files below a folder without TLS.
pub(crate) fn serve_plainly(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, &folder, None);
        }
    });
    format!("http://localhost:{port}")
}
