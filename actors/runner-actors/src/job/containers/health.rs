//! Waiting for services: each is asked by its health check until it is ready.

use runner_core::container::engine::{self, ContainerState};
use runner_core::container::health::ContainerHealth;
use runner_core::state::StepEnd;

use super::super::container_state::{WatchedService, engine_command};
use super::super::step_runner::StepRunner;

impl StepRunner<'_> {
    /// The service that was started last is waited for.
    pub(super) fn watch(&mut self, found: ContainerState) {
        let watched = WatchedService::new(found);
        self.containers.watched.extend(watched);
    }

    /// Waits for all services that have a health check.
    ///
    /// # Errors
    /// Which one failed; what it printed is in the log.
    pub(super) async fn wait_until_healthy(&mut self) -> Result<(), String> {
        let mut watched = std::mem::take(&mut self.containers.watched);
        while let Some(mut service) = watched.pop() {
            let name = self.service_name(&service.found.id);
            loop {
                if self.is_cancelled() {
                    return Err("cancelled while its services started".to_owned());
                }
                let succeeded = self.is_healthy(&service).await?;
                let elapsed = service.since.elapsed();
                match service.watch.observe(elapsed, succeeded) {
                    ContainerHealth::Healthy => {
                        self.log
                            .info(0, &format!("service {name} is healthy"))
                            .await;
                        break;
                    }
                    ContainerHealth::Starting(pause) => {
                        self.still_runs(&name, &service.found.id).await?;
                        tokio::time::sleep(pause).await;
                    }
                    ContainerHealth::Unhealthy => {
                        let text = "its health check failed too often; what it printed is above";
                        return Err(self.lost_service(&name, text).await);
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs the check once, as the container's user and with its variables.
    async fn is_healthy(&mut self, service: &WatchedService) -> Result<bool, String> {
        let env = service.found.env.iter();
        let env = env.map(|(name, value)| (&**name, &**value));
        let place = (&*service.found.id, Some(&*service.found.user));
        let words = engine::exec(place, "/", env, &service.argv, false);
        let mut argv = engine_command(["quiet"]);
        argv.extend(words);
        match self.command(argv).await {
            exit if exit.end == StepEnd::Lost => Err(exit.reason.unwrap_or_default()),
            exit => Ok(exit.end == StepEnd::Exited(0)),
        }
    }

    async fn still_runs(&mut self, name: &str, id: &str) -> Result<(), String> {
        let exit = self.engine(["alive", id]).await;
        if exit.end == StepEnd::Exited(0) {
            return Ok(());
        }
        Err(self
            .lost_service(name, "it ended; what it printed is above")
            .await)
    }

    async fn lost_service(&mut self, name: &str, why: &str) -> String {
        let mut services = self.containers.services.iter();
        let member = services.find(|service| service.name == name);
        if let Some(member) = member.map(|service| service.member.clone()) {
            self.show_logs(&member).await;
        }
        format!("the service {name} is not ready: {why}")
    }

    fn service_name(&self, id: &str) -> String {
        let mut services = self.containers.services.iter();
        let found = services.find(|service| service.id == id);
        found.map_or_else(String::new, |service| service.name.clone())
    }
}
