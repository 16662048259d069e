//! The value of an expression.

use std::cell::Cell;

use super::ast::{BinaryOperator, Expr};
use super::{ContextName, Contexts, EvalError, ExprScope, ExprValue, Function};
use crate::limits::{MAX_VALUE_BYTES, MAX_WORK};

/// A value on the way: what a `*` gave is filtered further, element by element.
enum Selection {
    One(ExprValue),
    Many(Vec<ExprValue>),
}

impl Selection {
    fn value(self) -> ExprValue {
        match self {
            Self::One(value) => value,
            Self::Many(values) => ExprValue::list(values),
        }
    }
}

impl Expr {
    /// Its value.
    ///
    /// # Errors
    /// When a function refuses its arguments, or the value or the work for it would be too large.
    pub fn eval(&self, scope: &ExprScope<'_>) -> Result<ExprValue, EvalError> {
        let run = Run {
            scope,
            left: Cell::new(MAX_WORK),
        };
        let value = run.value(self)?;
        match &value {
            ExprValue::Text(text) if text.len() > MAX_VALUE_BYTES => Err(EvalError::TooLarge),
            _ => Ok(value),
        }
    }
}

/// One evaluation, and how many bytes of values it may still look at.
struct Run<'s, 'a> {
    scope: &'s ExprScope<'a>,
    left: Cell<usize>,
}

impl Run<'_, '_> {
    fn spend(&self, value: &ExprValue) -> Result<(), EvalError> {
        let left = self.left.get();
        let left = left.checked_sub(value.size(left)).filter(|left| *left > 0);
        self.left.set(left.ok_or(EvalError::TooMuchWork)?);
        Ok(())
    }

    fn value(&self, expr: &Expr) -> Result<ExprValue, EvalError> {
        self.find(expr).map(Selection::value)
    }

    fn find(&self, expr: &Expr) -> Result<Selection, EvalError> {
        let value = match expr {
            Expr::Literal(value) => value.clone(),
            Expr::Context(context) => self.scope.contexts.get(*context).clone(),
            Expr::Index(of, by) if matches!(**of, Expr::Context(ContextName::Env)) => {
                let name = self.value(by)?;
                self.variable(&name).cloned().unwrap_or_default()
            }
            Expr::Index(of, by) => return Ok(index(&self.find(of)?, &self.value(by)?)),
            Expr::Star(of) => return star(&self.find(of)?),
            Expr::Call(function, arguments) => {
                let mut values = Vec::new();
                for argument in arguments {
                    let value = self.value(argument)?;
                    self.spend(&value)?;
                    values.push(value);
                }
                function.call(&values, self.scope)?
            }
            Expr::Not(inner) => (!self.value(inner)?.truthy()).into(),
            Expr::Binary(operator, left, right) => self.binary(*operator, left, right)?,
        };
        Ok(Selection::One(value))
    }

    /// A variable of `env`, whose names differ by case on Linux, as those of the machine do.
    fn variable(&self, name: &ExprValue) -> Option<&ExprValue> {
        match self.scope.contexts.get(ContextName::Env) {
            ExprValue::Object(env) if name.is_primitive() => env.get_exact(&name.as_text()),
            _ => None,
        }
    }

    fn binary(
        &self,
        operator: BinaryOperator,
        left: &Expr,
        right: &Expr,
    ) -> Result<ExprValue, EvalError> {
        let left = self.value(left)?;
        // The right side of `&&` and `||` is looked at only when it decides.
        match operator {
            BinaryOperator::And if !left.truthy() => return Ok(left),
            BinaryOperator::Or if left.truthy() => return Ok(left),
            _ => {}
        }
        let right = self.value(right)?;
        if left.is_primitive() && right.is_primitive() {
            self.spend(&left)?;
            self.spend(&right)?;
        }
        Ok(compare(operator, &left, right))
    }
}

fn compare(operator: BinaryOperator, left: &ExprValue, right: ExprValue) -> ExprValue {
    let order = || left.order(&right);
    let holds = match operator {
        BinaryOperator::And | BinaryOperator::Or => return right,
        BinaryOperator::Equal => left.loosely_equals(&right),
        BinaryOperator::NotEqual => !left.loosely_equals(&right),
        BinaryOperator::Less => order().is_some_and(std::cmp::Ordering::is_lt),
        BinaryOperator::AtMost => order().is_some_and(std::cmp::Ordering::is_le),
        BinaryOperator::Greater => order().is_some_and(std::cmp::Ordering::is_gt),
        BinaryOperator::AtLeast => order().is_some_and(std::cmp::Ordering::is_ge),
    };
    holds.into()
}

fn index(of: &Selection, by: &ExprValue) -> Selection {
    match of {
        Selection::One(value) => Selection::One(element(value, by).unwrap_or_default()),
        Selection::Many(values) => Selection::Many(
            values
                .iter()
                .filter_map(|value| element(value, by))
                .collect(),
        ),
    }
}

/// A property of an object or an element of a list.
fn element(value: &ExprValue, by: &ExprValue) -> Option<ExprValue> {
    match value {
        ExprValue::Object(object) if by.is_primitive() => object.get(&by.as_text()).cloned(),
        ExprValue::List(values) => {
            let number = by.number().floor();
            if !(0.0..1e9).contains(&number) {
                return None;
            }
            // Checked above: a whole number that fits.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            values.get(number as usize).cloned()
        }
        _ => None,
    }
}

fn star(of: &Selection) -> Result<Selection, EvalError> {
    let mut out = Vec::new();
    let mut add = |value: &ExprValue| match value {
        ExprValue::List(values) => out.extend(values.iter().cloned()),
        ExprValue::Object(object) => out.extend(object.iter().map(|(_, value)| value.clone())),
        _ => {}
    };
    match of {
        Selection::One(value) => add(value),
        Selection::Many(values) => values.iter().for_each(add),
    }
    if out.len() > MAX_VALUE_BYTES / 8 {
        return Err(EvalError::TooLarge);
    }
    Ok(Selection::Many(out))
}

impl Expr {
    /// Its value, where that is the same in every run.
    pub fn constant(&self) -> Option<ExprValue> {
        let mut depends = false;
        self.walk(&mut |expr| {
            depends |= match expr {
                Self::Context(_) => true,
                Self::Call(function, _) => function.is_status() || *function == Function::HashFiles,
                _ => false,
            };
        });
        if depends {
            return None;
        }
        let contexts = Contexts::default();
        self.eval(&ExprScope::new(&contexts)).ok()
    }
}
