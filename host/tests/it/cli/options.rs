//! The options of `bailiwick serve`, as its help tells them, and the table of them in the README.

use std::collections::BTreeMap;

use regex::{Captures, Regex};

use super::harness::Machine;

/// An option that the environment can set, too.
#[derive(Debug)]
pub(super) struct ServeOption {
    /// With the name of its value, as `--listen ADDRESS:PORT`.
    pub(super) flag: String,
    pub(super) variable: String,
    pub(super) default: Option<String>,
}

impl ServeOption {
    /// Its name alone, as `listen`.
    pub(super) fn name(&self) -> &str {
        let word = self.flag.split(' ').next().unwrap();
        word.strip_prefix("--").unwrap()
    }
}

/// All of them.
pub(super) fn serve_options() -> Vec<ServeOption> {
    let help = Machine::new().ok(&["serve", "--help"]);
    // Each with its description between its name and its variable, on one line or on several.
    let option = r"(?s)(--[a-z-]+) <([^>]+)>.*?\[env: ([A-Z_]+)=?\](?:\s*\[default: ([^\]]+)\])?";
    let options: Vec<_> = Regex::new(option).unwrap().captures_iter(&help).map(told).collect();
    assert!(options.len() > 12, "the options are found: {help}");
    options
}

fn told(option: Captures<'_>) -> ServeOption {
    ServeOption {
        flag: format!("{} {}", &option[1], &option[2]),
        variable: option[3].to_owned(),
        default: option.get(4).map(|default| default.as_str().to_owned()),
    }
}

/// The table of the README has every option that a file can set, and nothing else, each with its
/// variable, its name in the file and its default.
#[test]
fn the_table_of_options_is_whole() {
    let readme = std::fs::read_to_string("../README.md").unwrap();
    let (_, table) = readme.split_once("| option | environment | in the file | default |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let rows = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect());
    let mut rows: BTreeMap<&str, Vec<&str>> = rows.map(|row: Vec<_>| (row[0], row)).collect();
    for option in serve_options() {
        let row = rows.remove(format!("`{}`", option.flag).as_str());
        let row = row.unwrap_or_else(|| panic!("no row for {option:?}"));
        assert_eq!(row[1], format!("`{}`", option.variable), "{option:?}");
        let setting = match option.name() {
            "config" => String::new(),
            name => format!("`{}`", name.replace('-', "_")),
        };
        assert_eq!(row[2], setting, "{option:?}");
        let default = option.default.as_deref().unwrap_or_default();
        assert!(row[3].contains(default), "{option:?}: {row:?}");
    }
    assert!(rows.is_empty(), "no options of these are there: {rows:?}");
}
