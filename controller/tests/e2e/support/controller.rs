//! The controller, or an example, as a process of its own.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
};

use genclient_testenv::TestEnv;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    task::JoinHandle,
};

use super::eventually;

const CONTROLLER: &str = env!("CARGO_BIN_EXE_samplecrd-controller");

/// The program of an example, which cargo puts beside the controller's.
pub fn example(name: &str) -> PathBuf {
    let program = Path::new(CONTROLLER).parent().unwrap().join("examples").join(name);
    assert!(
        program.exists(),
        "the example {name} is not built; run `cargo build -p samplecrd-controller --examples`, or the tests \
         without naming one of them to cargo"
    );
    program
}

/// A running controller; it is killed when this is dropped, and its log is shown if the test fails.
pub struct Controller {
    child: Child,
    log: Lines,
    /// What it prints beside its log.
    printed: Lines,
    readers: [JoinHandle<()>; 2],
}

type Lines = Arc<Mutex<Vec<String>>>;

/// How a controller ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub log: Vec<String>,
    pub printed: Vec<String>,
}

impl Ended {
    pub fn says(&self, text: &str) -> bool {
        self.log.iter().any(|line| line.contains(text))
    }
}

impl Controller {
    /// Runs it on this cluster with these flags and these variables.
    pub fn start(env: &TestEnv, args: &[&str], variables: &[(&str, String)]) -> Self {
        let mut all = vec![OsString::from("--kubeconfig"), env.kubeconfig().into()];
        all.extend(args.iter().map(OsString::from));
        Self::run(&all, variables)
    }

    /// Runs it with exactly these flags and these variables: none of the surroundings.
    pub fn run(args: &[OsString], variables: &[(&str, String)]) -> Self {
        Self::run_program(Path::new(CONTROLLER), args, variables)
    }

    /// Runs an example on this cluster with these flags.
    pub fn example(env: &TestEnv, name: &str, args: &[&str]) -> Self {
        let mut all = vec![OsString::from("--kubeconfig"), env.kubeconfig().into()];
        all.extend(args.iter().map(OsString::from));
        Self::run_program(&example(name), &all, &[])
    }

    fn run_program(program: &Path, args: &[OsString], variables: &[(&str, String)]) -> Self {
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (log, printed) = (Lines::default(), Lines::default());
        let readers = [
            tokio::spawn(read(child.stderr.take().unwrap(), log.clone())),
            tokio::spawn(read(child.stdout.take().unwrap(), printed.clone())),
        ];
        Self { child, log, printed, readers }
    }

    /// Waits for a line that it prints, beside its log, and that contains this text.
    pub async fn prints(&self, text: &str) -> String {
        let line = async || self.printed.lock().iter().find(|line| line.contains(text)).cloned();
        eventually(&format!("the controller prints {text:?}"), line, Option::is_some).await.unwrap()
    }

    /// The lines of the log that contain all of these texts.
    pub fn lines(&self, texts: &[&str]) -> Vec<String> {
        let log = self.log.lock();
        log.iter().filter(|line| texts.iter().all(|text| line.contains(text))).cloned().collect()
    }

    /// How many lines of the log contain all of these texts.
    pub fn count(&self, texts: &[&str]) -> usize {
        self.lines(texts).len()
    }

    /// Whether it has begun to process a spec, and logged no outcome for that object since.
    pub fn is_busy(&self) -> bool {
        let lines = self.lines(&["key="]);
        let begins = |line: &str| line.contains("processing network");
        let word =
            |line: &str, name: &str| line.split(' ').find(|word| word.starts_with(name)).map(str::to_owned);
        let spec = |line: &str| ["key=", "cidr=", "gateway="].map(|name| word(line, name));
        lines.iter().filter(|line| begins(line)).any(|line| {
            // A spec that is processed again, such as after a change of the metadata, may have no second outcome.
            let since = lines.iter().skip_while(|other| !begins(other) || spec(other) != spec(line));
            !since.into_iter().any(|later| !begins(later) && word(later, "key=") == word(line, "key="))
        })
    }

    /// Waits for a line that contains all of these texts.
    pub async fn says(&self, texts: &[&str]) {
        self.says_times(1, texts).await;
    }

    /// Waits for so many lines that contain all of these texts.
    pub async fn says_times(&self, times: usize, texts: &[&str]) {
        let what = format!("the controller says {texts:?} {times} times");
        eventually(&what, async || self.count(texts), |count| *count >= times).await;
    }

    /// Sends a signal, such as `TERM`.
    pub async fn signal(&self, name: &str) {
        signal(self.child.id().expect("it has not been waited for"), name).await;
    }

    /// Waits for its end.
    pub async fn ended(mut self) -> Ended {
        let waiting = tokio::time::timeout(std::time::Duration::from_secs(60), self.child.wait());
        let status = waiting.await.expect("the controller ends within a minute").unwrap();
        for reader in &mut self.readers {
            reader.await.unwrap();
        }
        Ended { status, log: self.log.lock().clone(), printed: self.printed.lock().clone() }
    }

    /// Asks it to end, and sees that it does so in order.
    pub async fn stop(self) -> Ended {
        self.signal("TERM").await;
        let ended = self.ended().await;
        assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
        ended
    }

    /// Ends it as a crash would.
    pub async fn kill9(mut self) -> Ended {
        self.child.start_kill().unwrap();
        self.ended().await
    }
}

/// Sends a signal to a process.
pub async fn signal(id: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), id.to_string()]).status().await.unwrap();
    assert!(sent.success());
}

async fn read(from: impl AsyncRead + Unpin, lines: Lines) {
    let mut from = BufReader::new(from).lines();
    while let Ok(Some(line)) = from.next_line().await {
        lines.lock().push(line);
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log.lock();
            let from = log.len().saturating_sub(200);
            eprintln!(
                "--- the controller's log, its last {} lines:\n{}",
                log.len() - from,
                log[from..].join("\n")
            );
        }
    }
}
