//! Personas: who an agent is, as a template at the beginning of its prompt.

use std::collections::BTreeMap;

use config_core::{
    ConfigInput, ConfigItem, DecodeResult, Diagnostics, Environment, PlainKind, TextKind,
    UnknownKeys, ValueError, ValueShape, map, no_text, quoted, table,
};
use handlebars::{Handlebars, RenderError, RenderErrorReason};
use serde_json::{Value, json};

use super::declared::DeclaredNames;
use super::input::ConfigFile;
use super::values::long_text;

/// Largest template, in bytes.
const MAX_TEMPLATE: usize = 256 << 10;

/// A persona, its template checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Persona {
    /// Its name.
    pub name: String,
    /// One sentence for people.
    pub description: String,
    /// The Handlebars template.
    pub template: String,
    /// Values for the template's `{{vars.…}}`.
    pub variables: BTreeMap<String, String>,
}

/// What a template may name. Only what the configuration says: text of strangers never meets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersonaFacts<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The project.
    pub project: &'a str,
    /// The repository.
    pub repository: &'a str,
    /// The agent's description.
    pub description: &'a str,
    /// The agent's layer.
    pub layer: &'a str,
}

impl Persona {
    /// The persona's text for one agent.
    ///
    /// # Errors
    /// What the template engine says; a checked persona renders.
    pub fn render(&self, facts: PersonaFacts<'_>) -> Result<String, String> {
        render(&self.template, &self.data(facts))
    }

    fn data(&self, facts: PersonaFacts<'_>) -> Value {
        json!({
            "agent": facts.agent,
            "project": facts.project,
            "repository": facts.repository,
            "description": facts.description,
            "layer": facts.layer,
            "persona": self.name,
            "vars": self.variables,
        })
    }
}

fn render(template: &str, data: &Value) -> Result<String, String> {
    let mut engine = Handlebars::new();
    engine.set_strict_mode(true);
    engine.register_escape_fn(handlebars::no_escape);
    engine
        .render_template(template, data)
        .map_err(|error| explained(&error))
}

/// What is wrong with a template, in our words where the engine's are about itself.
fn explained(error: &RenderError) -> String {
    match error.reason() {
        RenderErrorReason::MissingVariable(Some(name)) => format!("unknown name {}", quoted(name)),
        RenderErrorReason::HelperNotFound(name) => format!("unknown helper {}", quoted(name)),
        RenderErrorReason::PartialNotFound(name) => format!("unknown partial {}", quoted(name)),
        RenderErrorReason::TemplateError(error) => match error.pos() {
            Some((line, column)) => {
                format!("its syntax is wrong at line {line}, column {column} of the template")
            }
            None => "its syntax is wrong".to_owned(),
        },
        other => forge_core::text::one_line(&other.to_string(), 160),
    }
}

/// Reads a persona file.
pub(super) fn parse(
    file: &ConfigFile,
    declared: &DeclaredNames,
    environment: &Environment,
    unknown_keys: UnknownKeys,
) -> Result<DecodeResult<Persona>, Diagnostics> {
    let input = ConfigInput::toml(&file.name, &file.bytes, environment).unknown_keys(unknown_keys);
    input.decode(|item| {
        PERSONA.fields(item, |fields| {
            let named = fields.optional("name", ConfigItem::string);
            let name = named.unwrap_or_else(|| file.stem().to_owned());
            if let Some((first, _)) = declared.personas.get(&name)
                && *first != file.name
            {
                let message = format!("a persona called {} exists already", quoted(&name));
                let error = ValueError::new(message);
                fields.error_at("name", error.help(format!("it is in {first} already")));
            }
            let mut persona = Persona {
                name,
                ..Persona::default()
            };
            PERSONA.read_rows(fields, &mut persona)?;
            let sample = PersonaFacts {
                agent: "agent",
                project: "project",
                repository: "owner/repo",
                description: "",
                layer: "core",
            };
            if let Err(reason) = persona.render(sample) {
                let error = ValueError::new(format!("the template cannot be used: {reason}"));
                let names = "agent, project, repository, description, layer, persona, vars.<name>";
                fields.error_at("template", error.help(format!("it may name: {names}")));
                return None;
            }
            Some(persona)
        })
    })
}

const TEMPLATE: PlainKind<String> = PlainKind {
    shape: || ValueShape::Value(json!({"type": "string"})),
    read: |item| long_text(item, MAX_TEMPLATE),
    parse: no_text,
    write: |_| None,
};

table! {
    /// A persona.
    static PERSONA: Persona = "a persona" {
        /// its name
        "name" (documented_default "that of the file") = TextKind::STRING;
        /// one sentence for people
        "description" = TextKind::STRING => description;
        /// the Handlebars template
        "template" (required) = TEMPLATE => template;
        /// values for the template's `{{vars.…}}`
        "variables" = map(TEMPLATE) => variables;
    }
}
