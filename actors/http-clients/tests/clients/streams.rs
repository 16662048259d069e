//! Answers that are read as they come.

use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpResponse, web};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_clients::http::{CallPhase, HttpClient, HttpError, HttpOptions, Request};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::common::{LONG, client, options, raw, serve, url};

#[actix_rt::test]
async fn chunks_come_one_by_one_and_the_end_is_told() {
    let go_on = Arc::new(Notify::new());
    let gate = go_on.clone();
    let server = serve(move |app| {
        let gate = gate.clone();
        app.default_service(web::to(move || {
            let gate = gate.clone();
            let chunks = stream::iter(0..3).then(move |number| {
                let gate = gate.clone();
                async move {
                    gate.notified().await;
                    Ok::<_, std::io::Error>(Bytes::from(format!("{number};")))
                }
            });
            std::future::ready(HttpResponse::Ok().streaming(chunks))
        }));
    });
    let mut opened = client().open(Request::get(url(server, "/"))).await.unwrap();
    for number in 0..3 {
        go_on.notify_one();
        let chunk = timeout(LONG, opened.next_chunk()).await.unwrap();
        assert_eq!(chunk.unwrap().unwrap(), format!("{number};"));
    }
    assert!(opened.next_chunk().await.is_none());
    assert!(opened.next_chunk().await.is_none(), "it stays ended");
}

#[actix_rt::test]
async fn silence_ends_a_stream() {
    let half = raw(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n",
        LONG,
    )
    .await;
    let client = HttpClient::new(HttpOptions {
        idle: Duration::from_millis(100),
        ..options()
    });
    let mut opened = client.open(Request::get(url(half, "/"))).await.unwrap();
    assert_eq!(opened.next_chunk().await.unwrap().unwrap(), "a");
    let error = timeout(LONG / 2, opened.next_chunk())
        .await
        .unwrap()
        .unwrap()
        .unwrap_err();
    let expected = HttpError::TimedOut {
        url: url(half, "/").into(),
        after: Duration::from_millis(100),
        phase: CallPhase::Reading,
    };
    assert_eq!(error, expected);
    assert!(opened.next_chunk().await.is_none());
}

#[actix_rt::test]
async fn a_stream_that_breaks_off_is_an_error() {
    let cut = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n";
    let cut = raw(cut, Duration::ZERO).await;
    let opened = client().open(Request::get(url(cut, "/"))).await.unwrap();
    let chunks: Vec<_> = opened.collect().await;
    assert!(
        matches!(&chunks[..], [Ok(chunk), Err(HttpError::BadBody { .. })] if chunk == "a"),
        "{chunks:?}"
    );
}

#[actix_rt::test]
async fn a_stream_that_is_dropped_closes_its_connection() {
    struct TellsItsEnd(Arc<Notify>);
    impl Drop for TellsItsEnd {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let ended = Arc::new(Notify::new());
    let tell = ended.clone();
    let server = serve(move |app| {
        let tell = tell.clone();
        app.default_service(web::to(move || {
            let guard = TellsItsEnd(tell.clone());
            let chunks = stream::unfold(guard, |guard| async {
                actix_rt::time::sleep(Duration::from_millis(5)).await;
                Some((Ok::<_, std::io::Error>(Bytes::from_static(b"more")), guard))
            });
            std::future::ready(HttpResponse::Ok().streaming(chunks))
        }));
    });
    let client = client();
    let mut opened = client.open(Request::get(url(server, "/"))).await.unwrap();
    assert_eq!(opened.next_chunk().await.unwrap().unwrap(), "more");
    drop(opened);
    timeout(LONG, ended.notified())
        .await
        .expect("the server sees it go");
}

#[actix_rt::test]
async fn an_error_instead_of_a_stream_has_its_words() {
    let server = serve(|app| {
        app.default_service(web::to(async || {
            HttpResponse::NotFound().body("no such log")
        }));
    });
    let opened = client().open_or_read(Request::get(url(server, "/"))).await;
    let error = opened.unwrap().unwrap_err().into_error();
    assert_eq!(error.status(), Some(404));
    assert!(error.to_string().contains("no such log"), "{error}");
}

#[actix_rt::test]
async fn a_head_that_never_comes_ends_at_the_deadline() {
    let silent = raw("", LONG).await;
    let request = Request::get(url(silent, "/")).with_deadline(Duration::from_millis(100));
    let error = timeout(LONG / 2, client().open(request))
        .await
        .unwrap()
        .unwrap_err();
    assert!(matches!(error, HttpError::TimedOut { .. }), "{error}");
}
