//! SQLite's full-text search as it comes: FTS5 with its Porter stemmer and its bm25.

use rusqlite::{Connection, params};

use crate::collection::Collection;

/// The rankings of all queries, any word of each.
pub(crate) fn rankings(collection: &Collection) -> Vec<Vec<String>> {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("CREATE VIRTUAL TABLE documents USING fts5(id UNINDEXED, title, text, tokenize = 'porter unicode61'); BEGIN")
        .unwrap();
    for entry in &collection.documents {
        connection
            .prepare_cached("INSERT INTO documents VALUES (?, ?, ?)")
            .unwrap()
            .execute(params![entry.id, entry.title, entry.text])
            .unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    let search = |text: &str| -> Vec<String> {
        let words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(|word| format!("\"{word}\""))
            .collect();
        let mut statement = connection
            .prepare_cached("SELECT id FROM documents WHERE documents MATCH ? ORDER BY bm25(documents), id LIMIT 100")
            .unwrap();
        let rows = statement
            .query_map([words.join(" OR ")], |row| row.get(0))
            .unwrap();
        rows.map(Result::unwrap).collect()
    };
    collection
        .queries
        .iter()
        .map(|query| search(&query.text))
        .collect()
}
