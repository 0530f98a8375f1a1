//! The controller as a process of its own.

use std::{
    ffi::OsString,
    process::{ExitStatus, Stdio},
    sync::Arc,
};

use genclient_testenv::TestEnv;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    task::JoinHandle,
};

use super::eventually;

/// A running controller; it is killed when this is dropped, and its log is shown if the test fails.
pub struct Controller {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

/// How a controller ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub log: Vec<String>,
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
        let mut child = Command::new(env!("CARGO_BIN_EXE_samplecrd-controller"))
            .args(args)
            .env_clear()
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (sink, mut lines) = (log.clone(), BufReader::new(child.stderr.take().unwrap()).lines());
        let reader = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                sink.lock().push(line);
            }
        });
        Self { child, log, reader: Some(reader) }
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
        let id = self.child.id().expect("it has not been waited for").to_string();
        let sent = Command::new("kill").args([format!("-{name}"), id]).status().await.unwrap();
        assert!(sent.success());
    }

    /// Waits for its end.
    pub async fn ended(mut self) -> Ended {
        let waiting = tokio::time::timeout(std::time::Duration::from_secs(60), self.child.wait());
        let status = waiting.await.expect("the controller ends within a minute").unwrap();
        self.reader.take().unwrap().await.unwrap();
        Ended { status, log: self.log.lock().clone() }
    }

    /// Asks it to end, and sees that it does so in order.
    pub async fn stop(self) -> Ended {
        self.signal("TERM").await;
        let ended = self.ended().await;
        assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
        ended
    }

    /// Ends it as a crash would.
    pub async fn kill9(mut self) {
        self.child.kill().await.unwrap();
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
