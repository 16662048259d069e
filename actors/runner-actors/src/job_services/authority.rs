//! Certificates for the forge's own address, at which the gateway answers a job's machine.
//!
//! Each host has an authority of its own, made when a job needs it first. It signs that one
//! certificate, and its key is gone before anybody sees the certificate: nobody can make another
//! that a machine would trust. What is left lives as long as the process, in memory alone.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use parking_lot::Mutex;
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints, date_time_ymd,
};

use crate::clock::now_ms;

/// Longest common name that certificates have.
const MAX_NAME: usize = 64;
/// The name of every authority. Programs tell those of several hosts by their keys.
const NAME: &str = "orrery job gateway";
/// OpenSSL finds an authority in a folder by a hash of its name.
pub(crate) const NAME_HASH: &str = "126a2083";
/// A process lives for less.
const YEARS: i32 = 10;

/// A certificate for one host, and its key, in DER.
pub struct HostIdentity {
    /// The certificate, and the authority that signed it.
    pub chain: [Vec<u8>; 2],
    /// The key of the first, as PKCS 8.
    pub key: Vec<u8>,
}

/// What a machine trusts, and what is shown to it.
pub(crate) struct HostAuthority {
    pub(crate) identity: Arc<HostIdentity>,
    /// The authority's certificate, as programs read it.
    pub(crate) pem: String,
}

/// Those of this process, by host.
#[derive(Default)]
pub(crate) struct Authorities(Mutex<HashMap<String, Arc<HostAuthority>>>);

impl Authorities {
    /// That of a host, which is made at the first call.
    pub(crate) fn for_host(&self, host: &str) -> Option<Arc<HostAuthority>> {
        let mut known = self.0.lock();
        if let Some(found) = known.get(host) {
            return Some(Arc::clone(found));
        }
        match create(host) {
            Ok(authority) => {
                let authority = Arc::new(authority);
                known.insert(host.to_owned(), Arc::clone(&authority));
                Some(authority)
            }
            Err(error) => {
                tracing::warn!(event = "run.certificate_not_made", host, %error, "jobs do not reach the forge at its own address with their token");
                None
            }
        }
    }
}

fn create(host: &str) -> Result<HostAuthority, rcgen::Error> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let mut authority = params(NAME, Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority.name_constraints = Some(NameConstraints {
        permitted_subtrees: vec![subtree(bare)],
        excluded_subtrees: Vec::new(),
    });
    let key = KeyPair::generate()?;
    let certificate = authority.self_signed(&key)?;
    let der = certificate.der().to_vec();
    let issuer = Issuer::new(authority, key);
    let mut own = params(bare, vec![bare.to_owned()])?;
    own.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    own.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    own.use_authority_key_identifier_extension = true;
    let own_key = KeyPair::generate()?;
    let signed = own.signed_by(&own_key, &issuer)?;
    Ok(HostAuthority {
        pem: pem(&der),
        identity: Arc::new(HostIdentity {
            chain: [signed.der().to_vec(), der],
            key: own_key.serialize_der(),
        }),
    })
}

fn params(name: &str, names: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    let name: String = name.chars().take(MAX_NAME).collect();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let year = year();
    // The machine's clock may be behind.
    params.not_before = date_time_ymd(year - 1, 1, 1);
    params.not_after = date_time_ymd(year + YEARS, 1, 1);
    Ok(params)
}

fn year() -> i32 {
    let now = i64::try_from(now_ms()).unwrap_or_default();
    let now = jiff::Timestamp::from_millisecond(now).unwrap_or_default();
    i32::from(now.to_zoned(jiff::tz::TimeZone::UTC).year())
}

fn subtree(host: &str) -> GeneralSubtree {
    match host.parse() {
        Ok(IpAddr::V4(address)) => {
            GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix(address.octets(), 32))
        }
        Ok(IpAddr::V6(address)) => {
            GeneralSubtree::IpAddress(CidrSubnet::from_v6_prefix(address.octets(), 128))
        }
        Err(_) => GeneralSubtree::DnsName(host.to_owned()),
    }
}

fn pem(der: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap_or_default())
        .collect();
    let text = lines.join("\n");
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `openssl x509 -hash` says it.
    #[test]
    fn i17_an_authority_has_the_hash_that_openssl_looks_for() {
        for host in ["forge.example", "10.0.0.5", "[fd00::5]"] {
            let authority = create(host).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("ca.pem");
            std::fs::write(&file, &authority.pem).unwrap();
            let mut openssl = std::process::Command::new("openssl");
            openssl.args(["x509", "-noout", "-hash", "-in"]).arg(&file);
            let output = openssl.output().expect("openssl is installed");
            let hash = String::from_utf8_lossy(&output.stdout);
            assert_eq!(hash.trim(), NAME_HASH, "{host}");
        }
    }

    #[test]
    fn i17_each_host_has_an_authority_of_its_own() {
        let authorities = Authorities::default();
        let first = authorities.for_host("forge.example").unwrap();
        let same = authorities.for_host("forge.example").unwrap();
        let other = authorities.for_host("other.example").unwrap();
        assert!(Arc::ptr_eq(&first, &same) && first.pem != other.pem);
    }
}
