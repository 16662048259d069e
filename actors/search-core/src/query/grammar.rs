//! From tokens to a tree of clauses. Bounded depth, one pass, no backtracking.

use super::error::QueryError;
use super::lexer::{Lexer, QueryToken, TokenAt};
use super::limits::MAX_DEPTH;
use super::terms::Field;

/// What was typed, joined as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Clause<'q> {
    /// Words beside one another without white space.
    Text(&'q str),
    /// The last word is a beginning.
    Starred {
        text: &'q str,
        at: usize,
    },
    Phrase {
        text: &'q str,
        at: usize,
    },
    Expression {
        text: &'q str,
        ignores_case: bool,
        at: usize,
    },
    Field {
        field: Field,
        value: TermValue<'q>,
        at: usize,
    },
    Not {
        clause: Box<Clause<'q>>,
        at: usize,
    },
    And(Vec<Clause<'q>>),
    Or(Vec<Clause<'q>>),
    /// Things beside one another; the request's operator joins them.
    List(Vec<Clause<'q>>),
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TermValue<'q> {
    pub(super) text: &'q str,
    pub(super) is_quoted: bool,
}

/// The clauses of a text, and what `case:` says.
pub(super) fn clauses(text: &str) -> Result<(Clause<'_>, Option<bool>), QueryError> {
    let mut grammar = Grammar {
        text,
        lexer: Lexer::new(text),
        next: None,
        depth: 0,
    };
    grammar.advance()?;
    let list = grammar.list()?;
    // A list ends at a closing bracket only inside a group.
    debug_assert!(grammar.next.is_none());
    Ok((list, grammar.lexer.case_sensitivity()))
}

struct Grammar<'q> {
    text: &'q str,
    lexer: Lexer<'q>,
    next: Option<TokenAt<'q>>,
    depth: usize,
}

impl<'q> Grammar<'q> {
    fn advance(&mut self) -> Result<(), QueryError> {
        self.next = self.lexer.next()?;
        Ok(())
    }

    fn peek(&self) -> Option<QueryToken<'q>> {
        self.next.map(|placed| placed.token)
    }

    fn position(&self) -> usize {
        self.next.map_or(self.text.len(), |placed| placed.at)
    }

    fn fault(&self, at: usize, message: impl Into<String>) -> QueryError {
        QueryError::at_offset(self.text, at, message)
    }

    fn list(&mut self) -> Result<Clause<'q>, QueryError> {
        let mut clauses = Vec::new();
        while !matches!(self.peek(), None | Some(QueryToken::Close)) {
            clauses.push(self.alternatives()?);
        }
        Ok(Clause::List(clauses))
    }

    fn alternatives(&mut self) -> Result<Clause<'q>, QueryError> {
        let mut clauses = vec![self.conjunction()?];
        while self.peek() == Some(QueryToken::Or) {
            self.operator("OR")?;
            clauses.push(self.conjunction()?);
        }
        Ok(single_or(clauses, Clause::Or))
    }

    fn conjunction(&mut self) -> Result<Clause<'q>, QueryError> {
        let mut clauses = vec![self.negation()?];
        while self.peek() == Some(QueryToken::And) {
            self.operator("AND")?;
            clauses.push(self.negation()?);
        }
        Ok(single_or(clauses, Clause::And))
    }

    /// Steps over an operator that needs something behind it.
    fn operator(&mut self, name: &str) -> Result<(), QueryError> {
        let at = self.position();
        self.advance()?;
        if matches!(
            self.peek(),
            None | Some(QueryToken::Close | QueryToken::And | QueryToken::Or)
        ) {
            return Err(self.fault(
                at,
                format!("{name} has nothing behind it; add a word, or write it in small letters to look for the word"),
            ));
        }
        Ok(())
    }

    fn negation(&mut self) -> Result<Clause<'q>, QueryError> {
        let at = self.position();
        let mut is_negated = false;
        while self.peek() == Some(QueryToken::Not) {
            self.operator("NOT")?;
            is_negated = !is_negated;
        }
        let clause = self.primary()?;
        Ok(if is_negated {
            Clause::Not {
                clause: Box::new(clause),
                at,
            }
        } else {
            clause
        })
    }

    fn primary(&mut self) -> Result<Clause<'q>, QueryError> {
        let at = self.position();
        let token = self.peek();
        match token {
            Some(QueryToken::Open) => return self.group(at),
            Some(QueryToken::And | QueryToken::Or) => {
                let name = if token == Some(QueryToken::And) {
                    "AND"
                } else {
                    "OR"
                };
                return Err(self.fault(
                    at,
                    format!("{name} has nothing before it; add a word, or write it in small letters to look for the word"),
                ));
            }
            _ => {}
        }
        self.advance()?;
        Ok(match token {
            Some(QueryToken::Text(text)) => Clause::Text(text),
            Some(QueryToken::Starred(text)) => Clause::Starred { text, at },
            Some(QueryToken::Phrase(text)) => Clause::Phrase { text, at },
            Some(QueryToken::Expression { text, ignores_case }) => Clause::Expression {
                text,
                ignores_case,
                at,
            },
            Some(QueryToken::Field(field)) => self.value(field, at)?,
            // Nothing is left: operators were checked before they asked for this.
            _ => Clause::List(Vec::new()),
        })
    }

    fn value(&mut self, field: Field, at: usize) -> Result<Clause<'q>, QueryError> {
        let value_at = self.position();
        let token = self.peek();
        self.advance()?;
        let (text, is_quoted) = match token {
            Some(QueryToken::Text(text)) => (text, false),
            Some(QueryToken::Phrase(text)) => (text, true),
            Some(QueryToken::Starred(_)) if field == Field::Path => {
                let end = self.text[value_at..].find(char::is_whitespace);
                let end = end.map_or(self.text.len(), |length| value_at + length);
                (self.text[value_at..end].trim_end_matches(')'), false)
            }
            Some(QueryToken::Starred(_)) => {
                return Err(self.fault(
                    value_at,
                    format!(
                        "a beginning cannot be looked for in `{}:`; leave the star off",
                        field.as_str()
                    ),
                ));
            }
            _ => return Err(self.fault(at, format!("`{}:` has no value", field.as_str()))),
        };
        if text.trim().is_empty() {
            return Err(self.fault(
                value_at,
                format!("`{}:` has an empty value", field.as_str()),
            ));
        }
        Ok(Clause::Field {
            field,
            value: TermValue { text, is_quoted },
            at,
        })
    }

    fn group(&mut self, at: usize) -> Result<Clause<'q>, QueryError> {
        if self.depth == MAX_DEPTH {
            return Err(self.fault(
                at,
                format!("more than {MAX_DEPTH} brackets are open here; use fewer"),
            ));
        }
        self.depth += 1;
        self.advance()?;
        let clause = self.list()?;
        self.depth -= 1;
        if self.peek() != Some(QueryToken::Close) {
            return Err(self.fault(at, "this bracket is not closed; add `)`"));
        }
        self.advance()?;
        Ok(clause)
    }
}

/// The one clause, or several joined.
fn single_or<'q>(
    mut clauses: Vec<Clause<'q>>,
    join: fn(Vec<Clause<'q>>) -> Clause<'q>,
) -> Clause<'q> {
    if clauses.len() == 1 {
        clauses.remove(0)
    } else {
        join(clauses)
    }
}
