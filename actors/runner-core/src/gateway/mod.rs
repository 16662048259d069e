//! What of the forge's API a job's token reaches: calls of its own repository, as far as its
//! `permissions` go.

mod answers;
mod body;
mod call;
mod call_events;
mod downloads;
mod effects;
mod endpoints;
mod form;
mod gh;
mod git;
mod large_files;
mod links;
mod own_address;
mod packages;
mod path;
mod push;
mod push_answer;
mod refusal;
mod release_file;
mod reviews;
mod run_words;
mod targets;
mod uploads;
mod workflow_calls;

pub use answers::{ShownAnswer, filter_answer, is_of_releases};
pub use body::{checked_body, is_address_key};
pub use call::{ForgeCall, PullCheck, decide};
pub use call_events::{
    CallVerdict, CausedEvent, NotedCall, TokenAccount, app_of_calls, concerns_calls,
    is_caused_by_call,
};
pub use downloads::{ForgeDownload, decide_download};
pub use effects::{CallEffects, CallMove, CallPull, CausingCall, PullQuestion, pull_path};
pub use form::FormGuard;
pub use gh::{gh_settings, gh_variables};
pub use git::{
    GitAccess, GitCall, GitService, PushedReference, asked_pulls, basic_credentials, decide_git,
    git_variables, is_caused_by_token,
};
pub use large_files::{
    LARGE_FILES_TYPE, LargeFile, LargeFileBatch, LargeFileCall, LockCall, decide_large_files,
    is_of_large_files, may_write_large_files,
};
pub use links::{ApiAddress, rewritten_link};
pub use own_address::{OwnPath, own_addresses, own_path, presented_tokens, without_token};
pub use packages::{CREDENTIALS, PackageCall, decide_packages};
pub use push::{
    ChangedWorkflows, MAX_CHANGED_WORKFLOWS, MAX_PUSH_HEAD, PushCommand, PushHead, check_reference,
    check_workflows, parse_push,
};
pub use push_answer::{
    forge_messages, parse_porcelain, push_advertisement, push_report, render_refusal,
};
pub use refusal::CallRefusal;
pub use release_file::release_file;
pub use reviews::check_decision;
pub use run_words::{CreatedFilter, StatusWords};
pub use targets::{CommitTarget, NamedCommit, is_true};
pub use uploads::{MAX_UPLOAD, is_upload, page_base, upload_base, with_upload_urls};
pub use workflow_calls::WorkflowCall;
