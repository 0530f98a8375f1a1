//! Starts an environment by hand: see `hack/testenv/run.sh`, which is the way to call it.

use std::{
    ffi::OsString,
    process::{ExitCode, ExitStatus},
};

use genclient_testenv::{Error, Neutron, TestEnv};
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "\
Usage: run.sh [--neutron] [--keystone] [-- COMMAND [ARGUMENT...]]

Starts a Kubernetes control plane. Without a command it prints the variables to
export, and stops everything on Ctrl-C. With a command it runs that, with the
variables set, and stops everything when the command has ended.

  --neutron    starts Neutron as well
  --keystone   starts Neutron behind Keystone
  --help       this text
";

#[derive(Default)]
struct Arguments {
    neutron: bool,
    keystone: bool,
    help: bool,
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
    for (name, value) in &variables {
        println!("export {name}='{}'", value.replace('\'', r"'\''"));
    }
    eprintln!("testenv: logs in {}", env.folder().display());
    if let Some(neutron) = &neutron {
        eprintln!("testenv: Neutron's logs in {}", neutron.folder().display());
    }
    eprintln!("testenv: Ctrl-C stops everything");
    std::future::pending().await
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
    }

    #[test]
    fn a_command_that_was_killed_has_the_status_that_a_shell_would_tell() {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(shell_status(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(shell_status(ExitStatus::from_raw(9)), 137);
    }
}
