//! The address policy, at the connection itself.

use actix_web::{HttpResponse, web};
use http_clients::http::{AddressPolicy, HttpClient, HttpError, HttpOptions, Redirects, Request};

use crate::common::{options, serve, url};

fn client(addresses: AddressPolicy) -> HttpClient {
    HttpClient::new(HttpOptions {
        addresses,
        redirects: Redirects::Anywhere(3),
        ..options()
    })
}

#[actix_rt::test]
async fn s09_r05_local_addresses_are_refused_however_they_are_written() {
    let server = serve(|app| {
        app.default_service(web::to(async || "reached"));
    });
    let port = server.port();
    let client = client(AddressPolicy::PublicOnly);
    for host in [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "169.254.169.254",
        "[64:ff9b::7f00:1]",
    ] {
        let address = format!("http://{host}:{port}/").parse().unwrap();
        let error = client.call(Request::get(address)).await.unwrap_err();
        assert!(
            matches!(error, HttpError::Refused { .. }),
            "{host}: {error}"
        );
        assert!(error.was_not_sent());
    }
}

#[actix_rt::test]
async fn s09_listed_places_are_reached_and_no_others() {
    let server = serve(|app| {
        app.default_service(web::to(async || "reached"));
    });
    let other = serve(|app| {
        app.default_service(web::to(async || "reached"));
    });
    let place = format!("127.0.0.1:{}", server.port()).parse().unwrap();
    let client = client(AddressPolicy::Listed(vec![place]));
    let reached = client.call(Request::get(url(server, "/"))).await.unwrap();
    assert_eq!(reached.body, "reached");
    let error = client
        .call(Request::get(url(other, "/")))
        .await
        .unwrap_err();
    assert!(matches!(error, HttpError::Refused { .. }), "{error}");
}

#[actix_rt::test]
async fn s09_a_redirect_does_not_lead_around_the_policy() {
    let secret = serve(|app| {
        app.default_service(web::to(async || "internal"));
    });
    let to = url(secret, "/").to_string();
    let public = serve(move |app| {
        let to = to.clone();
        app.default_service(web::to(move || {
            let response = HttpResponse::Found()
                .insert_header(("location", &*to))
                .finish();
            std::future::ready(response)
        }));
    });
    let place = format!("127.0.0.1:{}", public.port()).parse().unwrap();
    let client = client(AddressPolicy::Listed(vec![place]));
    let error = client
        .call(Request::get(url(public, "/")))
        .await
        .unwrap_err();
    assert!(matches!(error, HttpError::Refused { .. }), "{error}");
}
