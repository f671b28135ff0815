import type { Diagnostic } from "../diagnostic.ts";
import { compileSchema, type Schema } from "../schema.ts";
import { reservedBecause } from "../stella/name.ts";
import { CORRECT_TOOL, type ToolDescription } from "./description.ts";

/** The schema that inputs are checked against, and what is wrong with the tool's name and parameters. */
export async function compileTool(
  description: ToolDescription,
): Promise<{ readonly schema?: Schema; readonly diagnostics: readonly Diagnostic[] }> {
  const reserved = reservedBecause(description.name.toLowerCase());
  const { schema, problems } = await compileSchema(description.parameters, "input", "warn");
  const diagnostics = problems.map(({ severity, code, message, pointer, remedy }): Diagnostic => ({
    severity,
    code,
    message: `The parameters of "${description.name}"${pointer === "" ? "" : ` at ${pointer}`}: ${message}`,
    remedy: remedy ?? CORRECT_TOOL,
  }));
  if (reserved !== null) return { diagnostics: [nameDiagnostic(description.name, reserved), ...diagnostics] };
  return schema === undefined ? { diagnostics } : { schema, diagnostics };
}

function nameDiagnostic(name: string, reason: string): Diagnostic {
  const message = `The name "${name}" is reserved: ${reason}`;
  return { severity: "error", code: "reserved_name", message, remedy: "Choose another name." };
}
