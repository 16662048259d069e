//! What a step does to the machine while it runs.

/// Kinds of steps, by what they keep busy and what they bear beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Waits for registries, and unpacks.
    Installs,
    /// Reads the checkout, on one processor.
    Reads,
    /// Compiles the workspace on all processors, and holds cargo's lock of the build folder.
    Compiles,
    /// Compiles on all processors, in a folder of its own.
    CompilesApart,
    /// Runs built tests, as many at once as the machine bears; many have deadlines.
    Tests,
    /// Runs built programs, and waits for them with deadlines.
    Programs,
    /// Runs built programs on all processors, each for a given time.
    Fuzzes,
    /// Writes files that are compiled into programs, on one processor.
    Writes,
    /// Bears nothing beside it.
    Alone,
}

impl Work {
    /// Whether steps of these kinds may stand beside each other: one that waits beside one that
    /// computes, never two with deadlines, two that fill the machine, or two that want the same
    /// lock or files.
    pub(super) const fn may_stand_beside(self, other: Self) -> bool {
        self.bears(other) || other.bears(self)
    }

    const fn bears(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Installs | Self::Reads, Self::Compiles)
                | (Self::Tests, Self::CompilesApart)
                | (
                    Self::Programs,
                    Self::Compiles | Self::CompilesApart | Self::Reads | Self::Writes
                )
                | (Self::Fuzzes, Self::Writes)
        )
    }

    /// Whether it gets the processors only when nobody else wants them: what has deadlines then
    /// finds the machine as if it were alone.
    pub(super) const fn gives_way(self) -> bool {
        matches!(
            self,
            Self::Compiles | Self::CompilesApart | Self::Reads | Self::Writes
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Work; 9] = [
        Work::Installs,
        Work::Reads,
        Work::Compiles,
        Work::CompilesApart,
        Work::Tests,
        Work::Programs,
        Work::Fuzzes,
        Work::Writes,
        Work::Alone,
    ];

    #[test]
    fn i14_what_waits_stands_beside_what_computes_and_nothing_else() {
        let mut pairs = Vec::new();
        for (at, one) in ALL.into_iter().enumerate() {
            for other in ALL.into_iter().skip(at) {
                let may = one.may_stand_beside(other);
                assert_eq!(may, other.may_stand_beside(one), "{one:?} {other:?}");
                if may {
                    pairs.push((one, other));
                }
            }
        }
        assert_eq!(
            pairs,
            [
                (Work::Installs, Work::Compiles),
                (Work::Reads, Work::Compiles),
                (Work::Reads, Work::Programs),
                (Work::Compiles, Work::Programs),
                (Work::CompilesApart, Work::Tests),
                (Work::CompilesApart, Work::Programs),
                (Work::Programs, Work::Writes),
                (Work::Fuzzes, Work::Writes),
            ]
        );
    }

    #[test]
    fn i14_whoever_stands_beside_deadlines_gives_way_to_them() {
        for sensitive in [Work::Tests, Work::Programs] {
            assert!(!sensitive.gives_way(), "{sensitive:?}");
            let beside = ALL
                .into_iter()
                .filter(|work| work.may_stand_beside(sensitive));
            for other in beside {
                assert!(other.gives_way(), "{other:?} beside {sensitive:?}");
            }
        }
        // Its inputs are timed out by the clock.
        assert!(!Work::Fuzzes.gives_way());
    }
}
