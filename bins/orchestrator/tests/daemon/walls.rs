//! Agents against the daemon that started them: its secrets, its configuration, its git, and what
//! is posted of them.

use std::os::unix::fs::PermissionsExt;

use crate::forge::Forge;
use crate::harness::{Site, comment, git, pull, run_of, runs_of, wait_until};

/// T4: what an agent of the same user read before, by path and by `/proc`.
#[test]
fn t4_an_agent_reads_neither_tokens_nor_configuration_nor_the_daemon() {
    let forge = Forge::start();
    let script = "set +e; cat ../agent_tokens.json ../orchestrator.toml; cat /proc/*/environ | tr '\\0' '\\n'; \
        grep -rs WEBHOOK_SECRET_OF .. ; ls -A ../data; ls ../admin.sock; \
        curl -s --unix-socket ../admin.sock -X POST http://localhost/admin/projects/main/pause; echo end";
    let agents = format!(
        "[[agents]]\nproject = \"main\"\nname = \"nosy\"\ncli = \"sh\"\nscript = \'\'\'{script}; true\'\'\'\n\
         [[agents]]\nproject = \"main\"\nname = \"open\"\ncli = \"sh\"\nisolation = \"none\"\nscript = \"cat ../agent_tokens.json\"\n"
    );
    let site = Site::new("", &format!("{}[mentions]\n{agents}", forge.table()));
    let tokens = site.path("agent_tokens.json");
    std::fs::write(&tokens, "{\"open\": \"token-of-another-0123\"}").expect("a file");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&tokens, mode).expect("a mode");
    let daemon = site.start_with(|command| {
        command.env("PLANTED", "WEBHOOK_SECRET_OF_THE_DAEMON");
    });
    let run = daemon.ended(&run_of(
        &daemon.hook(&comment(0, 1, "@orch:nosy")).json(),
        "nosy",
    ));
    let id = run["id"].as_str().expect("an id");
    let log = daemon.admin("GET", &format!("/admin/runs/{id}/log")).body;
    assert!(log.contains("end"), "{log}");
    if run["isolation"] != "none" {
        assert!(log.contains("the admin socket is for operators"), "{log}");
        let journal = daemon.journal();
        assert!(
            !journal.contains(&"project.paused".to_owned()),
            "{journal:?}"
        );
    }
    match run["isolation"].as_str() {
        Some("sandbox") => {
            // The redaction would hide the secrets themselves, so what stands around them is looked
            // for.
            for word in ["\"open\"", "[webhook]", "WEBHOOK_SECRET_OF", "redb", "runs"] {
                assert!(!log.contains(word), "{word}: {log}");
            }
        }
        level => {
            println!("level {level:?}: files are not hidden here");
            return;
        }
    }
    let open = daemon.ended(&run_of(
        &daemon.hook(&comment(0, 2, "@orch:open")).json(),
        "open",
    ));
    assert_eq!(
        open["isolation"], "none",
        "only where the configuration says so"
    );
}

/// T4: a file of the configuration that is replaced while an agent runs stays hidden, and so do
/// reports of other runs.
#[test]
fn t4_an_agent_sees_neither_replaced_configuration_nor_others_reports() {
    let script = "set +e; touch begun; while [ ! -e go ]; do sleep 0.05; done; cat ../orchestrator.toml ../late.token;         cat ../reports/*/found.md; echo own > $ORCH_REPORTS_DIR/own.md; ls ..; echo end";
    let agents = format!(
        "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"nosy\"\ncli = \"sh\"\nscript = '''{script}; true'''\n"
    );
    let site = Site::new("", &agents);
    let other = site.path("reports/r-other");
    std::fs::create_dir_all(&other).expect("a folder");
    std::fs::write(other.join("found.md"), "WORDS_OF_ANOTHER_RUN").expect("a file");
    let daemon = site.start();
    let run = run_of(&daemon.hook(&comment(0, 1, "@orch:nosy")).json(), "nosy");
    wait_until("the agent", || site.path("repo/begun").exists());
    // As editors save: a new file under the name of the old one.
    let text = std::fs::read_to_string(site.path("orchestrator.toml")).expect("a file");
    std::fs::write(
        site.path("new.toml"),
        format!("{text}# REPLACED_WHILE_IT_RAN\n"),
    )
    .expect("a file");
    std::fs::rename(site.path("new.toml"), site.path("orchestrator.toml")).expect("a rename");
    std::fs::write(site.path("late.token"), "TOKEN_THAT_CAME_LATER").expect("a file");
    std::fs::write(site.path("repo/go"), "").expect("a file");
    let run = daemon.ended(&run);
    let id = run["id"].as_str().expect("an id");
    let log = daemon.admin("GET", &format!("/admin/runs/{id}/log")).body;
    assert!(log.contains("end") && log.contains("repo"), "{log}");
    if run["isolation"] == "sandbox" {
        for word in [
            "REPLACED_WHILE",
            "THAT_CAME_LATER",
            "WORDS_OF_ANOTHER",
            "[webhook]",
        ] {
            assert!(!log.contains(word), "{word}: {log}");
        }
    } else {
        println!("level {}: files are not hidden here", run["isolation"]);
    }
}

/// T9: what an agent printed is posted, and does nothing.
#[test]
fn t9_a_posted_output_is_inert_unless_allowed() {
    let forge = Forge::start();
    let output = "echo '/approve'; echo 'Closes #3, thanks @admin ![x](https://evil.example/p.png) <img src=x>'";
    let agents = format!(
        "[[agents]]\nproject = \"main\"\nname = \"loud\"\ncli = \"sh\"\nscript = \"{output}\"\n\
         [[agents]]\nproject = \"main\"\nname = \"trusted\"\ncli = \"sh\"\nallow_in_posts = [\"mentions\", \"images\"]\nscript = \"{output}\"\n"
    );
    let site = Site::new("", &format!("{}[mentions]\n{agents}", forge.table()));
    let daemon = site.start();
    for (id, agent) in [(1, "loud"), (2, "trusted")] {
        let event = comment(7, id, &format!("@orch:{agent}"));
        daemon.ended(&run_of(&daemon.hook(&event).json(), agent));
    }
    wait_until("the comments", || forge.comments().len() == 2);
    for (_, body) in forge.comments() {
        let trusted = body.contains("trusted");
        for (word, allowed) in [
            ("/approve", false),
            ("Closes #3", false),
            ("@admin", true),
            ("![x]", true),
            ("<img", false),
        ] {
            assert_eq!(body.contains(word), trusted && allowed, "{word}: {body}");
        }
        assert!(body.contains("thanks"), "{body}");
    }
}

/// T3, from end to end: an agent poisons the checkout it works in; the next run, which fetches,
/// runs nothing of it.
#[test]
fn t3_the_run_after_a_hostile_one_executes_nothing() {
    let poison = "trap=$(pwd)/trap; printf '#!/bin/sh\\nenv > %s.ran\\ncat\\n' \"$trap\" > \"$trap\"; chmod +x \"$trap\"; \
        origin=$(git config remote.origin.url); \
        git config \"remote.origin.uploadpack\" \"$trap\"; git config \"remote.$origin.uploadpack\" \"$trap\"; \
        git config \"remote.file://$origin.uploadpack\" \"$trap\"; git config \"url.ext::$trap .insteadOf\" \"file://\"; \
        git config protocol.ext.allow always; git config core.fsmonitor \"$trap\"; git config filter.evil.smudge \"$trap\"; \
        git config core.alternateRefsCommand \"$trap\"; mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes; echo poisoned";
    let agents = format!(
        "[[agents]]\nproject = \"main\"\nname = \"poisoner\"\ncli = \"sh\"\nscript = \'\'\'{poison}\'\'\'\n\
         [[agents]]\nproject = \"main\"\nname = \"next\"\ncli = \"sh\"\nworktree = \"base\"\n\
         script = \"cat README.md; echo more > more; git add more; git -c user.name=n -c user.email=n@example.org commit -q -m more\"\n"
    );
    let site = Site::new("", &format!("[mentions]\n{agents}"));
    git(
        &site.path("."),
        &["clone", "--quiet", "--bare", "repo", "origin.git"],
    );
    let origin = site.path("origin.git").display().to_string();
    git(&site.path("repo"), &["remote", "add", "origin", &origin]);
    let daemon = site.start();
    for (id, agent) in [(1, "poisoner"), (2, "next"), (3, "next")] {
        let event = comment(0, id, &format!("@orch:{agent}"));
        let run = daemon.ended(&run_of(&daemon.hook(&event).json(), agent));
        assert!(
            run["exit"]["class"].to_string().contains("success"),
            "{run}"
        );
        if agent == "next" {
            let branch = run["branch"].as_str().expect("a branch");
            let file = site.path("repo/.git/refs/heads").join(branch);
            assert!(
                file.is_file(),
                "its commit is on its branch: {}",
                file.display()
            );
        }
    }
    assert!(site.path("repo/trap").exists(), "it was poisoned");
    assert!(!site.path("repo/trap.ran").exists());
}

/// Y11: a check that works in the project's directory gets the head by its name there, and the
/// status names the commit.
#[test]
fn y11_a_status_says_which_commit_was_built() {
    let forge = Forge::start();
    let agents = "[pr_dispatch]\nproject = \"main\"\nagents = [{ agent = \"named\", context = \"orch/build\" }, \
        { agent = \"wrong\", context = \"orch/wrong\" }, { agent = \"plain\", context = \"orch/plain\" }]\n\
        [[agents]]\nproject = \"main\"\nname = \"named\"\ncli = \"sh\"\n\
        script = \"git cat-file -e $ORCH_HEAD_SHA; echo build-dispatch: files of commit $ORCH_HEAD_SHA\"\n\
        [[agents]]\nproject = \"main\"\nname = \"wrong\"\ncli = \"sh\"\n\
        script = \"echo build-dispatch: files of the directory, on commit $(git rev-parse HEAD)\"\n\
        [[agents]]\nproject = \"main\"\nname = \"plain\"\ncli = \"sh\"\nscript = \"exit 3\"\n";
    let site = Site::new("", &format!("{}[mentions]\n{agents}", forge.table()));
    let daemon = site.start();
    let sha = site.commit("one");
    let reply = daemon.hook(&pull("opened", 3, &sha)).json();
    for (_, run) in runs_of(&reply) {
        daemon.ended(&run);
    }
    wait_until("the statuses", || {
        ["orch/build", "orch/wrong", "orch/plain"]
            .iter()
            .all(|context| {
                forge
                    .state(&sha, context)
                    .is_some_and(|state| state != "pending")
            })
    });
    let said = |context: &str| {
        let state = forge.state(&sha, context).unwrap_or_default();
        format!(
            "{state}: {}",
            forge.description(context).unwrap_or_default()
        )
    };
    let short = &sha[..7];
    assert!(
        said("orch/build").starts_with("success") && said("orch/build").contains(short),
        "{}",
        said("orch/build")
    );
    assert!(
        said("orch/wrong").starts_with("error"),
        "{}",
        said("orch/wrong")
    );
    assert!(
        said("orch/plain").contains("exit code 3"),
        "Y12: {}",
        said("orch/plain")
    );
}
