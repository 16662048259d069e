//! Bodies: bounds, truncation, compression, charsets.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::stream;
use http_clients::http::{HttpError, Request};
use serde_json::Value;

use crate::common::{client, raw, serve, url};

async fn get(server: std::net::SocketAddr) -> Result<Bytes, HttpError> {
    let response = client().call(Request::get(url(server, "/"))).await?;
    Ok(response.body)
}

#[actix_rt::test]
async fn a_body_that_is_cut_short_is_never_taken_for_whole() {
    let cut = [
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n",
    ];
    for answer in cut {
        let server = raw(answer, Duration::ZERO).await;
        let error = get(server).await.unwrap_err();
        assert!(
            matches!(&error, HttpError::BadBody { reason, .. } if reason == "it is cut short"),
            "{answer:?}: {error}"
        );
    }
}

#[actix_rt::test]
async fn whole_bodies_come_however_their_end_is_told() {
    let table = [
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "hello"),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "hello",
        ),
        ("HTTP/1.0 200 OK\r\n\r\nhello", "hello"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", ""),
        ("HTTP/1.1 204 No Content\r\n\r\n", ""),
    ];
    for (answer, body) in table {
        let server = raw(answer, Duration::ZERO).await;
        assert_eq!(get(server).await, Ok(Bytes::from(body)), "{answer:?}");
    }
    let server = raw("HTTP/1.1 200 OK\r\n\r\nhello", Duration::ZERO).await;
    let error = get(server).await.unwrap_err();
    assert!(
        error.to_string().contains("neither a length nor chunks"),
        "{error}"
    );
}

/// A server of an endless body, and how much of it was made.
fn endless() -> (std::net::SocketAddr, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let count = made.clone();
    let server = serve(move |app| {
        let count = count.clone();
        app.default_service(web::to(move || {
            let count = count.clone();
            let zeros = stream::repeat_with(move || {
                count.fetch_add(64 << 10, Ordering::SeqCst);
                Ok::<_, std::io::Error>(Bytes::from_static(&[0; 64 << 10]))
            });
            std::future::ready(HttpResponse::Ok().streaming(zeros))
        }));
    });
    (server, made)
}

#[actix_rt::test]
async fn r12_an_endless_body_ends_at_the_limit() {
    let (server, made) = endless();
    let request = Request::get(url(server, "/")).with_max_body(1 << 20);
    let error = client().call(request).await.unwrap_err();
    let expected = HttpError::TooLarge {
        url: url(server, "/").into(),
        limit: 1 << 20,
    };
    assert_eq!(error, expected);
    // The rest was not drained: what the sockets' buffers took is all there was.
    assert!(made.load(Ordering::SeqCst) < 64 << 20);
}

#[actix_rt::test]
async fn a_body_that_is_said_to_be_too_large_is_not_read() {
    let server = raw(
        "HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\nx",
        crate::common::LONG,
    )
    .await;
    let error = get(server).await.unwrap_err();
    assert!(matches!(error, HttpError::TooLarge { .. }), "{error}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn packed(body: Vec<u8>, encoding: &'static str) -> std::net::SocketAddr {
    let body = Bytes::from(body);
    serve(move |app| {
        let body = body.clone();
        app.default_service(web::to(move |request: HttpRequest| {
            assert_eq!(request.headers().get("accept-encoding").unwrap(), "gzip");
            let response = HttpResponse::Ok()
                .insert_header(("content-encoding", encoding))
                .body(body.clone());
            std::future::ready(response)
        }));
    })
}

#[actix_rt::test]
async fn gzip_is_undone_and_a_bomb_is_not() {
    assert_eq!(get(packed(gzip(b"hello"), "gzip")).await.unwrap(), "hello");
    let bomb = packed(gzip(&vec![0; 100 << 20]), "gzip");
    let error = get(bomb).await.unwrap_err();
    assert!(matches!(error, HttpError::TooLarge { .. }), "{error}");
    let broken = packed(b"no gzip at all".to_vec(), "gzip");
    let error = get(broken).await.unwrap_err();
    assert!(matches!(error, HttpError::BadBody { .. }), "{error}");
    let cut = gzip(&[7; 5000]);
    let cut = packed(cut[..cut.len() / 2].to_vec(), "gzip");
    let error = get(cut).await.unwrap_err();
    assert!(matches!(error, HttpError::BadBody { .. }), "{error}");
    let other = packed(b"x".to_vec(), "br");
    let error = get(other).await.unwrap_err();
    assert!(error.to_string().contains("encoded as br"), "{error}");
}

#[actix_rt::test]
async fn texts_are_read_in_their_charset_and_json_is_utf8() {
    let server = serve(|app| {
        app.default_service(web::to(async || {
            HttpResponse::Ok()
                .content_type("text/plain; charset=ISO-8859-1")
                .body(&b"\"gr\xfc\xdf\""[..])
        }));
    });
    let response = client().call(Request::get(url(server, "/"))).await.unwrap();
    assert_eq!(response.text(), "\"grüß\"");
    let error = response.json::<Value>().unwrap_err();
    assert!(matches!(error, HttpError::BadBody { .. }), "{error}");
}

#[actix_rt::test]
async fn a_body_in_chunks_is_sent_once_and_its_error_is_told() {
    let server = serve(|app| {
        app.default_service(web::to(async |body: Bytes| body));
    });
    let chunks =
        stream::iter(["a", "bc", "d"].map(|chunk| Ok(Bytes::from_static(chunk.as_bytes()))));
    let sent = client()
        .call(Request::put(url(server, "/")).chunks(chunks))
        .await
        .unwrap();
    assert_eq!(sent.body, "abcd");
    let broken = stream::iter([
        Ok(Bytes::from_static(b"a")),
        Err(std::io::Error::other("the disk is gone")),
    ]);
    let error = client()
        .call(Request::put(url(server, "/")).chunks(broken))
        .await
        .unwrap_err();
    assert!(matches!(error, HttpError::BadRequest { .. }), "{error}");
    assert!(error.to_string().contains("the disk is gone"), "{error}");
}

#[actix_rt::test]
async fn i17_a_body_of_a_known_size_is_announced_and_a_shorter_one_is_an_error() {
    let server = serve(|app| {
        app.default_service(web::to(async |request: HttpRequest, body: Bytes| {
            let length = request.headers().get("content-length").unwrap();
            format!("{} of {}", body.len(), length.to_str().unwrap())
        }));
    });
    let sent = async |bytes| {
        let chunks =
            stream::iter(["a", "bc"].map(|chunk| Ok(Bytes::from_static(chunk.as_bytes()))));
        let request = Request::post(url(server, "/")).sized_chunks(bytes, chunks);
        client()
            .call(request.with_deadline(Duration::from_secs(5)))
            .await
    };
    assert_eq!(sent(3).await.unwrap().body, "3 of 3");
    assert!(sent(4).await.is_err());
}
