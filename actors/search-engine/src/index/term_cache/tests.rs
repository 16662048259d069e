//! What a search reads of posting lists after a change.

use search_core::document::ExtractedDocument;

use super::{DeletionLog, MAX_REMEMBERED};
use crate::index::bitmap::Bitmap;
use crate::index::posting_reads;
use crate::index::snapshot::{IndexSnapshot, find_term};
use crate::index::{Durability, FileState, IndexOptions, SourceIndex};

fn put(index: &mut SourceIndex, number: usize) {
    let rare = if number.is_multiple_of(100) {
        " wing"
    } else {
        ""
    };
    let document = ExtractedDocument {
        key: format!("{number:05}"),
        body: format!("flow{rare}"),
        ..ExtractedDocument::default()
    };
    let added = index.put(&document, FileState::default());
    added.expect("the document is put");
}

fn commit(index: &mut SourceIndex) -> IndexSnapshot {
    index.commit(Durability::Fast).expect("the commit succeeds")
}

/// In how many documents the words occur, how many hold the frequent one or did before they were
/// deleted, and what was read of posting lists for that.
fn asked(snapshot: &IndexSnapshot) -> ([u64; 2], u64, usize) {
    posting_reads::take();
    let field = snapshot.fields().text;
    let (mut found, mut held) = ([0; 2], 0);
    for (segment, view) in (0..).zip(snapshot.segments()) {
        for (word, found) in ["flow", "wing"].iter().zip(&mut found) {
            let info = find_term(&view.text, field, word).expect("reads");
            let Some(info) = info else { continue };
            *found += snapshot.live_frequency(segment, &info).expect("reads");
            if *word == "flow" {
                held += snapshot
                    .text_documents(segment, &info)
                    .expect("reads")
                    .len();
            }
        }
    }
    (found, held, posting_reads::take())
}

/// Every change made the next search read the posting lists of its words to their ends.
#[test]
fn i16_after_a_change_the_words_of_a_search_are_counted_by_what_has_changed() {
    for documents in [500, 4_000] {
        let folder = tempfile::tempdir().expect("a folder");
        let opened = SourceIndex::open(folder.path(), IndexOptions::default());
        let (mut index, _) = opened.expect("the index opens");
        (0..documents).for_each(|number| put(&mut index, number));
        let first = asked(&commit(&mut index));
        let all = documents as u64;
        assert_eq!(first, ([all, all / 100], all, documents));
        for round in 1..=4 {
            // A document of both words goes, another is written anew.
            index
                .delete(&format!("{:05}", round * 100))
                .expect("deletes");
            put(&mut index, round);
            let (found, held, read) = asked(&commit(&mut index));
            let gone = round as u64;
            assert_eq!(found, [all - gone, all / 100 - gone]);
            assert_eq!(held, all + gone, "deleted ones stay in the lists");
            // Two deleted documents in two lists, and the segments of single documents.
            assert!(read <= 4 + 2 * round, "{read} of {documents}");
        }
    }
}

fn bitmap(documents: std::ops::Range<u32>) -> Bitmap {
    let mut set = Bitmap::new(5_000);
    set.insert_all(&documents.collect::<Vec<_>>());
    set
}

#[test]
fn i16_deleted_documents_are_remembered_up_to_a_bound() {
    let log = DeletionLog::default();
    let log = log.followed(None, &bitmap(7..9)).expect("later");
    let log = log.followed(Some(&bitmap(7..9)), &bitmap(5..10));
    let log = log.expect("later");
    assert_eq!(log.deleted(), 5);
    assert_eq!(log.since(0), Some(&[7, 8, 5, 6, 9][..]));
    assert_eq!(log.since(2), Some(&[5, 6, 9][..]));
    assert_eq!(log.since(5), Some(&[][..]));
    assert_eq!(log.since(6), None, "a later state");
    // What was deleted is not there again, unless the state is an earlier one.
    assert!(log.followed(Some(&bitmap(5..10)), &bitmap(6..10)).is_none());
    // The bitmap is not the one of this log.
    assert!(log.followed(Some(&bitmap(5..9)), &bitmap(5..20)).is_none());
    let many = 5 + MAX_REMEMBERED as u32;
    let log = log.followed(Some(&bitmap(5..10)), &bitmap(5..many + 1));
    let log = log.expect("later");
    assert_eq!(log.deleted(), u64::from(many - 4));
    assert_eq!(log.since(5), None, "too many to be remembered");
    assert_eq!(log.since(log.deleted()), Some(&[][..]));
}
