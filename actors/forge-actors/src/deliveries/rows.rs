//! The row of a delivery, and what it is found by.

use forge_core::BodyDigest;
use serde::{Deserialize, Serialize};
use store::{Row, Table};

/// What was seen, and is remembered in one row. Its key says when: see
/// [`Index::next_key`](super::index::Index::next_key).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeliveryRow {
    pub(super) id: Option<String>,
    /// The digest of the body, if there is one that can be compared.
    pub(super) body: Option<[u8; 32]>,
    pub(super) subject: Option<String>,
    pub(super) led_to: Option<String>,
}

impl Row for DeliveryRow {
    const SCHEMA: u16 = 1;
}

pub(super) const SEEN: Table<u64, DeliveryRow> = Table::new("forge_deliveries");

/// What a row is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LookupKey<'a> {
    Id(&'a str),
    Body(&'a [u8; 32]),
    Subject(&'a str),
}

impl DeliveryRow {
    /// Whether its body can be told from that of the digest. If not, an id decides alone.
    pub(super) fn is_comparable_with(&self, digest: &BodyDigest) -> bool {
        let body = self.body.as_ref();
        body.is_some_and(|body| digest.is_comparable_with(body))
    }

    pub(super) fn lookup_keys(&self) -> impl Iterator<Item = LookupKey<'_>> {
        let id = self.id.as_deref().map(LookupKey::Id);
        let body = self.body.as_ref().map(LookupKey::Body);
        let subject = self.subject.as_deref().map(LookupKey::Subject);
        [id, body, subject].into_iter().flatten()
    }
}
