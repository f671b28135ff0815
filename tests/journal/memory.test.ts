import { createMemoryJournal } from "../../lib/journal/memory.ts";
import { journalContract } from "../contracts/journal.ts";

journalContract({
  name: "the memory journal",
  open: async () => {
    const journal = createMemoryJournal();
    return { journal, again: async () => createMemoryJournal(), dispose: () => journal.close() };
  },
  cannot: {
    "close() releases what it holds, and what was appended is there afterwards": "it keeps nothing when it is closed",
    "a holder in another journal on the same store is respected": "its store is its own",
  },
});
