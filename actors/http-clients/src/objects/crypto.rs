//! Digests and signatures of requests, by ring: one implementation for all of the workspace.

use object_store::client::{
    CryptoProvider, DigestAlgorithm, DigestContext, HmacContext, Signer, SigningAlgorithm,
};
use object_store::{Error, Result};
use ring::{digest, hmac};

/// What AWS Signature Version 4 needs.
#[derive(Debug)]
pub(crate) struct RingCrypto;

impl CryptoProvider for RingCrypto {
    fn digest(&self, algorithm: DigestAlgorithm) -> Result<Box<dyn DigestContext>> {
        let DigestAlgorithm::Sha256 = algorithm else {
            return Err(not_supported());
        };
        Ok(Box::new(Sha256(
            digest::Context::new(&digest::SHA256),
            None,
        )))
    }

    fn hmac(&self, algorithm: DigestAlgorithm, secret: &[u8]) -> Result<Box<dyn HmacContext>> {
        let DigestAlgorithm::Sha256 = algorithm else {
            return Err(not_supported());
        };
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        Ok(Box::new(HmacSha256(hmac::Context::with_key(&key), None)))
    }

    fn sign(&self, _: SigningAlgorithm, _: &[u8]) -> Result<Box<dyn Signer>> {
        // Google's way; S3 has no keys in PEM.
        Err(not_supported())
    }
}

fn not_supported() -> Error {
    Error::NotSupported {
        source: "only SHA-256 is used".into(),
    }
}

struct Sha256(digest::Context, Option<digest::Digest>);

impl DigestContext for Sha256 {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finish(&mut self) -> Result<&[u8]> {
        let digest = self.0.clone().finish();
        let digest: &digest::Digest = self.1.insert(digest);
        Ok(digest.as_ref())
    }
}

struct HmacSha256(hmac::Context, Option<hmac::Tag>);

impl HmacContext for HmacSha256 {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finish(&mut self) -> Result<&[u8]> {
        let tag = self.0.clone().sign();
        let tag: &hmac::Tag = self.1.insert(tag);
        Ok(tag.as_ref())
    }
}
