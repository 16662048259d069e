//! Object storage against a bucket in memory that checks what S3 checks, but for the signature's
//! value (the documentation's examples are unit tests of it).

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use config_core::Secret;
use http_clients::http::{HttpClient, HttpOptions};
use http_clients::s3::{Condition, S3Client, S3Error, S3Options};
use tokio::sync::Mutex;

use crate::common::{options, serve};

type Bucket = Arc<Mutex<BTreeMap<String, (Bytes, u32)>>>;

fn refused(status: u16, code: &str) -> HttpResponse {
    let status = actix_web::http::StatusCode::from_u16(status).unwrap();
    HttpResponse::build(status).body(format!(
        "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>as S3 says</Message></Error>"
    ))
}

async fn bucket(request: HttpRequest, body: Bytes, objects: web::Data<Bucket>) -> HttpResponse {
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap())
    };
    let authorization = header("authorization").unwrap_or_default();
    if !authorization.starts_with("AWS4-HMAC-SHA256 Credential=key/")
        || !authorization.contains("/eu-west-9/s3/aws4_request,SignedHeaders=")
    {
        return refused(403, "InvalidAccessKeyId");
    }
    let digest = ring::digest::digest(&ring::digest::SHA256, &body);
    let digest: String = digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(header("x-amz-content-sha256"), Some(&*digest));
    assert!(header("x-amz-date").unwrap().ends_with('Z'));
    let Some(rest) = request.path().strip_prefix("/bucket") else {
        return refused(404, "NoSuchBucket");
    };
    let key = percent_decoded(rest.trim_start_matches('/'));
    let mut objects = objects.lock().await;
    if key.is_empty() {
        return list(&request, &objects);
    }
    let tag = |version: u32| format!("\"v{version}\"");
    let known = objects.get(&key).cloned();
    match request.method().as_str() {
        "PUT" => {
            let version = known.as_ref().map_or(0, |(_, version)| *version);
            let absent = header("if-none-match") != Some("*") || known.is_none();
            let same = header("if-match").is_none_or(|is| known.is_some() && is == tag(version));
            if !absent || !same {
                return refused(412, "PreconditionFailed");
            }
            objects.insert(key, (body, version + 1));
            HttpResponse::Ok()
                .insert_header(("etag", tag(version + 1)))
                .finish()
        }
        "DELETE" => {
            objects.remove(&key);
            HttpResponse::NoContent().finish()
        }
        _ => match known {
            Some((body, version)) => HttpResponse::Ok()
                .insert_header(("etag", tag(version)))
                .body(body),
            None => refused(404, "NoSuchKey"),
        },
    }
}

fn percent_decoded(text: &str) -> String {
    url::form_urlencoded::parse(format!("k={}", text.replace('+', "%2B")).as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

fn list(request: &HttpRequest, objects: &BTreeMap<String, (Bytes, u32)>) -> HttpResponse {
    let query = web::Query::<BTreeMap<String, String>>::from_query(request.query_string()).unwrap();
    let (most, prefix) = (
        query["max-keys"].parse::<usize>().unwrap(),
        &query["prefix"],
    );
    let after = query.get("continuation-token").cloned().unwrap_or_default();
    let found: Vec<_> = objects
        .iter()
        .filter(|(key, _)| key.starts_with(prefix) && **key > after)
        .collect();
    let page = &found[..found.len().min(most)];
    let mut body = String::from("<ListBucketResult>");
    for (key, (object, version)) in page {
        let key = key.replace('&', "&amp;");
        let size = object.len();
        body += &format!(
            "<Contents><Key>{key}</Key><Size>{size}</Size><ETag>\"v{version}\"</ETag></Contents>"
        );
    }
    if page.len() < found.len() {
        let last = page.last().unwrap().0.replace('&', "&amp;");
        body += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
    }
    HttpResponse::Ok().body(body + "</ListBucketResult>")
}

fn client_of(bucket_name: &str, access: &str) -> S3Client {
    let objects: Bucket = Arc::default();
    let server = serve(move |app| {
        app.app_data(web::Data::new(objects.clone()))
            .app_data(web::PayloadConfig::new(16 << 20))
            .default_service(web::to(bucket));
    });
    let http = HttpClient::new(HttpOptions {
        max_body: 1 << 20,
        ..options()
    });
    let options = S3Options {
        endpoint: format!("http://{server}").parse().unwrap(),
        region: "eu-west-9".into(),
        bucket: bucket_name.into(),
        access_key: Secret::new(access.into()),
        secret_key: Secret::new("secret".into()),
    };
    S3Client::new(http, options)
}

fn client() -> S3Client {
    client_of("bucket", "key")
}

#[actix_rt::test]
async fn objects_are_stored_read_and_removed() {
    let client = client();
    for key in ["plain", "a/b c/ü+&$~.json", "deep/er/x"] {
        assert_eq!(client.get(key).await.unwrap(), None);
        assert_eq!(client.head(key).await.unwrap(), None);
        let etag = client
            .put(key, "text".into(), &Condition::None)
            .await
            .unwrap();
        assert_eq!(etag.as_deref(), Some("\"v1\""));
        let object = client.get(key).await.unwrap().unwrap();
        assert_eq!((object.body, object.etag), ("text".into(), etag.clone()));
        let info = client.head(key).await.unwrap().unwrap();
        assert_eq!((info.size, info.etag), (4, etag));
        client.delete(key).await.unwrap();
        client.delete(key).await.unwrap();
        assert_eq!(client.get(key).await.unwrap(), None);
    }
}

#[actix_rt::test]
async fn a_condition_that_does_not_hold_is_told() {
    let client = client();
    let first = client
        .put("k", "1".into(), &Condition::Absent)
        .await
        .unwrap()
        .unwrap();
    let again = client.put("k", "2".into(), &Condition::Absent).await;
    assert!(matches!(again, Err(S3Error::Changed(_))), "{again:?}");
    let is_first = Condition::Is(first);
    client.put("k", "3".into(), &is_first).await.unwrap();
    let stale = client.put("k", "4".into(), &is_first).await;
    assert!(matches!(stale, Err(S3Error::Changed(_))), "{stale:?}");
    assert_eq!(client.get("k").await.unwrap().unwrap().body, "3");
}

#[actix_rt::test]
async fn lists_are_read_page_by_page_and_bounded() {
    let client = client();
    for number in 0..25 {
        let key = format!("p/{number:02}&");
        client
            .put(&key, "x".into(), &Condition::None)
            .await
            .unwrap();
    }
    client
        .put("other", "x".into(), &Condition::None)
        .await
        .unwrap();
    let all = client.list("p/", 1000).await.unwrap();
    assert_eq!((all.objects.len(), all.more), (25, false));
    assert_eq!(all.objects[3].key, "p/03&");
    let some = client.list("p/", 10).await.unwrap();
    assert_eq!((some.objects.len(), some.more), (10, true));
    let none = client.list("q/", 10).await.unwrap();
    assert_eq!((none.objects.len(), none.more), (0, false));
}

#[actix_rt::test]
async fn refusals_have_their_class() {
    let error = client_of("bucket", "stranger").get("k").await.unwrap_err();
    assert!(matches!(error, S3Error::Unauthorised(_)), "{error}");
    assert!(error.to_string().contains("InvalidAccessKeyId"), "{error}");
    let error = client_of("gone", "key").get("k").await.unwrap_err();
    assert!(matches!(error, S3Error::NoBucket(_)), "{error}");
    let client = client();
    for key in ["", "/x", "a/../b", ".", &"x".repeat(1025)] {
        let error = client.get(key).await.unwrap_err();
        assert!(matches!(error, S3Error::BadKey { .. }), "{key}: {error}");
    }
    client
        .put("large", vec![0; 2 << 20].into(), &Condition::None)
        .await
        .unwrap();
    let error = client.get("large").await.unwrap_err();
    assert!(matches!(error, S3Error::TooLarge(_)), "{error}");
}
