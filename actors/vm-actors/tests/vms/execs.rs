//! Commands and files.

use bytes::Bytes;
use tokio::sync::mpsc;
use vm_actors::VmSettings;
use vm_actors::log::LEAST_LOG;
use vm_actors::messages::{GetFiles, KillExec, PutFiles, TarPart, VmFailure};
use vm_core::guest::FailureKind;
use vm_core::{ExecEnd, ExecState, VmState};

use crate::common::{Running, brisk, followed, run};
use crate::scripted::Lab;

#[test]
fn commands_run_and_an_exit_code_is_never_made_up() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        let vm = running.created().await;
        let echo = running.exec(&vm, &["echo", "hello"]).await.unwrap();
        let told = followed(&running.record(&vm, &echo)).await;
        assert_eq!(told, (b"hello".to_vec(), 0, ExecEnd::Exited { code: 0 }));
        let seven = running.exec(&vm, &["exit", "7"]).await.unwrap();
        let told = followed(&running.record(&vm, &seven)).await;
        assert_eq!(told.2, ExecEnd::Exited { code: 7 });
        let view = running.record(&vm, &seven).view();
        assert_eq!((view.state, view.exit_code), (ExecState::Exited, Some(7)));
        running.stop().await;
    });
}

#[test]
fn a_vm_is_busy_while_something_runs_and_a_kill_ends_it() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        let vm = running.created().await;
        let sleep = running.exec(&vm, &["sleep"]).await.unwrap();
        assert_eq!(running.entry(&vm).state(), VmState::Busy);
        let view = running.record(&vm, &sleep).view();
        assert_eq!((view.state, view.exit_code), (ExecState::Running, None));
        let actor = running.vm(&vm);
        actor
            .ask(KillExec::now(sleep.clone()))
            .await
            .unwrap()
            .unwrap();
        let told = followed(&running.record(&vm, &sleep)).await;
        assert_eq!(told.2, ExecEnd::Killed);
        running
            .until(&vm, |state| state == Some(VmState::Ready))
            .await;
        actor.ask(KillExec::now(sleep)).await.unwrap().unwrap();
        let unknown = "ex-99".parse().unwrap();
        let refused = actor
            .ask(KillExec::now(unknown))
            .await
            .unwrap()
            .unwrap_err();
        assert!(matches!(refused, VmFailure::UnknownExec(_)), "{refused}");
        running.stop().await;
    });
}

#[test]
fn r10_a_flood_is_held_back_for_who_reads_and_cut_for_who_does_not() {
    run(async {
        let settings = VmSettings {
            log_bytes: LEAST_LOG,
            ..brisk()
        };
        let running = Running::start(&Lab::new(), settings).await;
        let vm = running.created().await;
        let total = 40_000_000;
        let read = running.exec(&vm, &["flood", "40000000"]).await.unwrap();
        let record = running.record(&vm, &read);
        let (output, lost, end) = followed(&record).await;
        assert_eq!(end, ExecEnd::Exited { code: 0 });
        assert_eq!(output.len() as u64 + lost, total);
        assert!(record.log.sizes().0 <= LEAST_LOG);
        let unread = running.exec(&vm, &["flood", "40000000"]).await.unwrap();
        running
            .until(&vm, |state| state == Some(VmState::Ready))
            .await;
        let (kept, lost) = running.record(&vm, &unread).log.sizes();
        assert!(kept <= LEAST_LOG, "{kept}");
        assert_eq!(kept as u64 + lost, total);
        assert_eq!(running.record(&vm, &unread).view().dropped_bytes, lost);
        running.stop().await;
    });
}

#[test]
fn r11_no_more_commands_at_once_than_allowed() {
    run(async {
        let settings = VmSettings {
            max_execs: 2,
            ..brisk()
        };
        let running = Running::start(&Lab::new(), settings).await;
        let vm = running.created().await;
        running.exec(&vm, &["sleep"]).await.unwrap();
        running.exec(&vm, &["sleep"]).await.unwrap();
        let refused = running.exec(&vm, &["sleep"]).await.unwrap_err();
        assert_eq!(refused, VmFailure::Busy(2));
        running.stop().await;
    });
}

#[test]
fn tars_go_in_and_come_out_and_one_that_breaks_off_is_an_error() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        let vm = running.created().await;
        let actor = running.vm(&vm);
        let put = |path: &str, parts: Vec<TarPart>| {
            let (send, tar) = mpsc::channel(8);
            for part in parts {
                send.try_send(part).unwrap();
            }
            let path = path.to_owned();
            actor.ask(PutFiles { path, tar })
        };
        let data = TarPart::Data(Bytes::from_static(b"a tar"));
        let whole = put("/workspace", vec![data.clone(), TarPart::End]).await;
        assert_eq!(whole.unwrap().unwrap().bytes, 5);
        let broken = put("/other", vec![data.clone()])
            .await
            .unwrap()
            .unwrap_err();
        assert!(matches!(broken, VmFailure::Upload(_)), "{broken}");
        let climbs = put("/a/../b", vec![data, TarPart::End]).await;
        let climbs = climbs.unwrap().unwrap_err();
        assert!(
            matches!(
                climbs,
                VmFailure::Guest {
                    kind: FailureKind::Forbidden,
                    ..
                }
            ),
            "{climbs}"
        );
        for (path, wanted) in [("/workspace", Ok(b"a tar".to_vec())), ("/none", Err(()))] {
            let (tar, mut parts) = mpsc::channel(1);
            let path = path.to_owned();
            actor.ask(GetFiles { path, tar }).await.unwrap().unwrap();
            let mut got = Vec::new();
            let end = loop {
                match parts.recv().await.expect("a word at the end") {
                    Ok(TarPart::Data(bytes)) => got.extend_from_slice(&bytes),
                    Ok(TarPart::End) => break Ok(got),
                    Err(_) => break Err(()),
                }
            };
            assert_eq!(end, wanted);
        }
        running.stop().await;
    });
}
