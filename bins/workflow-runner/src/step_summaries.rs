//! `summaries`: what the steps of a run wrote to their summaries, over the API of a runner that
//! serves.

use std::process::ExitCode;

use config_core::Environment;
use http_clients::http::Request;
use serde_json::Value;

use crate::runner_api::{RunnerApi, path_part, print_result};
use crate::summaries_options::SummariesOptions;

/// Bytes of a page: some 4 MiB of text, as JSON.
const MAX_PAGE: usize = 64 << 20;

/// Prints summaries.
pub(crate) fn run(options: &SummariesOptions, environment: &Environment) -> ExitCode {
    print_result(ask(options, environment))
}

fn ask(options: &SummariesOptions, environment: &Environment) -> anyhow::Result<String> {
    let api = RunnerApi::from_options(&options.runner, environment)?;
    let mut url = api.url(&format!("runs/{}/summaries", path_part(&options.run)?))?;
    if let Some(job) = &options.job {
        url.query_pairs_mut().append_pair("job", job);
    }
    let (mut all, mut next) = (Vec::new(), Some(url));
    while let Some(url) = next {
        let (page, following) = api.ask_page(Request::get(url).with_max_body(MAX_PAGE))?;
        if let Value::Array(page) = page {
            all.extend(page);
        }
        next = following;
    }
    if options.json {
        return Ok(format!("{:#}\n", Value::Array(all)));
    }
    Ok(render(&all))
}

/// Each below a heading that says of which step it is.
fn render(summaries: &[Value]) -> String {
    let text = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
    let shown = summaries.iter().map(|one| {
        let (job, step, body) = (text(one, "job"), text(one, "name"), text(one, "text"));
        format!("# {job} / {step}\n\n{}\n\n", body.trim_end())
    });
    match shown.collect::<String>() {
        none if none.is_empty() => "the run's steps wrote no summaries\n".to_owned(),
        all => all,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i17_summaries_are_printed_below_their_steps() {
        let all = [
            json!({"job": "test", "step": 2, "name": "Unit tests", "text": "all *good*\n"}),
            json!({"job": "lint", "step": 1, "name": "x", "text": "| a |"}),
        ];
        let expected = "# test / Unit tests\n\nall *good*\n\n# lint / x\n\n| a |\n\n";
        assert_eq!(render(&all), expected);
        assert_eq!(render(&[]), "the run's steps wrote no summaries\n");
    }
}
