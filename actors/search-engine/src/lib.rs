//! Blocking search work without actors: walking, extraction, the tantivy index, excerpts.
