//! Releases and their files.

use serde_json::{Value, json};

use super::call::{Answer, Call, page};
use super::model::{Model, Release};

pub(super) fn releases(model: &mut Model, call: &Call<'_>, repo: &str, rest: &[&str]) -> Answer {
    let not_found = || Answer::refused(404, "not found");
    match (call.method, rest) {
        ("GET", []) => {
            let all = model.repo(repo).releases.iter();
            let all = all.map(|release| release_json(call, repo, release));
            let all = all.collect();
            page(call, all)
        }
        ("POST", []) => {
            let release = Release {
                id: model.next_id(),
                tag: call.text("tag_name"),
                assets: Vec::new(),
            };
            let json = release_json(call, repo, &release);
            model.repo(repo).releases.push(release);
            Answer::of(201, json)
        }
        ("GET", ["tags", tag]) => {
            let mut releases = model.repo(repo).releases.iter();
            let found = releases.find(|release| release.tag == *tag);
            found.map_or_else(not_found, |it| Answer::ok(release_json(call, repo, it)))
        }
        ("DELETE", [id]) => {
            let releases = &mut model.repo(repo).releases;
            releases.retain(|release| release.id.to_string() != **id);
            Answer::of(204, Value::Null)
        }
        ("GET" | "PATCH", [id]) => {
            let mut releases = model.repo(repo).releases.iter();
            let found = releases.find(|release| release.id.to_string() == **id);
            found.map_or_else(not_found, |it| Answer::ok(release_json(call, repo, it)))
        }
        ("POST", [id, "assets"]) => {
            let mut releases = model.repo(repo).releases.iter_mut();
            let Some(release) = releases.find(|release| release.id.to_string() == **id) else {
                return not_found();
            };
            let name = call.parameter("name").unwrap_or_default().to_owned();
            let json = asset_json(&name, &call.raw);
            release.assets.push((name, call.raw.to_vec()));
            Answer::of(201, json)
        }
        _ => not_found(),
    }
}

fn release_json(call: &Call<'_>, repo: &str, release: &Release) -> Value {
    let api = if call.gitea { "/api/v1" } else { "" };
    let url = format!("{}{api}/repos/{repo}/releases/{}", call.base, release.id);
    let template = if call.gitea { "" } else { "{?name,label}" };
    let assets = release.assets.iter();
    let assets: Vec<Value> = assets
        .map(|(name, bytes)| asset_json(name, bytes))
        .collect();
    json!({
        "id": release.id,
        "url": url,
        "tag_name": release.tag,
        "upload_url": format!("{url}/assets{template}"),
        "assets": assets,
    })
}

fn asset_json(name: &str, bytes: &[u8]) -> Value {
    json!({"name": name, "size": bytes.len()})
}
