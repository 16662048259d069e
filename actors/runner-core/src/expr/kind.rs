//! Of which kind an expression's value is, as far as that can be told before it has one.

use super::{BinaryOperator, ContextName, Expr, ExprValue, Function};

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// Nothing.
    Null,
    /// True or false.
    Bool,
    /// A number.
    Number,
    /// A text.
    Text,
    /// A list.
    List,
    /// Names and values.
    Object,
}

impl ValueType {
    /// As messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "an empty value",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }

    /// What a list or an object is in a text.
    pub fn in_text(self) -> &'static str {
        match self {
            Self::List => "Array",
            Self::Object => "Object",
            _ => "",
        }
    }

    /// That of a value.
    pub fn from_value(value: &ExprValue) -> Self {
        match value {
            ExprValue::Null => Self::Null,
            ExprValue::Bool(_) => Self::Bool,
            ExprValue::Number(_) => Self::Number,
            ExprValue::Text(_) => Self::Text,
            ExprValue::List(_) => Self::List,
            ExprValue::Object(_) => Self::Object,
        }
    }
}

/// The kinds of names that a file gives to a context: `matrix.os`, `inputs.debug`.
pub type KindLookup<'k> = &'k dyn Fn(ContextName, &str) -> Option<ValueType>;

impl Expr {
    /// The kind of its value, where every run gives it the same one (or nothing).
    pub fn kind(&self, named: KindLookup<'_>) -> Option<ValueType> {
        match self {
            Self::Literal(value) => Some(ValueType::from_value(value)),
            // Of a job without one `matrix` is empty.
            Self::Context(ContextName::Matrix) => None,
            Self::Context(_) => Some(ValueType::Object),
            Self::Star(_) => Some(ValueType::List),
            Self::Not(_) => Some(ValueType::Bool),
            Self::Binary(BinaryOperator::And | BinaryOperator::Or, left, right) => {
                let kind = left.kind(named);
                kind.filter(|kind| right.kind(named) == Some(*kind))
            }
            Self::Binary(..) => Some(ValueType::Bool),
            Self::Call(function, arguments) => called(*function, arguments),
            Self::Index(inner, _) => match **inner {
                Self::Context(_) => self.property(named),
                _ => inner
                    .kind(named)
                    .filter(|kind| *kind != ValueType::List)
                    .and_then(|_| self.property(named)),
            },
        }
    }

    /// Names behind contexts whose kinds are documented (page "Contexts reference").
    fn property(&self, named: KindLookup<'_>) -> Option<ValueType> {
        let mut found = None;
        let mut first = true;
        self.chains(&mut |chain| {
            if std::mem::take(&mut first) {
                found = match (chain.context, chain.names.as_slice()) {
                    (context @ (ContextName::Matrix | ContextName::Inputs), [Some(name)]) => {
                        named(context, name)
                    }
                    (context, names) => behind(context, names),
                };
            }
        });
        found
    }
}

fn behind(context: ContextName, names: &[Option<&str>]) -> Option<ValueType> {
    let name = |index: usize| names.get(index).copied().flatten();
    match (context, names.len()) {
        (ContextName::Env | ContextName::Vars | ContextName::Secrets, 1) => Some(ValueType::Text),
        (ContextName::Steps | ContextName::Needs | ContextName::Jobs, 1) => Some(ValueType::Object),
        (ContextName::Steps | ContextName::Needs | ContextName::Jobs, 2) => match name(1)? {
            "outputs" => Some(ValueType::Object),
            "outcome" | "conclusion" | "result" => Some(ValueType::Text),
            _ => None,
        },
        (ContextName::Steps | ContextName::Needs | ContextName::Jobs, 3)
            if name(1) == Some("outputs") =>
        {
            Some(ValueType::Text)
        }
        (ContextName::Github, 1) => match name(0)? {
            "event" => Some(ValueType::Object),
            "actor" | "base_ref" | "event_name" | "head_ref" | "job" | "ref" | "ref_name"
            | "ref_type" | "repository" | "repository_owner" | "run_id" | "run_number"
            | "server_url" | "sha" | "workflow" | "workspace" => Some(ValueType::Text),
            _ => None,
        },
        (ContextName::Runner, 1) => Some(ValueType::Text),
        _ => None,
    }
}

fn called(function: Function, arguments: &[Expr]) -> Option<ValueType> {
    match function {
        Function::Format | Function::Join | Function::ToJson | Function::HashFiles => {
            Some(ValueType::Text)
        }
        Function::FromJson => match arguments.first()? {
            Expr::Literal(ExprValue::Text(text)) => Function::read_json(text)
                .ok()
                .map(|value| ValueType::from_value(&value)),
            _ => None,
        },
        Function::Case => None,
        Function::Contains
        | Function::StartsWith
        | Function::EndsWith
        | Function::Success
        | Function::Failure
        | Function::Always
        | Function::Cancelled => Some(ValueType::Bool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_where_every_run_has_the_same() {
        for (text, expected) in [
            ("github", Some(ValueType::Object)),
            ("github.ref", Some(ValueType::Text)),
            ("github.event.commits", None),
            ("github.event.*", Some(ValueType::List)),
            ("github.event.*.id", None),
            ("matrix", None),
            ("matrix.os", None),
            ("matrix.known", Some(ValueType::Number)),
            ("matrix.known.more", None),
            ("steps.a", Some(ValueType::Object)),
            ("steps.a.outputs.b", Some(ValueType::Text)),
            ("env.A && 'b'", Some(ValueType::Text)),
            ("env.A && 1", None),
            ("!github.ref", Some(ValueType::Bool)),
            ("fromJSON('[1]')", Some(ValueType::List)),
            ("fromJSON(env.A)", None),
            ("fromJSON('[1]')[0]", None),
            ("env.A == 'b'", Some(ValueType::Bool)),
        ] {
            let expr = Expr::parse(text).unwrap();
            let named = |_, name: &str| (name == "known").then_some(ValueType::Number);
            assert_eq!(expr.kind(&named), expected, "{text}");
        }
    }
}
