"""An agent guest: one turn takes what the caller sent and returns the reply."""

from bailiwick_guest import Request, agent, files, text

# Kept as long as the agent, across its sessions.
NOTES = "agent/notes.md"


@agent
def run(request: Request) -> str:
    notes = files.read_text(NOTES) if files.exists(NOTES) else ""
    text.append(NOTES, f"- {request.input.strip()}\n")
    return f"You said “{request.input.strip()}”. Before that you said:\n{notes}"
