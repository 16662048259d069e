//! Which installation a session is of: a shared advisory lock of two numbers, which the server
//! shows to all and frees with the session. The owner's row says of which installation the last
//! holder was: while others of it stand beside the store, it is that installation's, though nobody
//! leads at the moment.

/// The numbers of an installation's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Installation {
    /// Of the schema.
    schema: u32,
    /// What tells it from others; `None`: nothing does.
    own: Option<u32>,
}

impl Installation {
    /// That of the processes which say this of themselves.
    pub(super) fn new(schema: &str, installation: &str) -> Self {
        Self {
            schema: digest(&format!("orrery installation {schema}")),
            own: (!installation.is_empty()).then(|| digest(installation)),
        }
    }

    /// The statement, behind others, by which a session says so.
    pub(super) fn mark(self) -> String {
        let Some(own) = self.own else {
            return String::new();
        };
        let (schema, own) = (self.schema.cast_signed(), own.cast_signed());
        format!("; SELECT pg_advisory_lock_shared({schema}, {own})")
    }

    /// What the owner's row says of it; 0: nothing.
    pub(super) fn number(self) -> i64 {
        self.own.map_or(0, Into::into)
    }

    /// The numbers of the lock: of the schema, and of what tells the installation from others, if
    /// anything does.
    pub(super) fn numbers(self) -> Option<(i64, i64)> {
        Some((self.schema.into(), self.own?.into()))
    }
}

/// FNV-1a: the same in all versions, and on all machines.
fn digest(text: &str) -> u32 {
    let start = 0x811c_9dc5_u32;
    text.bytes().fold(start, |digest, byte| {
        (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_installations_have_numbers_that_stay() {
        assert_eq!(digest("a"), 0xe40c_292c, "as FNV-1a has it");
        let of = |text| Installation::new("runs", text);
        assert_eq!(of("one"), of("one"));
        assert_ne!(of("one"), of("two"));
        assert_eq!(of("").mark(), "");
        assert!(of("one").mark().contains("pg_advisory_lock_shared("));
    }
}
