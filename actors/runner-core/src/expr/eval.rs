//! The value of an expression.

use std::cell::Cell;

use super::ast::{Expr, Operator};
use super::{Context, Contexts, EvalError, Function, Scope, Value};
use crate::limits::{MAX_VALUE_BYTES, MAX_WORK};

/// A value on the way: what a `*` gave is filtered further, element by element.
enum Selection {
    One(Value),
    Many(Vec<Value>),
}

impl Selection {
    fn value(self) -> Value {
        match self {
            Self::One(value) => value,
            Self::Many(values) => Value::list(values),
        }
    }
}

impl Expr {
    /// Its value.
    ///
    /// # Errors
    /// When a function refuses its arguments, or the value or the work for it would be too large.
    pub fn eval(&self, scope: &Scope<'_>) -> Result<Value, EvalError> {
        let run = Run {
            scope,
            left: Cell::new(MAX_WORK),
        };
        let value = run.value(self)?;
        match &value {
            Value::Text(text) if text.len() > MAX_VALUE_BYTES => Err(EvalError::TooLarge),
            _ => Ok(value),
        }
    }
}

/// One evaluation, and how many bytes of values it may still look at.
struct Run<'s, 'a> {
    scope: &'s Scope<'a>,
    left: Cell<usize>,
}

impl Run<'_, '_> {
    fn spend(&self, value: &Value) -> Result<(), EvalError> {
        let left = self.left.get();
        let left = left.checked_sub(value.size(left)).filter(|left| *left > 0);
        self.left.set(left.ok_or(EvalError::TooMuchWork)?);
        Ok(())
    }

    fn value(&self, expr: &Expr) -> Result<Value, EvalError> {
        self.find(expr).map(Selection::value)
    }

    fn find(&self, expr: &Expr) -> Result<Selection, EvalError> {
        let value = match expr {
            Expr::Literal(value) => value.clone(),
            Expr::Context(context) => self.scope.contexts.get(*context).clone(),
            Expr::Index(of, by) if matches!(**of, Expr::Context(Context::Env)) => {
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
    fn variable(&self, name: &Value) -> Option<&Value> {
        match self.scope.contexts.get(Context::Env) {
            Value::Object(env) if name.is_primitive() => env.get_exact(&name.as_text()),
            _ => None,
        }
    }

    fn binary(&self, operator: Operator, left: &Expr, right: &Expr) -> Result<Value, EvalError> {
        let left = self.value(left)?;
        // The right side of `&&` and `||` is looked at only when it decides.
        match operator {
            Operator::And if !left.truthy() => return Ok(left),
            Operator::Or if left.truthy() => return Ok(left),
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

fn compare(operator: Operator, left: &Value, right: Value) -> Value {
    let order = || left.order(&right);
    let holds = match operator {
        Operator::And | Operator::Or => return right,
        Operator::Equal => left.loosely_equals(&right),
        Operator::NotEqual => !left.loosely_equals(&right),
        Operator::Less => order().is_some_and(std::cmp::Ordering::is_lt),
        Operator::AtMost => order().is_some_and(std::cmp::Ordering::is_le),
        Operator::Greater => order().is_some_and(std::cmp::Ordering::is_gt),
        Operator::AtLeast => order().is_some_and(std::cmp::Ordering::is_ge),
    };
    holds.into()
}

fn index(of: &Selection, by: &Value) -> Selection {
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
fn element(value: &Value, by: &Value) -> Option<Value> {
    match value {
        Value::Object(object) if by.is_primitive() => object.get(&by.as_text()).cloned(),
        Value::List(values) => {
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
    let mut add = |value: &Value| match value {
        Value::List(values) => out.extend(values.iter().cloned()),
        Value::Object(object) => out.extend(object.iter().map(|(_, value)| value.clone())),
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
    pub fn constant(&self) -> Option<Value> {
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
        self.eval(&Scope::new(&contexts)).ok()
    }
}
