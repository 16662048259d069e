//! What `setup-…` actions do with the tools of an image: which release a step wants, which of those
//! in the machine it gets, and what later steps find of it.
//!
//! ```text
//! with, version files ──VersionRequirement──┐
//! machine ──installed::LIST_SCRIPT──────────┴─▶ installed::choose ─▶ effects: PATH, variables, outputs
//!                                                                 ─▶ caching: what is kept between runs
//!                                                                 ─▶ npm, maven, nuget, bun: settings
//! ```

pub mod bun;
pub mod caching;
pub mod effects;
pub mod installed;
pub mod maven;
pub mod npm;
pub mod nuget;
pub mod python;
mod python_build;
mod rust_parts;
mod version_bounds;
mod version_files;
mod versions;

pub use rust_parts::{RustPart, rust_parts};
pub use version_files::{extended_package, is_npm_project, usual_version_file, version_in_file};
pub use versions::VersionRequirement;

/// A text of an XML file.
fn xml_text(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
