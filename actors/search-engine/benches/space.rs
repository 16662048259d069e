//! Where the bytes of an index are: `cargo bench -p search-engine --bench space -- INDEX_FOLDER`.
//!
//! The folder is one that the index bench keeps (`--keep`), or a source's in a data folder.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use tantivy::Index;

fn main() {
    let folder = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    let Some(folder) = folder else {
        println!("usage: space INDEX_FOLDER");
        return;
    };
    let index = Index::open_in_dir(&folder).unwrap();
    let schema = index.schema();
    let searcher = index.reader().unwrap().searcher();
    println!(
        "{:<12} {:>12} {:>12} {:>12}",
        "field", "terms B", "postings B", "terms"
    );
    for segment in searcher.space_usage().unwrap().segments() {
        for terms in segment.termdict().fields() {
            let postings = segment.postings().fields();
            let postings = postings
                .filter(|one| one.field_name() == terms.field_name())
                .map(|one| one.total().get_bytes())
                .sum::<u64>();
            let readers = searcher.segment_readers().iter();
            let count: usize = readers
                .filter(|reader| reader.num_docs() == segment.num_docs())
                .map(|reader| {
                    reader
                        .inverted_index(schema.get_field(terms.field_name()).unwrap())
                        .unwrap()
                })
                .map(|inverted| inverted.terms().num_terms())
                .sum();
            println!(
                "{:<12} {:>12} {postings:>12} {count:>12}",
                terms.field_name(),
                terms.total().get_bytes()
            );
        }
        println!(
            "store {}, columns {}, lengths {}",
            segment.store().total().get_bytes(),
            segment.fast_fields().total().get_bytes(),
            segment.fieldnorms().total().get_bytes()
        );
    }
}
