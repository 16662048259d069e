//! What stands before a job's first step: images, the engine, services, the job's own container.

use std::time::Duration;

use http_clients::vmm::PROXY_SOCKET;
use runner_core::container::engine::{BindMount, ContainerState, JobContainer, Launch, inspected};
use runner_core::container::ports::{self, PortMapping, PortRequest};
use runner_core::container::{ContainerRequest, Credentials, ImageReference, container, services};
use runner_core::context::{OWN_DIRECTORY, RUNNER_WORKSPACE, WORKSPACE};
use runner_core::expr::{ExprScope, ExprValue};
use runner_core::hosted_label::calls_docker;
use runner_core::plan::{DockerAction, PlannedStep};
use runner_core::state::StepEnd;

use super::super::container_files::ENGINE;
use super::super::container_state::{
    CONTAINER_HOME, CONTAINER_WORKFLOW, HOME, RunningService, UNABLE,
};
use super::super::execute::ProcessExit;
use super::super::frame::Frame;
use super::super::step_runner::StepRunner;
use super::docker_actions;
use crate::log::LineKind;

/// Longest time in which nothing of a job's images goes into the VM.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(1800);
/// The variable of a job that names images for its scripts.
const SCRIPT_IMAGES: &str = "ORRERY_IMAGES";
/// Lines that are shown of what a container has printed.
const LOG_LINES: &str = "1000";
/// The name of the container that a job's steps run in.
const JOB: &str = "job";

/// What a job asks for, evaluated.
struct RequestedContainers {
    container: Option<ContainerRequest>,
    services: Vec<(String, ContainerRequest)>,
    images: Vec<ImageReference>,
    /// Whether any step is a container.
    builds: bool,
}

impl RequestedContainers {
    /// What the workflow gives for a registry.
    fn credentials(&self, image: &ImageReference) -> Option<&Credentials> {
        let services = self.services.iter().map(|(_, request)| request);
        let mut all = services.chain(&self.container);
        all.find(|request| request.image == *image)?
            .credentials
            .as_ref()
    }
}

impl StepRunner<'_> {
    /// Starts everything, and waits until services are ready.
    ///
    /// # Errors
    /// Why the job cannot begin.
    pub(in super::super) async fn start_containers(
        &mut self,
        steps: &[PlannedStep],
        frame: &Frame,
    ) -> Result<(), String> {
        let mut wanted = self.requested_containers(steps, frame)?;
        // A Dockerfile that builds on nothing needs the engine all the same.
        let needed = !wanted.images.is_empty() || wanted.builds;
        let scripts = self.script_images().await;
        let calls = calls_docker(steps) || self.names_script_images();
        if !needed && !calls {
            return Ok(());
        }
        self.put_engine().await?;
        if calls {
            self.engine(["install"]).await;
        }
        if !needed && !self.can_have_containers().await {
            // Its script finds no `docker`, and says so.
            return Ok(());
        }
        wanted.images.extend(scripts);
        wanted.images.sort();
        wanted.images.dedup();
        self.start_engine().await?;
        self.put_images(&wanted).await?;
        let mut requests: Vec<Vec<PortRequest>> = Vec::new();
        let of_services = wanted.services.iter().map(|(_, request)| request);
        requests.extend(of_services.clone().map(|request| request.ports.clone()));
        requests.extend(wanted.container.iter().map(|request| request.ports.clone()));
        let ports = ports::assign(&requests)?;
        for note in of_services
            .chain(&wanted.container)
            .flat_map(|request| &request.options.notes)
        {
            self.log.line(0, LineKind::Warning, note).await;
        }
        self.name_members(&wanted).await?;
        for (at, (name, request)) in wanted.services.iter().enumerate() {
            self.start_service(name, request, &ports[at]).await?;
        }
        self.wait_until_healthy().await?;
        if let Some(request) = &wanted.container {
            let ports = ports.last().map_or(&[][..], Vec::as_slice);
            self.start_job_container(request, ports).await?;
        }
        Ok(())
    }

    /// The engine and images of an action that an earlier step has put into the workspace.
    pub(super) async fn start_late(&mut self, action: &DockerAction) -> Result<(), String> {
        if self.containers.ready {
            return Ok(());
        }
        let images = action.images.iter();
        let images: Result<Vec<_>, _> = images.map(|name| name.parse()).collect();
        let wanted = RequestedContainers {
            container: None,
            services: Vec::new(),
            images: images.map_err(|error| format!("{error}"))?,
            builds: true,
        };
        self.put_engine().await?;
        self.start_engine().await?;
        self.put_images(&wanted).await
    }

    fn requested_containers(
        &self,
        steps: &[PlannedStep],
        frame: &Frame,
    ) -> Result<RequestedContainers, String> {
        let planned = &self.request.plan.jobs[self.request.job];
        let contexts = self.contexts(frame, &[]);
        let scope = ExprScope::new(&contexts);
        let value = |data: &Option<runner_core::source_location::Located<_>>| {
            let data: Option<&runner_core::expr::Data> = data.as_ref().map(|it| &it.value);
            data.map(|data| data.value(&scope)).transpose()
        };
        let of_job = value(&planned.job.container).map_err(|it| format!("container: {it}"))?;
        let beside = value(&planned.job.services).map_err(|it| format!("services: {it}"))?;
        let of_job = of_job.map(|value| container(&value)).transpose()?.flatten();
        // A runner of Forgejo has an image for each label: `docker:docker://node:22-bookworm`.
        let of_label = self
            .request
            .placement
            .machine
            .container
            .as_deref()
            .map(ExprValue::text);
        let of_job = match (of_job, of_label) {
            (None, Some(image)) => container(&image)?,
            (of_job, _) => of_job,
        };
        let beside = beside.map(|value| services(&value)).transpose()?;
        let beside = beside.unwrap_or_default();
        let mut images: Vec<ImageReference> = Vec::new();
        images.extend(of_job.iter().map(|request| request.image.clone()));
        images.extend(beside.iter().map(|(_, request)| request.image.clone()));
        let mut actions = Vec::new();
        docker_actions(steps, &mut actions);
        for name in actions.iter().flat_map(|action| &action.images) {
            images.push(name.parse().map_err(|error| format!("{error}"))?);
        }
        // What scripts are to have beside: `docker` of a script fetches nothing from the store.
        let named = self
            .variables
            .env
            .iter()
            .find(|(name, _)| name == SCRIPT_IMAGES);
        for name in named.iter().flat_map(|(_, names)| names.split_whitespace()) {
            images.push(
                name.parse()
                    .map_err(|error| format!("{SCRIPT_IMAGES}: {error}"))?,
            );
        }
        Ok(RequestedContainers {
            container: of_job,
            services: beside,
            images,
            builds: !actions.is_empty(),
        })
    }

    async fn put_engine(&mut self) -> Result<(), String> {
        let directory = format!("{OWN_DIRECTORY}/containers");
        let files = ENGINE.map(|(name, text)| (name, text.as_bytes(), 0o755));
        self.put(&directory, &files).await
    }

    /// Whether the machine's image has an engine.
    async fn can_have_containers(&mut self) -> bool {
        self.engine(["usable"]).await.end == StepEnd::Exited(0)
    }

    async fn start_engine(&mut self) -> Result<(), String> {
        let exit = self.engine(["start"]).await;
        match exit.end {
            StepEnd::Exited(0) => {
                self.containers.ready = true;
                Ok(())
            }
            StepEnd::Exited(UNABLE) => Err(
                "the machine of this job cannot have containers (the lines above say what is missing): use one with the image `full` (`vm-manager image build full`)".to_owned(),
            ),
            _ => Err(failed("the container engine could not be started", exit)),
        }
    }

    /// Fetches what is missing, where that is allowed, and puts all of it into the machine.
    async fn put_images(&mut self, wanted: &RequestedContainers) -> Result<(), String> {
        let store = self.request.stores.images.clone();
        for reference in &wanted.images {
            if store.find(reference).is_ok() || !store.allows(reference) {
                continue;
            }
            let name = reference.familiar();
            self.log
                .info(0, &format!("fetching the image {name}"))
                .await;
            let pull = async {
                let pulled = store.pull(reference, wanted.credentials(reference)).await;
                pulled.map_err(|error| error.to_string())
            };
            self.unless_cancelled(pull).await?;
        }
        let references = wanted.images.clone();
        let images = tokio::task::spawn_blocking(move || store.machine_images(&references)).await;
        let images = images.map_err(|error| error.to_string())??;
        for (name, digest) in &images.digests {
            self.log.info(0, &format!("image {name} is {digest}")).await;
        }
        let (vmm, vm) = (&self.machine.vmm, &self.machine.id);
        let store = runner_core::container::stored::MACHINE_STORE;
        let put = async {
            let _transfer = self.machine.transfer().await;
            let put = vmm.put_files(vm, store, images.tar(), UPLOAD_TIMEOUT);
            put.await
                .map_err(|error| format!("the images could not be put into the VM: {error}"))
        };
        self.unless_cancelled(put).await?;
        let exit = self.engine(["images"]).await;
        succeeded("the images could not be unpacked in the VM", exit)
    }

    /// Gives every container its address: all names are known before the first one starts, to the
    /// containers of scripts as well.
    async fn name_members(&mut self, wanted: &RequestedContainers) -> Result<(), String> {
        let services = wanted.services.iter();
        let services = services.map(|(name, request)| {
            let mut aliases = vec![name.clone()];
            aliases.extend(request.options.aliases.iter().cloned());
            (format!("service-{}", name.to_ascii_lowercase()), aliases)
        });
        let job = wanted.container.iter().map(|request| {
            let mut aliases = vec![JOB.to_owned()];
            aliases.extend(request.options.aliases.iter().cloned());
            (JOB.to_owned(), aliases)
        });
        let members = services
            .chain(job)
            .zip(2u8..)
            .map(|((name, aliases), number)| JobContainer {
                name,
                number,
                aliases,
            });
        self.containers.members = members.collect();
        let names = self.containers.members.iter().flat_map(|member| {
            let aliases = member.aliases.iter();
            aliases.map(|alias| format!("{alias}:{}", member.address()))
        });
        let names: Vec<String> = names.collect();
        let words = ["hosts"].into_iter();
        let exit = self
            .engine(words.chain(names.iter().map(String::as_str)))
            .await;
        succeeded("the names of containers could not be written", exit)
    }

    /// Whether the job says which images its scripts are to have.
    fn names_script_images(&self) -> bool {
        self.variables
            .env
            .iter()
            .any(|(name, _)| name == SCRIPT_IMAGES)
    }

    /// The images that scripts name, as far as the runner has them or may fetch them. The others
    /// are left to the machine's network, or are built before they are used.
    async fn script_images(&mut self) -> Vec<ImageReference> {
        let planned = &self.request.plan.jobs[self.request.job];
        let names = planned.script_images.iter();
        let named: Vec<ImageReference> = names.filter_map(|name| name.parse().ok()).collect();
        let store = self.request.stores.images.clone();
        let (there, missing): (Vec<_>, Vec<_>) = named
            .into_iter()
            .partition(|image| store.find(image).is_ok() || store.allows(image));
        for image in missing {
            let text = format!(
                "a script names the image {image}, which is not in the runner's store (`workflow-runner images add {image}`)",
                image = image.familiar()
            );
            self.log.info(0, &text).await;
        }
        there
    }

    async fn start_service(
        &mut self,
        name: &str,
        request: &ContainerRequest,
        ports: &[PortMapping],
    ) -> Result<(), String> {
        let image = request.image.familiar();
        self.log.info(0, &format!("service {name}: {image}")).await;
        let member_name = format!("service-{}", name.to_ascii_lowercase());
        let member = self.member(&member_name);
        let launch = Launch {
            request,
            member: &member,
            members: &self.containers.members,
            mounts: &[],
            env: &[],
        };
        let words = launch.service();
        let what = format!("the service {name}");
        let found = self
            .start_container(&what, "create", &member, words)
            .await?;
        self.forward(&member, ports).await?;
        self.containers.services.push(RunningService {
            name: name.to_owned(),
            id: found.id.clone(),
            member: member.clone(),
            ports: ports.to_vec(),
        });
        if !found.running {
            self.show_logs(&member).await;
            return Err(format!("{what} ended at once, with {}", found.exit_code));
        }
        self.watch(found);
        Ok(())
    }

    async fn start_job_container(
        &mut self,
        request: &ContainerRequest,
        ports: &[PortMapping],
    ) -> Result<(), String> {
        let image = request.image.familiar();
        let text = format!("steps run in a container of {image}");
        self.log.info(0, &text).await;
        let member = self.member(JOB);
        let folder = PROXY_SOCKET.rsplit_once('/').map_or("/", |(it, _)| it);
        let mounts = [
            BindMount::new(WORKSPACE, WORKSPACE),
            BindMount::new(WORKSPACE, "/__w"),
            BindMount::new(RUNNER_WORKSPACE, RUNNER_WORKSPACE),
            BindMount::new(OWN_DIRECTORY, OWN_DIRECTORY),
            BindMount::new(HOME, CONTAINER_HOME),
            BindMount::new(OWN_DIRECTORY, CONTAINER_WORKFLOW),
            BindMount::new(folder, folder),
        ];
        let env = [
            ("CI".to_owned(), "true".to_owned()),
            ("GITHUB_ACTIONS".to_owned(), "true".to_owned()),
        ];
        let launch = Launch {
            request,
            member: &member,
            members: &self.containers.members,
            mounts: &mounts,
            env: &env,
        };
        let words = launch.job(WORKSPACE);
        let what = "the job's container";
        let found = self.start_container(what, JOB, &member, words).await?;
        if !found.running {
            self.show_logs(&member).await;
            let code = found.exit_code;
            return Err(format!(
                "{what} ended at once, with {code}: it needs `tail`"
            ));
        }
        self.forward(&member, ports).await?;
        self.containers.job = Some(found);
        Ok(())
    }

    /// A network for it, the container itself, and what the engine says of it. The first two of
    /// `words` are `podman create`.
    async fn start_container(
        &mut self,
        what: &str,
        command: &str,
        member: &JobContainer,
        words: Vec<String>,
    ) -> Result<ContainerState, String> {
        self.join(member).await?;
        let words = words.iter().skip(2).map(String::as_str);
        let exit = self.engine([command].into_iter().chain(words)).await;
        succeeded(&format!("{what} could not be made"), exit)?;
        let exit = self.engine(["begin", &member.name]).await;
        succeeded(&format!("{what} could not be started"), exit)?;
        self.inspect(&member.name).await
    }

    /// A network namespace for a container.
    pub(super) async fn join(&mut self, member: &JobContainer) -> Result<(), String> {
        let number = member.number.to_string();
        let exit = self.engine(["join", &member.name, &number]).await;
        succeeded("a container could not be given a network", exit)
    }

    pub(super) async fn inspect(&mut self, name: &str) -> Result<ContainerState, String> {
        let exit = self.engine(["inspect", name]).await;
        succeeded("the container engine does not answer", exit)?;
        let directory = format!("{OWN_DIRECTORY}/containers/inspect");
        let files = self.fetch_small(&directory).await?;
        let text = |kind: &str| {
            let file = format!("{name}.{kind}");
            let found = files.iter().find(|(name, _)| *name == file);
            let (_, bytes) = found.ok_or("the container engine said nothing")?;
            Ok::<_, String>(String::from_utf8_lossy(bytes).into_owned())
        };
        inspected(&text("json")?, &text("runtime.json")?)
    }

    async fn forward(
        &mut self,
        member: &JobContainer,
        ports: &[PortMapping],
    ) -> Result<(), String> {
        for port in ports {
            let kind = if port.udp { "UDP" } else { "TCP" };
            let (host, inner) = (port.host.to_string(), port.container.to_string());
            let address = member.address();
            let exit = self
                .engine(["forward", kind, &host, &address, &inner])
                .await;
            succeeded("a port could not be opened", exit)?;
        }
        Ok(())
    }

    fn member(&self, name: &str) -> JobContainer {
        let mut members = self.containers.members.iter();
        let found = members.find(|member| member.name == name);
        found.cloned().expect("every container was named before")
    }

    /// What a container has printed last.
    pub(super) async fn show_logs(&mut self, member: &JobContainer) {
        let name = &member.name;
        let argv = ["run", "podman", "logs", "--tail", LOG_LINES, name];
        let _ = self.engine(argv).await;
    }
}

/// What a command of the engine failed with.
pub(super) fn failed(what: &str, exit: ProcessExit) -> String {
    match exit.reason {
        Some(reason) => format!("{what}: {reason}"),
        None => what.to_owned(),
    }
}

pub(super) fn succeeded(what: &str, exit: ProcessExit) -> Result<(), String> {
    if exit.end == StepEnd::Exited(0) {
        return Ok(());
    }
    Err(failed(what, exit))
}
