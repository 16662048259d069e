//! The search part of an actor tree as a whole, without HTTP: its neighbours are files and scripted
//! servers.

mod embedding;
mod embedding_server;
mod following;
mod graph_links;
mod harness;
mod learning;
mod limits;
mod meant_words;
mod passages;
mod reranking;
mod revisions;
mod shown;
mod typed;
mod vanishing;
