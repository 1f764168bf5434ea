import { defineBusinessErrors, errorTable } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('iam', en.iam, {
  'token-missing': '401',
  'token-invalid': '401',
  'token-expired': '401',
  'session-ambiguous': '401',
  'origin-unproven': '403',
  'permission-denied': '403',
  'out-of-scope': '403',
  'organisation-out-of-scope': '403',
  'scope-all-required': '403',
  'creation-out-of-scope': '403',
  'own-password': '403',
  'own-email': '403',
  'own-erasure': '403',
  'erasure-unconfirmed': '400',
  'erasure-unfinished': '503',
  'login-failed': '401',
  'user-disabled': '403',
  busy: '503',
  'reason-invalid': '400',
  'user-unknown': '404',
  'role-unknown': '404',
  'session-unknown': '404',
  'audit-unknown': '404',
  'username-invalid': '400',
  'username-mixed-script': '400',
  'email-invalid': '400',
  'mobile-invalid': '400',
  'username-taken': '409',
  'email-taken': '409',
  'email-changed': '409',
  'mobile-taken': '409',
  'role-code-taken': '409',
  'external-identity-taken': '409',
  'version-conflict': '409',
  'last-administrator': '409',
  'beyond-own-authority': '403',
  'role-built-in': '409',
  'role-in-use': '409',
  'permission-unknown': '400',
  'password-wrong': '400',
  'password-required': '400',
  'password-refused': '400',
  'changed-meanwhile': '409',
})

/** Errors at the start and in commands of this plugin. */
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
