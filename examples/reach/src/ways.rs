//! The ways out, each of which must be refused.

use bailiwick_guest::files::{self, Depth};
use bailiwick_guest::{Access, Error, Precondition, Writer, mounts, spill, text};

/// An id as the host makes them, of nothing this guest ever saw.
pub(crate) const OTHER_ID: &str = "0198f3a2-7c1e-7d4b-9a55-3f2b8c6d1e0f";

/// One way out.
pub(crate) struct Way {
    pub(crate) name: String,
    /// What it got, if it got anything.
    pub(crate) attempt: Box<dyn Fn() -> Result<String, Error>>,
}

fn way(name: impl Into<String>, attempt: impl Fn() -> Result<String, Error> + 'static) -> Way {
    Way { name: name.into(), attempt: Box::new(attempt) }
}

pub(crate) fn all() -> Vec<Way> {
    let mut ways = reading();
    ways.extend(writing());
    ways.extend(listing());
    ways
}

fn reading() -> Vec<Way> {
    let paths = [
        ("climbing", "session/../agent/notes.md".to_owned()),
        ("climbing above the root", "session/../../../../etc/passwd".to_owned()),
        ("absolute", "/etc/passwd".to_owned()),
        ("another session's key", format!("sessions/{OTHER_ID}/notes.md")),
        ("another agent by id", format!("agent/{OTHER_ID}/notes.md")),
        ("encoded dots", "session/%2e%2e/agent/notes.md".to_owned()),
        ("doubly encoded slash", "session/..%252fagent/notes.md".to_owned()),
        ("a backslash", r"session\summary.md".to_owned()),
        ("climbing by backslashes", r"session\..\agent\notes.md".to_owned()),
        ("a NUL", "session/summary.md\0.png".to_owned()),
        ("a line break", "session/a\n../../agent/notes.md".to_owned()),
        ("an empty segment", "session//agent/notes.md".to_owned()),
        ("a dot", "session/./notes.md".to_owned()),
        ("unicode dots", "session/\u{2024}\u{2024}/agent/notes.md".to_owned()),
        ("full-width dots and slash", "session/\u{ff0e}\u{ff0e}\u{ff0f}agent".to_owned()),
        ("another spelling of a scope", "SESSION/notes.md".to_owned()),
        ("a URL", "file:///etc/passwd".to_owned()),
        ("a bucket", "s3://bucket/key".to_owned()),
        ("a link of the system", "session/proc/self/root/etc/passwd".to_owned()),
        ("the host's own marker", "agent/.bailiwick-layout".to_owned()),
        ("an over-long name", format!("session/{}", "a".repeat(256))),
        ("an over-long path", format!("session/{}", "a/".repeat(40_000))),
        ("a skill that was not given", "skill/payroll/SKILL.md".to_owned()),
        ("a skill's neighbour", "skill/csv-report/../payroll/SKILL.md".to_owned()),
    ];
    let read = |(name, path): (&str, String)| {
        way(name, move || files::read(&path, 0, 1024).map(|chunk| format!("{} bytes", chunk.size)))
    };
    paths.into_iter().map(read).collect()
}

/// A verb to try on a path; what it got, if it got anything.
type Verb = fn(&str) -> Result<String, Error>;

/// Each verb that writes, on each place that the turn may only read.
fn writing() -> Vec<Way> {
    let read_only = mounts().into_iter().filter(|mount| mount.access == Access::ReadOnly);
    let mut ways: Vec<_> = read_only.flat_map(|mount| writing_to(&mount.name)).collect();
    ways.push(way("spilling elsewhere", || {
        spill("../../agent/notes.md", "x".repeat(64 << 10)).map(|spilled| spilled.text)
    }));
    ways
}

fn writing_to(mount: &str) -> Vec<Way> {
    let verbs: [(&str, Verb); 7] = [
        ("writing", |path| files::write(path, "out").map(|file| file.path)),
        ("opening a writer of", |path| {
            Writer::create_if(path, &Precondition::IfAbsent)?.finish().map(|file| file.path)
        }),
        ("appending to", |path| text::append(path, "out").map(|file| file.path)),
        ("copying to", |path| {
            files::write("session/reach.txt", "out")?;
            files::copy("session/reach.txt", path).map(|file| file.path)
        }),
        ("moving away", |path| files::rename(path, "session/moved.txt").map(|file| file.path)),
        ("deleting", |path| files::delete(path).map(|()| "gone".to_owned())),
        ("editing", |path| text::replace(path, "a", "b").map(|file| file.path)),
    ];
    let path = format!("{mount}/reach.txt");
    let on_path = |(verb, attempt): (&str, Verb)| {
        let path = path.clone();
        way(format!("{verb} {path}"), move || attempt(&path))
    };
    verbs.into_iter().map(on_path).collect()
}

fn listing() -> Vec<Way> {
    vec![
        way("listing above the root", || list("session/..", None)),
        way("listing the skills' owner", || list("skills", None)),
        way("a forged cursor", || list("session", Some(OTHER_ID))),
        way("a cursor with a path", || list("session", Some("agent/notes.md"))),
        way("searching above the root", || {
            text::search_page("../", None, ".", None, 10).map(|page| format!("{:?}", page.found))
        }),
    ]
}

fn list(folder: &str, after: Option<&str>) -> Result<String, Error> {
    files::list_page(folder, Depth::All, after, 10).map(|page| format!("{:?}", page.files))
}
