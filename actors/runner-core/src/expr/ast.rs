//! The tree of an expression, and what it refers to.

use super::functions::Function;
use super::{ContextName, ExprValue};

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A value as written.
    Literal(ExprValue),
    /// A context: `github`, `env`, …
    Context(ContextName),
    /// `a.b` and `a['b']`.
    Index(Box<Expr>, Box<Expr>),
    /// `a.*` and `a[*]`.
    Star(Box<Expr>),
    /// A call.
    Call(Function, Vec<Expr>),
    /// `!a`.
    Not(Box<Expr>),
    /// Two values and an operator between them.
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
}

/// An operator with two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Expr {
    /// Calls `visit` with this expression and every one in it.
    pub fn walk(&self, visit: &mut impl FnMut(&Expr)) {
        visit(self);
        match self {
            Self::Literal(_) | Self::Context(_) => {}
            Self::Star(inner) | Self::Not(inner) => inner.walk(visit),
            Self::Index(left, right) | Self::Binary(_, left, right) => {
                left.walk(visit);
                right.walk(visit);
            }
            Self::Call(_, arguments) => arguments.iter().for_each(|argument| argument.walk(visit)),
        }
    }

    /// Whether it calls `success`, `failure`, `always` or `cancelled`.
    pub fn asks_status(&self) -> bool {
        let mut asks = false;
        self.walk(&mut |expr| {
            asks |= matches!(expr, Self::Call(function, _) if function.is_status());
        });
        asks
    }

    /// Whether it refers to `context`.
    pub fn refers_to(&self, context: ContextName) -> bool {
        let mut refers = false;
        self.walk(&mut |expr| refers |= matches!(expr, Self::Context(found) if *found == context));
        refers
    }
}
