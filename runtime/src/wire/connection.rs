//! Connections that their reader drives, and that can rest.
//!
//! Usually a connection is a task of its own, which hands one chunk after the other to the task that reads the
//! response, and each socket wakes the thread that waits for all of them with every packet, whether anybody
//! reads from it or not. A server sends a watch in chunks of two kilobytes, and all that waking costs more than
//! reading does. So the reader of a watch can
//!
//! - [borrow](ConnectionHandle::borrow) the connection and drive it in its own task, which then takes whatever
//!   has arrived without waking anybody;
//! - let it [rest](Borrowed::rest): what arrives meanwhile gathers in the kernel, because the socket is taken
//!   off the list of those that the thread waits for. It is put back when its reader has to wait for more.
//!
//! Both need HTTP/1, where a response has the connection for itself. A borrowed connection must not serve
//! another request, which nobody would drive while the reader is busy: a request with an [`OwnConnection`] asks
//! for one that is closed after the response.

use std::{
    future::{Future, poll_fn},
    io::{self, Read as _},
    mem,
    ops::Range,
    pin::{Pin, pin},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures::{future::BoxFuture, task::AtomicWaker};
use http::{HeaderValue, Request, Response, header::CONNECTION};
use hyper::rt::{Executor, Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::{net::TcpStream, runtime::Handle};

/// How many chunks a reader takes before other tasks run.
const CHUNKS_PER_TURN: usize = 256;

/// How many bytes are read at once after a rest. TLS asks for four kilobytes at a time.
const READ_AHEAD: usize = 64 << 10;

tokio::task_local! {
    /// The driver of the connection that is being polled.
    static DRIVER: Weak<Mutex<Driver>>;
}

/// Among the extensions of a request: its connection is not used for another one.
#[derive(Clone)]
pub(crate) struct OwnConnection;

impl OwnConnection {
    /// Sends a request. The connection of its response can be borrowed if the request has it for itself.
    pub(crate) async fn send<B, R, E>(
        mut request: Request<B>,
        send: impl AsyncFnOnce(Request<B>) -> Result<Response<R>, E>,
    ) -> Result<Response<R>, E> {
        let is_own = request.extensions().get::<Self>().is_some();
        if is_own {
            request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let mut response = send(request).await?;
        if !is_own {
            response.extensions_mut().remove::<ConnectionHandle>();
        }
        Ok(response)
    }
}

/// Spawns the tasks that drive connections.
#[derive(Clone)]
pub(crate) struct DriverSpawner;

/// Drives a connection: sends requests and reads responses.
struct Driver {
    /// `None` when the connection has ended.
    connection: Option<BoxFuture<'static, ()>>,
    /// Whether the reader of a response drives it instead.
    is_lent: bool,
    task: Option<Waker>,
}

struct DriverTask(Arc<Mutex<Driver>>);

/// A TCP connection whose responses have a [`ConnectionHandle`] among their extensions.
pub(crate) struct Stream {
    socket: Arc<Mutex<Socket>>,
}

/// The connection of a response.
#[derive(Clone)]
pub(crate) struct ConnectionHandle(Weak<Mutex<Socket>>);

/// A connection that its reader drives, until it is dropped.
pub(crate) struct Borrowed {
    handle: ConnectionHandle,
    driver: Weak<Mutex<Driver>>,
    signals: Signals,
}

/// Ends the rest of a connection when it is dropped.
pub(crate) struct Rest(ConnectionHandle);

/// Whether the reader and its connection were woken.
struct Signals {
    task: Arc<ReaderTask>,
    reader: Signal,
    connection: Signal,
}

/// The task of the reader.
#[derive(Default)]
struct ReaderTask {
    waker: AtomicWaker,
    is_polling: AtomicBool,
}

/// Whether one of the two was woken.
struct Signal {
    flag: Arc<Flag>,
    /// Sets the flag.
    waker: Waker,
}

/// Wakes the reader's task when it is set, unless that is running.
struct Flag {
    is_set: AtomicBool,
    task: Arc<ReaderTask>,
}

struct Socket {
    inner: Inner,
    is_resting: bool,
    /// Whether it stays off the list although its reader finds nothing more.
    stays_unlisted: bool,
    ahead: Ahead,
    /// The tasks that wait for the socket, which forgets them when it goes off the list.
    reader: Option<Waker>,
    writer: Option<Waker>,
    runtime: Handle,
    driver: Option<Weak<Mutex<Driver>>>,
}

/// Bytes that were read before somebody asked for them.
#[derive(Default)]
struct Ahead {
    buffer: Vec<u8>,
    /// The bytes that nobody has taken yet.
    rest: Range<usize>,
}

enum Inner {
    /// On the list of the runtime.
    Listed(TokioIo<TcpStream>),
    Unlisted(std::net::TcpStream),
    /// It could not be taken off the list or put back.
    Lost,
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for DriverSpawner {
    fn execute(&self, connection: F) {
        let connection: BoxFuture<'static, ()> = Box::pin(connection);
        let driver = Driver { connection: Some(connection), is_lent: false, task: None };
        tokio::spawn(DriverTask(Arc::new(Mutex::new(driver))));
    }
}

impl Future for DriverTask {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut driver = self.0.lock();
        remember(&mut driver.task, context);
        match driver.is_lent {
            true if driver.connection.is_some() => Poll::Pending,
            _ => DRIVER.sync_scope(Arc::downgrade(&self.0), || driver.poll(context)),
        }
    }
}

impl Driver {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(()) };
        let result = connection.as_mut().poll(context);
        if result.is_ready() {
            self.connection = None;
        }
        result
    }

    fn wake(driver: MutexGuard<'_, Self>) {
        let task = driver.task.clone();
        drop(driver);
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl ConnectionHandle {
    /// Borrows the connection, unless it is closed.
    pub(crate) fn borrow(&self) -> Option<Borrowed> {
        let driver = self.0.upgrade()?.lock().driver.clone()?;
        driver.upgrade()?.lock().is_lent = true;
        Some(Borrowed { handle: self.clone(), driver, signals: Signals::new() })
    }

    fn rest(&self) -> Rest {
        if let Some(socket) = self.0.upgrade() {
            let mut socket = socket.lock();
            socket.is_resting = true;
            socket.inner = match mem::replace(&mut socket.inner, Inner::Lost) {
                Inner::Listed(stream) => stream.into_inner().into_std().map_or(Inner::Lost, Inner::Unlisted),
                other => other,
            };
        }
        Rest(self.clone())
    }
}

impl Borrowed {
    /// Reads, and drives the connection as long as it has more for the reader. `waits` says whether the reader
    /// has to wait for more than it was given.
    pub(crate) fn poll<R>(
        &self,
        context: &mut Context<'_>,
        reader: &mut R,
        read: impl Fn(&mut R, &mut Context<'_>) -> Poll<()>,
        waits: impl Fn(&R) -> bool,
    ) -> Poll<()> {
        let task = &self.signals.task;
        task.waker.register(context.waker());
        task.is_polling.store(true, Ordering::SeqCst);
        self.stay_unlisted(true);
        let mut result = self.turns(&mut |context| read(reader, context));
        // The list is of use only to a reader that waits: the next turn tries to read at first.
        if self.stay_unlisted(false) && result.is_pending() && waits(reader) {
            result = self.turns(&mut |context| read(reader, context));
        }
        task.is_polling.store(false, Ordering::SeqCst);
        if result.is_pending() && self.signals.any_is_set() {
            context.waker().wake_by_ref();
        }
        result
    }

    fn turns(&self, read: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>) -> Poll<()> {
        let Signals { reader, connection, .. } = &self.signals;
        for _ in 0..CHUNKS_PER_TURN {
            // Each is told what happened since it was last polled, so a signal is given up just before that.
            if read(&mut reader.begin()).is_ready() {
                return Poll::Ready(());
            }
            if let Some(driver) = self.driver.upgrade() {
                let mut driver = driver.lock();
                // Tokio would take turns more often, and could not be told apart from a connection with more.
                let unlimited = tokio::task::unconstrained(poll_fn(|context| driver.poll(context)));
                if pin!(unlimited).poll(&mut connection.begin()).is_ready() {
                    Driver::wake(driver);
                }
            }
            if !self.signals.any_is_set() {
                break;
            }
        }
        Poll::Pending
    }

    /// Says whether the socket stays off the list. Returns whether it is off it.
    fn stay_unlisted(&self, stays: bool) -> bool {
        self.handle.0.upgrade().is_some_and(|socket| {
            let mut socket = socket.lock();
            socket.stays_unlisted = stays;
            matches!(socket.inner, Inner::Unlisted(_))
        })
    }

    /// Lets the connection rest until the returned value is dropped, or until something is sent.
    pub(crate) fn rest(&self) -> Rest {
        self.handle.rest()
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // A reader that panicked has left it as it was.
        self.stay_unlisted(false);
        let Some(driver) = self.driver.upgrade() else { return };
        let mut driver = driver.lock();
        driver.is_lent = false;
        Driver::wake(driver);
    }
}

impl Signals {
    fn new() -> Self {
        let task = Arc::<ReaderTask>::default();
        let signal = || {
            let flag = Arc::new(Flag { is_set: AtomicBool::new(false), task: task.clone() });
            Signal { waker: flag.clone().into(), flag }
        };
        Self { reader: signal(), connection: signal(), task }
    }

    fn any_is_set(&self) -> bool {
        [&self.reader, &self.connection].iter().any(|signal| signal.flag.is_set.load(Ordering::SeqCst))
    }
}

impl Signal {
    /// Takes the signal back, and returns the context of a poll that can give it again.
    fn begin(&self) -> Context<'_> {
        self.flag.is_set.store(false, Ordering::SeqCst);
        Context::from_waker(&self.waker)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_set.store(true, Ordering::SeqCst);
        if !self.task.is_polling.load(Ordering::SeqCst) {
            self.task.waker.wake();
        }
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        let Some(socket) = self.0.0.upgrade() else { return };
        let mut socket = socket.lock();
        socket.is_resting = false;
        let waiting = [socket.reader.take(), socket.writer.take()];
        drop(socket);
        waiting.into_iter().flatten().for_each(Waker::wake);
    }
}

impl Ahead {
    /// Reads what has arrived. Returns `None` if nothing has.
    fn fill(&mut self, mut stream: &std::net::TcpStream) -> Option<io::Result<()>> {
        self.buffer.resize(READ_AHEAD, 0);
        let read = loop {
            match stream.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        match read {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            read => Some(read.map(|length| self.rest = 0..length)),
        }
    }

    /// Moves bytes to whoever asks for them. Returns whether there were any.
    fn take(&mut self, target: &mut ReadBufCursor<'_>) -> bool {
        if self.rest.is_empty() {
            return false;
        }
        let length = self.rest.len().min(target.remaining());
        target.put_slice(&self.buffer[self.rest.start..][..length]);
        self.rest.start += length;
        true
    }
}

impl Socket {
    /// The socket, on the list and not resting.
    fn awake(&mut self) -> io::Result<Pin<&mut TokioIo<TcpStream>>> {
        self.is_resting = false;
        self.inner = match mem::replace(&mut self.inner, Inner::Lost) {
            Inner::Unlisted(stream) => {
                let _runtime = self.runtime.enter();
                Inner::Listed(TokioIo::new(TcpStream::from_std(stream)?))
            }
            other => other,
        };
        match &mut self.inner {
            Inner::Listed(stream) => Ok(Pin::new(stream)),
            _ => Err(io::Error::other("the connection could not be woken from its rest")),
        }
    }

    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        mut target: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.take(&mut target) {
            return Poll::Ready(Ok(()));
        }
        let is_asked = match &self.inner {
            _ if self.is_resting => false,
            // What arrived during a rest need not be waited for.
            Inner::Unlisted(stream) => match self.ahead.fill(stream) {
                Some(filled) => {
                    self.ahead.take(&mut target);
                    return Poll::Ready(filled);
                }
                None => !self.stays_unlisted,
            },
            Inner::Listed(_) | Inner::Lost => true,
        };
        let result = if is_asked {
            // A stream that is not busy needs no memory for what is read ahead.
            self.ahead = Ahead::default();
            self.awake()?.poll_read(context, target)
        } else {
            Poll::Pending
        };
        if result.is_pending() {
            remember(&mut self.reader, context);
        }
        result
    }

    /// Writes. The waker is that of a reader that has to look again.
    fn poll_write<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TokioIo<TcpStream>>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> (Poll<io::Result<T>>, Option<Waker>) {
        if let Ok(driver) = DRIVER.try_with(Weak::clone) {
            // The handshake may have had another one than the connection has.
            self.driver = Some(driver);
        }
        let reader = if let Inner::Unlisted(_) = self.inner { self.reader.take() } else { None };
        let result = match self.awake() {
            Ok(stream) => write(stream, context),
            Err(error) => Poll::Ready(Err(error)),
        };
        if result.is_pending() {
            remember(&mut self.writer, context);
        }
        (result, reader)
    }
}

/// Remembers the task that is to be woken.
fn remember(task: &mut Option<Waker>, context: &Context<'_>) {
    match task {
        Some(task) => task.clone_from(context.waker()),
        None => *task = Some(context.waker().clone()),
    }
}

impl Stream {
    pub(crate) fn new(stream: TokioIo<TcpStream>) -> Self {
        let socket = Socket {
            inner: Inner::Listed(stream),
            is_resting: false,
            stays_unlisted: false,
            ahead: Ahead::default(),
            reader: None,
            writer: None,
            runtime: Handle::current(),
            driver: None,
        };
        Self { socket: Arc::new(Mutex::new(socket)) }
    }

    fn poll_write_with<T>(
        &self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TokioIo<TcpStream>>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let (result, reader) = self.socket.lock().poll_write(context, write);
        if let Some(reader) = reader {
            reader.wake();
        }
        result
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.socket.lock().poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A socket has no buffer of its own to flush, so there is no reason to wake it.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_with(context, |stream, context| stream.poll_shutdown(context))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |stream, context| stream.poll_write_vectored(context, buffers))
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = match &self.socket.lock().inner {
            Inner::Listed(stream) => stream.connected(),
            Inner::Unlisted(_) | Inner::Lost => Connected::new(),
        };
        connected.extra(ConnectionHandle(Arc::downgrade(&self.socket)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{
        io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split},
        net::TcpListener,
        task::yield_now,
        time::{sleep, timeout},
    };

    use super::*;

    /// Longer than a byte takes from one end of a connection to the other.
    const MOMENT: Duration = Duration::from_millis(50);

    /// A connection that can rest, its handle, and the other end.
    async fn connection() -> (TokioIo<Stream>, ConnectionHandle, TcpStream) {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(server.local_addr().unwrap()).await.unwrap();
        let stream = Stream::new(TokioIo::new(client));
        let handle = ConnectionHandle(Arc::downgrade(&stream.socket));
        (TokioIo::new(stream), handle, server.accept().await.unwrap().0)
    }

    #[tokio::test]
    async fn what_arrives_during_a_rest_is_read_after_it() {
        for waits in [true, false] {
            let (mut stream, handle, mut server) = connection().await;
            let rest = if waits { None } else { Some(handle.rest()) };
            let mut reader = tokio::spawn(async move { (stream.read_u8().await.unwrap(), stream) });
            yield_now().await;
            let rest = rest.unwrap_or_else(|| handle.rest());
            server.write_all(&[7]).await.unwrap();
            assert!(timeout(MOMENT, &mut reader).await.is_err(), "nobody is woken");
            drop(rest);
            assert_eq!(reader.await.unwrap().0, 7);
        }
    }

    #[tokio::test]
    async fn the_end_of_a_connection_is_noticed_after_a_rest() {
        let (mut stream, handle, server) = connection().await;
        let rest = handle.rest();
        drop(server);
        sleep(MOMENT).await;
        drop(rest);
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn sending_ends_a_rest() {
        let (stream, handle, mut server) = connection().await;
        let (mut reader, mut writer) = split(stream);
        let _rest = handle.rest();
        let reader = tokio::spawn(async move { reader.read_u8().await.unwrap() });
        yield_now().await;
        writer.write_all(&[1]).await.unwrap();
        let request = server.read_u8().await.unwrap();
        server.write_all(&[request + 1]).await.unwrap();
        assert_eq!(timeout(Duration::from_secs(5), reader).await.unwrap().unwrap(), 2);
    }

    #[tokio::test]
    async fn a_rest_may_end_outside_of_a_runtime_and_after_its_connection() {
        let (mut stream, handle, mut server) = connection().await;
        let rest = handle.rest();
        server.write_all(&[7]).await.unwrap();
        std::thread::spawn(move || drop(rest)).join().unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), 7);
        let rest = handle.rest();
        drop(stream);
        assert_eq!(
            server.read(&mut [0]).await.unwrap(),
            0,
            "a resting connection is closed when it is dropped"
        );
        drop(rest);
        drop(handle.rest());
    }

    /// Sends the text in small pieces, and returns what it received meanwhile.
    async fn exchange(stream: impl AsyncRead + AsyncWrite, text: Arc<[u8]>) -> Vec<u8> {
        let ((mut reader, mut writer), mut received) = (split(stream), vec![0; text.len()]);
        let sending = async {
            for piece in text.chunks(1999) {
                writer.write_all(piece).await.unwrap();
            }
        };
        tokio::join!(sending, async { reader.read_exact(&mut received).await.unwrap() });
        received
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_is_lost_between_many_rests_while_both_sides_send() {
        let text: Arc<[u8]> = (0..=250).cycle().take(4 << 20).collect();
        let (stream, handle, server) = connection().await;
        let resting = tokio::spawn(async move {
            loop {
                let rest = handle.rest();
                yield_now().await;
                drop(rest);
                sleep(Duration::from_micros(100)).await;
            }
        });
        let near = tokio::spawn(exchange(stream, text.clone()));
        let far = tokio::spawn(exchange(server, text.clone()));
        let both = timeout(Duration::from_secs(60), async { (near.await.unwrap(), far.await.unwrap()) });
        let (near, far) = both.await.unwrap();
        assert!(near == *text && far == *text);
        resting.abort();
    }

    #[test]
    fn a_reader_whose_connection_always_has_more_lets_other_tasks_run() {
        let endless = poll_fn(|context| {
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        let driver = Driver { connection: Some(Box::pin(endless)), is_lent: true, task: None };
        let driver = Arc::new(Mutex::new(driver));
        let (task, woken) = noting_waker();
        let mut chunks = 0;
        let read = |chunks: &mut usize, _: &mut Context<'_>| {
            *chunks += 1;
            Poll::Pending
        };
        let result = borrowed(&driver).poll(&mut Context::from_waker(&task), &mut chunks, read, |_| true);
        assert!(result.is_pending() && woken.load(Ordering::SeqCst), "it continues after the others");
        assert_eq!(chunks, CHUNKS_PER_TURN);
    }

    /// A connection without a socket that its reader drives.
    fn borrowed(driver: &Arc<Mutex<Driver>>) -> Borrowed {
        let (handle, driver) = (ConnectionHandle(Weak::new()), Arc::downgrade(driver));
        Borrowed { handle, driver, signals: Signals::new() }
    }

    #[test]
    fn a_reader_that_is_woken_while_it_reads_is_not_forgotten() {
        let connection = poll_fn(|_| Poll::<()>::Pending);
        let driver = Driver { connection: Some(Box::pin(connection)), is_lent: true, task: None };
        let driver = Arc::new(Mutex::new(driver));
        let mut reads = 0;
        let read = |reads: &mut usize, context: &mut Context<'_>| {
            *reads += 1;
            if *reads == 1 {
                context.waker().wake_by_ref();
            }
            Poll::Pending
        };
        let (task, _) = noting_waker();
        let result = borrowed(&driver).poll(&mut Context::from_waker(&task), &mut reads, read, |_| true);
        assert!(result.is_pending());
        assert_eq!(reads, 2);
    }

    /// A waker that notes that it was woken.
    fn noting_waker() -> (Waker, Arc<AtomicBool>) {
        struct Note(Arc<AtomicBool>);

        impl Wake for Note {
            fn wake(self: Arc<Self>) {
                self.0.store(true, Ordering::SeqCst);
            }
        }

        let woken = Arc::<AtomicBool>::default();
        (Arc::new(Note(woken.clone())).into(), woken)
    }

    #[tokio::test]
    async fn a_driver_leaves_its_connection_to_the_reader_that_borrowed_it() {
        let turns = Arc::new(Mutex::new(0));
        let counted = turns.clone();
        let connection = poll_fn(move |_| {
            *counted.lock() += 1;
            Poll::<()>::Pending
        });
        let driver = Arc::new(Mutex::new(Driver {
            connection: Some(Box::pin(connection)),
            is_lent: false,
            task: None,
        }));
        let task = tokio::spawn(DriverTask(driver.clone()));
        let turn = async |turns: &Mutex<usize>| {
            driver.lock().task.clone().inspect(Waker::wake_by_ref);
            yield_now().await;
            std::mem::take(&mut *turns.lock())
        };
        yield_now().await;
        assert_eq!(turn(&turns).await, 2, "it was polled at first, and because it was woken");
        driver.lock().is_lent = true;
        assert_eq!(turn(&turns).await, 0);
        drop(borrowed(&driver));
        yield_now().await;
        assert_eq!(std::mem::take(&mut *turns.lock()), 1, "it is told that it has its connection back");
        driver.lock().connection = None;
        turn(&turns).await;
        assert!(task.is_finished(), "it ends with the connection");
    }
}
