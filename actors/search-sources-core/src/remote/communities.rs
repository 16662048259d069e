//! Community posts: Discourse, Stack Exchange, Hacker News, query.rs.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::{RemoteRequest, html, json, list, parse_entries};
use crate::date;
use crate::item::{ParsedItems, SourceDataError, SourceItem, line};

/// Asks a Discourse forum.
pub fn discourse_ask(words: &str) -> RemoteRequest {
    RemoteRequest::get("/search.json", vec![("q", words.to_owned())])
}

#[derive(Deserialize)]
struct Post {
    id: u64,
    #[serde(default)]
    username: String,
    #[serde(default)]
    blurb: String,
    topic_id: u64,
    #[serde(default)]
    post_number: u64,
    created_at: Option<String>,
}

#[derive(Deserialize)]
struct Topic {
    id: u64,
    title: String,
    slug: Option<String>,
    #[serde(default)]
    tags: Vec<Value>,
}

/// Reads Discourse's answer; `base` is the forum's URL, for links.
///
/// # Errors
/// When it is another shape. No posts at all is an empty answer.
pub fn discourse(base: &str, body: &str) -> Result<ParsedItems, SourceDataError> {
    let value = json("the forum", body)?;
    if let Some(errors) = value.get("errors").filter(|errors| errors.is_array()) {
        return Err(server_error("the forum", &errors.to_string()));
    }
    let topics: Vec<Topic> = value
        .get("topics")
        .and_then(Value::as_array)
        .map(|topics| {
            topics
                .iter()
                .filter_map(|topic| Topic::deserialize(topic).ok())
                .collect()
        })
        .unwrap_or_default();
    let topics: HashMap<u64, Topic> = topics.into_iter().map(|topic| (topic.id, topic)).collect();
    let posts = match value.get("posts") {
        Some(Value::Array(posts)) => posts.clone(),
        // What a forum answers when nothing is found.
        None | Some(Value::Null) if value.get("grouped_search_result").is_some() => Vec::new(),
        _ => return list("the forum", value, "posts").map(|_| ParsedItems::default()),
    };
    let base = base.trim_end_matches('/');
    Ok(parse_entries(posts, |post: Post| {
        let topic = topics.get(&post.topic_id)?;
        let slug = topic.slug.as_deref().unwrap_or("-");
        let url = format!(
            "{base}/t/{slug}/{}/{}",
            post.topic_id,
            post.post_number.max(1)
        );
        let mut tags: Vec<String> = topic.tags.iter().filter_map(tag_name).collect();
        if !post.username.is_empty() {
            tags.push(format!("author:{}", post.username));
        }
        Some(SourceItem {
            key: format!("post-{}", post.id),
            title: line(&topic.title, 300),
            body: html::text(&post.blurb),
            tags,
            modified: post.created_at.as_deref().and_then(date::rfc3339),
            url: Some(url),
            ..SourceItem::default()
        })
    }))
}

/// Tags were strings, and are objects in newer forums.
fn tag_name(tag: &Value) -> Option<String> {
    let name = tag
        .as_str()
        .or_else(|| tag.get("name").and_then(Value::as_str))?;
    Some(name.to_owned())
}

/// Asks Stack Exchange's API 2.3 about one site.
pub fn stack_exchange_ask(site: &str, words: &str, limit: usize) -> RemoteRequest {
    RemoteRequest::get(
        "/2.3/search/advanced",
        vec![
            ("q", words.to_owned()),
            ("site", site.to_owned()),
            ("filter", "withbody".to_owned()),
            ("order", "desc".to_owned()),
            ("sort", "relevance".to_owned()),
            ("pagesize", limit.clamp(1, 100).to_string()),
        ],
    )
}

#[derive(Deserialize)]
struct Question {
    question_id: u64,
    title: String,
    #[serde(default)]
    body: String,
    link: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    is_answered: bool,
    last_activity_date: Option<i64>,
}

/// Reads Stack Exchange's answer, and how many seconds it wants to be left alone.
///
/// # Errors
/// When it is an error of its own (quota, throttle) or another shape.
pub fn stack_exchange(body: &str) -> Result<(ParsedItems, Option<u64>), SourceDataError> {
    const WHAT: &str = "Stack Exchange";
    let value = json(WHAT, body)?;
    if let Some(message) = value.get("error_message").and_then(Value::as_str) {
        return Err(server_error(WHAT, message));
    }
    let wait = value.get("backoff").and_then(Value::as_u64);
    let parsed = parse_entries(list(WHAT, value, "items")?, |question: Question| {
        let mut tags = question.tags;
        tags.push(
            if question.is_answered {
                "answered"
            } else {
                "unanswered"
            }
            .to_owned(),
        );
        Some(SourceItem {
            key: format!("question-{}", question.question_id),
            title: line(&html::text(&question.title), 300),
            body: html::text(&question.body),
            tags,
            modified: question.last_activity_date,
            url: Some(question.link),
            ..SourceItem::default()
        })
    });
    Ok((parsed, wait))
}

/// Asks Hacker News' search.
pub fn hacker_news_ask(words: &str, limit: usize) -> RemoteRequest {
    RemoteRequest::get(
        "/api/v1/search",
        vec![
            ("query", words.to_owned()),
            ("hitsPerPage", limit.clamp(1, 100).to_string()),
        ],
    )
}

#[derive(Deserialize)]
struct NewsHit {
    #[serde(rename = "objectID")]
    id: String,
    title: Option<String>,
    story_title: Option<String>,
    url: Option<String>,
    story_text: Option<String>,
    comment_text: Option<String>,
    author: Option<String>,
    created_at_i: Option<i64>,
}

/// Reads Hacker News' answer.
///
/// # Errors
/// When it is another shape.
pub fn hacker_news(body: &str) -> Result<ParsedItems, SourceDataError> {
    let entries = list("Hacker News", json("Hacker News", body)?, "hits")?;
    Ok(parse_entries(entries, |hit: NewsHit| {
        let title = hit.title.or(hit.story_title)?;
        let text = hit.story_text.or(hit.comment_text).unwrap_or_default();
        let discussion = format!("https://news.ycombinator.com/item?id={}", hit.id);
        let outside = hit.url.map(|url| format!("{url}\n")).unwrap_or_default();
        Some(SourceItem {
            title: line(&title, 300),
            body: format!("{outside}{}", html::text(&text)),
            tags: hit
                .author
                .map(|author| format!("author:{author}"))
                .into_iter()
                .collect(),
            modified: hit.created_at_i,
            url: Some(discussion),
            key: hit.id,
            ..SourceItem::default()
        })
    }))
}

/// Asks query.rs for posts.
pub fn query_rs_ask(words: &str) -> RemoteRequest {
    RemoteRequest::get("/posts/search", vec![("q", words.to_owned())])
}

#[derive(Deserialize)]
struct RustPost {
    title: String,
    url: String,
    #[serde(default)]
    author: String,
    #[serde(default)]
    score: Option<f64>,
}

/// Reads query.rs' answer, which is not documented: a list of posts.
///
/// # Errors
/// When it is another shape.
pub fn query_rs(body: &str) -> Result<ParsedItems, SourceDataError> {
    let value = json("query.rs", body)?;
    let field = if value.is_object() { "posts" } else { "" };
    Ok(parse_entries(
        list("query.rs", value, field)?,
        |post: RustPost| {
            let _ = post.score;
            let author = (!post.author.is_empty()).then(|| format!("author:{}", post.author));
            Some(SourceItem {
                key: post.url.clone(),
                title: line(&post.title, 300),
                tags: author.into_iter().collect(),
                url: Some(post.url),
                ..SourceItem::default()
            })
        },
    ))
}

fn server_error(what: &'static str, message: &str) -> SourceDataError {
    SourceDataError::Refused {
        what,
        message: line(message, 300),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discourse_posts_have_their_topic_s_title() {
        let body = r#"{"posts":[{"id":7,"username":"ada","blurb":"use <b>Arc</b> here","topic_id":3,"post_number":2,"created_at":"2026-11-21T10:00:00.000Z"},{"id":8,"topic_id":99}],
            "topics":[{"id":3,"title":"Sharing &amp; state","slug":"sharing","tags":["rust",{"name":"arc"}]}],"grouped_search_result":{}}"#;
        let parsed = discourse("https://users.example/", body).unwrap();
        let item = &parsed.items[0];
        assert_eq!(
            item.url.as_deref(),
            Some("https://users.example/t/sharing/3/2")
        );
        assert_eq!((item.body.as_str(), item.tags.len()), ("use Arc here", 3));
        assert_eq!(parsed.items.len(), 1);
        assert!(
            discourse("https://x", r#"{"grouped_search_result":{}}"#)
                .unwrap()
                .items
                .is_empty()
        );
        let limited = discourse(
            "https://x",
            r#"{"errors":["too often"],"error_type":"rate_limit"}"#,
        )
        .unwrap_err();
        assert!(limited.to_string().contains("too often"));
        assert!(discourse("https://x", "<html>").is_err() && discourse("https://x", "{}").is_err());
    }

    #[test]
    fn stack_exchange_says_when_to_wait() {
        let body = r#"{"items":[{"question_id":1,"title":"A &quot;b&quot;","body":"<p>x</p>","link":"https://so/q/1","tags":["rust"],"is_answered":true,"last_activity_date":5}],"backoff":10,"quota_remaining":3}"#;
        let (parsed, wait) = stack_exchange(body).unwrap();
        assert_eq!(
            (parsed.items[0].title.as_str(), wait),
            ("A \"b\"", Some(10))
        );
        assert_eq!(parsed.items[0].tags, ["rust", "answered"]);
        let error = stack_exchange(
            r#"{"error_id":502,"error_message":"too many requests","error_name":"throttle_violation"}"#,
        );
        assert!(error.unwrap_err().to_string().contains("too many requests"));
    }

    #[test]
    fn news_and_posts() {
        let body = r#"{"hits":[{"objectID":"1","title":"T","url":"https://x.org","author":"a","created_at_i":9,"story_text":null},{"objectID":"2","story_title":"S","comment_text":"<p>c"},{"objectID":"3"}]}"#;
        let items = hacker_news(body).unwrap().items;
        assert_eq!(
            (items[0].body.as_str(), items[1].body.as_str(), items.len()),
            ("https://x.org\n", "c", 2)
        );
        let posts = query_rs(r#"[{"title":"P","url":"https://r.example/1","author":"b"},{"x":1}]"#)
            .unwrap();
        assert_eq!((posts.items.len(), posts.skipped.count), (1, 1));
    }
}
