//! What a webhook's headers say, gathered once from any HTTP library's header map.

use crate::signature::SignatureHeaders;
use crate::{DeliveryId, EventName, Forge, ForgeIdError};

/// The headers of one request that matter to a webhook receiver.
///
/// Headers are not covered by the signature: they choose how to read the body, but never overrule
/// it.
#[derive(Debug, Clone, Default)]
pub struct WebhookHeaders {
    signatures: SignatureHeaders,
    event: HeaderValues,
    event_type: HeaderValues,
    delivery: HeaderValues,
    families: Families,
}

/// A header that contradicts itself or has not its form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Two headers of one meaning with two values.
    #[error("the {what} headers name both {first:?} and {second:?}")]
    Conflict {
        /// `event`, `event type` or `delivery`.
        what: &'static str,
        /// The value that came first.
        first: String,
        /// A later, different one.
        second: String,
    },
    /// A value that is not of its kind.
    #[error("the {what} header is wrong: {reason}")]
    Invalid {
        /// `event`, `event type` or `delivery`.
        what: &'static str,
        /// What is wrong with it.
        reason: ForgeIdError,
    },
}

/// The values of headers with one meaning (`X-GitHub-Event`, `X-Gitea-Event`, …).
#[derive(Debug, Clone, Default)]
struct HeaderValues {
    first: Option<String>,
    other: Option<String>,
}

impl HeaderValues {
    fn take(&mut self, value: &[u8]) {
        // Not UTF-8 becomes a text that no id accepts; it is reported, not dropped.
        let value = String::from_utf8_lossy(value);
        match &self.first {
            None => self.first = Some(value.into_owned()),
            Some(first) if *first != value => self.other = Some(value.into_owned()),
            Some(_) => {}
        }
    }

    fn read<T>(&self, what: &'static str) -> Result<Option<T>, HeaderError>
    where
        T: for<'a> TryFrom<&'a str, Error = ForgeIdError>,
    {
        let Some(first) = &self.first else {
            return Ok(None);
        };
        let value = T::try_from(first).map_err(|reason| HeaderError::Invalid { what, reason })?;
        let Some(second) = &self.other else {
            return Ok(Some(value));
        };
        T::try_from(second).map_err(|reason| HeaderError::Invalid { what, reason })?;
        Err(HeaderError::Conflict {
            what,
            first: first.clone(),
            second: second.clone(),
        })
    }
}

/// Which families of `X-…` headers were there.
#[derive(Debug, Clone, Copy, Default)]
struct Families {
    github: bool,
    gitea: bool,
    forgejo: bool,
}

/// Prefixes of the header families; Gitea sends `X-GitHub-*` and `X-Gogs-*` beside its own.
const FAMILIES: [(&str, Forge); 4] = [
    ("x-github-", Forge::GitHub),
    ("x-gitea-", Forge::Gitea),
    ("x-forgejo-", Forge::Forgejo),
    ("x-gogs-", Forge::Gitea),
];

impl WebhookHeaders {
    /// Gathers the headers that matter from all of a request's, repeated ones included.
    pub fn collect<'h>(headers: impl IntoIterator<Item = (&'h str, &'h [u8])>) -> Self {
        let mut collected = Self::default();
        for (name, value) in headers {
            // All of those that matter begin so, and few others do.
            if !matches!(name.as_bytes(), [b'x' | b'X', b'-', ..]) {
                continue;
            }
            if !collected.signatures.take(name, value) {
                collected.take(name, value);
            }
        }
        collected
    }

    fn take(&mut self, name: &str, value: &[u8]) {
        let family = FAMILIES.iter().find_map(|(prefix, forge)| {
            let head = name.get(..prefix.len())?;
            head.eq_ignore_ascii_case(prefix)
                .then(|| (&name[prefix.len()..], *forge))
        });
        let Some((rest, forge)) = family else { return };
        match rest.to_ascii_lowercase().as_str() {
            "event" => self.event.take(value),
            "event-type" => self.event_type.take(value),
            "delivery" => self.delivery.take(value),
            _ => return,
        }
        match forge {
            Forge::GitHub => self.families.github = true,
            Forge::Gitea => self.families.gitea = true,
            Forge::Forgejo => self.families.forgejo = true,
        }
    }

    pub(crate) fn signatures(&self) -> &SignatureHeaders {
        &self.signatures
    }

    /// The declared event, if any header names one. Forgejo names none for packages, and says in
    /// the event type what they are.
    pub fn event(&self) -> Result<Option<EventName>, HeaderError> {
        let is_empty = self.event.first.as_deref() == Some("") && self.event.other.is_none();
        if is_empty && self.event_type.first.is_some() {
            return self.event_type();
        }
        self.event.read("event")
    }

    /// Gitea's finer event type, e.g. `pull_request_comment`.
    pub fn event_type(&self) -> Result<Option<EventName>, HeaderError> {
        self.event_type.read("event type")
    }

    /// The delivery's id, if any header names one.
    pub fn delivery_id(&self) -> Result<Option<DeliveryId>, HeaderError> {
        self.delivery.read("delivery")
    }

    /// The kind of forge that sent the request, as far as its headers tell: Forgejo also sends
    /// Gitea's headers, and both send GitHub's.
    pub fn forge(&self) -> Option<Forge> {
        let Families {
            github,
            gitea,
            forgejo,
        } = self.families;
        match (forgejo, gitea, github) {
            (true, ..) => Some(Forge::Forgejo),
            (_, true, _) => Some(Forge::Gitea),
            (.., true) => Some(Forge::GitHub),
            _ => None,
        }
    }
}
