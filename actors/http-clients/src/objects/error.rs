//! What can go wrong with object storage, and what to do.

/// Why something was not stored, read or removed.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// The object is not there.
    #[error("{place} has no object {key}")]
    Missing {
        /// Where.
        place: String,
        /// Which.
        key: String,
    },
    /// The bucket is not there.
    #[error("{place}: there is no such bucket; make it, or correct its name")]
    NoBucket {
        /// Where.
        place: String,
    },
    /// The server does not take the keys.
    #[error(
        "{place} refuses the keys: {reason}; check the access key and its secret, the region, and \
         the rights of their owner"
    )]
    Refused {
        /// Where.
        place: String,
        /// The server's words.
        reason: String,
    },
    /// Requests are signed with the time, which has to be the server's.
    #[error(
        "{place}: the clock of this host and the storage's differ by more than the storage takes: \
         {reason}; set them by NTP"
    )]
    ClockDiffers {
        /// Where.
        place: String,
        /// The server's words.
        reason: String,
    },
    /// It does not answer, or not in time, or says that it cannot now.
    #[error("{place} cannot be used now: {reason}")]
    Unavailable {
        /// Where.
        place: String,
        /// Why.
        reason: String,
    },
    /// What came is not what was stored.
    #[error("{place}: the object {key} is damaged: its BLAKE3 digest is another")]
    Damaged {
        /// Where.
        place: String,
        /// Which.
        key: String,
    },
    /// An object that is to be held in memory is larger than its reader takes.
    #[error("{place}: the object {key} has {bytes} bytes; at most {most} are read")]
    TooLarge {
        /// Where.
        place: String,
        /// Which.
        key: String,
        /// Its length.
        bytes: u64,
        /// The longest that is read.
        most: u64,
    },
    /// It takes writes whose condition is not met: several processes would overwrite each other's
    /// leases, pointers and owner.
    #[error(
        "{place} ignores the conditions of writes ({condition}): processes that share it would \
         overwrite and remove each other's objects; use an S3-compatible server with conditional \
         writes"
    )]
    Unsuitable {
        /// Where.
        place: String,
        /// The header that was ignored.
        condition: &'static str,
    },
    /// Another installation has the place.
    #[error(
        "{place} is used by another installation ({owner}); give each a prefix of its own, or \
         they would remove each other's objects"
    )]
    OtherOwner {
        /// Where.
        place: String,
        /// Whose it is.
        owner: String,
    },
    /// Another store has the place, of which this one is a copy, or was before.
    #[error(
        "{place} is used by another store of the same name ({there}; this one is {own}), of which \
         one is a copy: each would remove the other's objects. To try a backup name another prefix \
         in [objects]; where the other one is over for good, say so with `objects claim`"
    )]
    OtherStore {
        /// Where.
        place: String,
        /// Which store it is.
        there: String,
        /// Which one asks.
        own: String,
    },
    /// Its files are being moved, or were.
    #[error(
        "{place} is not to be used: {why}; name that place in [objects], or end with \
         `objects migrate` what was begun"
    )]
    Closed {
        /// Where.
        place: String,
        /// Where its files are.
        why: String,
    },
    /// The place is nobody's, and there are files that should be in it.
    #[error(
        "{place} holds none of the files that the store names: mount it, where it is a share; or \
         name their place in [objects] and bring them here with `objects migrate`; or, where they \
         are lost, put an object `owner` with the text {owner} there"
    )]
    Elsewhere {
        /// Where.
        place: String,
        /// Whose the files are.
        owner: String,
    },
    /// It was a place before, and is an empty folder or another one now.
    #[error(
        "{place} was used before, and is an empty folder or another one now: mount it, where it is \
         a share; or, where that was done on purpose, remove {memory}"
    )]
    NotMounted {
        /// Where.
        place: String,
        /// The file that remembers it.
        memory: String,
    },
    /// A file of this machine.
    #[error("{file}: {source}")]
    File {
        /// Which.
        file: String,
        /// Why.
        source: std::io::Error,
    },
}

impl ObjectError {
    /// Whether this one object is not what was stored, or not there, and the storage is well.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Damaged { .. })
    }

    /// From the library's error about a key.
    pub(crate) fn from_store(place: &str, key: &str, error: &object_store::Error) -> Self {
        use object_store::Error;
        let text = causes(error);
        let (place, key) = (place.to_owned(), key.to_owned());
        let denied = [
            "SignatureDoesNotMatch",
            "InvalidAccessKeyId",
            "AccessDenied",
            "403 Forbidden",
        ];
        match error {
            _ if [
                "RequestTimeTooSkewed",
                "RequestInTheFuture",
                "RequestExpired",
            ]
            .iter()
            .any(|word| text.contains(word)) =>
            {
                let reason = text;
                Self::ClockDiffers { place, reason }
            }
            _ if ["NoSuchBucket", "InvalidBucketName"]
                .iter()
                .any(|word| text.contains(word)) =>
            {
                Self::NoBucket { place }
            }
            Error::NotFound { .. } => Self::Missing { place, key },
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Self::Refused {
                place,
                reason: text,
            },
            _ if denied.iter().any(|word| text.contains(word)) => Self::Refused {
                place,
                reason: text,
            },
            _ => Self::Unavailable {
                place,
                reason: text,
            },
        }
    }
}

/// An error and what it came from, once each, in one line: what happened first, and what was tried
/// and where behind it, as lines are cut at their end.
fn causes(error: &object_store::Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let text = cause.to_string();
        // Most say what they came from themselves.
        for outer in &mut texts {
            if let Some(before) = outer.strip_suffix(&text) {
                *outer = before.trim_end_matches([':', ' ', '\n']).to_owned();
            }
        }
        texts.push(text);
        next = cause.source();
    }
    let texts = texts.into_iter().rev().filter(|text| !text.is_empty());
    let mut said = String::new();
    for text in texts {
        if !said.contains(&text) {
            let between = if said.is_empty() { "" } else { "; " };
            said = format!("{said}{between}{text}");
        }
    }
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_what_servers_say_becomes_what_to_do() {
        let generic = |text: &str| object_store::Error::Generic {
            store: "S3",
            source: text.into(),
        };
        let of = |error: &object_store::Error| ObjectError::from_store("s3://ci", "a", error);
        let missing = generic("404 Not Found: <Error><Code>NoSuchBucket</Code></Error>");
        assert!(matches!(of(&missing), ObjectError::NoBucket { .. }));
        let denied = generic("403 Forbidden: <Code>InvalidAccessKeyId</Code>");
        assert!(matches!(of(&denied), ObjectError::Refused { .. }));
        let skewed = of(&generic("403 Forbidden: <Code>RequestTimeTooSkewed</Code>"));
        assert!(matches!(skewed, ObjectError::ClockDiffers { .. }));
        assert!(!skewed.to_string().contains("access key"), "{skewed}");
        let busy = of(&generic("503\n Slow  Down"));
        assert_eq!(
            busy.to_string(),
            "s3://ci cannot be used now: 503 Slow Down; Generic S3 error"
        );
        // The cause stands first: lines are cut at their end.
        let cause = std::io::Error::other("Connection refused");
        let retried = object_store::Error::Generic {
            store: "S3",
            source: format!("after 6 retries of http://s3/ci: {cause}").into(),
        };
        let text = of(&retried).to_string();
        assert!(text.contains("Connection refused"), "{text}");
        let absent = object_store::Error::NotFound {
            path: "a".to_owned(),
            source: "<Code>NoSuchKey</Code>".into(),
        };
        assert!(matches!(of(&absent), ObjectError::Missing { .. }));
    }
}
