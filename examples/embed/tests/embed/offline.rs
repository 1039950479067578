//! The real program, without a service.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::assistant;
use crate::told::ask;

struct Running {
    child: Child,
    base: String,
}

impl Running {
    fn start(data: &Path, component: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_embed"));
        command.args(["--listen", "127.0.0.1:0", "--script", "script.json", "--data"]).arg(data);
        command.arg("--component").arg(component).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ");
        let base = base.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, base }
    }

    /// As a service manager stops it.
    fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
    }
}

/// The scripted model writes a file in one turn and reads it in the next of that session, which a
/// platform that was started anew runs; another session begins at the script's beginning.
#[tokio::test]
async fn two_turns_of_a_session_share_a_file() {
    let Some(component) = assistant() else { return };
    let data = TempDir::new().unwrap();
    let running = Running::start(data.path(), &component);
    let first = ask(&running.base, "monday", "When are the penguins counted?").await;
    assert_eq!(first.kinds(), ["turn", "said", "reply"]);
    assert_eq!(first.last("said")["text"], "I will write that down.\n");
    assert_eq!(first.last("reply")["text"], "Noted, in session/notes.md.");
    running.stop();

    let running = Running::start(data.path(), &component);
    let second = ask(&running.base, "monday", "And where does it say so?").await;
    let said = "My notes say: The penguins are counted on Monday.";
    assert_eq!(second.last("reply"), &json!({ "text": said }));
    let third = ask(&running.base, "monday", "More?").await;
    let error = third.last("failed")["error"].as_str().unwrap();
    assert_eq!(error, "the script ends after 4 answers");
    let other = ask(&running.base, "tuesday", "When are the penguins counted?").await;
    assert_eq!(other.last("reply")["text"], "Noted, in session/notes.md.");
    running.stop();
}
