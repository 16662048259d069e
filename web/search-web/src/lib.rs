//! The search server's routes and JSON shapes.
