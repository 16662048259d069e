//! Tokens to a tree, by GitHub's precedence: `! < == && ||`, tightest first.

use super::ast::{BinaryOperator, Expr};
use super::functions::Function;
use super::lexer::{ExprToken, TokenKind, tokens};
use super::{ContextName, ExprError, ExprValue};
use crate::limits::{MAX_EXPRESSION_BYTES, MAX_EXPRESSION_DEPTH, MAX_OPERATORS};

/// Operators by how tight they bind, loosest first.
const LEVELS: [&[(&str, BinaryOperator)]; 4] = [
    &[("||", BinaryOperator::Or)],
    &[("&&", BinaryOperator::And)],
    &[
        ("==", BinaryOperator::Equal),
        ("!=", BinaryOperator::NotEqual),
    ],
    &[
        ("<", BinaryOperator::Less),
        ("<=", BinaryOperator::AtMost),
        (">", BinaryOperator::Greater),
        (">=", BinaryOperator::AtLeast),
    ],
];

impl Expr {
    /// Reads an expression (without its `${{ }}`).
    ///
    /// # Errors
    /// What is wrong with it, and at which byte.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        if text.len() > MAX_EXPRESSION_BYTES {
            let message = format!("the expression has more than {MAX_EXPRESSION_BYTES} bytes");
            return Err(ExprError::new(0, message));
        }
        let tokens = tokens(text)?;
        let mut parser = Parser {
            tokens: &tokens,
            next: 0,
            depth: 0,
            operators: 0,
            end: text.len(),
        };
        if tokens.is_empty() {
            return Err(ExprError::new(0, "the expression is empty"));
        }
        let expr = parser.level(0)?;
        match parser.peek() {
            None => Ok(expr),
            Some(token) => Err(ExprError::new(
                token.at,
                format!("unexpected {}", describe_token(token)),
            )),
        }
    }
}

struct Parser<'t> {
    tokens: &'t [ExprToken],
    next: usize,
    depth: usize,
    operators: usize,
    end: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&'t ExprToken> {
        self.tokens.get(self.next)
    }

    fn position(&self) -> usize {
        self.peek().map_or(self.end, |token| token.at)
    }

    fn take(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Some(ExprToken { kind: TokenKind::Mark(found), .. }) if *found == mark);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, mark: &str) -> Result<(), ExprError> {
        if self.take(mark) {
            return Ok(());
        }
        let found = self
            .peek()
            .map_or_else(|| "the end".to_owned(), describe_token);
        Err(ExprError::new(
            self.position(),
            format!("expected `{mark}`, found {found}"),
        ))
    }

    /// Runs `inner` one level deeper.
    fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, ExprError>,
    ) -> Result<T, ExprError> {
        self.depth += 1;
        if self.depth > MAX_EXPRESSION_DEPTH {
            let message = format!("the expression is nested more than {MAX_EXPRESSION_DEPTH} deep");
            return Err(ExprError::new(self.position(), message));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Operators of level `level` and tighter ones.
    fn level(&mut self, level: usize) -> Result<Expr, ExprError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.level(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(mark, _)| self.take(mark)) {
            // A chain leans to the left: each operator can make the tree one deeper.
            self.operators += 1;
            if self.operators > MAX_OPERATORS {
                let message = format!("the expression has more than {MAX_OPERATORS} operators");
                return Err(ExprError::new(self.position(), message));
            }
            let right = self.level(level + 1)?;
            left = Expr::Binary(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, ExprError> {
        if self.take("!") {
            return self.deeper(|parser| Ok(Expr::Not(Box::new(parser.unary()?))));
        }
        let mut expr = self.primary()?;
        let mut links = 0;
        loop {
            links += 1;
            if links > MAX_EXPRESSION_DEPTH {
                let message = format!("more than {MAX_EXPRESSION_DEPTH} properties in a row");
                return Err(ExprError::new(self.position(), message));
            }
            if self.take(".") {
                expr = self.property(expr)?;
            } else if self.take("[") {
                if self.take("*") {
                    expr = Expr::Star(Box::new(expr));
                } else {
                    let index = self.deeper(|parser| parser.level(0))?;
                    expr = Expr::Index(Box::new(expr), Box::new(index));
                }
                self.expect("]")?;
            } else {
                return Ok(expr);
            }
        }
    }

    /// After a `.`: a name or `*`.
    fn property(&mut self, of: Expr) -> Result<Expr, ExprError> {
        if self.take("*") {
            return Ok(Expr::Star(Box::new(of)));
        }
        match self.peek() {
            Some(ExprToken {
                kind: TokenKind::Name(name),
                ..
            }) => {
                self.next += 1;
                let name = Expr::Literal(ExprValue::text(name));
                Ok(Expr::Index(Box::new(of), Box::new(name)))
            }
            _ => Err(ExprError::new(
                self.position(),
                "expected a property name after `.`",
            )),
        }
    }

    fn primary(&mut self) -> Result<Expr, ExprError> {
        if self.take("(") {
            let inner = self.deeper(|parser| parser.level(0))?;
            self.expect(")")?;
            return Ok(inner);
        }
        let Some(token) = self.peek() else {
            return Err(ExprError::new(self.end, "the expression ends too early"));
        };
        self.next += 1;
        match &token.kind {
            TokenKind::Literal(value) => Ok(Expr::Literal(value.clone())),
            TokenKind::Name(name) if self.take("(") => self.call(name, token.at),
            TokenKind::Name(name) => context(name, token.at),
            TokenKind::Mark(_) => Err(ExprError::new(
                token.at,
                format!("unexpected {}", describe_token(token)),
            )),
        }
    }

    fn call(&mut self, name: &str, at: usize) -> Result<Expr, ExprError> {
        let Some(function) = Function::named(name) else {
            let error = ExprError::new(
                at,
                format!("unknown function {}", config_core::quoted(name)),
            );
            let near = config_core::suggestion(name, Function::NAMES);
            return Err(error.maybe_help(near.map(|near| format!("did you mean `{near}`?"))));
        };
        let mut arguments = Vec::new();
        if !self.take(")") {
            loop {
                arguments.push(self.deeper(|parser| parser.level(0))?);
                if !self.take(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        function
            .check_count(arguments.len())
            .map_err(|message| ExprError::new(at, message))?;
        Ok(Expr::Call(function, arguments))
    }
}

fn context(name: &str, at: usize) -> Result<Expr, ExprError> {
    if let Some(context) = ContextName::named(name) {
        return Ok(Expr::Context(context));
    }
    let error = ExprError::new(at, format!("unknown context {}", config_core::quoted(name)));
    let near = config_core::suggestion(name, ContextName::ALL.iter().map(|context| context.name()));
    Err(match near {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("texts stand between single quotes"),
    })
}

fn describe_token(token: &ExprToken) -> String {
    match &token.kind {
        TokenKind::Literal(value) => config_core::quoted(&value.as_text()),
        TokenKind::Name(name) => config_core::quoted(name),
        TokenKind::Mark(mark) => format!("`{mark}`"),
    }
}
