//! The thesaurus of a role, and texts read and written with it.

use html_escape::encode_text;
use search_core::answer::RoleList;
use search_core::concepts::{DeclaredConcept, ThesaurusAnswer};
use search_graph_engine::thesaurus::{Thesaurus, ThesaurusEntry};
use serde_json::json;
use service_agent::{Client, ClientFailure, CommandResult};

use crate::arguments::{ConceptFormat, RoleName};
use crate::output::CommandOutput;

/// Concepts asked for at once.
const PAGE: usize = 10_000;

pub(crate) async fn thesaurus(
    client: &Client,
    role: &RoleName,
) -> Result<CommandOutput, ClientFailure> {
    let answer = load_thesaurus(client, role).await?;
    let document =
        serde_json::to_value(&answer).map_err(|error| ClientFailure::Other(error.to_string()))?;
    Ok(CommandOutput {
        text: format!("{document:#}"),
        outcome: outcome(!answer.concepts.is_empty()),
    })
}

pub(crate) async fn replace(
    client: &Client,
    role: &RoleName,
    writing: ConceptFormat,
    raw: bool,
    text: &str,
) -> Result<CommandOutput, ClientFailure> {
    let thesaurus = built(client, role).await?;
    let written = thesaurus.replace_with(text, |entry| write(entry, writing));
    let document =
        json!({"status": "success", "text": written, "replaced": thesaurus.find(text).len()});
    Ok(CommandOutput {
        text: if raw {
            written
        } else {
            format!("{document:#}")
        },
        outcome: CommandResult::Found,
    })
}

pub(crate) async fn extract(
    client: &Client,
    role: &RoleName,
    text: &str,
) -> Result<CommandOutput, ClientFailure> {
    let thesaurus = built(client, role).await?;
    let paragraphs = thesaurus.extract(text).into_iter().map(|(start, paragraph)| {
        let mut concepts: Vec<&str> = thesaurus
            .find(paragraph)
            .into_iter()
            .map(|found| thesaurus.entries()[found.entry].name.as_str())
            .collect();
        concepts.sort_unstable();
        concepts.dedup();
        json!({"start": text[..start].chars().count(), "text": paragraph.trim_end(), "concepts": concepts})
    });
    let paragraphs: Vec<_> = paragraphs.collect();
    let document = json!({"status": "success", "paragraphs": paragraphs});
    Ok(CommandOutput {
        text: format!("{document:#}"),
        outcome: outcome(!paragraphs.is_empty()),
    })
}

fn outcome(found: bool) -> CommandResult {
    if found {
        CommandResult::Found
    } else {
        CommandResult::NothingFound
    }
}

/// All pages of the thesaurus.
async fn load_thesaurus(
    client: &Client,
    role: &RoleName,
) -> Result<ThesaurusAnswer, ClientFailure> {
    let role = match &role.name {
        Some(name) => name.clone(),
        None => {
            let roles: RoleList = client.get(&["api", "roles"], &[]).await?;
            roles.default_role
        }
    };
    let mut concepts: Vec<DeclaredConcept> = Vec::new();
    loop {
        let (skip, limit) = (concepts.len().to_string(), PAGE.to_string());
        let query = [("skip", skip.as_str()), ("limit", limit.as_str())];
        let page: ThesaurusAnswer = client.get(&["api", "thesaurus", &role], &query).await?;
        let last = page.concepts.len() < PAGE;
        concepts.extend(page.concepts);
        if last {
            return Ok(ThesaurusAnswer {
                role: page.role,
                total: page.total,
                error: page.error,
                concepts,
            });
        }
    }
}

async fn built(client: &Client, role: &RoleName) -> Result<Thesaurus, ClientFailure> {
    let answer = load_thesaurus(client, role).await?;
    if let Some(error) = answer.error {
        return Err(ClientFailure::Configuration(format!(
            "the thesaurus of role {:?} cannot be read: {error}",
            answer.role
        )));
    }
    if answer.concepts.is_empty() {
        return Err(ClientFailure::NotFound(format!(
            "role {:?} has no thesaurus: name one in `extra.thesaurus` of the role file",
            answer.role
        )));
    }
    let entries = answer.concepts.into_iter().map(|concept| ThesaurusEntry {
        name: concept.name,
        synonyms: concept.synonyms,
        url: concept.url,
    });
    Ok(Thesaurus::new(entries.collect()))
}

/// A concept as it is written into a text. Only pages of the web are linked to: what a thesaurus
/// names otherwise (`javascript:…`) does something when it is clicked.
fn write(entry: &ThesaurusEntry, writing: ConceptFormat) -> String {
    let is_page = |url: &&String| config_core::parse_http_url(url).is_ok();
    match (writing, entry.url.as_ref().filter(is_page)) {
        (ConceptFormat::Wiki, _) => format!("[[{}]]", entry.name),
        (ConceptFormat::Markdown, Some(url)) => {
            let url = url.replace(')', "%29").replace(' ', "%20");
            format!("[{}]({url})", entry.name.replace(['[', ']'], ""))
        }
        (ConceptFormat::Html, Some(url)) => {
            let url = html_escape::encode_double_quoted_attribute(url);
            format!("<a href=\"{url}\">{}</a>", encode_text(&entry.name))
        }
        (ConceptFormat::Html, None) => encode_text(&entry.name).into_owned(),
        (ConceptFormat::Plain | ConceptFormat::Markdown, _) => entry.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concepts_are_written_as_wanted() {
        let entry = ThesaurusEntry {
            name: "A <b>".to_owned(),
            synonyms: Vec::new(),
            url: Some("https://x.org/a (b)?q=\"".to_owned()),
        };
        for (writing, expected) in [
            (ConceptFormat::Plain, "A <b>"),
            (ConceptFormat::Wiki, "[[A <b>]]"),
            (
                ConceptFormat::Markdown,
                "[A <b>](https://x.org/a%20(b%29?q=\")",
            ),
            (
                ConceptFormat::Html,
                "<a href=\"https://x.org/a (b)?q=&quot;\">A &lt;b&gt;</a>",
            ),
        ] {
            assert_eq!(write(&entry, writing), expected);
        }
    }

    #[test]
    fn i14_only_pages_of_the_web_are_linked_to() {
        for url in [
            "javascript:alert(1)",
            " JavaScript:alert(1)",
            "java\nscript:alert(1)",
            "data:text/html,<script>alert(1)</script>",
            "file:///etc/passwd",
            "notes/a.md",
        ] {
            let entry = ThesaurusEntry {
                name: "A & 'b'".to_owned(),
                synonyms: Vec::new(),
                url: Some(url.to_owned()),
            };
            assert_eq!(write(&entry, ConceptFormat::Html), "A &amp; 'b'", "{url}");
            assert_eq!(write(&entry, ConceptFormat::Markdown), "A & 'b'", "{url}");
        }
    }
}
