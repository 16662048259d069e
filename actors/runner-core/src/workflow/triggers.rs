//! `on`: a text, a list or a mapping.

use config_core::quoted;

use super::events::{self, PULL_REQUEST_TYPES};
use super::filters::filter;
use super::reader::WorkflowReader;
use super::trigger_types::{PullRequestTrigger, PushTrigger, Triggers};
use crate::expr::ExprValue;
use crate::schedule::{self, Schedule};
use crate::source_location::{Located, SourceLocation};
use crate::yaml::{NodeData, YamlEntry, YamlNode};

/// GitHub's shortest time between two runs of a schedule, in minutes (page "Events that trigger
/// workflows", `schedule`).
const MIN_INTERVAL_MINUTES: i64 = 5;

/// Reads `on`.
pub(super) fn read(reader: &WorkflowReader<'_>, node: &YamlNode) -> Triggers {
    let mut triggers = Triggers::default();
    match &node.data {
        NodeData::Scalar {
            value: ExprValue::Text(name),
            ..
        } => {
            add(reader, &mut triggers, name, node.place, None);
        }
        NodeData::List(names) => {
            for name in names {
                if let Some(text) = reader.plain(name, "an event") {
                    add(reader, &mut triggers, &text, name.place, None);
                }
            }
        }
        NodeData::Map(entries) => {
            for YamlEntry {
                key,
                key_place,
                value,
            } in entries
            {
                reader.at_key(key, || {
                    add(reader, &mut triggers, key, *key_place, Some(value));
                });
            }
        }
        NodeData::Scalar { .. } => {
            let _: Option<()> =
                reader.wrong_kind(node, "on", "an event, a list or a mapping of events");
        }
    }
    triggers
}

fn add(
    reader: &WorkflowReader<'_>,
    triggers: &mut Triggers,
    name: &str,
    place: SourceLocation,
    options: Option<&YamlNode>,
) {
    let options = options.filter(|node| !node.is_null());
    match name {
        "push" => {
            triggers.push = Some(options.map_or_else(Default::default, |node| push(reader, node)));
        }
        "pull_request" => {
            triggers.pull_request =
                Some(options.map_or_else(Default::default, |node| pull_request(reader, node)));
        }
        "workflow_dispatch" => {
            let inputs = options
                .and_then(|node| reader.loose_fields(node, "workflow_dispatch", &["inputs"]));
            let inputs = inputs.and_then(|fields| {
                fields.read(reader, "inputs", |node| {
                    Some(super::inputs::dispatch(reader, node))
                })
            });
            triggers.workflow_dispatch = Some(inputs.unwrap_or_default());
        }
        "workflow_call" => {
            triggers.workflow_call = Some(
                options.map_or_else(Default::default, |node| super::inputs::call(reader, node)),
            );
        }
        "schedule" => {
            triggers.schedule = match options {
                Some(node) => schedules(reader, node),
                None => {
                    let message = "schedule has no `cron` entries";
                    reader.error_help(place, message, SCHEDULE_EXAMPLE);
                    Vec::new()
                }
            };
        }
        _ if events::names().any(|known| known == name) => {
            match events::read_other(reader, name, place, options) {
                Some(trigger) => triggers.events.push(trigger),
                None => triggers.others.push(Located::new(name.to_owned(), place)),
            }
        }
        _ => {
            let message = format!("unknown event {}", quoted(name));
            let help = reader.closest_name(name, events::names()).map_or_else(
                || "for example `push` or `pull_request`".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            reader.error_help(place, message, help);
        }
    }
}

fn push(reader: &WorkflowReader<'_>, node: &YamlNode) -> PushTrigger {
    let known = [
        "branches",
        "branches-ignore",
        "tags",
        "tags-ignore",
        "paths",
        "paths-ignore",
    ];
    let Some(fields) = reader.fields(node, "push", &known) else {
        return PushTrigger::default();
    };
    let filter = |only, ignore| filter(reader, fields, only, ignore);
    PushTrigger {
        branches: filter("branches", "branches-ignore"),
        tags: filter("tags", "tags-ignore"),
        paths: filter("paths", "paths-ignore"),
    }
}

fn pull_request(reader: &WorkflowReader<'_>, node: &YamlNode) -> PullRequestTrigger {
    // Tag filters mean nothing here, but a mapping may be shared with `push` by an alias.
    let known = [
        "types",
        "branches",
        "branches-ignore",
        "paths",
        "paths-ignore",
        "tags",
        "tags-ignore",
    ];
    let Some(fields) = reader.fields(node, "pull_request", &known) else {
        return PullRequestTrigger::default();
    };
    for key in ["tags", "tags-ignore"] {
        if let Some(entry) = fields.entry(key) {
            let message = format!("pull requests have no {key}: this filter does nothing");
            reader.warn(entry.key_place, message, "it belongs to `push`");
        }
    }
    let types = fields.read(reader, "types", |node| {
        let mut types = Vec::new();
        for node in reader.one_or_more(node, "types")? {
            let Some(action) = reader.plain(node, "a type") else {
                continue;
            };
            if PULL_REQUEST_TYPES.contains(&action.as_str()) {
                types.push(action);
            } else {
                let message = format!("pull requests have no action {}", quoted(&action));
                let near = reader.closest_name(&action, PULL_REQUEST_TYPES.iter().copied());
                let help = near.map_or_else(
                    || PULL_REQUEST_TYPES.join(", "),
                    |near| format!("did you mean `{near}`?"),
                );
                reader.error_help(node.place, message, help);
            }
        }
        Some(types)
    });
    PullRequestTrigger {
        types: types.unwrap_or_default(),
        branches: filter(reader, fields, "branches", "branches-ignore"),
        paths: filter(reader, fields, "paths", "paths-ignore"),
    }
}

/// Shown where `schedule` says nothing.
const SCHEDULE_EXAMPLE: &str = "for example `schedule: [{cron: '0 4 * * *'}]`";

fn schedules(reader: &WorkflowReader<'_>, node: &YamlNode) -> Vec<Located<Schedule>> {
    let NodeData::List(entries) = &node.data else {
        return reader
            .wrong_kind(node, "schedule", "a list of `cron` entries")
            .unwrap_or_default();
    };
    if entries.is_empty() {
        let message = "schedule has no `cron` entries";
        reader.error_help(node.place, message, SCHEDULE_EXAMPLE);
    }
    entries
        .iter()
        .filter_map(|node| schedule(reader, node))
        .collect()
}

fn schedule(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<Located<Schedule>> {
    let fields = reader.fields(node, "a schedule", &["cron", "timezone"])?;
    let timezone = fields.read(reader, "timezone", |node| {
        let name = reader.plain(node, "timezone")?;
        check_zone(reader, &name, node.place);
        Some(name)
    });
    let Some(cron) = fields.get("cron") else {
        reader.error(node.place, "a schedule has no `cron`");
        return None;
    };
    let text = reader.plain(cron, "cron")?;
    if is_placeholder(&text) {
        let message = format!("{} is a template's placeholder, no schedule", quoted(&text));
        reader.warn(cron.place, message, "put a cron expression there");
        return None;
    }
    if schedule::is_of_forges(&text) && !reader.dialect.is_forge() {
        let message = "GitHub reads no words and no time zone in a schedule";
        let help = "five fields (minute, hour, day, month, weekday), and `timezone` beside them";
        reader.error_help(cron.place, message, help);
        return None;
    }
    let schedule = Schedule::parse(&text, timezone)
        .map_err(|error| reader.error(cron.place, error))
        .ok()?;
    if let Some(zone) = &schedule.timezone
        && fields.get("timezone").is_none()
    {
        check_zone(reader, zone, cron.place);
    }
    if !schedule.is_ever_due() {
        let message = "no date matches this schedule: it starts nothing";
        reader.warn(cron.place, message, "choose a day that its months have");
    }
    if let Some(minutes) = schedule
        .shortest_gap()
        .filter(|gap| *gap < MIN_INTERVAL_MINUTES)
    {
        let message = format!("this schedule comes every {minutes} min");
        let help =
            format!("GitHub starts nothing more often than every {MIN_INTERVAL_MINUTES} min");
        reader.warn(cron.place, message, help);
    }
    Some(Located::new(schedule, cron.place))
}

/// An IANA name. One that is not known would never start anything, and nobody would be told.
fn check_zone(reader: &WorkflowReader<'_>, name: &str, place: SourceLocation) {
    if jiff::tz::TimeZone::get(name).is_err() {
        let message = format!("unknown time zone {}", quoted(name));
        let known: Vec<String> = jiff::tz::db()
            .available()
            .map(|name| name.as_str().to_owned())
            .collect();
        let help = match reader.closest_name(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "this machine has no list of time zones".to_owned(),
            None => "an IANA name, for example `Europe/Berlin`".to_owned(),
        };
        reader.error_help(place, message, help);
    }
}

/// `$cron-daily`, `$default-branch`: what a collection of templates leaves to be filled in.
pub(super) fn is_placeholder(text: &str) -> bool {
    let name = text.strip_prefix('$').unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}
