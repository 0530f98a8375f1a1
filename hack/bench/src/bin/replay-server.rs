//! Replays prepared objects and changes until it is ended.
//!
//! It prints one line as soon as it listens: its address, and its ceiling as measured with a reader
//! that does nothing.

use std::{io::Write as _, net::TcpListener, thread};

use clap::Parser;
use genclient_bench::{
    Result,
    replay::{Framing, Prepared, ceiling, serve},
    shapes::Shape,
};

#[derive(Parser)]
#[command(about = "Serves prepared objects from memory as a Kubernetes API server would")]
struct Args {
    /// The form of the objects.
    #[arg(long, default_value = "network")]
    shape: Shape,
    /// How many objects there are.
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    /// How many changes follow.
    #[arg(long, default_value_t = 200_000)]
    updates: usize,
    /// How streams are cut into HTTP chunks.
    #[arg(long, default_value = "busy")]
    framing: Framing,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let prepared = Prepared::new(args.shape, args.objects, args.updates, args.framing);
    let bytes = prepared.initial_bytes();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let server = thread::spawn(move || serve(&listener, prepared));
    let took = ceiling(&address, bytes)?.as_secs_f64();
    let (megabytes, objects) = (bytes as f64 / 1e6, args.objects as f64);
    println!("{address} {:.0} MB/s, {:.0} events/s", megabytes / took, objects / took);
    std::io::stdout().flush()?;
    server.join().map_err(|_| "the server panicked")?;
    Ok(())
}
