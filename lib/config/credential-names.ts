/** What the word `credentials` means in `tools.env_withhold`. Compared without regard to case. */
import { matchesWildcard } from "../session/wildcard.ts";

const CREDENTIAL_ENDINGS = [
  "API_KEY",
  "APIKEY",
  "TOKEN",
  "PASSWORD",
  "SECRET",
  "SECRET_KEY",
  "PRIVATE_KEY",
  "ACCESS_KEY",
  "CREDENTIALS",
  "CREDENTIAL",
  "PAT",
].map((word) => `_${word}`);

const PATTERNS = [
  // Secrets by their whole name.
  "API_KEY",
  "TOKEN",
  "PASSWORD",
  "SECRET",
  // Clouds: keys, and files and profiles that lead to keys.
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_SECURITY_TOKEN",
  "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_CONTAINER_*",
  "AWS_SHARED_CREDENTIALS_FILE",
  "AWS_PROFILE",
  "AWS_DEFAULT_PROFILE",
  "GOOGLE_APPLICATION_CREDENTIALS",
  "AZURE_FEDERATED_TOKEN_FILE",
  // Authority that comes with the session of a person, and configuration that can run programs.
  "SSH_AUTH_SOCK",
  "GIT_CONFIG_COUNT",
  "GIT_CONFIG_GLOBAL",
  "GIT_CONFIG_SYSTEM",
  "GIT_CONFIG_KEY_*",
  "GIT_CONFIG_VALUE_*",
  "GIT_SSH_COMMAND",
  "GIT_EXTERNAL_DIFF",
  "GIT_PROXY_COMMAND",
  "RIPGREP_CONFIG_PATH",
  // What points git at another repository.
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_OBJECT_DIRECTORY",
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  "GIT_COMMON_DIR",
  "GIT_NAMESPACE",
  "GIT_PREFIX",
  // What puts colour codes into output that programs read.
  "CLICOLOR_FORCE",
  "FORCE_COLOR",
  "GH_FORCE_TTY",
];

export function isCredentialName(name: string): boolean {
  const upper = name.toUpperCase();
  return CREDENTIAL_ENDINGS.some((ending) => upper.endsWith(ending)) || PATTERNS.some((pattern) => matchesWildcard(pattern, upper));
}
