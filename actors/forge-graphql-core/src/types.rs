//! The schema: the tables in `schema/` as `async_graphql` types, and how a REST answer becomes one.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_graphql::Error;
use async_graphql::dynamic::{
    Enum, Field, FieldFuture, InputObject, InputValue, Interface, InterfaceField, Object,
    ResolverContext, Scalar, Schema, SchemaBuilder, SchemaError, TypeRef, Union,
};
use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{
    BaseType, FieldDefinition, InputValueDefinition, Type, TypeKind, TypeSystemDefinition,
};
use serde_json::{Value, json};

use crate::ask::{FieldRequest, value_at};
use crate::limits::{MAX_DEPTH, MAX_FIELDS};
use crate::mutate::mutate;
use crate::resolve::resolve;
use crate::rest::RestFailure;
use crate::session::{QuerySession, RestResult};
use crate::shape::{ArgumentTypes, Shapes, TypeShape, base_name, coerce, shaped, typed};

const TABLES: [&str; 3] = [
    include_str!("schema/objects.graphql"),
    include_str!("schema/issues.graphql"),
    include_str!("schema/mutations.graphql"),
];

/// Where a field's value comes from.
enum Source {
    Places(String),
    Fixed(Value),
    Function,
    Mutation,
}

/// A row of the tables.
struct Row {
    kind: String,
    field: String,
    ty: Type,
    arguments: ArgumentTypes,
    source: Source,
}

/// The schema of [`TABLES`].
///
/// # Errors
/// The tables do not fit together.
pub(crate) fn schema() -> Result<Schema, SchemaError> {
    let mut builder = Schema::build("Query", Some("Mutation"), None)
        .limit_depth(MAX_DEPTH)
        .limit_complexity(MAX_FIELDS)
        .limit_directives(8);
    let mut types = Vec::new();
    for table in TABLES {
        let document = parse_schema(table).map_err(|error| SchemaError(error.to_string()))?;
        types.extend(document.definitions);
    }
    let definitions: Vec<_> = types
        .into_iter()
        .filter_map(|definition| match definition {
            TypeSystemDefinition::Type(definition) => Some(definition.node),
            _ => None,
        })
        .collect();
    let mut shapes = Shapes::new();
    for name in ["String", "Int", "Boolean", "ID", "Float"] {
        shapes.insert(name.to_owned(), TypeShape::Scalar);
    }
    let mut connections = BTreeSet::new();
    for definition in &definitions {
        let name = definition.name.node.to_string();
        let shape = match &definition.kind {
            TypeKind::Scalar => TypeShape::Scalar,
            TypeKind::Interface(_) | TypeKind::Union(_) => TypeShape::Abstract,
            TypeKind::Enum(kind) => {
                let words = kind
                    .values
                    .iter()
                    .map(|value| value.node.value.node.to_string());
                TypeShape::Enum(words.collect())
            }
            TypeKind::Object(kind) => {
                let used = kind
                    .fields
                    .iter()
                    .map(|field| base_name(&field.node.ty.node));
                let used = used.filter_map(|used| {
                    let ending = ["Connection", "Edge"];
                    let base = ending.iter().find_map(|ending| used.strip_suffix(ending));
                    base.map(str::to_owned)
                });
                connections.extend(used);
                TypeShape::Object
            }
            TypeKind::InputObject(kind) => TypeShape::Input(typed(&kind.fields)),
        };
        shapes.insert(name, shape);
    }
    for base in &connections {
        for ending in ["Connection", "Edge"] {
            shapes.insert(format!("{base}{ending}"), TypeShape::Object);
        }
    }
    let shapes = Arc::new(shapes);
    for definition in definitions {
        builder = registered(builder, &definition.name.node, definition.kind, &shapes);
    }
    for base in &connections {
        for object in connection_types(base, &shapes) {
            builder = builder.register(object);
        }
    }
    builder.finish()
}

fn registered(
    builder: SchemaBuilder,
    name: &str,
    kind: TypeKind,
    shapes: &Arc<Shapes>,
) -> SchemaBuilder {
    match kind {
        TypeKind::Scalar => builder.register(Scalar::new(name)),
        TypeKind::Enum(kind) => {
            let words = kind
                .values
                .iter()
                .map(|value| value.node.value.node.to_string());
            builder.register(Enum::new(name).items(words.collect::<Vec<_>>()))
        }
        TypeKind::Union(kind) => {
            let members = kind.members.iter();
            let union = members.fold(Union::new(name), |union, member| {
                union.possible_type(member.node.as_str())
            });
            builder.register(union)
        }
        TypeKind::Interface(kind) => {
            let fields = kind.fields.iter();
            let interface = fields.fold(Interface::new(name), |interface, field| {
                let ty = output(&field.node.ty.node);
                interface.field(InterfaceField::new(field.node.name.node.as_str(), ty))
            });
            builder.register(interface)
        }
        TypeKind::InputObject(kind) => {
            let fields = kind.fields.iter();
            let object = fields.fold(InputObject::new(name), |object, field| {
                object.field(argument(&field.node))
            });
            builder.register(object)
        }
        TypeKind::Object(kind) => {
            let mut object = Object::new(name);
            for interface in &kind.implements {
                object = object.implement(interface.node.as_str());
            }
            for field in kind.fields {
                object = object.field(self::field(name, &field.node, shapes));
            }
            builder.register(object)
        }
    }
}

/// The types of a connection of these.
fn connection_types(base: &str, shapes: &Arc<Shapes>) -> Vec<Object> {
    let row = |kind: &str, field: &str, ty: &str| {
        let row = Row {
            kind: kind.to_owned(),
            field: field.to_owned(),
            ty: Type::new(ty).expect("the type is well written"),
            arguments: Vec::new(),
            source: Source::Places(format!("/{field}")),
        };
        build_field(row, shapes)
    };
    let (connection, edge) = (format!("{base}Connection"), format!("{base}Edge"));
    let mut object = Object::new(&connection)
        .field(row(&connection, "nodes", &format!("[{base}]")))
        .field(row(&connection, "edges", &format!("[{edge}]")))
        .field(row(&connection, "pageInfo", "PageInfo"))
        .field(row(&connection, "totalCount", "Int!"));
    if base == "SearchResultItem" {
        let count = Row {
            kind: connection,
            field: "issueCount".to_owned(),
            ty: Type::new("Int!").expect("the type is well written"),
            arguments: Vec::new(),
            source: Source::Places("/totalCount".to_owned()),
        };
        object = object.field(build_field(count, shapes));
    }
    let mut edge_object = Object::new(&edge)
        .field(row(&edge, "node", base))
        .field(row(&edge, "cursor", "String!"));
    if base == "Language" {
        edge_object = edge_object.field(row(&edge, "size", "Int!"));
    }
    vec![object, edge_object]
}

/// A type as what is given back: any of it may fail alone.
fn output(ty: &Type) -> TypeRef {
    match &ty.base {
        BaseType::Named(name) => TypeRef::named(name.as_str()),
        BaseType::List(inner) => TypeRef::List(Box::new(output(inner))),
    }
}

fn input(ty: &Type) -> TypeRef {
    let base = match &ty.base {
        BaseType::Named(name) => TypeRef::named(name.as_str()),
        BaseType::List(inner) => TypeRef::List(Box::new(input(inner))),
    };
    match ty.nullable {
        true => base,
        false => TypeRef::NonNull(Box::new(base)),
    }
}

fn argument(definition: &InputValueDefinition) -> InputValue {
    InputValue::new(definition.name.node.as_str(), input(&definition.ty.node))
}

fn field(kind: &str, definition: &FieldDefinition, shapes: &Arc<Shapes>) -> Field {
    let name = definition.name.node.as_str();
    let said = definition
        .directives
        .first()
        .map(|directive| &directive.node);
    let value = said.and_then(|said| said.arguments.first());
    let value = value.and_then(|(_, value)| value.node.clone().into_json().ok());
    let source = match (said.map(|said| said.name.node.as_str()), value) {
        (Some("at"), Some(Value::String(places))) => Source::Places(places),
        (Some("is"), Some(value)) => Source::Fixed(value),
        (Some("by"), _) => Source::Function,
        _ if kind == "Mutation" => Source::Mutation,
        _ => Source::Places(format!("/{name}|/{}", snake_case(name))),
    };
    let row = Row {
        kind: kind.to_owned(),
        field: name.to_owned(),
        ty: definition.ty.node.clone(),
        arguments: typed(&definition.arguments),
        source,
    };
    build_field(row, shapes)
}

fn build_field(row: Row, shapes: &Arc<Shapes>) -> Field {
    let (name, ty) = (row.field.clone(), output(&row.ty));
    let arguments = row.arguments.iter();
    let arguments = arguments.map(|(name, ty)| InputValue::new(name, input(ty)));
    let arguments: Vec<InputValue> = arguments.collect();
    let (row, shapes) = (Arc::new(row), Arc::clone(shapes));
    let field = Field::new(name, ty, move |context| {
        let (row, shapes) = (Arc::clone(&row), Arc::clone(&shapes));
        FieldFuture::new(async move {
            let value = match counted(&row, &context, &shapes).await {
                Ok(value) => value,
                Err(failure) => {
                    let session = context.data::<Arc<QuerySession>>();
                    if session.is_ok_and(|session| !session.budget.is_news(&failure)) {
                        return Ok(None);
                    }
                    let error = error(&failure).into_server_error(context.item.pos);
                    context.add_error(context.set_error_path(error));
                    return Ok(None);
                }
            };
            Ok(shaped(value, &row.ty, &shapes))
        })
    });
    arguments.into_iter().fold(field, Field::argument)
}

/// An error with GitHub's word for its kind.
fn error(failure: &RestFailure) -> Error {
    let mut error = Error::new(failure.message.clone());
    let mut extensions = async_graphql::ErrorExtensionValues::default();
    extensions.set("type", failure.kind());
    error.extensions = Some(extensions);
    error
}

/// What a field's value is, counted with what is asked for of it.
async fn counted(row: &Row, context: &ResolverContext<'_>, shapes: &Shapes) -> RestResult<Value> {
    let value = found(row, context, shapes).await?;
    let fields = context.field().selection_set().count();
    if let Ok(session) = context.data::<Arc<QuerySession>>() {
        session.budget.count_fields(&value, fields)?;
    }
    Ok(value)
}

/// What a field's value is, as JSON.
async fn found(row: &Row, context: &ResolverContext<'_>, shapes: &Shapes) -> RestResult<Value> {
    let session = context.data::<Arc<QuerySession>>();
    let session = session.map_err(|error| RestFailure::new(500, error.message))?;
    let nothing = json!({});
    let of = context
        .parent_value
        .downcast_ref::<Value>()
        .unwrap_or(&nothing);
    let mut args = serde_json::Map::new();
    for (name, value) in context.args.iter() {
        let value = value.as_value().clone().into_json();
        args.insert(name.to_string(), value.unwrap_or_default());
    }
    let mut args = Value::Object(args);
    coerce(&mut args, &row.arguments, shapes);
    let selects = |name: &str| context.look_ahead().field(name).exists();
    let ask = FieldRequest {
        session,
        kind: &row.kind,
        field: &row.field,
        of,
        args,
        counts: selects("totalCount") || selects("issueCount"),
        nodes: selects("nodes") || selects("edges") || selects("pageInfo"),
    };
    match &row.source {
        Source::Fixed(value) => Ok(value.clone()),
        Source::Mutation => mutate(session, &row.field, &ask.args["input"]).await,
        Source::Function => match resolve(&ask).await {
            Some(value) => value,
            None => Err(RestFailure::not_answered(&format!(
                "{}.{}",
                row.kind, row.field
            ))),
        },
        Source::Places(_) if row.field == "edges" => Ok(edges(of)),
        Source::Places(_) if row.field == "subject" => {
            let found = value_at(of, "/subjectId").unwrap_or_default();
            let id = crate::ids::resolve_id(session, found.as_str().unwrap_or_default()).await?;
            crate::resolve::node(session, &id).await
        }
        Source::Places(places) => ask.value(places).await,
    }
}

fn edges(of: &Value) -> Value {
    let nodes = of["nodes"].as_array().into_iter().flatten();
    let edges = nodes
        .enumerate()
        .map(|(at, node)| json!({"node": node, "cursor": of["cursors"][at], "size": node["size"]}));
    edges.collect()
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
