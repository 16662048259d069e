//! Who is next of those that wait for work that repositories share.

use std::collections::HashMap;

use proptest::prelude::*;
use runner_core::fair_share::Shares;

const LENDS: Shares = Shares {
    total: 8,
    per_repository: 4,
    lends: true,
};

fn counts(in_use: &[(&str, usize)]) -> HashMap<String, usize> {
    let counts = in_use.iter();
    counts
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect()
}

#[test]
fn i17_a_share_counts_only_while_somebody_of_another_repository_waits() {
    // What goes on, who waits; who is next: of a pool that lends, and of one that does not.
    type Case = (&'static [(&'static str, usize)], &'static [&'static str]);
    let table: [(Case, Option<usize>, Option<usize>); 10] = [
        ((&[], &[]), None, None),
        ((&[], &["a"]), Some(0), Some(0)),
        ((&[("a", 3)], &["a", "b"]), Some(0), Some(0)),
        // Alone, a repository has all.
        ((&[("a", 4)], &["a", "a"]), Some(0), None),
        ((&[("a", 7)], &["a"]), Some(0), None),
        ((&[("a", 8)], &["a", "b"]), None, None),
        // What becomes free is another's, however late that one came.
        ((&[("a", 7)], &["a", "a", "b"]), Some(2), Some(2)),
        ((&[("a", 5), ("b", 2)], &["a", "c", "b"]), Some(1), Some(1)),
        // All have their shares: who has least, then who came first.
        ((&[("a", 5), ("b", 4)], &["a", "b"]), None, None),
        ((&[("a", 4), ("b", 3)], &["a", "a"]), Some(0), None),
    ];
    let strict = Shares {
        lends: false,
        ..LENDS
    };
    for ((in_use, waiting), lent, kept) in table {
        let counts = counts(in_use);
        assert_eq!(LENDS.next(&counts, waiting), lent, "{in_use:?} {waiting:?}");
        assert_eq!(
            strict.next(&counts, waiting),
            kept,
            "{in_use:?} {waiting:?}"
        );
    }
    let more = Shares { total: 20, ..LENDS };
    let both = counts(&[("a", 6), ("b", 5)]);
    assert_eq!(more.next(&both, &["a", "b", "b"]), Some(1));
    assert_eq!(more.next(&both, &["a", "a"]), Some(0));
}

#[test]
fn i17_who_waits_is_told_how_many_begin_before() {
    type Case = (&'static [(&'static str, usize)], &'static [&'static str]);
    let table: [(Case, (usize, bool)); 6] = [
        ((&[("a", 8)], &["a"]), (1, false)),
        ((&[("a", 8)], &["a", "a", "a"]), (3, false)),
        // One that has nothing yet passes those that have more than their share.
        ((&[("a", 8)], &["a", "a", "b"]), (1, false)),
        ((&[("a", 7), ("b", 1)], &["a", "b", "b", "b"]), (3, false)),
        // And those that have theirs come behind it.
        ((&[("a", 4), ("b", 4)], &["b", "c", "a"]), (3, true)),
        (
            (&[("a", 7), ("b", 1)], &["b", "b", "b", "b", "a"]),
            (5, true),
        ),
    ];
    for ((in_use, waiting), expected) in table {
        let standing = LENDS.last_standing(&counts(in_use), waiting);
        let found = (standing.place, standing.is_beyond_share);
        assert_eq!(found, expected, "{in_use:?} {waiting:?}");
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Takes everybody in whose turn comes, without anything that ends.
fn order(shares: Shares, mut in_use: HashMap<String, usize>, waiting: &[&str]) -> Vec<usize> {
    let endless = Shares {
        total: usize::MAX,
        ..shares
    };
    let mut left: Vec<(usize, &str)> = waiting.iter().copied().enumerate().collect();
    let mut order = Vec::new();
    loop {
        let names: Vec<&str> = left.iter().map(|(_, name)| *name).collect();
        let Some(next) = endless.next(&in_use, &names) else {
            return order;
        };
        let (index, name) = left.remove(next);
        *in_use.entry(name.to_owned()).or_default() += 1;
        order.push(index);
    }
}

fn any_shares() -> impl Strategy<Value = Shares> {
    (1_usize..9, 1_usize..6, any::<bool>()).prop_map(|(total, per_repository, lends)| Shares {
        total,
        per_repository,
        lends,
    })
}

proptest! {
    /// Whatever comes and goes: never more than all, a share is kept or lent as it is said, and of
    /// one repository the first one comes first.
    #[test]
    fn i17_nobody_waits_for_a_free_turn_and_nobody_is_passed_by_one_beyond_its_share(
        shares in any_shares(),
        events in prop::collection::vec((0_usize..4, any::<bool>()), 1..80),
    ) {
        let mut in_use: HashMap<String, usize> = HashMap::new();
        let mut waiting: Vec<&str> = Vec::new();
        for (name, comes) in events {
            let name = NAMES[name];
            match in_use.get_mut(name).filter(|used| **used > 0 && !comes) {
                Some(used) => *used -= 1,
                None => waiting.push(name),
            }
            while let Some(index) = shares.next(&in_use, &waiting) {
                let used = |name: &str| in_use.get(name).copied().unwrap_or(0);
                let next = waiting[index];
                prop_assert!(waiting.iter().position(|name| *name == next) == Some(index));
                let is_within = used(next) < shares.per_repository;
                prop_assert!(is_within || shares.lends);
                let passes = waiting.iter().any(|name| used(name) < shares.per_repository);
                prop_assert!(is_within || !passes, "{next} passes another of {waiting:?}");
                waiting.remove(index);
                *in_use.entry(next.to_owned()).or_default() += 1;
            }
            let all: usize = in_use.values().sum();
            prop_assert!(all <= shares.total);
            if shares.lends {
                prop_assert!(all == shares.total || waiting.is_empty(), "{all}: {waiting:?}");
            }
        }
    }

    #[test]
    fn i17_the_place_that_is_told_is_the_one_that_comes(
        shares in any_shares(),
        used in prop::collection::vec(0_usize..8, 4),
        waiting in prop::collection::vec(0_usize..4, 1..20),
    ) {
        let shares = Shares { lends: true, ..shares };
        let in_use: HashMap<String, usize> =
            NAMES.iter().map(|name| (*name).to_owned()).zip(used).collect();
        let waiting: Vec<&str> = waiting.into_iter().map(|name| NAMES[name]).collect();
        let order = order(shares, in_use.clone(), &waiting);
        let comes = order.iter().position(|index| index + 1 == waiting.len());
        let told = shares.last_standing(&in_use, &waiting).place;
        prop_assert_eq!(comes.map(|place| place + 1), Some(told));
    }
}
