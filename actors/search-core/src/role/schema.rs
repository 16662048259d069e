//! The JSON schema of the role file: for editors, and for the form of the web interface.

use serde_json::{Value, json};

use super::enumerations::{LanguageModelProvider, RelevanceFunction, Service, THEMES};

/// The schema of the role file (JSON Schema 2020-12). It says what keys and types there are;
/// [`parse`](super::parse) says more, with places, and has the last word.
#[must_use]
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Role file",
        "description": "One role, or several with a default.",
        "anyOf": [{"$ref": "#/$defs/one_role"}, {"$ref": "#/$defs/roles"}],
        "$defs": {
            "roles": {
                "type": "object",
                "additionalProperties": false,
                "required": ["roles"],
                "properties": {
                    "roles": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/role"}},
                    "default_role": {"$ref": "#/$defs/name", "description": "The role of requests that name none; the first when absent."},
                    "allowed_roots": {"$ref": "#/$defs/allowed_roots"},
                },
            },
            "one_role": single_role(),
            "role": role(),
            "allowed_roots": allowed_roots(),
            "haystack": haystack(),
            "extra": extra(),
            "name": {"type": "string", "minLength": 1, "maxLength": 100},
            "text": {"type": "string", "minLength": 1},
            "secret": {"type": "string", "minLength": 1, "writeOnly": true, "description": "Shown as `***` where it is set; `***` sent back keeps it. `${NAME}` names an environment variable."},
        },
    })
}

fn role() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "haystacks"],
        "properties": {
            "name": {"$ref": "#/$defs/name", "description": "The name that requests use."},
            "relevance_function": {
                "enum": spellings(RelevanceFunction::CHOICES),
                "default": "ServiceGraph",
                "description": "How results are ranked, from the fastest to the most accurate.",
            },
            "theme": {"enum": THEMES, "default": THEMES[0], "description": "The look of the web interface."},
            "haystacks": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/haystack"}, "description": "Where is searched."},
            "extra": {"$ref": "#/$defs/extra"},
        },
    })
}

/// A file that is one role.
fn single_role() -> Value {
    let mut role = role();
    role["properties"]["allowed_roots"] = json!({"$ref": "#/$defs/allowed_roots"});
    role
}

fn allowed_roots() -> Value {
    let texts = |what: &str| json!({"type": "array", "items": {"$ref": "#/$defs/text"}, "description": what});
    json!({
        "type": "object",
        "additionalProperties": false,
        "readOnly": true,
        "description": "What PUT /api/config may add sources below. Changed in the file itself only.",
        "properties": {
            "files": texts("Folders whose files and folders may be searched, or read as tasks, thesaurus or model."),
            "programs": texts("Folders whose programs may be started, with any arguments."),
            "servers": texts("Servers that may be asked: scheme, host and port count."),
        },
    })
}

fn haystack() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "service", "location"],
        "properties": {
            "name": {"$ref": "#/$defs/name", "description": "Display name, unique in its role."},
            "service": {"enum": spellings(Service::CHOICES), "description": "What kind of source it is."},
            "location": {"$ref": "#/$defs/text", "description": "A folder, an address, or a kind with its address; it depends on the service."},
            "extra_parameters": {
                "type": "object",
                "description": "It depends on the service.",
                "properties": {
                    "glob": {"$ref": "#/$defs/text", "description": "LocalFiles, GitRepository: patterns between commas; `!` excludes."},
                    "max_file_size": {"$ref": "#/$defs/text", "default": "10MB", "description": "LocalFiles, GitRepository: larger files are skipped."},
                    "respect_gitignore": {"type": "boolean", "default": true, "description": "LocalFiles: whether .gitignore hides files."},
                    "hidden": {"type": "boolean", "description": "LocalFiles, GitRepository: whether files with a dot before their name are searched; those that git tracks when absent."},
                    "revision": {"$ref": "#/$defs/text", "default": "HEAD", "description": "GitRepository: a branch, tag or commit; it is followed as it moves."},
                    "tool": {"$ref": "#/$defs/text", "description": "MCP: the tool that searches; found by its name when absent."},
                    "arguments": {"type": "object", "additionalProperties": {"type": "string"}, "description": "MCP: further arguments of the tool; `{query}` stands for the words."},
                    "fields": {"type": "array", "items": {"$ref": "#/$defs/text"}, "description": "Elastic: the fields searched; the first is the title."},
                    "agent_secret": {"$ref": "#/$defs/secret"},
                    "api_token": {"$ref": "#/$defs/secret"},
                },
            },
        },
        "examples": [{"name": "Notes", "service": "LocalFiles", "location": "~/Documents", "extra_parameters": {"glob": "*.md"}}],
    })
}

fn extra() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "description": "Language model and thesaurus.",
        "properties": {
            "llm_provider": {"enum": spellings(LanguageModelProvider::CHOICES)},
            "localllm_base_url": {"$ref": "#/$defs/text", "format": "uri", "description": "Address of the local language-model server."},
            "localllm_model": {"$ref": "#/$defs/text"},
            "cloudllm_api_key": {"$ref": "#/$defs/secret"},
            "cloudllm_model": {"$ref": "#/$defs/text"},
            "thesaurus": {"$ref": "#/$defs/text", "description": "A JSON thesaurus, or a folder of Markdown concept files."},
            "embedding_model": {"$ref": "#/$defs/text", "description": "A folder with config.json, tokenizer.json and model.safetensors."},
            "embedding_server_url": {"$ref": "#/$defs/text", "format": "uri", "description": "Address of a language-model server that embeds; localllm_base_url when absent."},
            "embedding_server_model": {"$ref": "#/$defs/text", "description": "The embedding model of that server."},
            "rerank_model": {"$ref": "#/$defs/text", "description": "A folder with config.json, tokenizer.json and model.safetensors of a cross-encoder that reads the best results once more."},
            "rerank_server_url": {"$ref": "#/$defs/text", "format": "uri", "description": "Address of a server that reranks; localllm_base_url when absent."},
            "rerank_server_model": {"$ref": "#/$defs/text", "description": "The reranking model of that server."},
            "rerank_top": {"type": "integer", "minimum": 2, "maximum": 100, "default": 20, "description": "How many of the best results are reranked."},
            "file_roles": {"type": "boolean", "default": true, "description": "Whether tests, examples, generated files, copies of others' code and the like count less than what a folder is about."},
        },
    })
}

fn spellings<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
    choices.iter().map(|(spelling, _)| *spelling).collect()
}
