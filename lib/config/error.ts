/** What the user must change in a setting, a file or the environment (exit code 5). */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Faults of settings files, each by itself. */
export class SettingsError extends ConfigError {
  constructor(readonly faults: readonly string[], options?: ErrorOptions) {
    super(faults.join("\n"), options);
  }
}

/** What the user must change in the command or request itself (exit code 2). */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
