//! What the programs of the benchmark share: the objects, the servers that send them, and the measures
//! of a process.

pub mod measure;
pub mod replay;
pub mod shapes;
pub mod target;
pub mod writes;

/// What goes wrong in a benchmark ends it, with its message.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// The allocator of every Rust side, chosen by measurement: objects are made by one thread and freed
/// by another, at which the system's is slow.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
