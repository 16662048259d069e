//! Supervision of actors: child specs, restart policy, supervisors, child references, ticks.
//!
//! ```
//! use actix::prelude::{Actor, Context, Handler, Message};
//! use supervision::{ChildContext, ChildSpec, Restart, Root, SupervisorSpec, TreeExit};
//!
//! /// Counts words; fails, and so is built anew, when it counts none.
//! struct Counter {
//!     context: ChildContext,
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
//!             self.context.fail("a text without words");
//!         }
//!         self.total += words;
//!         self.total
//!     }
//! }
//!
//! # fn main() -> Result<(), supervision::AskError> {
//! actix::System::new().block_on(async {
//!     let spec = ChildSpec::new("counter", |context| Counter { context, total: 0 })
//!         .restart(Restart::Transient)
//!         .capacity(16);
//!     let counter = spec.reference(); // what peers hold, over all incarnations
//!     let root = Root::start(SupervisorSpec::root("root").child(spec));
//!
//!     counter.ready().await; // until then: AskError::Unavailable
//!     assert_eq!(counter.ask(CountWords("two words".into())).await?, 2);
//!     counter.ask(CountWords(String::new())).await?; // replies, then this incarnation fails
//!     counter.ready_after(1).await;
//!     assert_eq!(counter.ask(CountWords("fresh state".into())).await?, 2);
//!
//!     let handle = root.handle();
//!     let tree = handle.tree().snapshot(); // serialize it for GET /admin/actors
//!     assert_eq!(tree.find(&["counter"]).map(|counter| counter.restarts), Some(1));
//!
//!     handle.stop();
//!     assert_eq!(root.verdict().await, TreeExit::Stopped);
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # What is guaranteed
//!
//! **Order.** Messages of one sender through one [`ChildRef`] are handled in the order they were
//! sent, one at a time, none while the actor is in `ctx.wait`. Between senders there is no order.
//! Messages through references and those through actix's own addresses (`ctx.notify`,
//! `ctx.address()`) are two queues without an order between them.
//!
//! **Acceptance.** A message is accepted (it is in the mailbox of a running incarnation) or refused
//! with the reason: [`Unavailable`](TellError::Unavailable) while it is restarting,
//! [`Full`](TellError::Full) when every permit is out. Nothing is dropped in silence. A child has
//! at most `capacity` messages waiting and at most `capacity` questions unanswered. A mailbox is
//! memory: a crash empties it, so what must not be lost is written down before it is acknowledged.
//!
//! **Answers.** Each question ends within its timeout, never before it (later only while the asking
//! thread itself is blocked). `Unavailable` and `Full` mean it was not and will not be handled;
//! [`TimedOut`](AskError::TimedOut) means the same when the handler had not begun, else its effects
//! may still come; [`NoReply`](AskError::NoReply) means the incarnation ended (or dropped the
//! reply) and nobody knows how far it got. A handler is never begun for a question nobody waits for
//! any more.
//!
//! **Stop.** Children stop in reverse start order, one after the other; those started at run time
//! all at once, before the others. A stop takes effect after the message in work, ahead of all that
//! wait; what waits is answered `NoReply`. An actor may refuse (`Running::Continue`) to finish
//! something, and then stops itself; when its shutdown time is over it is aborted. `stopping` and
//! `stopped` run whichever way an incarnation ends.
//!
//! **Abort.** Ends the task at its next await. No thread can be stopped from outside: an
//! incarnation that blocks its thread is given up a second after the abort. It handles nothing more
//! should it ever go on, but the call that blocks may still have its effects. With
//! [`ThreadPlacement::Own`] the next incarnation gets a new thread; else the thread's other actors
//! stay blocked with it.
//!
//! **Panic.** A panic in a handler, in an actor's future or in `started` ends that incarnation
//! only, and its text is in the [`Exit`]. A panic in a plain `ResponseFuture` ends only that
//! future: the asker gets `NoReply`, the actor lives. A panic in `stopping` or `stopped` while
//! another unwinds aborts the process: keep both free of it. Nothing here works with `panic =
//! "abort"`.
//!
//! **Restart.** Each incarnation is built anew by the factory; no state and no message of a
//! previous one reaches it. Failures are counted for each child in a sliding period, then the
//! restart waits for a delay that doubles ([`RestartPolicy`]); past the limit the child is parked,
//! or its supervisor stops all its children and fails itself, up to the root, whose [`TreeExit`]
//! the program exits with. A supervisor that ends in whatever way takes its children with it.
//!
//! **Hang.** Each event loop answers pings ahead of its queue, with no handler in the actor. When
//! several in a row are unanswered ([`Pings`]) the incarnation is given up. A child on its
//! supervisor's own thread which blocks it also blocks the supervisor: the level above finds that,
//! when that supervisor has a thread of its own.
//!
//! **Ticks.** [`start_tick`] books the next run when the previous one ended. Runs never overlap or
//! pile up; wakes are coalesced; a clock that jumps makes at most one run come early. An actor that
//! is nothing but a loop has [`start_rounds`], where nobody wakes it.
//!
//! # What is not promised
//!
//! - Futures a handler gave to `actix_rt::spawn` (a plain `ResponseFuture` is one) go on when the
//!   actor ends. Those of its context (`ctx.spawn`, `ResponseActFuture`) end with it.
//! - While a supervisor is replaced after an abort or a panic of its own, a child that blocks its
//!   thread may still be in its last call when its next incarnation begins.
//! - A parked child stays down until [`ChildRef::resume_child`]; nothing resumes it by itself.
//! - Fairness between children of one thread is the runtime's; an event loop gives way after 128
//!   messages.
//!
//! # Events
//!
//! `tracing` events, with the path of ids as `actor`: `actor.started`, `actor.exited`,
//! `actor.restarting`, `actor.parked`, `actor.escalated`, `actor.hung`.

mod child;
mod context;
mod dynamic_children;
mod endpoint;
mod errors;
mod exit;
mod inbox;
mod mailbox;
mod messages;
mod monitor;
mod pings;
mod plan;
mod policy;
mod reference;
mod root;
mod rounds;
mod schedule;
mod settings;
mod signals;
mod spec;
mod supervisor;
mod supervisor_config;
mod supervisor_spec;
mod tick;
mod tree;

pub use context::ChildContext;
pub use errors::{AskError, TellError};
pub use exit::{Exit, TreeExit};
pub use messages::{ChildError, NoSuchChild, StartChildError, StartRefusal};
pub use pings::Pings;
pub use policy::{
    PastLimit, Restart, RestartDecision, RestartHistory, RestartPolicy, RestartStrategy,
};
pub use reference::ChildRef;
pub use root::{Root, RootHandle, WatchedRoot};
pub use rounds::{FirstRound, start_paced_rounds, start_rounds};
pub use schedule::{TickDecision, TickSchedule};
pub use spec::{ChildSpec, ThreadPlacement};
pub use supervisor::Supervisor;
pub use supervisor_spec::SupervisorSpec;
pub use tick::{TickHandle, TickRun, start_tick};
pub use tree::{ActorNode, ActorState, ActorTree, ChildKind, unix_ms};
