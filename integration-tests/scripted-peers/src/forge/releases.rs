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
            Answer::new(201, json)
        }
        ("GET", ["tags", tag]) => {
            let mut releases = model.repo(repo).releases.iter();
            let found = releases.find(|release| release.tag == *tag);
            found.map_or_else(not_found, |it| Answer::ok(release_json(call, repo, it)))
        }
        // The file itself, as text of JSON.
        ("GET", ["assets", file]) => {
            let releases = model.repo(repo).releases.iter();
            let mut files = releases.flat_map(|release| {
                let named = release.assets.iter().enumerate();
                named.map(|(at, (_, bytes))| (file_id(release, at), bytes))
            });
            let found = files.find(|(id, _)| id.to_string() == **file);
            found.map_or_else(not_found, |(_, bytes)| {
                Answer::ok(String::from_utf8_lossy(bytes).into())
            })
        }
        ("GET", [id, "assets", file]) => {
            let mut releases = model.repo(repo).releases.iter();
            let found = releases.find(|release| release.id.to_string() == **id);
            let about = found.and_then(|it| {
                let about = release_json(call, repo, it)["assets"].take();
                let mut about = about.as_array()?.iter();
                let id = file.parse::<u64>().ok();
                about.find(|one| one["id"].as_u64() == id).cloned()
            });
            about.map_or_else(not_found, Answer::ok)
        }
        ("DELETE", [id]) => {
            let releases = &mut model.repo(repo).releases;
            releases.retain(|release| release.id.to_string() != **id);
            Answer::new(204, Value::Null)
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
            release.assets.push((name, call.raw.to_vec()));
            let mut json = release_json(call, repo, release);
            let last = json["assets"].as_array_mut().and_then(Vec::pop);
            Answer::new(201, last.unwrap_or_default())
        }
        _ => not_found(),
    }
}

/// A file at its address on the pages of a forge like Gitea.
pub(super) fn download(model: &mut Model, repo: &str, tag: &str, file: &str) -> Answer {
    let file = file.replace("%20", " ");
    let mut releases = model.repo(repo).releases.iter();
    let release = releases.find(|release| release.tag == tag);
    let found = release.and_then(|release| release.assets.iter().find(|(name, _)| *name == file));
    found.map_or_else(
        || Answer::refused(404, "not found"),
        |(_, bytes)| Answer::ok(String::from_utf8_lossy(bytes).into()),
    )
}

fn release_json(call: &Call<'_>, repo: &str, release: &Release) -> Value {
    let api = if call.gitea { "/api/v1" } else { "" };
    let url = format!("{}{api}/repos/{repo}/releases/{}", call.base, release.id);
    let template = if call.gitea { "" } else { "{?name,label}" };
    let assets = release.assets.iter().enumerate();
    let assets: Vec<Value> = assets
        .map(|(at, (name, bytes))| {
            let id = file_id(release, at);
            let mut asset = json!({"id": id, "name": name, "size": bytes.len()});
            match call.gitea {
                true => {
                    let tag = &release.tag;
                    let file = name.replace(' ', "%20");
                    let at = format!("{}/{repo}/releases/download/{tag}/{file}", call.base);
                    asset["browser_download_url"] = at.into();
                }
                false => {
                    let all = format!("{}/repos/{repo}/releases", call.base);
                    asset["url"] = format!("{all}/assets/{id}").into();
                }
            }
            asset
        })
        .collect();
    json!({
        "id": release.id,
        "url": url,
        "tag_name": release.tag,
        "upload_url": format!("{url}/assets{template}"),
        "assets": assets,
    })
}

fn file_id(release: &Release, at: usize) -> u64 {
    release.id * 100 + at as u64
}
