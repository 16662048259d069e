//! The API document: made from the handlers' types, and checked against the routes.

use std::collections::BTreeSet;

use actix_web::http::Method;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use crate::problem::{FieldError, PROBLEM_JSON, ProblemDocument};

/// Adds the problem body to the shared schemas and responses, and as the default response of every
/// operation.
pub fn share_problem(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    components
        .schemas
        .insert(FieldError::name().into_owned(), FieldError::schema());
    components.schemas.insert(
        ProblemDocument::name().into_owned(),
        ProblemDocument::schema(),
    );
    let schema = Ref::from_schema_name(ProblemDocument::name());
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response = ResponseBuilder::new()
        .description("The request failed; the problem says why.")
        .content(PROBLEM_JSON, content)
        .build();
    components
        .responses
        .insert("Problem".to_owned(), response.into());
    for item in document.paths.paths.values_mut() {
        for operation in operations_mut(item) {
            let reference = RefOr::Ref(Ref::from_response_name("Problem"));
            operation
                .responses
                .responses
                .entry("default".to_owned())
                .or_insert(reference);
        }
    }
}

/// The differences between a document and the routes; none of both is the aim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiCoverage {
    /// Routes under `/api` that the document does not describe, as `METHOD /path`.
    pub undocumented: BTreeSet<String>,
    /// Operations of the document that no route answers.
    pub unserved: BTreeSet<String>,
}

/// Compares a document with [`Routes::table`](crate::Routes::table). Routes outside of `/api` may
/// be left out of the document.
pub fn coverage(document: &OpenApi, routes: &[(Method, String)]) -> ApiCoverage {
    let documented: BTreeSet<String> = document
        .paths
        .paths
        .iter()
        .flat_map(|(path, item)| {
            methods(item)
                .into_iter()
                .map(move |method| format!("{method} {}", plain(path)))
        })
        .collect();
    let line = |(method, path): &(Method, String)| format!("{method} {}", plain(path));
    let served: BTreeSet<String> = routes.iter().map(line).collect();
    let is_api = |route: &&String| {
        route
            .split_once(' ')
            .is_some_and(|(_, path)| path.starts_with("/api"))
    };
    ApiCoverage {
        undocumented: served
            .difference(&documented)
            .filter(is_api)
            .cloned()
            .collect(),
        unserved: documented.difference(&served).cloned().collect(),
    }
}

/// A path without the patterns of its parameters: actix' `{id:[0-9]+}` is the document's `{id}`.
fn plain(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let (mut depth, mut in_pattern) = (0_u32, false);
    for character in path.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ':' if depth == 1 => in_pattern = true,
            _ => {}
        }
        in_pattern &= depth > 0;
        if !in_pattern {
            plain.push(character);
        }
    }
    plain
}

fn methods(item: &PathItem) -> Vec<&'static str> {
    let operations = [
        ("GET", &item.get),
        ("PUT", &item.put),
        ("POST", &item.post),
        ("DELETE", &item.delete),
        ("PATCH", &item.patch),
    ];
    operations
        .into_iter()
        .filter(|(_, operation)| operation.is_some())
        .map(|(name, _)| name)
        .collect()
}

fn operations_mut(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [
        &mut item.get,
        &mut item.put,
        &mut item.post,
        &mut item.delete,
        &mut item.patch,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_parameters_are_left_out() {
        for (pattern, expected) in [
            ("/api/roles", "/api/roles"),
            ("/api/documents/{id}", "/api/documents/{id}"),
            ("/api/{id:[0-9]{1,3}}/x", "/api/{id}/x"),
            ("/api/{a}/{tail:.*}", "/api/{a}/{tail}"),
        ] {
            assert_eq!(plain(pattern), expected);
        }
    }
}
