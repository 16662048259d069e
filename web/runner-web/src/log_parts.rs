//! Parts of a log: what there is, some lines by their numbers, a search, plain text.

use std::io;

use actix_web::http::header::{ContentDisposition, DispositionParam, DispositionType};
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use edge_web::{FieldError, Problem, visible};
use futures_util::{Stream, StreamExt};
use jiff::Timestamp;
use runner_actors::{
    LineKind, LogLine, LogMatches, LogOverview, LogRange, LogReader, MAX_FOUND, MAX_RANGE,
    SectionName, StepHeadings,
};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::file_chunks::FileChunks;
use crate::kept_files::newest_log;
use crate::log::raw_lines;
use crate::problems::find;
use crate::state::RunnerState;

type State = web::Data<RunnerState>;

/// Lines of an answer that does not say how many.
const USUAL_LINES: usize = 500;
/// Found lines of an answer that does not say how many.
const USUAL_FOUND: usize = 1000;

/// Of which step.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinesQuery {
    /// The lines of this job, as the log names it; empty: of the run itself. Without it: all lines
    /// of the log in their order.
    pub job: Option<String>,
    /// Of this step of the job, from 1; 0: outside of its steps.
    pub step: Option<u32>,
    /// The first line, from 1.
    pub from: Option<usize>,
    /// At most so many (default 500, at most 5,000).
    pub lines: Option<usize>,
}

/// What to look for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchQuery {
    /// The text, in upper or lower case.
    pub q: String,
    /// Only in this job.
    pub job: Option<String>,
    /// Only in this step of the job.
    pub step: Option<u32>,
    /// At most so many lines (default 1,000, at most 10,000).
    pub limit: Option<usize>,
}

/// How to write a log as text.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextQuery {
    /// Only this job.
    pub job: Option<String>,
    /// Only this step of the job.
    pub step: Option<u32>,
    /// `true`: each line begins with its time.
    pub timestamps: Option<bool>,
}

fn section<'a>(job: &'a Option<String>, step: Option<u32>) -> Option<SectionName<'a>> {
    let step = step.unwrap_or(0);
    job.as_deref().map(|job| SectionName { job, step })
}

/// What there is in a run's log: its steps with the numbers of their lines; notices, warnings and
/// errors.
#[utoipa::path(get, path = "/runs/{id}/log/overview", tag = "runs", params(("id" = String, Path, description = "The run's id")),
    responses((status = 200, body = LogOverview, description = "What is in it"), (status = 404, description = "No such run")))]
pub(crate) async fn overview(state: State, id: web::Path<String>) -> Result<HttpResponse, Problem> {
    let run = find(&state.view, &id).await?.id;
    let overview = read(&state, move |reader| reader.overview(&run)).await?;
    json(&overview)
}

/// Some lines of a log by their numbers. A step's lines are counted without the heading that names
/// it and the ends of groups.
#[utoipa::path(get, path = "/runs/{id}/log/lines", tag = "runs", params(("id" = String, Path, description = "The run's id"), LinesQuery),
    responses((status = 200, body = LogRange, description = "The lines"), (status = 404, description = "No such run")))]
pub(crate) async fn lines(
    state: State,
    id: web::Path<String>,
    query: web::Query<LinesQuery>,
) -> Result<HttpResponse, Problem> {
    let run = find(&state.view, &id).await?.id;
    let LinesQuery {
        job,
        step,
        from,
        lines,
    } = query.into_inner();
    let count = lines.unwrap_or(USUAL_LINES).clamp(1, MAX_RANGE);
    let range = (from.unwrap_or(1), count);
    let read_range = move |reader: LogReader| reader.range(&run, section(&job, step), range);
    json(&read(&state, read_range).await?)
}

/// The lines of a log that hold a text.
#[utoipa::path(get, path = "/runs/{id}/log/search", tag = "runs", params(("id" = String, Path, description = "The run's id"), SearchQuery),
    responses((status = 200, body = LogMatches, description = "Where it stands"), (status = 404, description = "No such run"), (status = 422, description = "A text that cannot be looked for")))]
pub(crate) async fn search(
    state: State,
    id: web::Path<String>,
    query: web::Query<SearchQuery>,
) -> Result<HttpResponse, Problem> {
    let run = find(&state.view, &id).await?.id;
    let SearchQuery {
        q,
        job,
        step,
        limit,
    } = query.into_inner();
    let limit = limit.unwrap_or(USUAL_FOUND).clamp(1, MAX_FOUND);
    let look = move |reader: LogReader| reader.find(&run, section(&job, step), &q, limit);
    match read(&state, look).await? {
        Ok(matches) => json(&matches),
        Err(wrong) => {
            let field = FieldError::new("q", wrong.to_string());
            Err(Problem::unprocessable(
                "the log cannot be searched so",
                vec![field],
            ))
        }
    }
}

/// Reads a log on a thread that may block.
async fn read<T: Send + 'static>(
    state: &RunnerState,
    read: impl FnOnce(LogReader) -> io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let reader = state.view.log_reader();
    let done = tokio::task::spawn_blocking(move || read(reader)).await;
    done.map_err(io::Error::other).flatten().map_err(|error| {
        tracing::error!(event = "run.log_failed", %error, "the log of a run cannot be read");
        Problem::internal()
    })
}

/// Lines of strangers, with escapes for what is not seen.
fn json(value: &impl Serialize) -> Result<HttpResponse, Problem> {
    let json = serde_json::to_string(value).map_err(|_| Problem::internal())?;
    Ok(HttpResponse::Ok()
        .content_type("application/json")
        .body(visible::json(&json).into_owned()))
}

/// A run's log as plain text, to be kept as a file: without colours, and what is not seen stands
/// there by its number.
#[utoipa::path(get, path = "/runs/{id}/log/text", tag = "runs", params(("id" = String, Path, description = "The run's id"), TextQuery),
    responses((status = 200, description = "The text", content_type = "text/plain", body = String), (status = 404, description = "No such run")))]
pub(crate) async fn text(
    state: State,
    id: web::Path<String>,
    query: web::Query<TextQuery>,
) -> Result<HttpResponse, Problem> {
    let record = find(&state.view, &id).await?;
    newest_log(&state.view, &record.id).await?;
    let chunks = FileChunks {
        path: state.view.logs().path(&record.id),
        at: 0,
    };
    let name = format!("run-{}-{}.txt", record.number, record.attempt);
    let disposition = ContentDisposition {
        disposition: DispositionType::Attachment,
        parameters: vec![DispositionParam::Filename(name)],
    };
    Ok(HttpResponse::Ok()
        .content_type("text/plain; charset=utf-8")
        .insert_header(disposition)
        .insert_header(("x-content-type-options", "nosniff"))
        .streaming(plain(chunks, query.into_inner())))
}

fn plain(chunks: FileChunks, query: TextQuery) -> impl Stream<Item = io::Result<Bytes>> {
    let mut headings = StepHeadings::default();
    raw_lines(chunks).map(move |lines| {
        let lines = lines?;
        let mut out = String::with_capacity(lines.len());
        for line in lines.split(|byte| *byte == b'\n') {
            if let Ok(line) = serde_json::from_slice::<LogLine>(line) {
                let heading = headings
                    .heading_before(&line)
                    .filter(|_| query.step.is_none());
                if let Some(name) = heading {
                    query.write(&heading_line(&line, name), &mut out);
                }
                query.write(&line, &mut out);
            }
        }
        Ok(Bytes::from(out))
    })
}

/// Says that a step goes on which others ran beside.
fn heading_line(line: &LogLine, name: &str) -> LogLine {
    LogLine {
        kind: LineKind::Group,
        text: format!("{name} (goes on)"),
        ..line.clone()
    }
}

impl TextQuery {
    fn write(&self, line: &LogLine, out: &mut String) {
        let is_wanted = self.job.as_ref().is_none_or(|job| *job == line.job)
            && self.step.is_none_or(|step| step == line.step);
        if !is_wanted || line.kind == LineKind::EndGroup {
            return;
        }
        if self.timestamps == Some(true) {
            let at = i64::try_from(line.at).unwrap_or(0);
            let at = Timestamp::from_millisecond(at).unwrap_or_default();
            out.push_str(&format!("{at:.3} "));
        }
        if self.job.is_none() && !line.job.is_empty() {
            out.push_str(&format!("[{}] ", visible::plain(&line.job)));
        }
        out.push_str(match line.kind {
            LineKind::Group => "## ",
            LineKind::Notice => "notice: ",
            LineKind::Warning => "warning: ",
            LineKind::Error => "error: ",
            LineKind::Info | LineKind::Out | LineKind::Err | LineKind::EndGroup => "",
        });
        out.push_str(&visible::plain(&line.text));
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_as_text_says_when_where_and_what() {
        let line = LogLine {
            at: 1_795_276_800_000,
            job: "build\u{202e}".to_owned(),
            step: 2,
            kind: LineKind::Error,
            text: "\u{1b}[31mbroken\u{1b}[0m\u{7}".to_owned(),
        };
        let written = |job: Option<&str>, step, timestamps| {
            let mut out = String::new();
            let job = job.map(str::to_owned);
            let query = TextQuery {
                job,
                step,
                timestamps,
            };
            query.write(&line, &mut out);
            out
        };
        assert_eq!(
            written(None, None, Some(true)),
            "2026-11-21T16:00:00.000Z [build<U+202E>] error: broken<U+0007>\n"
        );
        assert_eq!(
            written(Some("build\u{202e}"), Some(2), None),
            "error: broken<U+0007>\n"
        );
        assert_eq!(written(None, Some(1), None), "");
    }
}
