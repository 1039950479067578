// An agent guest: one turn takes what the caller sent and returns the reply.

import { defineAgent, files, text } from "bailiwick-guest";

/** Kept as long as the agent, across its sessions. */
const NOTES = "agent/notes.md";

export const turn = defineAgent((request) => {
  const notes = files.exists(NOTES) ? files.readText(NOTES) : "";
  text.append(NOTES, `- ${request.input.trim()}\n`);
  return `You said “${request.input.trim()}”. Before that you said:\n${notes}`;
});
