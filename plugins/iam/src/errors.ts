import { PlinthError } from '@plinth/kernel'

/** Every start error of this plugin: what happened, and what to do about it. `{name}` marks a detail that is filled in. */
export const iamErrors = {
  PLINTH_IAM_PERMISSION_UNDECLARED: {
    text: 'Routes need permissions that no loaded plugin declares: {routes}.',
    fix: 'List the permission under `permissions` of the plugin that owns the route, or correct its code.',
  },
  PLINTH_IAM_PASSWORD_PATTERN: {
    text: 'platform.iam.password.pattern is no regular expression that can be used: {reason}.',
    fix: 'Correct the pattern, or leave it empty. It is in the syntax of RE2: no back-references, and (?=...) or (?!...) only directly after ^.',
  },
  PLINTH_IAM_MIGRATION_PENDING: {
    text: '{count} change sets are pending.',
    fix: 'Run `plinth migrate` first.',
  },
  PLINTH_IAM_PASSWORD_INPUT: {
    text: '{reason}.',
    fix: 'Run the command on a terminal, or hand the password over with --password-stdin.',
  },
  PLINTH_IAM_VERIFICATION_SENDER: {
    text: 'platform.iam.auth.login.verification.{channel}.sender {reason}. Senders for it: {senders}.',
    fix: 'Name one of these senders, or leave the key empty where only one plugin brings one.',
  },
  PLINTH_IAM_ADMIN_OPTIONS: {
    text: 'The option --username is missing.',
    fix: 'Write: plinth admin create --username <name> [--email <address>] [--password-stdin].',
  },
} as const satisfies Record<string, { readonly text: string; readonly fix: string }>

export type IamErrorCode = keyof typeof iamErrors

export function iamError(
  code: IamErrorCode,
  details: Readonly<Record<string, string | number>> = {},
  cause?: unknown,
): PlinthError {
  const { text, fix } = iamErrors[code]
  const message = text.replace(/\{(\w+)\}/g, (whole, name: string) => String(details[name] ?? whole))
  return new PlinthError(code, message, fix, { cause })
}
