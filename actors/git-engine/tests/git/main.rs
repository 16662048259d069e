//! The engine over real repositories. One binary, a module for each topic.

mod bombs;
mod housekeeping;
mod layouts;
mod mirrors;
mod repositories;
