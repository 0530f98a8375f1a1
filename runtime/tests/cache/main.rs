//! The cache, from the delta queue to the handlers, through its public interface.

mod bounds;
mod handlers;
mod indexes;
mod listers;
mod misuse;
mod model;
mod queue;
mod readers;
mod relist;
mod resync;
mod rim;
mod soak;
mod support;
mod versions;
