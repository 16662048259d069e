//! Expressions, `${{ … }}`: their grammar, their values, the contexts they see.
//!
//! Rules: GitHub's pages "Evaluate expressions in workflows and actions" and "Contexts reference".

mod ast;
mod chain;
mod contexts;
mod eval;
mod functions;
mod json;
mod kind;
mod lexer;
mod ordered_map;
mod parser;
mod template;
mod text_case;
mod value;

pub use ast::{BinaryOperator, Expr};
pub use chain::Chain;
pub use contexts::{ContextName, Contexts, ExprScope, HashFiles, StatusFlags};
pub use functions::Function;
pub use kind::{KindLookup, ValueType};
pub use ordered_map::OrderedMap;
pub(crate) use template::is_insert;
pub use template::{Data, DataKey, ExprTemplate, IfCondition};
pub use text_case::same_text;
pub use value::{ExprValue, Object};

/// What is wrong with an expression, and where in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// The byte of the text at which it was noticed.
    pub at: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl ExprError {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            help: None,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// The first argument of `format` cannot be read.
    #[error("format cannot read {0}: braces stand around a number, or twice")]
    Format(String),
    /// `format` refers to an argument that was not given.
    #[error("format refers to {{{index}}}, but has {given} values")]
    FormatArgument {
        /// The number in the braces.
        index: usize,
        /// How many there are.
        given: usize,
    },
    /// `fromJSON` was given something else.
    #[error("fromJSON cannot read its text: {0}")]
    Json(String),
    /// `hashFiles` where there are no files yet.
    #[error("hashFiles can be called in steps only")]
    NoFiles,
    /// `hashFiles` failed.
    #[error("hashFiles failed: {0}")]
    Files(String),
    /// It asks for too much work.
    #[error("the expression looks at more than 16 MiB of values")]
    TooMuchWork,
    /// The value is too large.
    #[error("the value of the expression is larger than 1 MiB")]
    TooLarge,
    /// A value of another kind was wanted.
    #[error("{what} is {found}, expected {wanted}")]
    Kind {
        /// Of what.
        what: &'static str,
        /// What the expression gave, quoted.
        found: String,
        /// What was wanted.
        wanted: &'static str,
    },
}
