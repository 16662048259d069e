//! What all pages have around what they show.

use maud::{Markup, PreEscaped, html};

use super::text::VisibleMarkup;

/// A whole page; `head` is added to its head.
pub(super) fn frame(
    title: &str,
    head: Option<Markup>,
    main: &Markup,
    can_sign_out: bool,
) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (VisibleMarkup(title)) }
                link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/style.css";
                @if let Some(head) = head { (head) }
            }
            body {
                header {
                    a href="/runs" { "Workflow runs" }
                    @if can_sign_out {
                        form method="post" action="/sign-out" { button { "Sign out" } }
                    }
                }
                main { (main) }
            }
        }
        "\n"
    };
    page.into_string()
}
