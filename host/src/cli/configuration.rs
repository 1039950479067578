//! Settings from a file. What it says stands in for an option that is given neither on the
//! command line nor in the environment.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::failure::Failure;

/// No such file is larger.
const BYTES_MAX: u64 = 1 << 20;
const CONFIG: &str = "config";
/// Commands whose options can be set, beside what all have in common.
const COMMANDS: [&str; 2] = ["serve", "token"];

/// The command line, and after it what the file that it or the environment names adds.
pub(super) fn with_file(command: &Command, given: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    // What is not understood is told when it is read in earnest.
    let Ok(found) = command.clone().try_get_matches_from(&given) else { return Ok(given) };
    let Some(file) = found.get_one::<PathBuf>(CONFIG) else { return Ok(given) };
    let more = added(command, &found, &read(file)?).map_err(|why| {
        Failure::because(format!("{} cannot be used as settings", file.display()), &why)
    })?;
    Ok(given.into_iter().chain(more.into_iter().map(OsString::from)).collect())
}

fn read(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let opened = OpenOptions::new().read(true).open(file);
    opened
        .and_then(|opened| opened.take(BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| Failure::because(format!("{} cannot be read", file.display()), &error))?;
    Ok(text)
}

/// The options that a text sets and nobody gave, as they are written on a command line.
fn added(command: &Command, found: &ArgMatches, text: &str) -> Result<Vec<String>, String> {
    let settings: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let (leaf, matches) = leaf(command, found);
    let mut added = Vec::new();
    for (name, value) in settings {
        let mut known =
            COMMANDS.iter().filter_map(|of| command.find_subcommand(of)).chain([command]);
        let option = known.find_map(|command| option(command, &name));
        let option = option.ok_or(format!("there is no setting `{name}`"))?;
        let written = written(option, &name, &value)?;
        let is_meant = has(leaf, &name) || has(command, &name);
        if is_meant && !is_given(matches, &name) {
            added.extend(written);
        }
    }
    Ok(added)
}

/// The command that is to run, and what it was given.
fn leaf<'a>(command: &'a Command, found: &'a ArgMatches) -> (&'a Command, &'a ArgMatches) {
    match found.subcommand() {
        Some((name, below)) => {
            command.find_subcommand(name).map_or((command, found), |command| leaf(command, below))
        }
        None => (command, found),
    }
}

/// An option of a command that the environment can set, too.
fn option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let mut options = command.get_arguments().filter(|option| option.get_env().is_some());
    options.find(|option| name != CONFIG && option.get_id() == name)
}

fn has(command: &Command, name: &str) -> bool {
    option(command, name).is_some()
}

fn is_given(matches: &ArgMatches, name: &str) -> bool {
    let source = matches.value_source(name);
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// An option with its value, as on a command line; none for a flag that is not set.
fn written(option: &Arg, name: &str, value: &toml::Value) -> Result<Option<String>, String> {
    let long = format!("--{}", name.replace('_', "-"));
    if !option.get_action().takes_values() {
        let is_set = value.as_bool().ok_or(format!("`{name}` is true or false"))?;
        return Ok(is_set.then_some(long));
    }
    match value {
        toml::Value::String(text) => Ok(Some(format!("{long}={text}"))),
        toml::Value::Integer(number) => Ok(Some(format!("{long}={number}"))),
        _ => Err(format!("`{name}` is a text or a whole number")),
    }
}

#[cfg(test)]
mod tests {
    use clap::ArgAction;

    use super::*;

    fn command() -> Command {
        let option = |name: &'static str| Arg::new(name).env(format!("X_TEST_{name}"));
        let listen = option("listen").long("listen").default_value("a");
        let leeway = option("token_leeway").long("token-leeway");
        let strict = option("is_strict").long("is-strict").action(ArgAction::SetTrue);
        Command::new("x")
            .arg(option("store").long("store").global(true))
            .subcommand(Command::new("serve").arg(listen).arg(leeway.clone()).arg(strict))
            .subcommand(Command::new("token").arg(leeway).arg(Arg::new("subject").long("subject")))
            .subcommand(Command::new("files").subcommand(Command::new("ls")))
    }

    fn with(text: &str, given: &[&str]) -> Result<Vec<String>, String> {
        added(&command(), &command().get_matches_from(given), text)
    }

    /// The command line comes before the file, and that before what is built in.
    #[test]
    fn a_file_stands_in_for_what_is_not_given() {
        let all = "store = 's'\nlisten = 'b'\ntoken_leeway = 7";
        let words = |words: &[&str]| Ok(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(with("", &["x", "serve"]), words(&[]));
        assert_eq!(
            with(all, &["x", "serve"]),
            words(&["--listen=b", "--store=s", "--token-leeway=7"])
        );
        assert_eq!(
            with(all, &["x", "serve", "--listen", "c", "--store=t"]),
            words(&["--token-leeway=7"])
        );
        assert_eq!(
            with(all, &["x", "--store=t", "serve", "--listen", "a"]),
            words(&["--token-leeway=7"])
        );
        assert_eq!(with(all, &["x", "files", "ls"]), words(&["--store=s"]));
    }

    /// A flag is set or not; one that the command line sets is left alone.
    #[test]
    fn a_flag_is_set_or_not() {
        let words = |words: &[&str]| Ok(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(with("is_strict = true", &["x", "serve"]), words(&["--is-strict"]));
        assert_eq!(with("is_strict = false", &["x", "serve"]), words(&[]));
        assert_eq!(with("is_strict = true", &["x", "serve", "--is-strict"]), words(&[]));
        assert_eq!(with("is_strict = true", &["x", "files", "ls"]), words(&[]));
    }

    /// What is no setting is refused, also where it would not be used.
    #[test]
    fn what_is_no_setting_is_refused() {
        for wrong in [
            "subject = 'a'",
            "listen = []",
            "listen = true",
            "is_strict = 'true'",
            "nothing = 1",
            "help = 'a'",
            "config = 'a'",
            "store = 's'\nstore = 's'",
            "=",
            "token-leeway = 1",
        ] {
            assert!(with(wrong, &["x", "files", "ls"]).is_err(), "{wrong}");
        }
    }
}
