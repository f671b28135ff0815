/**
 * The commands that share what a session needs, loaded as one: in the executable each by itself would come with a dozen
 * small files of what it shares with some of the others, and every file costs a start time.
 */
export { config } from "./config.ts";
export { demo } from "./demo.ts";
export { cancelSession } from "./sessions-cancel.ts";
export { sessionEvents } from "./sessions-events.ts";
export { exportSession } from "./sessions-export.ts";
export { forkSession } from "./sessions-fork.ts";
export { importSession } from "./sessions-import.ts";
export { listSessions } from "./sessions-list.ts";
export { resumeSession } from "./sessions-resume.ts";
export { showSession } from "./sessions-show.ts";
export { callTool } from "./tools-call.ts";
export { createTool } from "./tools-create.ts";
export { tools } from "./tools-list.ts";
export { trust } from "./trust.ts";
