//! What the core promises to those who configure it. One binary, a module for each topic.

mod file_filter;
mod invalid_samples;
mod role_schema;
mod roles;
mod server_settings;
mod source_pages;
mod variables;
