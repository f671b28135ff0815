/** What the model is told when a tool was scaffolded: it helps to fill the file in. */
export function creationPrompt(tool: string, file: string): string {
  return `I want a new custom tool. Its file, ${file}, is there with a placeholder; the tool is called ${tool}. Help me to fill it in.

Read the file. Then ask me, in one message, what you need to know: what the tool is to do, which parameters it takes and which of them are required, and whether it may run without asking me. When you know enough, write the file anew.

The file is YAML between two lines of ---, and then the body, a shell script.
- name: ${tool}. Keep it.
- description: one line, for the model that will call the tool.
- parameters: a mapping by name. Each has type (string, number, integer, boolean, or array with items: {type: ...}) and description, and may have required, default, enum, pattern, minLength, maxLength, min, max.
- approval: never, destructive (asks in mode normal only) or always. read_only: true only if it changes nothing.
- If needed: timeout_ms (30000 if not given), cwd (inside the project), env, shell (bash or sh).
- In the body {{ name }} puts a value in. It is quoted already, so there are never quotes around it. {{# name }}...{{/ name }} is kept if the value is there, {{^ name }}...{{/ name }} if it is not.

Do not run the tool before I have agreed to the file.`;
}
