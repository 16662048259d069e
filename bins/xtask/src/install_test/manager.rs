//! The project's own VM manager, started for the test, and what is asked of it: by curl, which this
//! program needs for nothing else and every machine that builds has.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::{shell, terminal};

/// How long the manager and a VM may take to begin.
const START_TIMEOUT: Duration = Duration::from_secs(300);

/// A manager on a port of its own; dropped, it and its VMs are gone.
#[derive(Debug)]
pub(super) struct Manager {
    process: Child,
    address: String,
    token: PathBuf,
    log: PathBuf,
}

impl Manager {
    /// The image of the recipe, and a kernel: made where the folder has none yet.
    ///
    /// # Errors
    /// When mmdebstrap fails.
    pub(super) fn prepare(program: &Path, guest: &Path, data: &Path, recipe: &Path) -> Result<()> {
        fs::create_dir_all(data)?;
        fs::set_permissions(data, fs::Permissions::from_mode(0o700))?;
        let made_of = data.join("recipe.toml");
        let text = fs::read_to_string(recipe)?;
        let mut command = command(program, guest, data);
        shell::run(command.args(["image", "kernel"]))?;
        if fs::read_to_string(&made_of).is_ok_and(|former| former == text) {
            return Ok(());
        }
        let mut command = self::command(program, guest, data);
        shell::run(command.args(["image", "build"]).arg(recipe))?;
        Ok(fs::write(made_of, text)?)
    }

    /// Starts it.
    ///
    /// # Errors
    /// When it does not become ready.
    pub(super) fn start(program: &Path, guest: &Path, data: &Path, work: &Path) -> Result<Self> {
        let config = work.join("vm-manager.toml");
        // One machine that lives once: nothing is to be cloned. On a busy machine it is slow.
        let text = "[capacity]\nmemory = \"4GiB\"\n[deadlines]\nboot = \"240s\"\nsilence = \"240s\"\n\
                    [pool]\nclones = 0\ntemplates = 0\n";
        fs::write(&config, text)?;
        let token = work.join("authorization");
        let mut ask = command(program, guest, data);
        let asked = shell::quiet(ask.args(["token", "--lifetime", "12h"]))?;
        ensure!(asked.status.success(), "vm-manager token: {}", asked.err);
        fs::write(
            &token,
            format!("Authorization: Bearer {}\n", asked.out.trim()),
        )?;
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600))?;
        let log = work.join("vm-manager.log");
        let mut serve = command(program, guest, data);
        serve.arg("--config").arg(&config);
        serve.args(["--listen", "127.0.0.1:0", "--log-format", "json", "serve"]);
        let process = serve
            .stdout(File::create(&log)?)
            .stderr(File::options().append(true).open(&log)?)
            .spawn()
            .context("the VM manager cannot be started")?;
        let mut manager = Self {
            process,
            address: String::new(),
            token,
            log,
        };
        manager.address = manager.wait("it does not listen", Self::listening)?;
        manager.wait("it is not ready", |own| {
            let mut curl = own.curl("/readyz");
            let status = shell::quiet(&mut curl).ok()?.status;
            status.success().then_some(())
        })?;
        Ok(manager)
    }

    /// Orders a VM; gives its id.
    ///
    /// # Errors
    /// When none is given out.
    pub(super) fn order(&self) -> Result<String> {
        let wanted = json!({ "vcpus": 2, "mem_mib": 2048, "disk_mib": 8192, "lease_s": 7200 });
        let key = format!("Idempotency-Key: install-{}", std::process::id());
        let mut curl = self.curl("/vms");
        curl.args(["-H", &key]);
        let vm = answer(post(&mut curl, &wanted))?;
        let id = vm["id"].as_str();
        Ok(id.with_context(|| format!("no VM: {vm}"))?.to_owned())
    }

    /// Puts a folder's content into a folder of the VM.
    ///
    /// # Errors
    /// When it is refused.
    pub(super) fn upload(&self, vm: &str, folder: &Path, place: &str) -> Result<()> {
        let tar = folder.with_extension("tar");
        let mut pack = shell::command("tar", folder);
        shell::run(pack.arg("-cf").arg(&tar).arg("."))?;
        let mut curl = self.curl(&format!("/vms/{vm}/files?path={place}"));
        curl.args(["-X", "PUT", "-H", "Content-Type: application/x-tar", "-T"]);
        answer(curl.arg(&tar))?;
        Ok(fs::remove_file(tar)?)
    }

    /// Runs a command in the VM and gives each line that it writes to `line`; the exit code, where
    /// there is one.
    ///
    /// # Errors
    /// When it cannot be started, or the manager does not say how it ended.
    pub(super) fn exec(
        &self,
        vm: &str,
        argv: &[&str],
        line: &mut dyn FnMut(&str),
    ) -> Result<Option<i64>> {
        let mut curl = self.curl(&format!("/vms/{vm}/exec"));
        let started = answer(post(&mut curl, &json!({ "argv": argv, "cwd": "/" })))?;
        let id = started["exec_id"].as_str();
        let id = id.with_context(|| format!("nothing was started: {started}"))?;
        let mut follow = self.curl(&format!("/vms/{vm}/exec/{id}?follow=1"));
        let mut child = follow.arg("--no-buffer").stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().context("it was piped")?;
        let mut partial = String::new();
        let mut end = None;
        for entry in BufReader::new(out).lines() {
            let entry: Value = serde_json::from_str(&entry?)?;
            if let Some(text) = entry["data"].as_str() {
                partial += text;
                while let Some((whole, rest)) = partial.split_once('\n') {
                    line(whole);
                    partial = rest.to_owned();
                }
            } else if entry["state"].is_string() {
                end = Some(entry);
            }
        }
        child.wait()?;
        line(&partial);
        let end = end.context("the manager did not say how it ended")?;
        Ok(end["exit_code"].as_i64())
    }

    fn listening(&self) -> Option<String> {
        let log = fs::read_to_string(&self.log).ok()?;
        let event = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .find(|event| event["event"] == "server.listening")?;
        Some(event["url"].as_str()?.trim_end_matches('/').to_owned())
    }

    fn wait<T>(&mut self, what: &str, probe: impl Fn(&Self) -> Option<T>) -> Result<T> {
        let begun = Instant::now();
        loop {
            if let Some(found) = probe(self) {
                return Ok(found);
            }
            let gone = self.process.try_wait()?.is_some();
            if gone || begun.elapsed() > START_TIMEOUT {
                bail!("the VM manager: {what}; its log: {}", self.log.display());
            }
            // There is nothing that could be waited for.
            std::thread::park_timeout(Duration::from_millis(200));
        }
    }

    fn curl(&self, path: &str) -> Command {
        let mut curl = shell::command("curl", Path::new("/"));
        curl.args(["--silent", "--show-error", "--fail-with-body", "-H"]);
        curl.arg(format!("@{}", self.token.display()));
        curl.arg(format!("{}{path}", self.address));
        curl
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // Asked to end, it ends its VMs first.
        let pid = rustix::process::Pid::from_child(&self.process);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            if matches!(self.process.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(100));
        }
        terminal::line("the VM manager does not end: it is killed");
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(program: &Path, guest: &Path, data: &Path) -> Command {
    let mut command = shell::command(&program.to_string_lossy(), Path::new("/"));
    command.arg("--data").arg(data).arg("--agent").arg(guest);
    command
}

fn post<'a>(curl: &'a mut Command, body: &Value) -> &'a mut Command {
    curl.args(["-X", "POST", "-H", "Content-Type: application/json", "-d"])
        .arg(body.to_string())
}

fn answer(curl: &mut Command) -> Result<Value> {
    let said = shell::quiet(curl)?;
    ensure!(said.status.success(), "the VM manager: {}", said.text());
    Ok(serde_json::from_str(&said.out)?)
}
