//! Webhooks, what the process before left, and what stands at the forge afterwards.

use std::sync::atomic::Ordering;

use forge_core::{ForgeEvent, ObjectFormats, WebhookHeaders};
use orchestrator_actors::journal::{JournalEvent, RecordedEvent};
use orchestrator_actors::ledger;
use orchestrator_actors::messages::{AdmitFound, RetryRun};
use orchestrator_core::admin::WebhookOutcome;
use orchestrator_core::intake::Ignored;
use orchestrator_core::run::ProcessIdentity;
use serde_json::json;

use crate::world::{FAN_OUT, MENTIONS, REPO, Site, World, comment, first_poll, pull, sha, test};

/// A branch is pushed to, and forced back: the first commit is checked again.
#[test]
fn v3_a_head_that_comes_back_is_checked_again() {
    test(async || {
        let site = Site::new(FAN_OUT);
        let world = first_poll(&site).await;
        let (a, b) = (sha(1), sha(2));
        site.forge.add_commit(REPO, &a);
        site.forge.add_commit(REPO, &b);
        let mut bodies = 0;
        for (head, outcome) in [
            (&a, WebhookOutcome::Accepted),
            (&a, WebhookOutcome::Duplicate),
            (&b, WebhookOutcome::Accepted),
            (&a, WebhookOutcome::Accepted),
            (&a, WebhookOutcome::Duplicate),
        ] {
            let mut body = pull("synchronized", head);
            bodies += 1;
            body["pull_request"]["title"] = json!(format!("attempt {bodies}"));
            let reply = world.hook(&body).await;
            assert_eq!(reply.outcome, outcome, "{bodies}: {reply:?}");
        }
        let runs = world.runs().await;
        let open: Vec<_> = runs.iter().filter(|run| !run.ended).collect();
        assert_eq!((runs.len(), open.len()), (3, 1), "{runs:?}");
        assert_eq!(open[0].sha.as_deref(), Some(&*a));
        // What a poll heard before the push is old news.
        let stale: ForgeEvent = {
            let bytes = serde_json::to_vec(&pull("opened", &b)).unwrap();
            let none = WebhookHeaders::collect([]);
            ForgeEvent::parse(&none, &bytes, ObjectFormats::Sha1).unwrap()
        };
        let found = AdmitFound {
            event: Box::new(stale),
            asked_at: site.now.load(Ordering::SeqCst) - 1,
        };
        let reply = world.service.intake.ask(found).await.unwrap().unwrap();
        assert_eq!(reply.outcome, WebhookOutcome::Duplicate, "{reply:?}");
        world
            .until("the status of the first commit", async |world| {
                // A tick while the forge is still asked about the commit starts nothing.
                world.tick().await;
                let status = site.forge.status(REPO, &a, "orch/dev");
                status.is_some_and(|status| status.state == "success")
            })
            .await;
        world.stop().await;
    });
}

/// Puts `count` runs of mentions into the store as a life left them that was killed.
fn stale_files(site: &Site, count: u64) -> Vec<String> {
    site.write(move |txn| {
        let mut ids = Vec::new();
        for number in 0..count {
            let bytes = serde_json::to_vec(&comment(1_000 + number, "@orch:dev")).unwrap();
            let none = WebhookHeaders::collect([]);
            let event = ForgeEvent::parse(&none, &bytes, ObjectFormats::Sha1).unwrap();
            let config = txn.config();
            let (none, own) = (Default::default(), Default::default());
            let view = orchestrator_core::intake::IntakeContext {
                config,
                own_logins: &own,
                now: txn.time(),
                quarantined: &none,
                usage: &|_| Default::default(),
                recent: &|_, _| 0,
                queued: 0,
                new_id: &|| format!("left-{number:03}").parse().unwrap(),
            };
            let orchestrator_core::intake::EventDecision::Dispatch(dispatch) =
                orchestrator_core::intake::decide(&event, &view)
            else {
                panic!("it is a mention");
            };
            let run = &dispatch.runs[0].run;
            ledger::add_run(txn, run, None).unwrap();
            ledger::start_run(txn, &run.id).unwrap().unwrap();
            let process = ProcessIdentity {
                pid: i32::MAX as u32,
                start_ticks: 1,
                boot_id: "another boot".into(),
                isolation: None,
            };
            ledger::running(txn, &run.id, ledger::RunPlace::Process(process), None, None).unwrap();
            ids.push(run.id.to_string());
        }
        ids
    })
}

/// V5: whoever mentioned the agent gets a word.
#[test]
fn v5_a_mention_whose_agent_a_restart_ended_gets_a_word() {
    test(async || {
        let site = Site::new(MENTIONS);
        stale_files(&site, 1);
        let world = site.start();
        world.ready().await;
        world
            .until("the word", async |_| {
                !site.forge.comments(REPO, 1).is_empty()
            })
            .await;
        let comments = site.forge.comments(REPO, 1);
        let text = &comments[0].body;
        assert!(
            text.contains("**dev** ended: orchestrator_restart"),
            "{text}"
        );
        assert!(text.contains("orchctl retry left-000"), "{text}");
        let run = world.runs().await.remove(0);
        assert_eq!(run.exit.unwrap().class, "orchestrator_restart");
        world.stop().await;
    });
}

/// One of forty leftovers cannot be settled yet; the others are recorded, and new work starts.
#[test]
fn u4_each_lost_run_is_recorded_as_it_is_settled_and_new_work_starts_meanwhile() {
    test(async || {
        let site = Site::new(
            "wake_on_dispatch = true\nmax_running = 41\n[mentions]\nmax_concurrent_mention_agents = 41\n",
        );
        let ids = stale_files(&site, 40);
        // Reading its log's end waits until somebody writes to the pipe.
        let log = site
            .folder
            .path()
            .join("data/runs")
            .join(&ids[3])
            .join("log");
        std::fs::create_dir_all(&log).unwrap();
        let pipe = log.join("end.json");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let world = site.start();
        world.ready().await;
        let ended = async |world: &World| {
            let runs = world.runs().await;
            runs.into_iter().filter(|run| run.ended).count()
        };
        world
            .until("39 are recorded", async |world| ended(world).await == 39)
            .await;
        let mut by_hand = comment(1, "@orch:ops");
        by_hand["orchctl"] = json!(true);
        let reply = world.hook(&by_hand).await;
        let new = reply.dispatches[0].run.clone();
        world
            .until("new work", async |world| {
                let runs = world.runs().await;
                runs.iter().any(|run| run.id == new && run.ended)
            })
            .await;
        let stuck = world.runs().await.into_iter().find(|run| run.id == ids[3]);
        assert!(!stuck.unwrap().ended);
        let writer = std::thread::spawn(move || std::fs::write(pipe, "{}"));
        world
            .until("the last one", async |world| ended(world).await == 41)
            .await;
        writer.join().unwrap().unwrap();
        world.stop().await;
    });
}

/// V10: a refused mention is answered once for each reason, in words that start nothing.
#[test]
fn v10_a_refused_mention_gets_one_answer_for_each_reason() {
    test(async || {
        let site = Site::new(MENTIONS);
        site.forge.set_permission(REPO, "eve", "read");
        let world = first_poll(&site).await;
        world.hook(&comment(11, "@orch:nobody")).await;
        world.hook(&comment(12, "@orch:nobody again")).await;
        let mut stranger = comment(13, "@orch:dev");
        stranger["comment"]["user"]["login"] = json!("eve");
        world.hook(&stranger).await;
        world
            .until("both answers", async |_| {
                site.forge.comments(REPO, 1).len() >= 2
            })
            .await;
        world.hook(&comment(14, "@orch:nobody once more")).await;
        let bodies: Vec<String> = site
            .forge
            .comments(REPO, 1)
            .into_iter()
            .map(|c| c.body)
            .collect();
        assert_eq!(bodies.len(), 2, "{bodies:?}");
        let unknown = bodies.iter().find(|body| body.contains("unknown_agent"));
        let unknown = unknown.unwrap_or_else(|| panic!("{bodies:?}"));
        assert!(
            unknown.starts_with("`nobody` was not started: "),
            "{unknown}"
        );
        assert!(
            bodies.iter().any(|body| body.contains("not_allowed")),
            "{bodies:?}"
        );
        for body in &bodies {
            assert!(forge_core::Marker::find(body).is_some(), "{body}");
            assert!(!body.contains("@orch:"), "{body}");
        }
        world.stop().await;
    });
}

#[test]
fn v10_without_mentions_or_when_it_is_switched_off_nothing_is_said() {
    for (top, outcome) in [
        ("", WebhookOutcome::Ignored),
        (
            "[mentions]\nanswer_refusals = false\n",
            WebhookOutcome::Rejected,
        ),
    ] {
        test(async || {
            let site = Site::new(top);
            let world = site.start();
            world.ready().await;
            let reply = world.hook(&comment(11, "@orch:nobody")).await;
            assert_eq!(reply.outcome, outcome);
            world.tick().await;
            let waiting = site
                .store
                .read_blocking(|rows| forge_actors::outbox::overview(rows));
            assert_eq!(waiting.unwrap().waiting, 0);
            assert!(site.forge.comments(REPO, 1).is_empty());
            world.stop().await;
        });
    }
}

#[test]
fn y5_what_is_ignored_says_why_in_the_answer_and_the_journal() {
    test(async || {
        let site = Site::new(FAN_OUT);
        let world = first_poll(&site).await;
        let mut draft = pull("opened", &sha(1));
        draft["pull_request"]["draft"] = json!(true);
        let table = [
            (comment(21, "nothing"), "no_mention", "webhook.ignored"),
            (draft, "pr_draft", "pr.fanout.skipped"),
            (
                pull("labeled", &sha(1)),
                "pull_request_action",
                "webhook.ignored",
            ),
        ];
        for (body, reason, event) in table {
            let reply = world.hook(&body).await;
            assert_eq!(reply.outcome, WebhookOutcome::Ignored, "{reason}");
            assert_eq!(reply.reason.as_deref(), Some(reason));
            assert!(reply.detail.is_some_and(|detail| detail.len() > 10));
            let journal = world.journal().await;
            let last = journal.last().unwrap();
            assert_eq!(last.event, event, "{reason}");
            assert!(last.detail.contains(reason), "{last:?}");
        }
        world.stop().await;
    });
}

/// V4: the statuses end at once, and not in green.
#[test]
fn v4_a_head_commit_that_says_skip_ci_ends_its_statuses() {
    test(async || {
        let site = Site::new(FAN_OUT);
        let world = first_poll(&site).await;
        let (skipped, checked) = (sha(1), sha(2));
        let message = "typo\n\n[skip ci]";
        site.forge.add_commit_with(REPO, &skipped, message);
        site.forge.add_commit_with(REPO, &checked, "no typo");
        let reply = world.hook(&pull("opened", &skipped)).await;
        assert_eq!(reply.outcome, WebhookOutcome::Accepted);
        world
            .until("its status", async |_| {
                let status = site.forge.status(REPO, &skipped, "orch/dev");
                status.is_some_and(|status| {
                    status.state == "error" && status.description.starts_with("skip_ci: ")
                })
            })
            .await;
        // An operator has it checked all the same.
        let refused = world.runs().await.remove(0);
        assert_eq!(refused.reason.as_deref(), Some("skip_ci"));
        let retry = RetryRun(refused.id.parse().unwrap());
        world
            .service
            .operator_api
            .ask(retry)
            .await
            .unwrap()
            .unwrap();
        world
            .until("the repetition", async |world| {
                world.tick().await;
                let status = site.forge.status(REPO, &skipped, "orch/dev");
                status.is_some_and(|status| status.state == "success")
            })
            .await;
        world.hook(&pull("synchronized", &checked)).await;
        world
            .until("the other may start", async |world| {
                world.tick().await;
                let status = site.forge.status(REPO, &checked, "orch/dev");
                status.is_some_and(|status| status.state == "success")
            })
            .await;
        world.stop().await;
    });
}

/// However many webhooks are ignored between two ticks, the journal keeps its size.
#[test]
fn y5_ignored_webhooks_do_not_make_the_journal_grow() {
    test(async || {
        let site = Site::new(MENTIONS);
        site.write(|txn| {
            for _ in 0..100_050 {
                let ignored = JournalEvent::Ignored(Ignored::NoMention);
                txn.journal(RecordedEvent::plain(ignored, "acme/main#1"))
                    .unwrap();
            }
        });
        let page = site.store.read_blocking(|rows| ledger::journal(rows, 0, 1));
        let page = page.unwrap();
        assert_eq!((page.entries[0].seq, page.last), (51, Some(100_050)));
    });
}
