//! A server process that cannot outlive the process that started it.
//!
//! Every server is the child of a small shell script, its supervisor, which holds the reading end of a pipe from
//! this process. When this process ends, in whatever way, the kernel closes the pipe and the supervisor kills the
//! server. A supervisor leads a process group of its own, so a Ctrl-C in the terminal or a signal to the test
//! runner's group does not reach it, and it stays to clean up.
//!
//! Signals are sent by the supervisor, which has not reaped the server as long as it reads commands: a signal can
//! never reach a stranger that was given the same process id.
//!
//! Nothing here depends on an async runtime, so tests with different runtimes can share a process.

use std::{
    ffi::OsString,
    fmt, fs,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::Error;

/// How long a supervisor may take to send a signal.
const SIGNAL: Duration = Duration::from_secs(20);

/// A signal that a fault handle sends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signal {
    Term,
    Kill,
    Stop,
    Cont,
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Term => "TERM",
            Self::Kill => "KILL",
            Self::Stop => "STOP",
            Self::Cont => "CONT",
        })
    }
}

/// What to start: kept so that a server can be started again with the same arguments.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) envs: Vec<(&'static str, OsString)>,
    pub(crate) folder: PathBuf,
}

impl Program {
    /// A program that runs in `folder` and writes its log there.
    pub(crate) fn new(name: &'static str, path: PathBuf, folder: &Path) -> Self {
        Self { name, path, args: Vec::new(), envs: Vec::new(), folder: folder.to_owned() }
    }

    /// The file that receives standard output and standard error of every start.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    /// The error of a server that did not come up, with the end of its log.
    pub(crate) fn start_error(&self, reason: impl Into<String>) -> Error {
        let log = self.log();
        let tail = tail(&log).unwrap_or_else(|error| format!("(the log cannot be read: {error})"));
        Error::Start { server: self.name, reason: reason.into(), log, tail }
    }
}

/// Waits until every thread of a process has stopped: on a busy machine some still run after the signal was sent.
/// Without `/proc` there is nothing to look at.
fn wait_for_stop(pid: u32) {
    let has_stopped = |task: io::Result<fs::DirEntry>| {
        let stat = task.and_then(|task| fs::read_to_string(task.path().join("stat"))).unwrap_or_default();
        // The state follows the name of the program, which is in parentheses. A thread may have ended meanwhile.
        stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with(['T', 't', 'Z', 'X']))
    };
    let deadline = Instant::now() + SIGNAL;
    while Instant::now() < deadline {
        let Ok(mut tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return };
        if tasks.all(has_stopped) {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// A running server. Dropping it kills the server and waits until it is gone.
#[derive(Debug)]
pub(crate) struct Process {
    program: Program,
    supervisor: Child,
    /// The writing end of the pipe. It is an `Option` only because closing it is how `drop` begins.
    commands: Option<ChildStdin>,
    pid: u32,
    /// Says when a signal has been sent. The lock is there because a receiver alone is not `Sync`.
    sent: Mutex<mpsc::Receiver<()>>,
    exit: watch::Receiver<Option<i32>>,
}

impl Process {
    /// Starts the program; it may still fail to come up.
    pub(crate) fn spawn(program: &Program) -> Result<Self, Error> {
        let doing = || format!("starting {}", program.path.display());
        let mut supervisor = Command::new("/bin/sh")
            .args(["-c", include_str!("supervise.sh"), "supervise"])
            .arg(program.log())
            .arg(&program.path)
            .args(&program.args)
            .envs(program.envs.iter().map(|(name, value)| (name, value)))
            .current_dir(&program.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(Error::io(doing()))?;
        let commands = supervisor.stdin.take();
        let mut life = BufReader::new(
            supervisor.stdout.take().ok_or_else(|| Error::io(doing())(io::ErrorKind::BrokenPipe.into()))?,
        );
        let mut line = String::new();
        life.read_line(&mut line).map_err(Error::io(doing()))?;
        let pid = line.trim().strip_prefix("pid ").and_then(|pid| pid.parse().ok());
        let pid =
            pid.ok_or_else(|| Error::io(doing())(io::Error::other(format!("supervisor said {line:?}"))))?;

        let (exited, exit) = watch::channel(None);
        let (sending, sent) = mpsc::channel();
        thread::Builder::new()
            .name(format!("{}-exit", program.name))
            .spawn(move || {
                let mut status = None;
                for line in life.lines().map_while(Result::ok) {
                    match line.strip_prefix("exit ") {
                        Some(number) => status = number.parse().ok(),
                        // The task that asked for the signal may have given up waiting.
                        None => drop(sending.send(())),
                    }
                    if status.is_some() {
                        break;
                    }
                }
                // A supervisor that ends without a word was killed itself; the server counts as killed, too.
                exited.send_replace(Some(status.unwrap_or(137)));
            })
            .map_err(Error::io(doing()))?;
        Ok(Self { program: program.clone(), supervisor, commands, pid, sent: Mutex::new(sent), exit })
    }

    /// The process id of the server itself.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// A future that resolves to the exit status, in the shell's way of counting, once the server is gone.
    pub(crate) fn exited(&self) -> impl Future<Output = i32> + use<> {
        let mut exit = self.exit.clone();
        async move {
            // The sender is dropped only after it has sent, so `wait_for` cannot fail without a value.
            exit.wait_for(Option::is_some).await.ok().and_then(|status| *status).unwrap_or(137)
        }
    }

    /// Whether the server has ended.
    pub(crate) fn has_exited(&self) -> bool {
        self.exit.borrow().is_some()
    }

    /// Sends a signal to the server, and returns when it has been sent. After `Signal::Stop` it returns when the server
    /// has stopped.
    pub(crate) fn signal(&mut self, signal: Signal) -> Result<(), Error> {
        let not_running = || Error::NotRunning { server: self.program.name };
        if self.exit.borrow().is_some() {
            return Err(not_running());
        }
        let Some(commands) = &mut self.commands else { return Err(not_running()) };
        writeln!(commands, "{signal}").and_then(|()| commands.flush()).map_err(|_| not_running())?;
        match self.sent.get_mut().recv_timeout(SIGNAL) {
            Ok(()) if matches!(signal, Signal::Stop) => {
                wait_for_stop(self.pid);
                Ok(())
            }
            Ok(()) => Ok(()),
            // The server has ended meanwhile, which is the most that a signal can do.
            Err(RecvTimeoutError::Disconnected) => Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                Err(Error::io(format!("signalling {}", self.program.name))(io::ErrorKind::TimedOut.into()))
            }
        }
    }

    /// Waits until `ready` says yes, the server ends, or the time is over.
    pub(crate) async fn wait_ready<F>(
        &self,
        within: Duration,
        mut ready: impl FnMut() -> F,
    ) -> Result<(), Error>
    where
        F: Future<Output = Result<(), String>>,
    {
        let mut reason = String::from("it was never asked");
        let poll = async {
            loop {
                match ready().await {
                    Ok(()) => return,
                    Err(why) => reason = why,
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            biased;
            status = self.exited() => return Err(self.program.start_error(format!("it ended with status {status}"))),
            answer = tokio::time::timeout(within, poll) => if answer.is_ok() { return Ok(()) },
        }
        Err(self.program.start_error(format!("it was not ready after {within:?}: {reason}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.commands.take());
        // The supervisor ends as soon as it has reaped the server; there is nobody to tell of a failure.
        let _ = self.supervisor.wait();
    }
}

/// The last lines of a file.
fn tail(log: &Path) -> io::Result<String> {
    const BYTES: u64 = 4096;
    let mut file = std::fs::File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell that runs the script, in a folder that must be kept as long as the process.
    fn shell(script: &str) -> (tempfile::TempDir, Program) {
        let folder = tempfile::tempdir().unwrap();
        let mut program = Program::new("server", PathBuf::from("/bin/sh"), folder.path());
        program.args = vec!["-c".into(), script.into()];
        (folder, program)
    }

    fn is_alive(pid: u32) -> bool {
        Command::new("/bin/kill")
            .args(["-0", &pid.to_string()])
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    }

    #[tokio::test]
    async fn a_server_is_gone_when_the_drop_of_its_process_returns() {
        let (_folder, program) = shell("exec sleep 1000");
        let process = Process::spawn(&program).unwrap();
        let pid = process.pid();
        assert!(is_alive(pid));
        drop(process);
        assert!(!is_alive(pid));
    }

    #[tokio::test]
    async fn a_paused_server_is_gone_when_the_drop_of_its_process_returns() {
        let (_folder, program) = shell("exec sleep 1000");
        let mut process = Process::spawn(&program).unwrap();
        let pid = process.pid();
        process.signal(Signal::Stop).unwrap();
        drop(process);
        assert!(!is_alive(pid));
    }

    #[tokio::test]
    async fn a_call_that_signals_returns_when_the_signal_has_been_sent_and_not_before() {
        let (_folder, program) = shell("exec sleep 1000");
        let mut process = Process::spawn(&program).unwrap();
        let group = format!("-{}", process.supervisor.id());
        let tell_group = |signal| {
            assert!(Command::new("/bin/kill").args(["-s", signal, "--", &group]).status().unwrap().success())
        };
        tell_group("STOP");
        let call = thread::spawn(move || process.signal(Signal::Stop).map(|()| process));
        tokio::time::sleep(Duration::from_millis(200)).await;
        let early = call.is_finished();
        tell_group("CONT");
        drop(call.join().unwrap().unwrap());
        assert!(!early, "nobody could have sent the signal yet");
    }

    #[tokio::test]
    async fn a_server_that_ends_before_it_is_ready_is_an_error_with_the_end_of_its_log() {
        let (folder, program) = shell("echo started; echo no such luck >&2; exit 7");
        let process = Process::spawn(&program).unwrap();
        let ready = || async { Err(String::from("not yet")) };
        let error = process.wait_ready(Duration::from_secs(60), ready).await.unwrap_err();
        let Error::Start { server, reason, log, tail } = error else { panic!("{error}") };
        assert_eq!((server, reason.as_str()), ("server", "it ended with status 7"));
        assert_eq!((log, tail.as_str()), (folder.path().join("server.log"), "started\nno such luck\n"));
    }

    #[tokio::test]
    async fn a_server_that_is_never_ready_is_an_error_with_the_last_reason() {
        let (_folder, program) = shell("exec sleep 1000");
        let process = Process::spawn(&program).unwrap();
        let ready = || async { Err(String::from("still loading")) };
        let error = process.wait_ready(Duration::from_millis(120), ready).await.unwrap_err();
        assert!(error.to_string().contains("it was not ready after 120ms: still loading"), "{error}");
    }

    #[tokio::test]
    async fn a_program_that_does_not_exist_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let program = Program::new("server", PathBuf::from("/nonexistent/server"), folder.path());
        let process = Process::spawn(&program).unwrap();
        let ready = || async { Err(String::new()) };
        let error = process.wait_ready(Duration::from_secs(60), ready).await.unwrap_err();
        assert!(error.to_string().contains("/nonexistent/server"), "{error}");
    }

    #[tokio::test]
    async fn a_server_that_has_ended_cannot_be_signalled() {
        let (_folder, program) = shell("exec sleep 1000");
        let mut process = Process::spawn(&program).unwrap();
        process.signal(Signal::Term).unwrap();
        assert_eq!(process.exited().await, 143);
        assert!(process.has_exited());
        assert!(matches!(process.signal(Signal::Cont), Err(Error::NotRunning { server: "server" })));
    }
}
