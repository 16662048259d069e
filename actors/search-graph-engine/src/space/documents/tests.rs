//! Tests of the search by sketches.

use super::*;
use crate::columns::TextsBuilder;
use crate::math::{Random, VectorRow, quantise, quantised_dot};

const COUNT: usize = 40_000;
const TOPICS: usize = 200;

/// Something about a topic: its direction, and as much again of its own.
fn about(topic: usize, random: &mut Random) -> (Bytes, f32) {
    let mut centre = Random::new([topic as u64, 1, 0]);
    let row: VectorRow = std::array::from_fn(|_| centre.bell() + random.bell());
    let (bytes, _) = quantise(&row);
    let length = quantised_dot(&bytes, &bytes) as f32;
    (bytes, length.sqrt().recip())
}

fn table(random: &mut Random) -> DocumentTable {
    let mut documents: Vec<(u64, String, Bytes, f32)> = (0..COUNT)
        .map(|number| {
            let key = format!("d{number}");
            let (bytes, factor) = about(number % TOPICS, random);
            (key_hash(&key), key, bytes, factor)
        })
        .collect();
    documents.sort_unstable_by_key(|one| one.0);
    let mut keys = TextsBuilder::default();
    documents.iter().for_each(|one| keys.push(&one.1));
    let column = |bytes: &mut dyn Iterator<Item = Vec<u8>>| bytes.flatten().collect::<Vec<u8>>();
    DocumentTable::new(KeptDocuments {
        hashes: column(&mut documents.iter().map(|one| one.0.to_le_bytes().into())).into(),
        keys: keys.finish(),
        factors: column(&mut documents.iter().map(|one| one.3.to_le_bytes().into())).into(),
        vectors: column(&mut documents.iter().map(|one| one.2.map(|b| b as u8).into())).into(),
        ..KeptDocuments::default()
    })
}

/// What one of these searches finds: by sketches, and by comparing all.
fn both(table: &DocumentTable, query: &(Bytes, f32)) -> [(Vec<String>, CosineDistribution); 2] {
    [0, usize::MAX].map(|exact_up_to| {
        let (near, spread) = table.survey_exactly(&query.0, query.1, 10, exact_up_to);
        (near.into_iter().map(|one| one.key).collect(), spread)
    })
}

/// ServiceGraph compared every query with every vector, 14 ms of a million documents.
#[test]
fn i16_sketches_lead_to_the_nearest_of_many_documents() {
    let mut random = Random::new([16, 0, 0]);
    let mut table = table(&mut random);
    let (mut found, mut firsts) = (0, 0);
    for topic in 0..50 {
        let query = about(topic, &mut random);
        let [(sketched, near), (exact, all)] = both(&table, &query);
        found += exact.iter().filter(|key| sketched.contains(key)).count();
        firsts += usize::from(exact[0] == sketched[0]);
        let apart = near.standing(0.5) - all.standing(0.5);
        assert!(apart.abs() < 0.2, "{topic}: {apart}");
    }
    assert!(
        found >= 495 && firsts == 50,
        "{found} of 500, {firsts} of 50"
    );
    assert_eq!(table.kept.sketches().len(), COUNT);
    assert!(table.heap_bytes() >= 16 * COUNT, "sketches are counted");

    // What has changed or gone since is seen by either.
    let query = about(7, &mut random);
    let [(before, _), _] = both(&table, &query);
    assert!(table.remove(key_hash(&before[0])));
    table.insert(&before[1], &query.0.map(|byte| -byte), query.1);
    table.insert("new", &query.0, query.1);
    let [(sketched, _), (exact, _)] = both(&table, &query);
    assert_eq!(sketched[..5], exact[..5]);
    assert_eq!(sketched[0], "new");
    assert!(!sketched.contains(&before[0]) && !sketched.contains(&before[1]));
}

/// How near all are is told by a sample, for which no document is chosen.
#[test]
fn i16_a_look_that_wants_no_documents_compares_none_but_the_sample() {
    let mut random = Random::new([16, 0, 1]);
    let table = table(&mut random);
    let query = about(3, &mut random);
    let (near, spread) = table.survey_exactly(&query.0, query.1, 0, 0);
    assert!(near.is_empty());
    assert!(table.kept.sketches.get().is_none(), "sketches were made");
    let (_, as_found) = table.survey_exactly(&query.0, query.1, 10, 0);
    assert_eq!(spread, as_found);
}
