//! Of which kind an expression's value is, as far as that can be told before it has one.

use super::{Context, Expr, Function, Operator, Value};

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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

impl Kind {
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
    pub fn from_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Number(_) => Self::Number,
            Value::Text(_) => Self::Text,
            Value::List(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }
}

/// The kinds of names that a file gives to a context: `matrix.os`, `inputs.debug`.
pub type KindLookup<'k> = &'k dyn Fn(Context, &str) -> Option<Kind>;

impl Expr {
    /// The kind of its value, where every run gives it the same one (or nothing).
    pub fn kind(&self, named: KindLookup<'_>) -> Option<Kind> {
        match self {
            Self::Literal(value) => Some(Kind::from_value(value)),
            // Of a job without one `matrix` is empty.
            Self::Context(Context::Matrix) => None,
            Self::Context(_) => Some(Kind::Object),
            Self::Star(_) => Some(Kind::List),
            Self::Not(_) => Some(Kind::Bool),
            Self::Binary(Operator::And | Operator::Or, left, right) => {
                let kind = left.kind(named);
                kind.filter(|kind| right.kind(named) == Some(*kind))
            }
            Self::Binary(..) => Some(Kind::Bool),
            Self::Call(function, arguments) => called(*function, arguments),
            Self::Index(inner, _) => match **inner {
                Self::Context(_) => self.property(named),
                _ => inner
                    .kind(named)
                    .filter(|kind| *kind != Kind::List)
                    .and_then(|_| self.property(named)),
            },
        }
    }

    /// Names behind contexts whose kinds are documented (page "Contexts reference").
    fn property(&self, named: KindLookup<'_>) -> Option<Kind> {
        let mut found = None;
        let mut first = true;
        self.chains(&mut |chain| {
            if std::mem::take(&mut first) {
                found = match (chain.context, chain.names.as_slice()) {
                    (context @ (Context::Matrix | Context::Inputs), [Some(name)]) => {
                        named(context, name)
                    }
                    (context, names) => behind(context, names),
                };
            }
        });
        found
    }
}

fn behind(context: Context, names: &[Option<&str>]) -> Option<Kind> {
    let name = |index: usize| names.get(index).copied().flatten();
    match (context, names.len()) {
        (Context::Env | Context::Vars | Context::Secrets, 1) => Some(Kind::Text),
        (Context::Steps | Context::Needs | Context::Jobs, 1) => Some(Kind::Object),
        (Context::Steps | Context::Needs | Context::Jobs, 2) => match name(1)? {
            "outputs" => Some(Kind::Object),
            "outcome" | "conclusion" | "result" => Some(Kind::Text),
            _ => None,
        },
        (Context::Steps | Context::Needs | Context::Jobs, 3) if name(1) == Some("outputs") => {
            Some(Kind::Text)
        }
        (Context::Github, 1) => match name(0)? {
            "event" => Some(Kind::Object),
            "actor" | "base_ref" | "event_name" | "head_ref" | "job" | "ref" | "ref_name"
            | "ref_type" | "repository" | "repository_owner" | "run_id" | "run_number"
            | "server_url" | "sha" | "workflow" | "workspace" => Some(Kind::Text),
            _ => None,
        },
        (Context::Runner, 1) => Some(Kind::Text),
        _ => None,
    }
}

fn called(function: Function, arguments: &[Expr]) -> Option<Kind> {
    match function {
        Function::Format | Function::Join | Function::ToJson | Function::HashFiles => {
            Some(Kind::Text)
        }
        Function::FromJson => match arguments.first()? {
            Expr::Literal(Value::Text(text)) => Function::read_json(text)
                .ok()
                .map(|value| Kind::from_value(&value)),
            _ => None,
        },
        Function::Case => None,
        Function::Contains
        | Function::StartsWith
        | Function::EndsWith
        | Function::Success
        | Function::Failure
        | Function::Always
        | Function::Cancelled => Some(Kind::Bool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_where_every_run_has_the_same() {
        for (text, expected) in [
            ("github", Some(Kind::Object)),
            ("github.ref", Some(Kind::Text)),
            ("github.event.commits", None),
            ("github.event.*", Some(Kind::List)),
            ("github.event.*.id", None),
            ("matrix", None),
            ("matrix.os", None),
            ("matrix.known", Some(Kind::Number)),
            ("matrix.known.more", None),
            ("steps.a", Some(Kind::Object)),
            ("steps.a.outputs.b", Some(Kind::Text)),
            ("env.A && 'b'", Some(Kind::Text)),
            ("env.A && 1", None),
            ("!github.ref", Some(Kind::Bool)),
            ("fromJSON('[1]')", Some(Kind::List)),
            ("fromJSON(env.A)", None),
            ("fromJSON('[1]')[0]", None),
            ("env.A == 'b'", Some(Kind::Bool)),
        ] {
            let expr = Expr::parse(text).unwrap();
            let named = |_, name: &str| (name == "known").then_some(Kind::Number);
            assert_eq!(expr.kind(&named), expected, "{text}");
        }
    }
}
