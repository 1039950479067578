use super::harness::Machine;

/// A project is made whole, under its own name, and nothing that is there is touched.
#[test]
fn a_project_is_made_whole_or_not_at_all() {
    let machine = Machine::new();
    machine.ok(&["new", "my-guest"]);
    let manifest = std::fs::read_to_string(machine.path("my-guest/Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"my-guest\""), "{manifest}");
    assert!(machine.path("my-guest/bailiwick-guest/src/lib.rs").is_file());
    assert!(machine.path("my-guest/.cargo/config.toml").is_file());
    let again = machine.refused(&["new", "my-guest"]);
    assert!(again.contains("is there already"), "{again}");
    machine.ok(&["new", "overlapping", "--async"]);
    let turn = std::fs::read_to_string(machine.path("overlapping/src/lib.rs")).unwrap();
    assert!(turn.contains("agent!(async run)"), "{turn}");
    machine.ok(&["new", "other", "--path", "deep/er"]);
    assert!(machine.path("deep/er/src/lib.rs").is_file());
    for name in ["", "1st", "a b", "../x"] {
        assert_eq!(machine.run(&["new", name]).code, Some(2), "{name:?}");
    }
    let file = machine.file("file", b"");
    let inside = machine.refused(&["new", "x", "--path", &format!("{file}/x")]);
    assert!(inside.contains("cannot be made"), "{inside}");
}

/// A project in each language has its sources, its SDK and the contract, and says how it is built.
#[test]
fn a_project_is_made_in_each_language() {
    let machine = Machine::new();
    let read = |path: &str| std::fs::read_to_string(machine.path(path)).unwrap();
    let languages =
        [("python", "bailiwick_guest"), ("js", "bailiwick-guest"), ("c", "bailiwick-guest")];
    for (language, sdk) in languages {
        let name = format!("My-{language}");
        machine.ok(&["new", &name, "--lang", language]);
        let readme = read(&format!("{name}/README.md"));
        assert!(readme.contains(&format!("{name}.wasm")) && !readme.contains("{{"), "{readme}");
        assert!(machine.path(&format!("{name}/.gitignore")).is_file());
        let contract = read(&format!("{name}/{sdk}/wit/agent.wit"));
        assert_eq!(contract, include_str!("../../../../wit/agent.wit"));
        let refused = machine.refused(&["new", "other", "--lang", language, "--async"]);
        assert!(refused.contains("in Rust"), "{refused}");
    }
    assert!(!machine.path("My-python/bailiwick_guest/__pycache__").exists());
    assert_eq!(machine.run(&["new", "x", "--lang", "cobol"]).code, Some(2));
    // What npm is told to install is what its lockfile has.
    let json = |path: &str| serde_json::from_str::<serde_json::Value>(&read(path)).unwrap();
    let (package, lock) = (json("My-js/package.json"), json("My-js/package-lock.json"));
    assert_eq!(lock["packages"][""]["devDependencies"], package["devDependencies"]);
    assert_eq!((&lock["name"], &package["name"]), (&"my-js".into(), &"my-js".into()));
    let addressed = read("My-js/package-lock.json").contains("\"resolved\"");
    assert!(!addressed, "a lockfile names no registry");
}
