//! `reload`: a runner that serves reads its settings again.

use std::process::ExitCode;

use config_core::Environment;
use http_clients::http::{Method, Request};
use runner_actors::SettingsReport;

use crate::runner_api::{RunnerApi, print_result};
use crate::runner_options::RunnerOptions;

/// Has the runner read its settings again, and prints what it says.
pub(crate) fn run(options: &RunnerOptions, environment: &Environment) -> ExitCode {
    let reloaded = RunnerApi::from_options(options, environment).and_then(|api| {
        let answer = api.ask(Request::new(Method::Post, api.url("admin/reload")?))?;
        Ok(reload_lines(&serde_json::from_value(answer)?))
    });
    print_result(reloaded)
}

/// A line for each thing that is not as it was.
fn reload_lines(report: &SettingsReport) -> String {
    let hosts = &report.vm_hosts;
    let lines = [
        (&hosts.added, "vm_hosts", "is new: it is asked for VMs"),
        (&hosts.changed, "vm_hosts", "has changed"),
        (
            &hosts.removed,
            "vm_hosts",
            "is listed no more: it takes no new jobs",
        ),
    ];
    let mut text = String::new();
    for (names, table, what) in lines {
        for name in names {
            text += &format!("{table}.{name} {what}\n");
        }
    }
    for key in &report.at_restart {
        text += &format!("{key} changes at a restart\n");
    }
    match text.is_empty() {
        true => "nothing has changed\n".to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use runner_actors::HostChanges;

    use super::*;

    #[test]
    fn i18_what_was_reloaded_is_told_by_name() {
        let none = SettingsReport::default();
        assert_eq!(reload_lines(&none), "nothing has changed\n");
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let some = SettingsReport {
            vm_hosts: HostChanges {
                added: names(&["west"]),
                changed: names(&["east"]),
                removed: names(&["north"]),
            },
            at_restart: names(&["max_jobs"]),
        };
        assert_eq!(
            reload_lines(&some),
            "vm_hosts.west is new: it is asked for VMs\nvm_hosts.east has changed\n\
             vm_hosts.north is listed no more: it takes no new jobs\n\
             max_jobs changes at a restart\n"
        );
    }
}
