//! JSON read strictly: what two readers could understand in two ways is refused.

mod field;
mod node;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use node::JsonNode;
pub use value::JsonError;
pub(crate) use value::{Json, parse};
