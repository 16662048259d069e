//! Further answers as text.

use search_core::answer::{HaystackSummary, RoleList, RoleSummary, SourceHealth, SourceState};
use search_core::concepts::GraphAnswer;
use search_core::conversation::ChatAnswer;
use search_core::role::RoleFile;

use crate::human::clean;

/// The role list as a server would answer it.
pub(crate) fn role_list(roles: &RoleFile) -> RoleList {
    let summary = |role: &search_core::role::Role| RoleSummary {
        name: role.name.clone(),
        relevance_function: role.relevance_function.as_str().to_owned(),
        theme: role.theme.as_str().to_owned(),
        haystacks: role
            .haystacks
            .iter()
            .map(|haystack| HaystackSummary {
                name: haystack.name.clone(),
                service: haystack.service().as_str().to_owned(),
                location: haystack.location.clone(),
            })
            .collect(),
    };
    RoleList {
        default_role: roles.default_role().name.clone(),
        roles: roles.roles().iter().map(summary).collect(),
    }
}

/// Concepts by frequency, or one concept with its neighbours and documents.
pub(crate) fn graph(answer: &GraphAnswer, of_one: bool) -> String {
    let name = |id: &str| {
        let concept = answer.concepts.iter().find(|concept| concept.id == id);
        clean(concept.map_or(id, |concept| concept.name.as_str()))
    };
    let mut text = String::new();
    if !of_one {
        for concept in &answer.concepts {
            text += &format!(
                "{:>6}  {} · {}\n",
                concept.documents,
                clean(&concept.name),
                concept.kind
            );
        }
        return text;
    }
    let Some(first) = answer.concepts.first() else {
        return text;
    };
    text += &format!(
        "{} · {} · in {} documents\n",
        clean(&first.name),
        first.kind,
        first.documents
    );
    for edge in &answer.edges {
        let other = match (edge.from == first.id, edge.to == first.id) {
            (true, _) => name(&edge.to),
            (_, true) => name(&edge.from),
            _ => format!("{} – {}", name(&edge.from), name(&edge.to)),
        };
        text += &format!("  {:.2}  {other} · {}\n", edge.weight, edge.kind);
    }
    for document in &answer.documents {
        text += &format!("  {}\n", clean(document));
    }
    text
}

/// What stands below an answer that was printed as it came.
pub(crate) fn chat_footer(answer: &ChatAnswer) -> String {
    let mut text = String::from("\n");
    for citation in &answer.citations {
        text += &format!(
            "[{}] {} · {}\n",
            citation.number,
            clean(&citation.title),
            clean(&citation.url)
        );
    }
    if answer.truncated {
        text += "! the answer was cut off at its limit\n";
    }
    let model = answer.model.as_deref().unwrap_or("no model");
    text += &format!(
        "{} · {} · --conversation {}\n",
        clean(&answer.provider),
        clean(model),
        answer.conversation_id
    );
    text
}

/// How each source is.
pub(crate) fn sources(sources: &[SourceHealth]) -> String {
    let line = |source: &SourceHealth| {
        let state = match source.state {
            SourceState::Starting => "starting",
            SourceState::Indexing => "indexing",
            SourceState::Ready => "ready",
            SourceState::Failed => "failed",
        };
        let skipped: u64 = source.skipped.values().sum();
        let mut text = format!(
            "{} · {} · {state} · {} documents",
            clean(&source.role),
            clean(&source.name),
            source.documents
        );
        if skipped > 0 {
            text += &format!(" · {skipped} skipped");
        }
        if let Some(error) = &source.error {
            text += &format!("\n    {}", clean(error));
        }
        text
    };
    sources.iter().map(line).collect::<Vec<_>>().join("\n")
}
