//! Starts an environment by hand: see `hack/testenv/run.sh`, which is the way to call it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitCode, ExitStatus},
};

use genclient_testenv::{Error, Neutron, TestEnv};
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "\
Usage: run.sh [--neutron] [--keystone] [-- COMMAND [ARGUMENT...]]
       run.sh --env

Starts a Kubernetes control plane, and stops everything on Ctrl-C. The first
start builds the servers, which takes 6 to 10 minutes. With a command it runs
that, with the variables set, and stops everything when the command has ended.
Without one it waits; other terminals get the variables with

  eval \"$(hack/testenv/run.sh --env)\"

  --neutron    starts Neutron as well
  --keystone   starts Neutron behind Keystone
  --env        prints the variables of the environment that runs
  --help       this text
";

#[derive(Default)]
struct Arguments {
    neutron: bool,
    keystone: bool,
    help: bool,
    /// Where the variables are written once everything runs. `run.sh` gives it.
    env_file: Option<PathBuf>,
    command: Vec<OsString>,
}

fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Arguments, String> {
    let mut parsed = Arguments::default();
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--neutron") => parsed.neutron = true,
            Some("--keystone") => parsed.keystone = true,
            Some("--help" | "-h") => parsed.help = true,
            Some("--env-file") => {
                parsed.env_file = Some(arguments.next().ok_or("no file after --env-file")?.into());
            }
            Some("--") if arguments.peek().is_some() => parsed.command = arguments.by_ref().collect(),
            Some("--") => return Err(String::from("no command after --")),
            _ => return Err(format!("unknown argument: {}", argument.display())),
        }
    }
    Ok(parsed)
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match parse(std::env::args_os().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprint!("{message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if arguments.help {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    run(arguments).await.unwrap_or_else(|error| {
        eprintln!("testenv: {error}");
        ExitCode::FAILURE
    })
}

async fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    // From here on a signal ends this function instead of the process, and with it everything that was started.
    let listen = |kind| {
        signal(kind).map_err(|source| Error::Io { doing: String::from("listening for signals"), source })
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    let ended = async {
        tokio::select! {
            _ = interrupt.recv() => 130,
            _ = terminate.recv() => 143,
            _ = hangup.recv() => 129,
        }
    };
    tokio::select! {
        status = ended => {
            eprintln!("testenv: stopping");
            // A run without a command is meant to be ended like this.
            Ok(if arguments.command.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(status) })
        }
        result = serve(&arguments) => result,
    }
}

async fn serve(arguments: &Arguments) -> Result<ExitCode, Error> {
    let begun = std::time::Instant::now();
    let neutron = async {
        Ok(match (arguments.neutron, arguments.keystone) {
            (_, true) => Some(Neutron::with_keystone().await?),
            (true, false) => Some(Neutron::start().await?),
            (false, false) => None,
        })
    };
    let (env, neutron) = tokio::try_join!(TestEnv::builder().own_servers().start(), neutron)?;
    let variables = variables(&env, neutron.as_ref());
    eprintln!("testenv: ready after {:.1} s", begun.elapsed().as_secs_f32());

    if let [program, rest @ ..] = arguments.command.as_slice() {
        let status =
            tokio::process::Command::new(program).args(rest).envs(variables).kill_on_drop(true).status();
        let status = status
            .await
            .map_err(|source| Error::Io { doing: format!("running {}", program.display()), source })?;
        return Ok(ExitCode::from(shell_status(status)));
    }
    let _env_file = match &arguments.env_file {
        Some(path) => Some(EnvFile::write(path, &exports(&variables))?),
        None => None,
    };
    print!("{}", exports(&variables));
    eprintln!("testenv: logs in {}", env.folder().display());
    if let Some(neutron) = &neutron {
        eprintln!("testenv: Neutron's logs in {}", neutron.folder().display());
    }
    eprintln!("testenv: other terminals get the variables with: eval \"$(hack/testenv/run.sh --env)\"");
    eprintln!("testenv: Ctrl-C stops everything");
    std::future::pending().await
}

/// The variables as a shell reads them.
fn exports(variables: &[(&str, String)]) -> String {
    let export =
        |(name, value): &(&str, String)| format!("export {name}='{}'\n", value.replace('\'', r"'\''"));
    variables.iter().map(export).collect()
}

/// A file with the variables, for as long as this is kept.
struct EnvFile(PathBuf);

impl EnvFile {
    fn write(path: &Path, exports: &str) -> Result<Self, Error> {
        let text = format!("# pid {}\n{exports}", std::process::id());
        // Renamed into place, so that it is never read half-written.
        let new = path.with_extension("new");
        std::fs::write(&new, text)
            .and_then(|()| std::fs::rename(&new, path))
            .map_err(|source| Error::Io { doing: format!("writing {}", path.display()), source })?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for EnvFile {
    fn drop(&mut self) {
        // A later environment has written its own.
        let own = format!("# pid {}\n", std::process::id());
        if std::fs::read_to_string(&self.0).is_ok_and(|text| text.starts_with(&own)) {
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

/// What tests and people need to know, as environment variables.
fn variables(env: &TestEnv, neutron: Option<&Neutron>) -> Vec<(&'static str, String)> {
    let kubeconfig = env.kubeconfig().display().to_string();
    let mut variables = vec![
        ("KUBECONFIG", kubeconfig.clone()),
        ("GENCLIENT_SHARED_KUBECONFIG", kubeconfig),
        ("KUBECTL", env.kubectl_path().display().to_string()),
    ];
    if let Some(neutron) = neutron {
        variables.push(("NEUTRON_URL", neutron.url()));
        variables.extend(neutron.keystone().into_iter().flat_map(|keystone| keystone.credentials()));
    }
    variables
}

fn shell_status(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    u8::try_from(code).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Arguments, String> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn everything_after_two_dashes_is_the_command() {
        let arguments = parsed(&["--neutron", "--", "cargo", "test", "--keystone"]).unwrap();
        assert_eq!(arguments.command, ["cargo", "test", "--keystone"]);
        assert!(arguments.neutron && !arguments.keystone && !arguments.help);
    }

    #[test]
    fn an_unknown_argument_and_a_missing_command_are_refused() {
        assert_eq!(parsed(&["--neutrom"]).err().unwrap(), "unknown argument: --neutrom");
        assert_eq!(parsed(&["--"]).err().unwrap(), "no command after --");
        assert_eq!(parsed(&["--env-file"]).err().unwrap(), "no file after --env-file");
    }

    #[test]
    fn the_variables_can_be_evaluated_by_a_shell_and_the_file_goes_with_the_environment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("testenv.env");
        let variables = [("A", "with 'quotes' and $x".to_owned()), ("B", "2".to_owned())];
        let file = EnvFile::write(&path, &exports(&variables)).unwrap();
        let script = format!(". {}; printf '%s|%s' \"$A\" \"$B\"", path.display());
        let shown = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&shown.stdout), "with 'quotes' and $x|2");
        drop(file);
        assert!(!path.exists());

        let file = EnvFile::write(&path, "").unwrap();
        std::fs::write(&path, "# pid 1\n").unwrap();
        drop(file);
        assert!(path.exists(), "it is another one's by now");
    }

    #[test]
    fn a_command_that_was_killed_has_the_status_that_a_shell_would_tell() {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(shell_status(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(shell_status(ExitStatus::from_raw(9)), 137);
    }
}
