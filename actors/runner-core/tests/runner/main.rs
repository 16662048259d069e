//! Attack cases, mistakes shown with their place, plans, masking, the model's plan, collections of
//! others.

mod attacks;
mod caches;
mod called_workflows;
mod checks;
mod contexts;
mod corpora;
mod documentation;
mod environments;
mod findings;
mod language;
mod masking;
mod mistakes;
mod model;
mod plans;
mod properties;
mod references;
mod stored_actions;
mod test_reports;
mod triggers;
mod used_files;
mod values;
mod webhooks;
mod yaml;
