/** Where MCP servers are named. Apart from what reads them: most workspaces have none of these files. */
import { join } from "node:path";

export interface McpFile {
  readonly path: string;
  readonly scope: "workspace" | "user";
  readonly format: "toml" | "json";
}

/** The files that may name servers, in order of precedence. `config`: the user's folder of Orrery. */
export function mcpFiles(workspace: string, config: string): readonly McpFile[] {
  return [
    { path: join(workspace, ".orrery/mcp.toml"), scope: "workspace", format: "toml" },
    { path: join(workspace, ".stella/mcp.toml"), scope: "workspace", format: "toml" },
    { path: join(workspace, ".mcp.json"), scope: "workspace", format: "json" },
    { path: join(config, "mcp.toml"), scope: "user", format: "toml" },
  ];
}
