//! Supervision of actors: child specs, restart policy, supervisors, child references, ticks.
//!
//! ```
//! use actix::prelude::{Actor, Context, Handler, Message};
//! use supervision::{ChildContext, ChildSpec, Restart, Root, SupervisorSpec, Verdict};
//!
//! /// Counts words; fails, and so is built anew, when it counts none.
//! struct Counter {
//!     life: ChildContext,
//!     total: usize,
//! }
//!
//! impl Actor for Counter {
//!     type Context = Context<Self>;
//! }
//!
//! #[derive(Message)]
//! #[rtype(usize)]
//! struct CountWords(String);
//!
//! impl Handler<CountWords> for Counter {
//!     type Result = usize;
//!
//!     fn handle(&mut self, CountWords(text): CountWords, _: &mut Context<Self>) -> usize {
//!         let words = text.split_whitespace().count();
//!         if words == 0 {
//!             self.life.fail("a text without words");
//!         }
//!         self.total += words;
//!         self.total
//!     }
//! }
//!
//! # fn main() -> Result<(), supervision::AskError> {
//! actix::System::new().block_on(async {
//!     let spec = ChildSpec::new("counter", |life| Counter { life, total: 0 })
//!         .restart(Restart::Transient)
//!         .capacity(16);
//!     let counter = spec.reference(); // what peers hold, over all lives
//!     let root = Root::start(SupervisorSpec::root("root").child(spec));
//!
//!     counter.ready().await; // until then: AskError::Unavailable
//!     assert_eq!(counter.ask(CountWords("two words".into())).await?, 2);
//!     counter.ask(CountWords(String::new())).await?; // replies, then this life fails
//!     counter.ready_after(1).await;
//!     assert_eq!(counter.ask(CountWords("fresh state".into())).await?, 2);
//!
//!     let handle = root.handle();
//!     let tree = handle.tree().snapshot(); // serialize it for GET /admin/actors
//!     assert_eq!(tree.find(&["counter"]).map(|counter| counter.restarts), Some(1));
//!
//!     handle.stop();
//!     assert_eq!(root.verdict().await, Verdict::Stopped);
//!     Ok(())
//! })
//! # }
//! ```

mod child;
mod deadline;
mod exit;
mod life;
mod mailbox;
mod messages;
mod monitor;
mod plan;
mod policy;
mod queue;
mod reference;
mod root;
mod schedule;
mod spec;
mod supervisor;
mod supervisor_spec;
mod tick;
mod tree;

pub use exit::{Exit, Verdict};
pub use life::ChildContext;
pub use messages::{ChildError, NoSuchChild, StartChildError, StartRefused};
pub use policy::{Decision, PastLimit, Restart, RestartHistory, RestartPolicy, Strategy};
pub use reference::{Ask, AskError, ChildRef, TellError};
pub use root::{Root, RootHandle};
pub use schedule::{Next, TickSchedule};
pub use spec::{ChildSpec, Pings, Placement};
pub use supervisor::Supervisor;
pub use supervisor_spec::SupervisorSpec;
pub use tick::{TickHandle, TickRun, start_tick};
pub use tree::{ActorNode, ActorState, ActorTree, ChildKind};
