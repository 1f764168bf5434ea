import { errorTable } from '@plinth/kernel'

/** Every start error of this plugin. */
export const iamError = errorTable({
  PLINTH_IAM_PERMISSION_UNDECLARED: `Routes require permissions that no loaded plugin declares: {{routes}}.
    List the permission under \`permissions\` of the plugin that declares the route, or correct its code.`,
  PLINTH_IAM_PASSWORD_PATTERN: `platform.iam.password.pattern is not a valid regular expression: {{reason}}.
    Correct the pattern, or leave it empty. It uses the RE2 syntax: no back-references, and (?=...) or (?!...) only directly after ^.`,
  PLINTH_IAM_PASSWORD_HASH: `With these settings of the password hash, logins would take too long or fail: {{reason}}.
    Lower platform.iam.password.hash.memory, the number of passes, or the number of concurrent hashes.`,
  PLINTH_IAM_MIGRATION_PENDING: `{{count}} change sets are pending.
    Run \`plinth migrate\` first.`,
  PLINTH_IAM_PASSWORD_INPUT: `{{reason}}.
    Run the command in a terminal, or pass the password with --password-stdin.`,
  PLINTH_IAM_VERIFICATION_SENDER: `platform.iam.auth.login.verification.{{channel}}.sender {{reason}}. Available senders: {{senders}}.
    Set the key to one of these senders. If only one plugin provides a sender, the key can be empty.`,
  PLINTH_IAM_USERS_OPTIONS: `{{reason}}.
    Run: plinth users export <id> --file <file>, plinth users erase <id> --dry-run, or plinth users erase <id> --yes.`,
  PLINTH_IAM_ADMIN_OPTIONS: `The option --username is missing.
    Run: plinth admin create --username <name> [--email <address>] [--password-stdin].`,
})
