//! Answers in the shapes that the services document, with their manners: compressed, asking for a
//! pause, refusing.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::HttpResponse;
use search_actors::remote::{RemoteError, RemoteSource};
use search_core::role::Haystack;

use super::{Peer, haystack, source};

/// The source, asked at the peer's address where the configuration has none.
fn at(haystack: &Haystack, peer: &Peer) -> RemoteSource {
    source(haystack).with_base(&peer.address)
}

fn gzipped(body: &str) -> HttpResponse {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(body.as_bytes()).unwrap();
    HttpResponse::Ok()
        .content_type("application/json; charset=utf-8")
        .insert_header(("content-encoding", "gzip"))
        .body(packed.finish().unwrap())
}

const QUESTIONS: &str = r#"{"items":[{"tags":["pumps"],"owner":{"account_id":1,"reputation":10,"user_type":"registered","display_name":"a"},"is_answered":true,"view_count":12,"accepted_answer_id":9,"answer_count":1,"score":3,"last_activity_date":1763712000,"creation_date":1763700000,"question_id":77,"content_license":"CC BY-SA 4.0","link":"https://unix.stackexchange.com/questions/77/valve","title":"Why does the &quot;valve&quot; leak?","body":"<p>It <b>leaks</b>.</p>"}],"has_more":false,"quota_max":300,"quota_remaining":12,"backoff":30}"#;

#[actix_rt::test]
async fn stack_exchange_is_always_compressed_and_its_backoff_is_obeyed() {
    let peer = Peer::new(|_| gzipped(QUESTIONS));
    let source = at(
        &haystack("CommunityDocs", "stackexchange:unix", "{}"),
        &peer,
    );
    let found = source.search("valve leak", 5).await.unwrap();
    assert_eq!(found.items[0].title, "Why does the \"valve\" leak?");
    assert_eq!(found.items[0].body.trim(), "It leaks.");
    let again = source.search("other words", 5).await;
    assert!(
        matches!(again, Err(RemoteError::BackingOff { left, .. }) if left.as_secs() >= 25),
        "{again:?}"
    );
    assert!(
        source.search("valve leak", 5).await.unwrap().cached,
        "what it said is still known"
    );
    let asked = peer.stop().await;
    assert_eq!(
        asked,
        [
            "/2.3/search/advanced?q=valve+leak&site=unix&filter=withbody&order=desc&sort=relevance&pagesize=5 "
        ]
    );
}

const TOPICS: &str = r#"{"posts":[{"id":7,"name":"A","username":"ada","avatar_template":"/x.png","created_at":"2026-11-20T10:00:00.000Z","like_count":1,"blurb":"the <b>valve</b> of my pump","post_number":2,"topic_id":3}],"topics":[{"fancy_title":"Pumps","id":3,"title":"Pumps","slug":"pumps","posts_count":2,"tags":["water"]}],"users":[],"categories":[],"tags":[],"groups":[],"grouped_search_result":{"more_posts":null,"term":"valve","post_ids":[7]}}"#;

#[actix_rt::test]
async fn a_forum_that_says_429_is_left_alone_as_long_as_it_says() {
    let asked = AtomicUsize::new(0);
    let peer = Peer::new(move |_| {
        match asked.fetch_add(1, Ordering::SeqCst) {
        0 => gzipped(TOPICS),
        _ => HttpResponse::TooManyRequests()
            .insert_header(("retry-after", "120"))
            .body(r#"{"errors":["You’ve performed this action too many times."],"error_type":"rate_limit","extras":{"wait_seconds":120}}"#),
    }
    });
    let location = format!("discourse:{}", peer.address);
    let source = source(&haystack("CommunityDocs", &location, "{}"));
    let found = source.search("valve", 5).await.unwrap();
    let url = format!("{}/t/pumps/3/2", peer.address);
    assert_eq!(found.items[0].url.as_deref(), Some(url.as_str()));
    assert!(
        source
            .search("seal", 5)
            .await
            .unwrap_err()
            .to_string()
            .contains("429")
    );
    let left = source.search("pump", 5).await;
    assert!(
        matches!(left, Err(RemoteError::BackingOff { left, .. }) if left.as_secs() > 100),
        "{left:?}"
    );
    assert_eq!(peer.stop().await.len(), 2, "nothing was sent meanwhile");
}

const NEWS: &str = r#"{"exhaustive":{"nbHits":true},"hits":[{"_highlightResult":{"title":{"value":"A <em>valve</em>"}},"_tags":["story","author_ada","story_8"],"author":"ada","created_at":"2026-11-20T10:00:00Z","created_at_i":1795168800,"num_comments":3,"objectID":"8","points":40,"story_id":8,"title":"A valve that never leaks","url":"https://valves.example/"}],"hitsPerPage":5,"nbHits":1,"nbPages":1,"page":0,"query":"valve"}"#;

#[actix_rt::test]
async fn hacker_news_is_asked_where_the_configuration_says() {
    let peer = Peer::new(|_| gzipped(NEWS));
    let location = format!("hackernews:{}", peer.address);
    let source = source(&haystack("CommunityDocs", &location, "{}"));
    let found = source.search("valve", 5).await.unwrap();
    assert_eq!(
        found.items[0].url.as_deref(),
        Some("https://news.ycombinator.com/item?id=8")
    );
    assert!(found.items[0].body.contains("https://valves.example/"));
    assert_eq!(
        peer.stop().await,
        ["/api/v1/search?query=valve&hitsPerPage=5 "]
    );
}

const GITHUB: &str = r#"{"total_count":1,"incomplete_results":false,"items":[{"html_url":"https://github.com/o/r/issues/3","number":3,"title":"Valve","state":"open","body":"leaks","labels":[{"name":"bug"}],"user":{"login":"ada"},"updated_at":"2026-11-20T10:00:00Z","score":1.0}]}"#;

#[actix_rt::test]
async fn github_s_issues_are_searched_with_the_token() {
    let peer = Peer::new(|_| gzipped(GITHUB));
    let source = at(
        &haystack("TaskTracker", "github:o/r", r#"{"api_token":"t0ken"}"#),
        &peer,
    );
    let found = source.search("valve", 5).await.unwrap();
    assert_eq!(found.items[0].title, "#3 Valve");
    let asked = peer.stop().await;
    assert!(
        asked[0].starts_with("/search/issues?q=") && asked[0].ends_with("Bearer t0ken"),
        "{asked:?}"
    );
}

const HITS: &str = r#"{"took":2,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"hits":{"total":{"value":1,"relation":"eq"},"max_score":1.2,"hits":[{"_index":"notes","_id":"a1","_score":1.2,"_source":{"title":"Valve","body":"it leaks","tags":["pump"]}}]}}"#;

#[actix_rt::test]
async fn an_elastic_index_is_asked_by_post_with_its_key() {
    let peer = Peer::json(HITS);
    let location = format!("{}/notes", peer.address);
    let source = source(&haystack(
        "Elastic",
        &location,
        r#"{"api_token":"k3y","fields":["title^2","body"]}"#,
    ));
    let found = source.search("valve", 5).await.unwrap();
    assert_eq!(
        (found.items[0].key.as_str(), found.items[0].body.as_str()),
        ("notes/a1", "it leaks")
    );
    assert_eq!(peer.stop().await, ["/notes/_search ApiKey k3y"]);
    let peer = Peer::json(HITS);
    let location = format!("{}/below/notes/", peer.address);
    let whole = source_with_whole_header(&location);
    whole.search("valve", 5).await.unwrap();
    assert_eq!(peer.stop().await, ["/below/notes/_search Basic YTpi"]);
}

fn source_with_whole_header(location: &str) -> RemoteSource {
    source(&haystack(
        "Elastic",
        location,
        r#"{"api_token":"Basic YTpi"}"#,
    ))
}

#[actix_rt::test]
async fn documentation_on_the_web_is_fetched_once_and_looked_through_here() {
    let index = r#"{"entries":[{"name":"Array#push","path":"array#method-i-push","type":"Array"},{"name":"Hash","path":"hash","type":"Hash"}]}"#;
    let peer = Peer::new(move |_| gzipped(index));
    let location = format!("devdocs:{}/ruby", peer.address);
    let source = source(&haystack("CommunityDocs", &location, "{}"));
    let found = source.search("push things", 5).await.unwrap();
    assert_eq!(found.items.len(), 1);
    let url = format!("{}/ruby/array#method-i-push", peer.address);
    assert_eq!(found.items[0].url.as_deref(), Some(url.as_str()));
    assert_eq!(
        source.search("hash", 5).await.unwrap().items[0].title,
        "Hash"
    );
    assert_eq!(
        peer.stop().await,
        ["/ruby/index.json "],
        "the words stay here"
    );
}
