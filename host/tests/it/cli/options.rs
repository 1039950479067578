//! The options of `bailiwick serve`, as its help tells them, and the table of them in the README.

use std::collections::BTreeMap;

use regex::{Captures, Regex};

use super::harness::Machine;

/// An option that the environment can set, too.
#[derive(Debug)]
pub(super) struct ServeOption {
    /// With the name of its value, as `--listen ADDRESS:PORT`; a flag has none.
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
    let option =
        r"(?s)^(--[a-z-]+)(?: <([^>]+)>)?.*\[env: ([A-Z_]+)=?\](?:\s*\[default: ([^\]]+)\])?";
    let option = Regex::new(option).unwrap();
    // Each from its name to the next one's, its description on one line or on several.
    let begins = Regex::new(r"(?m)^ +(?:-[a-zA-Z], )?--").unwrap();
    let starts: Vec<_> = begins.find_iter(&help).map(|found| found.end() - 2).collect();
    let ends = starts.iter().skip(1).copied().chain([help.len()]);
    let each = starts.iter().zip(ends).map(|(start, end)| &help[*start..end]);
    let options: Vec<_> = each.filter_map(|text| option.captures(text)).map(told).collect();
    assert!(options.len() > 12, "the options are found: {help}");
    options
}

fn told(option: Captures<'_>) -> ServeOption {
    let value = option.get(2).map(|value| format!(" {}", value.as_str()));
    ServeOption {
        flag: format!("{}{}", &option[1], value.unwrap_or_default()),
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
