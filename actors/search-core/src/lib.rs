//! Search without I/O: roles, text analysis, query, snippets, names and tasks.

pub mod analysis;
pub mod answer;
pub mod bulk;
pub mod code_places;
pub mod concepts;
pub mod conversation;
pub mod defined_names;
pub mod definition_finder;
pub mod definitions;
pub mod document;
pub mod facets;
pub mod file_roles;
pub mod literals;
pub mod names;
pub mod passages;
pub mod query;
pub mod role;
pub mod secret_files;
pub mod snapshots;
pub mod snippet;
pub mod vector_weights;
pub mod wanted_files;
