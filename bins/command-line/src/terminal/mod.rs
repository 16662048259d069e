//! What the programs that people sit in front of share: the guard that gives a terminal back
//! whatever happens, its keys and signals, colours by what it can show, and text of strangers made
//! visible.
//!
//! ```text
//! Screen::open  ─▶ draw … draw ─▶ drop │ panic │ signal ─▶ the terminal as it was
//! InputReader ──▶ Event ─▶ the program's own update
//! ```

pub mod escape;
pub mod input;
pub mod palette;
pub mod raw;
pub mod screen;
pub mod signals;
pub mod text;

pub use input::InputReader;
pub use palette::{ColourDepth, Palette};
pub use screen::Screen;
pub use signals::{TerminationSignals, WindowChanges};
