//! What jobs do to runs by the forge's REST API: they start, repeat and end them.

use serde_json::{Map, Value, json};

use super::forge::refusal;
use super::gateway_request::GatewayAnswer;
use super::listing::{empty, json_answer};
use super::runs_backend::{JobDispatch, JobRepeat};
use super::workflow_runs::{ForgeRunsQuery, RunsResponse};
use crate::records::RunRecord;
use crate::run_shape::run_number;

/// Inputs of a dispatch, as on GitHub.
const MAX_INPUTS: usize = 25;
/// Attempts of a run, as on GitHub.
const MAX_ATTEMPTS: u64 = 50;

impl ForgeRunsQuery<'_> {
    pub(super) async fn cancel(&self, named: &str) -> RunsResponse {
        let Some(run) = self.newest(named).await? else {
            return Ok(None);
        };
        if run.state.is_terminal() {
            let message = "Cannot cancel a workflow run that is completed.";
            return Err(refusal(409, message));
        }
        let own = &self.session.grant;
        let (job, of) = (config_core::quoted(&own.job), run_number(&own.run));
        let reason = format!("the job {job} of run {of} asked for it");
        if !self.runs.control.cancel(run.id, reason).await? {
            return Err(refusal(409, "the run is just being started; try again"));
        }
        Ok(Some(accepted(202)))
    }

    pub(super) async fn repeat(
        &self,
        run: &RunRecord,
        failed_only: bool,
        job: Option<String>,
    ) -> RunsResponse {
        if run.attempt >= MAX_ATTEMPTS {
            let message = format!("the run has {MAX_ATTEMPTS} attempts, and is not run again");
            return Err(refusal(403, message));
        }
        let asked = JobRepeat {
            run: run.id.clone(),
            failed_only,
            job,
        };
        self.runs.control.repeat(asked).await?;
        Ok(Some(accepted(201)))
    }

    pub(super) async fn dispatch(&self, named: &str, body: &Value) -> RunsResponse {
        let (reference, inputs) = dispatch_of(body).map_err(|message| refusal(422, message))?;
        // A number is looked up; a file may be on the other branch alone.
        let is_number = named.bytes().all(|byte| byte.is_ascii_digit());
        let found = match is_number {
            true => self.workflow_file(named).await?.map(|found| found.file),
            false => Some(named.to_owned()),
        };
        let file = found.ok_or_else(|| refusal(404, "Not Found: there is no such workflow"))?;
        let asked = JobDispatch {
            repository: self.views.repository.clone(),
            reference,
            file,
            inputs,
        };
        let run = self.runs.control.dispatch(asked).await?;
        if body["return_run_details"] != json!(true) {
            return Ok(Some(empty(204, Vec::new())));
        }
        let number = run_number(&run);
        let details = json!({
            "workflow_run_id": number, "run_url": self.views.url(&format!("runs/{number}")),
            "html_url": self.runs.page(&run),
        });
        Ok(Some(json_answer(&details)))
    }
}

/// An empty object, as GitHub answers what it takes.
fn accepted(status: u16) -> GatewayAnswer {
    GatewayAnswer {
        status,
        ..json_answer(&Value::Object(Map::new()))
    }
}

/// Reference and inputs of a dispatch.
fn dispatch_of(body: &Value) -> Result<(String, Vec<(String, String)>), String> {
    let reference = body["ref"].as_str().filter(|name| !name.is_empty());
    let reference = reference.ok_or("`ref` names no branch and no tag")?;
    let none = Map::new();
    let inputs = match &body["inputs"] {
        Value::Null => &none,
        Value::Object(inputs) => inputs,
        _ => return Err("`inputs` is no object".to_owned()),
    };
    if inputs.len() > MAX_INPUTS {
        return Err(format!("{} inputs, {MAX_INPUTS} at most", inputs.len()));
    }
    let texts = inputs.iter().map(|(name, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Null => String::new(),
            Value::Array(_) | Value::Object(_) => {
                let name = config_core::quoted(name);
                return Err(format!("the input {name} is no text"));
            }
        };
        Ok((name.clone(), text))
    });
    Ok((reference.to_owned(), texts.collect::<Result<_, String>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_what_a_dispatch_says_is_read_as_github_does() {
        let texts = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            let pairs = pairs.map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            pairs.collect::<Vec<_>>()
        };
        let of = |body: Value| dispatch_of(&body);
        assert_eq!(
            of(json!({"ref": "main"})),
            Ok(("main".to_owned(), Vec::new()))
        );
        let given = json!({"a": "b", "flag": true, "n": 3, "none": null});
        let (_, inputs) = of(json!({"ref": "v1", "inputs": given})).unwrap();
        assert_eq!(
            inputs,
            texts(&[("a", "b"), ("flag", "true"), ("n", "3"), ("none", "")])
        );
        let many: Map<String, Value> = (0..26).map(|at| (at.to_string(), json!("x"))).collect();
        for wrong in [
            json!(null),
            json!({}),
            json!({"ref": ""}),
            json!({"ref": 7}),
            json!({"ref": "main", "inputs": []}),
            json!({"ref": "main", "inputs": {"a": {"b": 1}}}),
            json!({"ref": "main", "inputs": many}),
        ] {
            assert!(of(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
