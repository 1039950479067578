//! The one path of the design, held by reading the sources: guest call, HTTP API and command go
//! to `space`, that to `scope` and a store; nothing reaches around.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which modules of the library each may name. What stands above uses what stands below.
const EDGES: &[(&str, &[&str])] = &[
    ("limits", &[]),
    ("buffer", &["limits"]),
    ("clock", &[]),
    ("scope", &["limits"]),
    ("store", &["buffer", "clock", "limits", "scope", "walk"]),
    ("walk", &["store"]),
    ("space", &["buffer", "clock", "limits", "scope", "store", "walk"]),
    ("catalog", &["clock", "limits", "scope"]),
    ("engine", &["buffer", "clock", "limits", "scope", "space", "store"]),
    ("proofs", &[]),
    ("settings", &["limits", "scope"]),
    ("receipts", &["catalog", "scope", "space", "store"]),
    ("skills", &["catalog", "limits", "scope", "space"]),
    ("retention", &["catalog", "clock", "limits", "scope", "settings", "space", "store"]),
    ("erasure", &["catalog", "clock", "limits", "proofs", "scope", "settings", "space", "store"]),
    (
        "api",
        &[
            "catalog",
            "clock",
            "engine",
            "erasure",
            "limits",
            "proofs",
            "receipts",
            "retention",
            "scope",
            "settings",
            "skills",
            "space",
            "store",
        ],
    ),
    (
        "worker",
        &[
            "catalog", "clock", "engine", "limits", "receipts", "scope", "settings", "skills",
            "space", "store",
        ],
    ),
];

/// Crates that one module alone may name: everything else is handed its types.
const NARROWED: &[(&str, &[&str])] = &[
    ("wasmtime", &["engine"]),
    ("wasmparser", &["engine"]),
    ("wasmtime_wasi", &["engine"]),
    ("aws_sdk_s3", &["store"]),
    ("aws_config", &["store"]),
    ("aws_lc_rs", &["proofs"]),
    ("aws_sigv4", &["store"]),
    ("aws_smithy_http_client", &["store"]),
    ("aws_smithy_runtime_api", &["store"]),
    ("sqlx", &["catalog"]),
    ("croner", &["catalog"]),
    ("jiff", &["catalog"]),
    ("axum", &["api"]),
    ("hyper", &["api"]),
    ("jsonwebtoken", &["api"]),
    ("prometheus", &["api"]),
    ("multer", &["api"]),
    ("serde_saphyr", &["skills"]),
    ("zip", &["api"]),
    ("toml", &["cli"]),
    ("opentelemetry", &["cli"]),
    ("opentelemetry_otlp", &["cli"]),
    ("opentelemetry_sdk", &["cli"]),
    ("tracing_opentelemetry", &["cli"]),
    ("infer", &["api"]),
];

fn sources() -> BTreeMap<String, String> {
    // Cargo runs tests in the folder of their package.
    let root = PathBuf::from("src");
    let mut sources = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                sources.insert(name, read(&path));
            }
        }
    }
    sources
}

#[expect(clippy::disallowed_methods, reason = "the sources are this test's data")]
fn read(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

fn module(file: &str) -> &str {
    let first = file.split('/').next().unwrap();
    first.strip_suffix(".rs").unwrap_or(first)
}

/// The modules that a file names by `crate::`, those of a group included.
fn named(source: &str) -> Vec<String> {
    let code: String = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut named = Vec::new();
    for at in code.split("crate::").skip(1) {
        let group = at.strip_prefix('{').map(|group| group.split('}').next().unwrap_or(""));
        let words = group.unwrap_or(at).split(", ").take(if group.is_some() { 99 } else { 1 });
        let word = |text: &str| {
            text.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned)
        };
        named.extend(words.filter_map(|text| word(text.trim())));
    }
    named
}

/// No module names one that the path of the design does not have below it.
#[test]
fn modules_name_only_what_stands_below_them() {
    for (file, source) in sources() {
        let own = module(&file);
        let Some((_, below)) = EDGES.iter().find(|(name, _)| *name == own) else {
            assert!(["lib", "main", "cli"].contains(&own), "{file} belongs to no known module");
            continue;
        };
        for name in named(&source) {
            let known = EDGES.iter().any(|(module, _)| *module == name);
            assert!(
                !known || name == own || below.contains(&name.as_str()),
                "{file} names crate::{name}"
            );
        }
    }
}

/// Each foreign power is narrowed by one module.
#[test]
fn foreign_powers_are_named_by_one_module_each() {
    for (file, source) in sources() {
        for (name, modules) in NARROWED {
            let uses = source.lines().any(|line| {
                let line = line.trim_start();
                !line.starts_with("//") && line.contains(&format!("{name}::"))
            });
            assert!(!uses || modules.contains(&module(&file)), "{file} names {name}");
        }
    }
}

/// Only resolution makes keys: a store or a verb cannot spell one.
#[test]
fn keys_are_made_in_scope_alone() {
    for (file, source) in sources() {
        if module(&file) == "scope" {
            continue;
        }
        for class in ["\"sessions/", "\"agents/", "\"workspaces/", "\"skills/", "\"extracted/"] {
            assert!(!source.contains(class), "{file} knows the layout: {class}");
        }
    }
}
