//! Values by their types: JSON of REST as a value of GraphQL, and arguments as lists where those
//! are meant.

use std::collections::{BTreeSet, HashMap};

use async_graphql::dynamic::FieldValue;
use async_graphql::parser::types::{BaseType, InputValueDefinition, Type};
use async_graphql::{Positioned, Value as GqlValue};
use serde_json::{Value, json};

/// What a value of a type is.
pub(crate) enum TypeShape {
    Scalar,
    Object,
    /// One of several.
    Abstract,
    Enum(BTreeSet<String>),
    Input(ArgumentTypes),
}

pub(crate) type Shapes = HashMap<String, TypeShape>;

/// Arguments by name, with their types.
pub(crate) type ArgumentTypes = Vec<(String, Type)>;

/// The name in a type, whatever lists it is in.
pub(crate) fn base_name(ty: &Type) -> &str {
    match &ty.base {
        BaseType::Named(name) => name.as_str(),
        BaseType::List(inner) => base_name(inner),
    }
}

/// Names and types.
pub(crate) fn typed(definitions: &[Positioned<InputValueDefinition>]) -> ArgumentTypes {
    let names = definitions.iter().map(|one| &one.node);
    let typed = names.map(|one| (one.name.node.to_string(), one.ty.node.clone()));
    typed.collect()
}

/// One value stands for a list of one.
pub(crate) fn coerce(values: &mut Value, arguments: &ArgumentTypes, shapes: &Shapes) {
    for (name, ty) in arguments {
        let Some(value) = values.get_mut(name) else {
            continue;
        };
        if matches!(ty.base, BaseType::List(_)) && !value.is_array() && !value.is_null() {
            *value = json!([value.take()]);
        }
        let Some(TypeShape::Input(inner)) = shapes.get(base_name(ty)) else {
            continue;
        };
        match value {
            Value::Array(many) => many.iter_mut().for_each(|one| coerce(one, inner, shapes)),
            one => coerce(one, inner, shapes),
        }
    }
}

/// JSON as a value of this type; what does not fit is nothing.
pub(crate) fn shaped(value: Value, ty: &Type, shapes: &Shapes) -> Option<FieldValue<'static>> {
    match &ty.base {
        BaseType::List(inner) => {
            let Value::Array(values) = value else {
                return None;
            };
            let values = values.into_iter();
            let values =
                values.map(|value| shaped(value, inner, shapes).unwrap_or(FieldValue::NULL));
            Some(FieldValue::list(values))
        }
        BaseType::Named(name) => match shapes.get(name.as_str())? {
            TypeShape::Scalar => scalar(value, name, ty.nullable),
            TypeShape::Enum(words) => {
                let word = value.as_str()?.to_ascii_uppercase();
                let word = words.contains(&word).then_some(word)?;
                Some(FieldValue::value(word))
            }
            TypeShape::Object if value.is_object() => Some(FieldValue::owned_any(value)),
            TypeShape::Abstract if value.is_object() => {
                let kind = concrete(name, &value);
                Some(FieldValue::owned_any(value).with_type(kind))
            }
            TypeShape::Object | TypeShape::Abstract | TypeShape::Input(_) => None,
        },
    }
}

/// What is left out is empty where the type says that it is there.
fn scalar(value: Value, name: &str, nullable: bool) -> Option<FieldValue<'static>> {
    let value = match (name, value) {
        // Gitea's word for never.
        ("DateTime" | "GitTimestamp", Value::String(time)) if time.starts_with("0001-") => {
            return None;
        }
        ("String", Value::String(text)) => json!(text),
        ("String", Value::Null) if !nullable => json!(""),
        ("Int", Value::Null) if !nullable => json!(0),
        ("Boolean", Value::Null) if !nullable => json!(false),
        ("BigInt", Value::Number(number)) => json!(number.to_string()),
        ("URI", Value::String(text)) if text.is_empty() => return None,
        (_, Value::Null) => return None,
        (_, value) => value,
    };
    GqlValue::from_json(value).ok().map(FieldValue::value)
}

/// Which type of several this is.
fn concrete(of: &str, value: &Value) -> String {
    if let Some(kind) = value["__typename"].as_str() {
        return kind.to_owned();
    }
    let word = match of {
        "Actor" if value["type"] == "Bot" => "Bot",
        "Actor" | "RepositoryOwner" if value["type"] == "Organization" => "Organization",
        "RequestedReviewer" if value["login"].is_null() => "Team",
        "GitObject" => "Commit",
        "IssueOrPullRequest" | "SearchResultItem" if value["head"].is_object() => "PullRequest",
        "IssueOrPullRequest" | "SearchResultItem" => "Issue",
        _ => "User",
    };
    word.to_owned()
}
