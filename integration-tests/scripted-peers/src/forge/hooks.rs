//! Hooks of a repository. A Gitea keeps the secret of a hook that is changed, as the real one does.

use serde_json::{Value, json};

use super::call::{Answer, Call, page};
use super::model::{Hook, Model};

pub(super) fn hooks(model: &mut Model, call: &Call<'_>, repo: &str, rest: &[&str]) -> Answer {
    match (call.method(), rest) {
        ("GET", []) => {
            let found = model.repo(repo).hooks.iter().map(hook_json).collect();
            page(call, found)
        }
        ("POST", []) => {
            let kind = if call.gitea { "type" } else { "name" };
            if call.text(kind).is_empty() {
                return Answer::refused(422, "the kind of the hook is missing");
            }
            let mut hook = Hook {
                id: model.next_id(),
                url: String::new(),
                secret: String::new(),
                content_type: String::new(),
                events: Vec::new(),
                active: false,
                tests: 0,
            };
            fill(&mut hook, call, true);
            let json = hook_json(&hook);
            model.repo(repo).hooks.push(hook);
            Answer::new(201, json)
        }
        (method, [id, rest @ ..]) => {
            let id = id.parse::<u64>().unwrap_or_default();
            let hooks = &mut model.repo(repo).hooks;
            let Some(place) = hooks.iter().position(|hook| hook.id == id) else {
                return Answer::refused(404, "not found");
            };
            match (method, rest) {
                ("PATCH", []) => {
                    fill(&mut hooks[place], call, !call.gitea);
                    Answer::ok(hook_json(&hooks[place]))
                }
                ("DELETE", []) => {
                    hooks.remove(place);
                    Answer::new(204, Value::Null)
                }
                ("POST", ["tests" | "pings"]) => {
                    hooks[place].tests += 1;
                    Answer::new(204, Value::Null)
                }
                _ => Answer::refused(404, "not found"),
            }
        }
        _ => Answer::refused(404, "not found"),
    }
}

fn fill(hook: &mut Hook, call: &Call<'_>, with_secret: bool) {
    let config = &call.body["config"];
    let text = |name: &str| config[name].as_str().unwrap_or_default().to_owned();
    hook.url = text("url");
    hook.content_type = text("content_type");
    if with_secret {
        hook.secret = text("secret");
    }
    let events = call.body["events"].as_array().into_iter().flatten();
    hook.events = events
        .filter_map(|event| event.as_str().map(str::to_owned))
        .collect();
    hook.active = call.body["active"].as_bool().unwrap_or_default();
}

fn hook_json(hook: &Hook) -> Value {
    json!({
        "id": hook.id,
        "active": hook.active,
        "events": hook.events,
        "config": {"url": hook.url, "content_type": hook.content_type},
    })
}
