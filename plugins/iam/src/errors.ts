import { errorTable } from '@plinth/kernel'

/** Every start error of this plugin. */
export const iamError = errorTable({
  PLINTH_IAM_PERMISSION_UNDECLARED: `Routes need permissions that no loaded plugin declares: {{routes}}.
    List the permission under \`permissions\` of the plugin that owns the route, or correct its code.`,
  PLINTH_IAM_PASSWORD_PATTERN: `platform.iam.password.pattern is no regular expression that can be used: {{reason}}.
    Correct the pattern, or leave it empty. It is in the syntax of RE2: no back-references, and (?=...) or (?!...) only directly after ^.`,
  PLINTH_IAM_PASSWORD_HASH: `Logins would take too long or fail with this password hash: {{reason}}.
    Choose less memory (platform.iam.password.hash.memory), fewer passes or fewer hashes at a time.`,
  PLINTH_IAM_MIGRATION_PENDING: `{{count}} change sets are pending.
    Run \`plinth migrate\` first.`,
  PLINTH_IAM_PASSWORD_INPUT: `{{reason}}.
    Run the command on a terminal, or hand the password over with --password-stdin.`,
  PLINTH_IAM_VERIFICATION_SENDER: `platform.iam.auth.login.verification.{{channel}}.sender {{reason}}. Senders for it: {{senders}}.
    Name one of these senders, or leave the key empty where only one plugin brings one.`,
  PLINTH_IAM_ADMIN_OPTIONS: `The option --username is missing.
    Write: plinth admin create --username <name> [--email <address>] [--password-stdin].`,
})
