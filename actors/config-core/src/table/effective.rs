//! `config --show`: the values in force, and where each comes from. Nothing is put in for variables
//! of the file, and no secret is shown.

use serde_json::Value as Json;

use super::flags::{FlagValues, flag_value};
use super::info::{RowInfo, TableInfo, ValueShape};
use crate::environment::Environment;
use crate::source::NamedText;
use crate::tree::{ConfigNode, ConfigValue};

const SECRET: &str = "***";

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// Its path, for example `capacity.vms`.
    pub key: String,
    /// Its value as a file would say it; `***` for a secret, nothing when it is not set.
    pub value: Option<String>,
    /// `default`, `<file>:<line>`, the environment variable or the flag.
    pub origin: String,
}

/// One line a setting: `key = value  # origin`.
pub fn render_effective(settings: &[EffectiveSetting]) -> String {
    let line = |one: &EffectiveSetting| match &one.value {
        Some(value) => format!("{} = {value}  # {}\n", one.key, one.origin),
        None => format!("# {} is not set\n", one.key),
    };
    settings.iter().map(line).collect()
}

/// What decides about values.
pub(crate) struct Layers<'a> {
    pub(crate) source: &'a NamedText,
    pub(crate) environment: &'a Environment,
    pub(crate) flags: FlagValues<'a>,
}

impl Layers<'_> {
    /// Adds the settings of a table; `node` is what the file says of it.
    pub(crate) fn add_table(
        &self,
        path: &str,
        info: &TableInfo,
        node: Option<&ConfigNode>,
        settings: &mut Vec<EffectiveSetting>,
    ) {
        for row in &info.rows {
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{}", row.key);
            let node = node.and_then(|node| child(node, row.key));
            match (&row.shape, node) {
                (ValueShape::Table(inner), None) if row.always => {
                    self.add_table(&path, inner, None, settings);
                }
                (shape, Some(node)) if self.overridden(row).is_none() => {
                    self.add_written(&path, shape, node, settings);
                }
                _ => settings.push(self.default_setting(path, row)),
            }
        }
    }

    fn add_written(
        &self,
        path: &str,
        shape: &ValueShape,
        node: &ConfigNode,
        settings: &mut Vec<EffectiveSetting>,
    ) {
        match (shape, &node.value) {
            (ValueShape::Table(info), _) => self.add_table(path, info, Some(node), settings),
            (ValueShape::List(inner), ConfigValue::Array(items))
                if !matches!(**inner, ValueShape::Value(_)) =>
            {
                for (index, item) in items.iter().enumerate() {
                    self.add_written(&format!("{path}[{index}]"), inner, item, settings);
                }
            }
            (ValueShape::Map(inner), ConfigValue::Table(entries)) => {
                for entry in entries {
                    self.add_written(
                        &format!("{path}.{}", entry.key),
                        inner,
                        &entry.node,
                        settings,
                    );
                }
            }
            (shape, _) => {
                let line = self.source.position(node.span.start).line;
                let written = self.source.slice(node.span).split_whitespace();
                let written = written.collect::<Vec<_>>().join(" ");
                let secret = matches!(shape, ValueShape::Secret);
                settings.push(EffectiveSetting {
                    key: path.to_owned(),
                    value: Some(if secret { SECRET.to_owned() } else { written }),
                    origin: format!("{}:{line}", self.source.name),
                });
            }
        }
    }

    fn default_setting(&self, key: String, row: &RowInfo) -> EffectiveSetting {
        let secret = matches!(row.shape, ValueShape::Secret);
        let (value, origin) = match self.overridden(row) {
            Some((_, name)) if secret => (Some(SECRET.to_owned()), name.to_owned()),
            Some((text, name)) => (Some(Json::from(text).to_string()), name.to_owned()),
            None => {
                let written = row.default.as_ref().map(Json::to_string);
                let shown = row.shown.map(|shown| Json::from(shown).to_string());
                (shown.or(written), "default".to_owned())
            }
        };
        EffectiveSetting { key, value, origin }
    }

    /// The flag or variable that wins over the file, with its name.
    fn overridden(&self, row: &RowInfo) -> Option<(&str, &'static str)> {
        let flag = row
            .flag
            .and_then(|name| Some((flag_value(self.flags, name)?, name)));
        flag.or_else(|| {
            let name = row.variable?;
            Some((self.environment.text(name)?, name))
        })
    }
}

fn child<'n>(node: &'n ConfigNode, key: &str) -> Option<&'n ConfigNode> {
    let ConfigValue::Table(entries) = &node.value else {
        return None;
    };
    let entry = entries.iter().find(|entry| entry.key == key)?;
    Some(&entry.node)
}
