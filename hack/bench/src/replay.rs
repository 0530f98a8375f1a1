//! A server that replays prepared bytes, fast enough that the client is what is measured.
//!
//! - A list (`GET` without `watch`) is answered from memory, whole or in pages (`limit`, `continue`).
//! - A watch with `sendInitialEvents=true` begins with every object as `ADDED` and the closing
//!   bookmark. Every watch then waits until the run is told to go on (`POST /go`), sends the prepared
//!   `MODIFIED` events, and stays open until the client leaves.
//! - `POST /go` waits until a watch waits for it.
//! - Streams are cut into HTTP chunks as a real server cuts a busy one: every 2,048 bytes, wherever that
//!   is. See [`Framing`].

use std::{
    io::{BufRead as _, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use clap::ValueEnum;

use crate::{Result, shapes::Shape};

/// The version of the first object; lists have the version of their last.
const FIRST_VERSION: u64 = 1_000_000;

const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

/// How a stream is cut into HTTP chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Framing {
    /// Chunks of 2,048 bytes, cut anywhere. A Kubernetes API server that has more to send than it has
    /// sent does this, because its HTTP server gathers so much before it writes a chunk.
    #[default]
    Busy,
    /// A chunk for each event, which a server sends if it has nothing else to send.
    Events,
}

/// The size of a chunk of a busy stream.
const CHUNK: usize = 2048;

impl Framing {
    /// Cuts lines into chunks.
    fn cut(self, lines: &[u8]) -> Vec<u8> {
        let mut chunks = Vec::with_capacity(lines.len() + lines.len() / 64);
        let mut push = |chunk: &[u8]| {
            chunks.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            chunks.extend_from_slice(chunk);
            chunks.extend_from_slice(b"\r\n");
        };
        match self {
            Self::Busy => lines.chunks(CHUNK).for_each(&mut push),
            Self::Events => lines.split_inclusive(|byte| *byte == b'\n').for_each(&mut push),
        }
        chunks
    }
}

/// What is replayed.
pub struct Prepared {
    shape: Shape,
    version: u64,
    /// The objects one after the other, with a comma after each.
    items: Vec<u8>,
    /// Where each object begins, and where the last one ends.
    places: Vec<usize>,
    /// The streamed list, as chunks.
    initial: Vec<u8>,
    /// The changes, as chunks.
    changes: Vec<u8>,
}

impl Prepared {
    /// Prepares this many objects, and changes that go round them.
    pub fn new(shape: Shape, objects: usize, changes: usize, framing: Framing) -> Self {
        let (mut initial, mut changed) = (Vec::new(), Vec::new());
        let mut prepared = Self {
            shape,
            version: FIRST_VERSION + objects as u64,
            items: Vec::new(),
            places: vec![0],
            initial: Vec::new(),
            changes: Vec::new(),
        };
        for number in 0..objects {
            let object = shape.object(number, objects, FIRST_VERSION + number as u64);
            prepared.items.extend_from_slice(object.as_bytes());
            prepared.items.push(b',');
            prepared.places.push(prepared.items.len());
            push_event(&mut initial, "ADDED", &object);
        }
        push_line(&mut initial, &shape.bookmark(prepared.version, true));
        for change in 0..changes {
            let version = prepared.version + 1 + change as u64;
            let object = shape.object(change % objects.max(1), objects, version);
            push_event(&mut changed, "MODIFIED", &object);
        }
        prepared.initial = framing.cut(&initial);
        prepared.changes = framing.cut(&changed);
        prepared
    }

    /// The size of the streamed list in bytes.
    pub fn initial_bytes(&self) -> usize {
        self.initial.len()
    }

    /// The version that the changes end on.
    pub fn last_version(objects: usize, changes: usize) -> u64 {
        FIRST_VERSION + objects as u64 + changes as u64
    }
}

fn push_event(lines: &mut Vec<u8>, event: &str, object: &str) {
    push_line(lines, &format!(r#"{{"type":"{event}","object":{object}}}"#));
}

fn push_line(lines: &mut Vec<u8>, line: &str) {
    lines.extend_from_slice(line.as_bytes());
    lines.push(b'\n');
}

/// Who waits for the run to go on, and how often it has.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    rounds: u64,
    waiting: usize,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        guard: MutexGuard<'a, GateState>,
        until: impl Fn(&GateState) -> bool,
    ) -> MutexGuard<'a, GateState> {
        self.changed.wait_while(guard, |state| !until(state)).unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self) {
        let mut state = self.lock();
        let round = state.rounds;
        state.waiting += 1;
        self.changed.notify_all();
        state = self.wait(state, |state| state.rounds > round);
        state.waiting -= 1;
        self.changed.notify_all();
    }

    fn open(&self) {
        let mut state = self.wait(self.lock(), |state| state.waiting > 0);
        state.rounds += 1;
        self.changed.notify_all();
        drop(self.wait(state, |state| state.waiting == 0));
    }
}

/// Serves on the listener for good.
pub fn serve(listener: &TcpListener, prepared: Prepared) {
    let (prepared, gate) = (Arc::new(prepared), Arc::new(Gate::default()));
    for stream in listener.incoming().flatten() {
        let (prepared, gate) = (prepared.clone(), gate.clone());
        // A client that leaves ends its connection with an error, as it should.
        thread::spawn(move || drop(converse(stream, &prepared, &gate)));
    }
}

fn converse(stream: TcpStream, prepared: &Prepared, gate: &Gate) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some(target) = read_request(&mut reader)? {
        if target.starts_with("/go") {
            gate.open();
            writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
        } else if parameter(&target, "watch").is_some_and(|value| value == "true" || value == "1") {
            writer.write_all(CHUNKED.as_bytes())?;
            if parameter(&target, "sendInitialEvents").is_some_and(|value| value == "true") {
                writer.write_all(&prepared.initial)?;
            }
            gate.pass();
            writer.write_all(&prepared.changes)?;
            // It stays open until the client leaves, which reads as the end of what it sends.
            let _ = reader.read(&mut [0]);
            return Ok(());
        } else {
            list(&mut writer, prepared, &target)?;
        }
    }
    Ok(())
}

fn list(writer: &mut impl Write, prepared: &Prepared, target: &str) -> Result<()> {
    let number = |name| parameter(target, name).map_or(Ok(0), str::parse::<usize>);
    let (from, limit) = (number("continue")?, number("limit")?);
    let count = prepared.places.len() - 1;
    let to = if limit == 0 { count } else { count.min(from + limit) };
    let head = prepared.shape.list_head(prepared.version, (to < count).then_some(to));
    let items = &prepared.items[prepared.places[from]..prepared.places[to]];
    let items = items.strip_suffix(b",").unwrap_or(items);
    let length = head.len() + items.len() + 2;
    write!(
        writer,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{head}"
    )?;
    writer.write_all(items)?;
    writer.write_all(b"]}")?;
    Ok(())
}

/// Reads a request without a body, and gives its target; `None` where the client has left.
fn read_request(reader: &mut BufReader<TcpStream>) -> Result<Option<String>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let target = line.split(' ').nth(1).ok_or("not a request")?.to_owned();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim_end().is_empty() {
            return Ok(Some(target));
        }
    }
}

fn parameter<'a>(target: &'a str, name: &str) -> Option<&'a str> {
    let query = target.split_once('?')?.1;
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

/// How long a reader that does nothing takes for the streamed list: the server's ceiling.
pub fn ceiling(address: &str, bytes: usize) -> Result<Duration> {
    let mut stream = TcpStream::connect(address)?;
    let begin = Instant::now();
    stream.write_all(b"GET /?watch=true&sendInitialEvents=true HTTP/1.1\r\nhost: replay\r\n\r\n")?;
    let (mut buffer, mut left) = (vec![0; 256 * 1024], CHUNKED.len() + bytes);
    while left > 0 {
        match stream.read(&mut buffer)? {
            0 => return Err("the server ended the stream early".into()),
            read => left = left.saturating_sub(read),
        }
    }
    let took = begin.elapsed();
    stream.shutdown(Shutdown::Both)?;
    // Its watch must not be taken for that of a client.
    go(address)?;
    Ok(took)
}

/// Lets the watch that a client holds go on.
pub fn go(address: &str) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"POST /go HTTP/1.1\r\nhost: replay\r\ncontent-length: 0\r\n\r\n")?;
    match stream.read(&mut [0; 64])? {
        0 => Err("the server did not let the run go on".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_stream_is_cut_every_2048_bytes_and_a_quiet_one_after_each_event() {
        let lines = [vec![b'a'; 3000], vec![b'b'; 100]].map(|line| [line, vec![b'\n']].concat()).concat();
        let sizes = |framing: Framing| {
            let chunks = framing.cut(&lines);
            let (mut sizes, mut at) = (Vec::new(), 0);
            while at < chunks.len() {
                let end = at + chunks[at..].iter().position(|byte| *byte == b'\r').unwrap();
                let size = usize::from_str_radix(std::str::from_utf8(&chunks[at..end]).unwrap(), 16).unwrap();
                sizes.push(size);
                at = end + 2 + size + 2;
            }
            sizes
        };
        assert_eq!(sizes(Framing::Busy), [2048, 3102 - 2048]);
        assert_eq!(sizes(Framing::Events), [3001, 101]);
    }
}
