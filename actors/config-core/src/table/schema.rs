//! The JSON Schema (draft 2020-12) of a file.

use serde_json::{Map, Value, json};

use super::info::{RowInfo, TableInfo, ValueShape};

impl TableInfo {
    /// The schema of a file with these keys. `x-variable`, `x-flag`, `x-default`, `x-brief` and
    /// `x-variables` (settings that no file has) say what JSON Schema has no words for; decoding
    /// says more, with places, and has the last word.
    pub fn schema(&self, title: &str) -> Value {
        let mut schema = self.object();
        schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        schema["title"] = json!(title);
        let variables = self.properties(|row| !row.in_file);
        if !variables.is_empty() {
            schema["x-variables"] = Value::Object(variables);
        }
        schema
    }

    fn properties(&self, wanted: impl Fn(&RowInfo) -> bool) -> Map<String, Value> {
        let rows = self.rows.iter().filter(|row| wanted(row));
        rows.map(|row| (row.key.to_owned(), row.property()))
            .collect()
    }

    fn object(&self) -> Value {
        let required = self.rows.iter().filter(|row| row.required);
        let required: Vec<&str> = required.map(|row| row.key).collect();
        let mut object = json!({
            "type": "object",
            "description": self.about,
            "additionalProperties": false,
            "properties": self.properties(|row| row.in_file),
        });
        if !required.is_empty() {
            object["required"] = json!(required);
        }
        object
    }
}

impl RowInfo {
    fn property(&self) -> Value {
        let mut schema = self.shape.schema();
        if !self.about.is_empty() {
            schema["description"] = json!(self.about);
        }
        let known = [
            ("default", self.default.clone()),
            ("x-default", self.shown.map(Value::from)),
            ("x-variable", self.variable.map(Value::from)),
            ("x-flag", self.flag.map(Value::from)),
            ("x-brief", self.brief.then_some(Value::Bool(true))),
        ];
        for (word, value) in known {
            if let Some(value) = value {
                schema[word] = value;
            }
        }
        schema
    }
}

impl ValueShape {
    fn schema(&self) -> Value {
        match self {
            Self::Value(schema) => schema.clone(),
            Self::Secret => json!({"type": "string", "minLength": 1, "writeOnly": true}),
            Self::List(inner) => json!({"type": "array", "items": inner.schema()}),
            Self::Map(inner) => json!({"type": "object", "additionalProperties": inner.schema()}),
            Self::Table(info) => info.object(),
        }
    }
}
