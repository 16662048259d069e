//! TLS between a store and its server.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertifiedKey, KeyPair};
use scripted_peers::postgres::PostgresServer;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use store::{ReadRows, Store, StoreError, StoreOptions, Table};

const ROWS: Table<u64, u64> = Table::new("rows");

/// Bytes in the form that servers read files in (RFC 7468).
fn pem(label: &str, der: &[u8]) -> String {
    let digits = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in digits.as_bytes().chunks(64) {
        text.push_str(std::str::from_utf8(line).unwrap());
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

fn certificate(made: &CertifiedKey<KeyPair>) -> String {
    pem("CERTIFICATE", made.cert.der())
}

#[test]
fn i18_tls_is_spoken_and_the_certificate_is_checked() {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let server = PostgresServer::with_tls(
        &certificate(&made),
        &pem("PRIVATE KEY", &made.signing_key.serialize_der()),
    );
    let folder = tempfile::tempdir().unwrap();
    let trusting = |name: &str, certificate: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, certificate).unwrap();
        let rest = format!("sslmode=verify-full&sslrootcert={}", path.display());
        server.network_url(&rest)
    };
    let right = trusting("right", &certificate(&made));
    let store = Store::open_postgres(&right.parse().unwrap(), &StoreOptions::new("test")).unwrap();
    let put = store.write_blocking(|txn| txn.put(&ROWS, &1, &1));
    let _: &Result<(), StoreError> = &put;
    put.unwrap();
    let encrypted = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
                     WHERE s.ssl AND a.application_name = 'test'";
    assert_eq!(server.sql(encrypted), "1");
    store.close();
    let refusal = |url: String| {
        let opened = Store::open_postgres(&url.parse().unwrap(), &StoreOptions::new("test"));
        opened.unwrap_err().to_string()
    };
    let wrong = refusal(trusting("wrong", &certificate(&other)));
    assert!(
        wrong.contains("certificate") && wrong.contains("sslrootcert="),
        "{wrong}"
    );
    let none = refusal(trusting("none", "no certificate"));
    assert!(none.contains("holds no certificate"), "{none}");
    let plain = server.network_url("sslmode=disable").parse().unwrap();
    let store = Store::open_postgres(&plain, &StoreOptions::new("test")).unwrap();
    let rows = store.read_blocking(|rows| rows.len(&ROWS));
    assert_eq!(rows, Ok::<_, StoreError>(1));
}

#[test]
fn i18_a_server_that_wants_a_certificate_of_the_client_gets_it_and_no_password() {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let server = PostgresServer::with_tls(
        &certificate(&made),
        &pem("PRIVATE KEY", &made.signing_key.serialize_der()),
    );
    let role = server.sql("SELECT current_user");
    let key = KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    let name = &mut parameters.distinguished_name;
    name.push(rcgen::DnType::CommonName, role.as_str());
    let client = pem("CERTIFICATE", parameters.self_signed(&key).unwrap().der());
    server.want_client_certificates(&client);
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let roots = place("roots", &certificate(&made), 0o644);
    let (certificate, key) = (
        place("client.crt", &client, 0o644),
        place(
            "client.key",
            &pem("PRIVATE KEY", &key.serialize_der()),
            0o600,
        ),
    );
    let port = server.port();
    let url = format!(
        "postgresql://{role}@127.0.0.1:{port}/{role}?sslmode=verify-full&sslrootcert={roots}"
    );
    let open = |url: &str| Store::open_postgres(&url.parse().unwrap(), &StoreOptions::new("test"));
    let named = format!("{url}&sslcert={certificate}&sslkey={key}");
    open(&named).unwrap().close();
    let without = open(&url).unwrap_err().to_string();
    assert!(without.contains("certificate"), "{without}");
    let open_key = place("open.key", &std::fs::read_to_string(&key).unwrap(), 0o644);
    let readable = open(&format!("{url}&sslcert={certificate}&sslkey={open_key}"));
    let readable = readable.unwrap_err().to_string();
    assert!(readable.contains("others can read it"), "{readable}");
    let none = open(&format!("{url}&sslcert={certificate}&sslkey={certificate}"));
    let none = none.unwrap_err().to_string();
    assert!(none.contains("sslkey"), "{none}");
}
