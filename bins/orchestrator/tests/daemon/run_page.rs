//! V12: where the links of commit statuses lead. V11: forms as webhooks.

use crate::harness::{Answer, Daemon, SECRET, Site, comment, run_of};

const AGENTS: &str = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"greeter\"\ncli = \"sh\"\nscript = \"echo the words of an agent; echo '<b>x</b>'\"\n";
const TOKEN: &str = "an admin token of the test";

fn get(daemon: &Daemon, path: &str, more: &str) -> Answer {
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n{more}\r\n"
    );
    daemon.plain(&head).expect("an answer")
}

fn post(daemon: &Daemon, path: &str, more: &str, body: &str) -> Answer {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\nConnection: close\r\n{more}\r\n{body}",
        body.len()
    );
    daemon.plain(&head).expect("an answer")
}

#[test]
fn v12_a_status_leads_to_a_page_and_only_the_token_opens_the_log() {
    let site = Site::new(&format!("admin_token = \"{TOKEN}\""), AGENTS);
    let daemon = site.start();
    let run = run_of(
        &daemon.hook(&comment(7, 1, "@orch:greeter")).json(),
        "greeter",
    );
    daemon.wait_for_run(&run, |run| run["state"] == "exited");
    let path = format!("/runs/{run}");
    let public = get(&daemon, &path, "");
    assert_eq!(public.status, 200, "{}", public.body);
    for shown in ["greeter", "exited", "/sign-in?next=/runs/"] {
        assert!(public.body.contains(shown), "{shown}: {}", public.body);
    }
    for hidden in ["words of an agent", "acme/main", TOKEN] {
        assert!(!public.body.contains(hidden), "{hidden}: {}", public.body);
    }
    let policy = public.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("default-src 'self'"), "{policy}");
    assert_eq!(get(&daemon, "/runs/nothing", "").status, 404);

    let form = get(&daemon, &format!("/sign-in?next={path}"), "");
    assert!(
        form.body.contains(&format!("value=\"{path}\"")),
        "{}",
        form.body
    );
    let wrong = post(&daemon, "/sign-in", "", "token=guess");
    assert_eq!(wrong.status, 401);
    let token = TOKEN.replace(' ', "+");
    let entered = post(
        &daemon,
        "/sign-in",
        "",
        &format!("token={token}&next={path}"),
    );
    assert_eq!(entered.status, 303, "{}", entered.body);
    let cookie = entered.header("set-cookie").expect("a cookie").to_owned();
    let session = format!(
        "Cookie: {}\r\n",
        cookie.split(';').next().unwrap_or_default()
    );
    let signed_in = get(&daemon, &path, &session);
    assert!(
        signed_in.body.contains("the words of an agent"),
        "{}",
        signed_in.body
    );
    assert!(
        signed_in.body.contains("&lt;b&gt;x&lt;/b&gt;") && signed_in.body.contains("acme/main")
    );
    assert_eq!(post(&daemon, "/sign-out", &session, "").status, 303);
    assert!(
        !get(&daemon, &path, &session)
            .body
            .contains("words of an agent")
    );
}

#[test]
fn v12_without_an_admin_token_nobody_signs_in() {
    let site = Site::new("", AGENTS);
    let daemon = site.start();
    let run = run_of(
        &daemon.hook(&comment(7, 1, "@orch:greeter")).json(),
        "greeter",
    );
    let page = get(&daemon, &format!("/runs/{run}"), "");
    assert!(
        page.body.contains("orchctl logs") && !page.body.contains("/sign-in"),
        "{}",
        page.body
    );
    assert_eq!(post(&daemon, "/sign-in", "", "token=").status, 401);
}

#[test]
fn v11_a_form_starts_a_run_as_json_does() {
    let site = Site::new("", AGENTS);
    let daemon = site.start();
    let json = comment(7, 1, "@orch:greeter +%{\u{f6}}").to_string();
    let form: String = json.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let form = format!("payload={form}");
    let signature = forge_core::sign(SECRET, form.as_bytes())
        .expect("a secret")
        .hub();
    let headers = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("X-Hub-Signature-256", signature.as_str()),
    ];
    let answer = daemon
        .raw_hook(&headers, form.as_bytes())
        .expect("an answer");
    assert_eq!(answer.status, 202, "{}", answer.body);
    let run = run_of(&answer.json(), "greeter");
    daemon.wait_for_run(&run, |run| run["state"] == "exited");
}

#[test]
fn u2_a_webhook_is_not_accepted_once_the_data_folder_is_gone() {
    let site = Site::new("", AGENTS);
    let mut daemon = site.start();
    let first = daemon.hook(&comment(7, 1, "@orch:greeter"));
    assert_eq!(first.status, 202, "{}", first.body);
    let folders = std::fs::read_dir(site.path("")).expect("the site");
    let data = folders.filter_map(Result::ok).map(|entry| entry.path());
    let data = data
        .into_iter()
        .find(|path| path.join("store.redb").exists());
    std::fs::remove_dir_all(data.expect("the data folder")).expect("removed");
    for id in 2..5 {
        let refused = daemon.hook(&comment(7, id, "@orch:greeter"));
        assert_eq!(refused.status, 503, "{}", refused.body);
    }
    daemon.wait_for_line("store.failing");
    assert_eq!(get(&daemon, "/readyz", "").status, 503);
}
