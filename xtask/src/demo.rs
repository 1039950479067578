//! The story of an agent that keeps its files, told by the real command on real data.

mod told;

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::guests;
use crate::places::Places;
use crate::shell::{cargo, run, step};
use told::{Shown, Story};

/// Sets up, builds, and tells the story. It fails where a step does not show what it must.
pub(crate) fn tell(places: &Places) -> Result<()> {
    guests::build(places)?;
    step("building the command: cargo build --package bailiwick");
    let mut build = cargo();
    run(build.current_dir(&places.root).args(["build", "--package", "bailiwick"]))?;

    let data = places.target.join("demo");
    if data.exists() {
        fs::remove_dir_all(&data).with_context(|| format!("cannot empty {}", data.display()))?;
    }
    let story = Story::new(places, data);
    put_the_reference_data(&story)?;
    first_session(&story)?;
    second_session(&story)?;
    another_agent(&story)?;
    ways_out(&story)?;
    what_a_person_sees(&story)?;
    println!("\nThe story is told. Its files are in {}", story.data.display());
    Ok(())
}

const REFERENCE: &str = "workspace/reference/penguins.csv";
const NOTES: &str = "agent/notes.md";
const SUMMARY: &str = "session/summary.md";
const SPILLED: &str = "session/spill/deviations-";

/// Whose turn it is: options of every command about a session.
const ANALYST_A: &str = "--workspace acme --agent analyst --session a";
const ANALYST_B: &str = "--workspace acme --agent analyst --session b";
const AUDITOR: &str = "--workspace acme --agent auditor --session a";
const SKILL: &str = "--skill csv-report=examples/skills/csv-report";

fn put_the_reference_data(story: &Story) -> Result<()> {
    story.chapter("A person puts reference data into the workspace, and has a skill at hand");
    let put =
        story.bailiwick(&format!("files put examples/data/penguins.csv {REFERENCE} -w acme"))?;
    put.says(REFERENCE)?;
    story.bailiwick("files ls workspace/reference -w acme")?.says(REFERENCE)?;
    story.file("examples/skills/csv-report/guide.md")
}

fn first_session(story: &Story) -> Result<()> {
    story.chapter("Session A: a turn reads its skill and the data, and keeps what it makes");
    let turn = report(story, ANALYST_A, "How heavy are the penguins?")?;
    turn.says(SUMMARY)?;
    turn.says(SPILLED)?;
    turn.says("no notes yet")?;
    let summary = story.bailiwick(&format!("files cat {SUMMARY} {ANALYST_A}"))?;
    // The means of the published data.
    for mean in
        ["| Adelie | 152 | 3700.66", "| Chinstrap | 68 | 3733.09", "| Gentoo | 124 | 5076.02"]
    {
        summary.says(mean)?;
    }
    story.bailiwick(&format!("files cat {NOTES} {ANALYST_A}"))?.says("How heavy")?;
    Ok(())
}

fn report(story: &Story, whose: &str, question: &str) -> Result<Shown> {
    story.guest("report", &format!("{whose} {SKILL} --input"), question)
}

fn second_session(story: &Story) -> Result<()> {
    story.chapter("Session B of the same agent: the notes are there, A's files are not");
    story.guest("hello", &format!("{ANALYST_B} --input"), "a new session")?.says("Hello")?;
    let files = story.bailiwick(&format!("files ls --recursive {ANALYST_B}"))?;
    files.says(NOTES)?;
    files.says(REFERENCE)?;
    files.does_not_say("session/")?;
    let turn = report(story, ANALYST_B, "And how long are their flippers?")?;
    turn.says("From earlier sessions I remember")?;
    turn.says("How heavy are the penguins?")
}

fn another_agent(story: &Story) -> Result<()> {
    story.chapter("Another agent of the workspace: the reference data is there, the notes are not");
    story.guest("hello", &format!("{AUDITOR} --input"), "another agent")?.says("Hello")?;
    let files = story.bailiwick(&format!("files ls --recursive {AUDITOR}"))?;
    files.says(REFERENCE)?;
    files.does_not_say("agent/")?;
    files.does_not_say("session/")
}

fn ways_out(story: &Story) -> Result<()> {
    story.chapter("A guest tries to get out: every way is refused, and no refusal says an id");
    let turn = story.guest("reach", &format!("{AUDITOR} {SKILL} --input"), "")?;
    turn.says("none is open")?;
    let refused = turn.text.lines().filter(|line| line.contains(": ")).count();
    ensure!(refused >= 20, "{refused} refusals are shown, and not twenty");
    let data = story.data.to_string_lossy();
    turn.does_not_say(&data)
}

fn what_a_person_sees(story: &Story) -> Result<()> {
    story.chapter("A person sees the same files");
    let files = story.bailiwick(&format!("files ls --recursive {ANALYST_A}"))?;
    for path in [REFERENCE, NOTES, SUMMARY, SPILLED] {
        files.says(path)?;
    }
    Ok(())
}
