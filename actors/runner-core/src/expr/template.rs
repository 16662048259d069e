//! Texts with expressions in them, conditions, and whole YAML values made of such texts.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::functions::bounded;
use super::{ContextName, EvalError, Expr, ExprError, ExprScope, ExprValue, Object};
use crate::source_location::SourceLocation;

/// A text with any number of `${{ … }}` in it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExprTemplate {
    /// As written.
    pub source: Arc<str>,
    /// Where it was written.
    pub place: SourceLocation,
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq)]
enum TemplatePart {
    Text(Arc<str>),
    Expr(Expr),
}

impl ExprTemplate {
    /// Reads a text.
    ///
    /// # Errors
    /// What is wrong with the first wrong expression in it, at which byte of the text.
    pub fn parse(source: &str, place: SourceLocation) -> Result<Self, ExprError> {
        Self::parse_all(source, place).map_err(|mut errors| errors.swap_remove(0))
    }

    /// Reads a text.
    ///
    /// # Errors
    /// What is wrong with each expression in it, at which byte of the text; at least one.
    pub fn parse_all(source: &str, place: SourceLocation) -> Result<Self, Vec<ExprError>> {
        let mut parts = Vec::new();
        let mut errors = Vec::new();
        let mut at = 0;
        while let Some(open) = source[at..].find("${{").map(|found| at + found) {
            if open > at {
                parts.push(TemplatePart::Text(source[at..open].into()));
            }
            let start = open + "${{".len();
            let Some(length) = closing(&source[start..]) else {
                errors.push(ExprError::new(open, "an expression has no closing `}}`"));
                return Err(errors);
            };
            match Expr::parse(&source[start..start + length]) {
                Ok(expr) => parts.push(TemplatePart::Expr(expr)),
                Err(mut error) => {
                    error.at += start;
                    errors.push(error);
                }
            }
            at = start + length + "}}".len();
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        if at < source.len() {
            parts.push(TemplatePart::Text(source[at..].into()));
        }
        Ok(Self {
            source: source.into(),
            place,
            parts,
        })
    }

    /// A value as written, no expression in it.
    pub fn literal(source: &str, value: ExprValue, place: SourceLocation) -> Self {
        let part = match value {
            ExprValue::Text(text) => TemplatePart::Text(text),
            other => TemplatePart::Expr(Expr::Literal(other)),
        };
        Self {
            source: source.into(),
            place,
            parts: vec![part],
        }
    }

    /// The value, when no expression has to be evaluated for it.
    pub fn fixed(&self) -> Option<ExprValue> {
        match self.parts.as_slice() {
            [] => Some("".into()),
            [TemplatePart::Text(text)] => Some(ExprValue::Text(text.clone())),
            [TemplatePart::Expr(Expr::Literal(value))] => Some(value.clone()),
            _ => None,
        }
    }

    /// The expressions in it.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Expr(expr) => Some(expr),
            TemplatePart::Text(_) => None,
        })
    }

    /// Whether it is nothing but one expression.
    pub fn is_one_expression(&self) -> bool {
        matches!(self.parts.as_slice(), [TemplatePart::Expr(_)])
    }

    /// Of one expression that gives an object: what that has by this name.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<Self> {
        let [TemplatePart::Expr(expr)] = self.parts.as_slice() else {
            return None;
        };
        let name = Expr::Literal(name.into());
        let entry = Expr::Index(Box::new(expr.clone()), Box::new(name));
        Some(Self {
            source: self.source.clone(),
            place: self.place,
            parts: vec![TemplatePart::Expr(entry)],
        })
    }

    /// Whether an expression in it refers to `context`.
    pub fn refers_to(&self, context: ContextName) -> bool {
        self.expressions().any(|expr| expr.refers_to(context))
    }

    /// Its value: of the kind the expression gives when it is nothing but one, else a text.
    ///
    /// # Errors
    /// When an expression has none.
    pub fn value(&self, scope: &ExprScope<'_>) -> Result<ExprValue, EvalError> {
        match self.parts.as_slice() {
            [TemplatePart::Expr(expr)] => expr.eval(scope),
            _ => self.text(scope).map(ExprValue::from),
        }
    }

    /// Its value as a text.
    ///
    /// # Errors
    /// When an expression has none, or the text would be too large.
    pub fn text(&self, scope: &ExprScope<'_>) -> Result<String, EvalError> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => out.push_str(text),
                TemplatePart::Expr(expr) => out.push_str(&expr.eval(scope)?.as_text()),
            }
            out = bounded(out)?;
        }
        Ok(out)
    }

    /// Its value as a boolean.
    ///
    /// # Errors
    /// When it is neither true nor false.
    pub fn bool(&self, what: &'static str, scope: &ExprScope<'_>) -> Result<bool, EvalError> {
        match self.value(scope)? {
            ExprValue::Bool(value) => Ok(value),
            other => match &*other.as_text() {
                "true" => Ok(true),
                "false" => Ok(false),
                found => Err(kind(what, found, "true or false")),
            },
        }
    }

    /// Its value as a boolean, where a text is none.
    ///
    /// # Errors
    /// When it is neither true nor false.
    pub fn strict_bool(
        &self,
        what: &'static str,
        scope: &ExprScope<'_>,
    ) -> Result<bool, EvalError> {
        match self.value(scope)? {
            ExprValue::Bool(value) => Ok(value),
            ExprValue::Text(text) => Err(EvalError::Kind {
                what,
                found: format!("the text {}", config_core::quoted(&text)),
                wanted: "true or false",
            }),
            other => Err(kind(what, &other.as_text(), "true or false")),
        }
    }

    /// Its value as a number above zero.
    ///
    /// # Errors
    /// When it is none.
    pub fn positive(&self, what: &'static str, scope: &ExprScope<'_>) -> Result<f64, EvalError> {
        let value = self.value(scope)?;
        let number = value.number();
        if number > 0.0 && number.is_finite() && value.is_primitive() {
            return Ok(number);
        }
        Err(kind(what, &value.as_text(), "a number above 0"))
    }
}

fn kind(what: &'static str, found: &str, wanted: &'static str) -> EvalError {
    EvalError::Kind {
        what,
        found: config_core::quoted(found),
        wanted,
    }
}

/// Where the `}}` of an expression is: texts between quotes may hold one.
fn closing(text: &str) -> Option<usize> {
    let mut quoted = false;
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|&at| {
        quoted ^= bytes[at] == b'\'';
        !quoted && bytes[at..].starts_with(b"}}")
    })
}

impl Serialize for ExprTemplate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

/// The `if` of a job or a step.
#[derive(Debug, Clone, PartialEq)]
pub struct IfCondition {
    /// As written.
    pub source: Arc<str>,
    /// Where it was written.
    pub place: SourceLocation,
    /// What is evaluated.
    expr: Expr,
    /// Text around an expression: GitHub makes a text of it, which always counts as true.
    pub always_true: bool,
}

impl IfCondition {
    /// Reads an `if`; `${{ }}` may be left out.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(source: &str, place: SourceLocation) -> Result<Self, ExprError> {
        let (expr, always_true) = if source.contains("${{") {
            // Spaces and line breaks around it are text too: GitHub's reader takes none away.
            let template = ExprTemplate::parse(source, place)?;
            match template.parts.as_slice() {
                [TemplatePart::Expr(expr)] => (expr.clone(), false),
                _ => (concatenation(&template), true),
            }
        } else if source.trim().is_empty() {
            (Expr::Literal(ExprValue::Bool(true)), false)
        } else {
            (Expr::parse(source)?, false)
        };
        Ok(Self {
            source: source.into(),
            place,
            expr,
            always_true,
        })
    }

    /// A boolean or number as YAML writes it.
    pub fn literal(source: &str, value: ExprValue, place: SourceLocation) -> Self {
        Self {
            source: source.into(),
            place,
            expr: Expr::Literal(value),
            always_true: false,
        }
    }

    /// What is evaluated.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Whether it holds only after success, whatever else it asks.
    pub fn needs_success(&self) -> bool {
        !self.expr.asks_status()
    }

    /// Whether it holds. Without a status function in it, it holds only after success.
    ///
    /// # Errors
    /// When the expression has no value.
    pub fn holds(&self, scope: &ExprScope<'_>) -> Result<bool, EvalError> {
        if self.needs_success() && !scope.contexts.status().success {
            return Ok(false);
        }
        Ok(self.expr.eval(scope)?.truthy())
    }

    /// Whether it holds as it is written, whatever happened before: `pre-if` and `post-if`.
    ///
    /// # Errors
    /// When the expression has no value.
    pub fn holds_as_written(&self, scope: &ExprScope<'_>) -> Result<bool, EvalError> {
        Ok(self.expr.eval(scope)?.truthy())
    }

    /// [`IfCondition::holds`] for an `if` that may be absent.
    ///
    /// # Errors
    /// When the expression has no value.
    pub fn holds_or_success(
        condition: Option<&Self>,
        scope: &ExprScope<'_>,
    ) -> Result<bool, EvalError> {
        match condition {
            Some(condition) => condition.holds(scope),
            None => Ok(scope.contexts.status().success),
        }
    }
}

/// All parts put together by `format`.
fn concatenation(template: &ExprTemplate) -> Expr {
    let mut pattern = String::new();
    let mut arguments = vec![Expr::Literal(ExprValue::Null)];
    for part in &template.parts {
        match part {
            TemplatePart::Text(text) => pattern += &text.replace('{', "{{").replace('}', "}}"),
            TemplatePart::Expr(expr) => {
                pattern += &format!("{{{}}}", arguments.len() - 1);
                arguments.push(expr.clone());
            }
        }
    }
    arguments[0] = Expr::Literal(pattern.into());
    Expr::Call(super::Function::Format, arguments)
}

impl Serialize for IfCondition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

/// A YAML value whose texts may hold expressions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Data {
    /// A scalar.
    Scalar(ExprTemplate),
    /// A list.
    List(Vec<Data>),
    /// A mapping; keys have no expressions.
    Map(Vec<(String, Data)>),
    /// A mapping with keys that are expressions, or that add what an expression gives.
    Computed(Vec<(DataKey, Data)>),
}

/// A key of a mapping that only the run knows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum DataKey {
    /// Its text has expressions.
    Text(ExprTemplate),
    /// `${{ insert }}`: the entries of the value are added.
    Insert,
}

impl Data {
    /// Its value.
    ///
    /// # Errors
    /// When an expression in it has none.
    pub fn value(&self, scope: &ExprScope<'_>) -> Result<ExprValue, EvalError> {
        Ok(match self {
            Self::Scalar(template) => template.value(scope)?,
            Self::List(values) => {
                let mut all = Vec::new();
                for value in values {
                    match (value, value.value(scope)?) {
                        // An expression that gives a list gives its elements.
                        (Self::Scalar(template), ExprValue::List(more))
                            if template.is_one_expression() =>
                        {
                            all.extend(more.iter().cloned());
                        }
                        (_, value) => all.push(value),
                    }
                }
                ExprValue::list(all)
            }
            Self::Map(entries) => {
                let mut object = Object::default();
                for (key, value) in entries {
                    object.set(key, value.value(scope)?);
                }
                ExprValue::Object(Arc::new(object))
            }
            Self::Computed(entries) => computed(entries, scope)?,
        })
    }

    /// Calls `visit` with every expression in it.
    pub fn expressions<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match self {
            Self::Scalar(template) => template.expressions().for_each(visit),
            Self::List(values) => values.iter().for_each(|value| value.expressions(visit)),
            Self::Map(entries) => entries.iter().for_each(|(_, it)| it.expressions(visit)),
            Self::Computed(entries) => {
                for (key, value) in entries {
                    if let DataKey::Text(text) = key {
                        text.expressions().for_each(&mut *visit);
                    }
                    value.expressions(visit);
                }
            }
        }
    }

    /// Whether an expression in it refers to `context`.
    pub fn refers_to(&self, context: ContextName) -> bool {
        match self {
            Self::Computed(entries) => entries.iter().any(|(key, value)| {
                let in_key = matches!(key, DataKey::Text(text) if text.refers_to(context));
                in_key || value.refers_to(context)
            }),
            Self::Scalar(template) => template.refers_to(context),
            Self::List(values) => values.iter().any(|value| value.refers_to(context)),
            Self::Map(entries) => entries.iter().any(|(_, value)| value.refers_to(context)),
        }
    }
}

/// A mapping whose keys are evaluated as well.
fn computed(entries: &[(DataKey, Data)], scope: &ExprScope<'_>) -> Result<ExprValue, EvalError> {
    let mut object = Object::default();
    for (key, value) in entries {
        let value = value.value(scope)?;
        match (key, value) {
            (DataKey::Text(key), value) => object.set(&key.text(scope)?, value),
            (DataKey::Insert, ExprValue::Object(more)) => {
                for (key, value) in more.iter() {
                    object.set(key, value.clone());
                }
            }
            (DataKey::Insert, ExprValue::Null) => {}
            (DataKey::Insert, other) => {
                return Err(kind("insert", &other.as_text(), "a mapping"));
            }
        }
    }
    Ok(ExprValue::Object(Arc::new(object)))
}

/// Whether a key adds what its value gives.
pub(crate) fn is_insert(key: &str) -> bool {
    let inner = key.trim().strip_prefix("${{");
    let inner = inner.and_then(|rest| rest.strip_suffix("}}"));
    inner.is_some_and(|inner| inner.trim() == "insert")
}
