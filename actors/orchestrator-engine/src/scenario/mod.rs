//! Scenarios of the browser agent: files of steps, run in Chromium, reported per run.
//!
//! ```toml
//! name = "search from the start page"
//! base_url = "http://127.0.0.1:8000"
//! timeout_secs = 10          # for each step
//!
//! [[step]]
//! goto = "/"
//! [[step]]
//! type = { into = "#query", text = "restart policy" }
//! [[step]]
//! click = "button[type=submit]"
//! [[step]]
//! expect = { in = "#results", text = "policy" }
//! [[step]]
//! screenshot = "results"
//! ```
//!
//! A file is checked here and handed to the browser's script as JSON, so the script only ever sees
//! steps that cannot be wrong. It writes `report.json` and the pictures below the run's reports
//! folder, says a line for each step, and ends with 1 when a scenario failed.

mod file;
mod plan;

pub use file::{Scenario, ScenarioStep, parse};
pub use plan::{BrowserPlan, ScenarioPlanError, prepare};
