//! Reading one scenario file.

use config_core::{ConfigInput, ConfigItem, Diagnostics, Environment};
use serde::Serialize;

/// Most steps of one scenario.
const MAX_STEPS: usize = 200;
const KINDS: [&str; 5] = ["goto", "click", "type", "expect", "screenshot"];

/// One scenario, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scenario {
    /// What it shows.
    pub name: String,
    /// Where relative addresses begin.
    pub base_url: String,
    /// Longest time for one step, in milliseconds.
    pub timeout_ms: u64,
    /// What is done, in order.
    pub steps: Vec<ScenarioStep>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum ScenarioStep {
    /// Opens an address.
    Goto {
        /// Absolute, or from the base.
        url: String,
    },
    /// Clicks an element.
    Click {
        /// A CSS selector.
        selector: String,
    },
    /// Puts text into a field.
    Type {
        /// The field's CSS selector.
        selector: String,
        /// The text.
        text: String,
    },
    /// Waits until an element shows a text.
    Expect {
        /// The element's CSS selector.
        selector: String,
        /// A part of its text; empty: that it is visible is enough.
        text: String,
    },
    /// Takes a picture of the page.
    Screenshot {
        /// The picture's name, without ending.
        name: String,
    },
}

/// Reads a scenario file.
///
/// # Errors
/// Every mistake of the file, with line and column.
pub fn parse(name: &str, text: &[u8], environment: &Environment) -> Result<Scenario, Diagnostics> {
    let input = ConfigInput::toml(name, text, environment);
    input.decode(scenario).map(|decoded| decoded.value)
}

fn scenario(item: &ConfigItem<'_>) -> Option<Scenario> {
    let keys = ["name", "base_url", "timeout_secs", "step"];
    item.fields("the scenario", &keys, |fields| {
        let name = fields.required("name", ConfigItem::string);
        let base_url = fields.required("base_url", ConfigItem::http_url);
        let timeout = fields.optional("timeout_secs", |item| item.integer(1..=120));
        let steps = fields.required("step", |item| {
            let steps = item.non_empty_list("a scenario needs at least one step", step)?;
            if steps.len() > MAX_STEPS {
                item.error(format!("a scenario has at most {MAX_STEPS} steps"));
            }
            Some(steps)
        });
        Some(Scenario {
            name: name?,
            base_url: base_url?.to_string(),
            timeout_ms: timeout.unwrap_or(10).unsigned_abs() * 1000,
            steps: steps?,
        })
    })
}

fn step(item: &ConfigItem<'_>) -> Option<ScenarioStep> {
    item.fields("a step", &KINDS, |fields| {
        let written: Vec<&str> = KINDS
            .into_iter()
            .filter(|kind| fields.contains(kind))
            .collect();
        let [kind] = written[..] else {
            if !written.is_empty() || KINDS.iter().all(|kind| fields.is_absent(kind)) {
                fields.error(
                    "a step does exactly one thing: goto, click, type, expect or screenshot",
                );
            }
            return None;
        };
        match kind {
            "goto" => fields
                .required(kind, ConfigItem::string)
                .map(|url| ScenarioStep::Goto { url }),
            "click" => fields
                .required(kind, ConfigItem::string)
                .map(|selector| ScenarioStep::Click { selector }),
            "type" => fields.required(kind, |item| {
                let (selector, text) = place_and_text(item, "into")?;
                Some(ScenarioStep::Type {
                    selector,
                    text: text?,
                })
            }),
            "expect" => fields.required(kind, |item| {
                let (selector, text) = place_and_text(item, "in")?;
                Some(ScenarioStep::Expect {
                    selector,
                    text: text.unwrap_or_default(),
                })
            }),
            _ => fields
                .required(kind, picture)
                .map(|name| ScenarioStep::Screenshot { name }),
        }
    })
}

/// `{ into = "#query", text = "words" }`
fn place_and_text(item: &ConfigItem<'_>, place: &str) -> Option<(String, Option<String>)> {
    item.fields("this step", &[place, "text"], |fields| {
        let selector = fields.required(place, ConfigItem::string);
        let read = |item: &ConfigItem<'_>| item.any_string().map(str::to_owned);
        let text = if place == "into" {
            fields.required("text", read)
        } else {
            fields.optional("text", read)
        };
        Some((selector?, text))
    })
}

/// The name of a picture is the name of a file.
fn picture(item: &ConfigItem<'_>) -> Option<String> {
    let name = item.string()?;
    if crate::names::safe_name(&name) != name || name.contains('.') {
        item.error("a picture's name has lower-case letters, digits, '-' and '_' only");
        return None;
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Scenario, String> {
        parse("search.toml", text.as_bytes(), &Environment::default())
            .map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn a_scenario_is_read_as_it_is_documented() {
        let text = r##"
            name = "search"
            base_url = "http://127.0.0.1:8000"
            [[step]]
            goto = "/"
            [[step]]
            type = { into = "#query", text = "" }
            [[step]]
            expect = { in = "#results", text = "policy" }
            [[step]]
            expect = { in = "h1" }
            [[step]]
            screenshot = "results"
        "##;
        let scenario = read(text).unwrap();
        assert_eq!((scenario.steps.len(), scenario.timeout_ms), (5, 10_000));
        assert_eq!(
            scenario.steps[3],
            ScenarioStep::Expect {
                selector: "h1".into(),
                text: String::new()
            }
        );
    }

    /// Wrong files, and a part of what is error about each.
    const COMMON_MISTAKES: [(&str, &str); 9] = [
        (
            "base_url = 'http://x'\n[[step]]\ngoto = '/'",
            "missing key `name`",
        ),
        ("HEAD\nstep = []", "needs at least one step"),
        ("HEAD\n[[step]]", "search.toml:3"),
        (
            "HEAD\n[[step]]\ngoto = '/'\nclick = 'a'",
            "exactly one thing",
        ),
        ("HEAD\n[[step]]\nclik = 'a'", "did you mean `click`?"),
        (
            "HEAD\n[[step]]\ntype = { into = 'a' }",
            "missing key `text`",
        ),
        ("HEAD\n[[step]]\nscreenshot = '../x'", "a picture's name"),
        (
            "HEAD\ntimeout_secs = 0\n[[step]]\ngoto = '/'",
            "timeout_secs",
        ),
        (
            "name = 'x'\nbase_url = 'file:///etc'\n[[step]]\ngoto = '/'",
            "search.toml:2",
        ),
    ];

    #[test]
    fn each_mistake_is_named_with_its_place() {
        for (text, expected) in COMMON_MISTAKES {
            let text = text.replace("HEAD", "name = 'x'\nbase_url = 'http://x'");
            let error = read(&text).expect_err(&text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
