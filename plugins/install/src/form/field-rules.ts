import type { AccountProblem, Accounts, PasswordProblem, Passwords } from '@plinth/iam'
import { formats, maskedValue, type TextParams } from '@plinth/kernel'
import type { ConfigAdmin } from '@plinth/kernel/host'
import type { InstallConfig } from '../config.ts'
import type { Outcome } from '../contract.ts'
import type { Translate } from '../texts.ts'
import {
  cachePort,
  configuredValue,
  databasePort,
  databaseTypeOf,
  defaultDatabasePort,
  type FormValues,
  type ReadConfiguredValue,
  textOf,
  usesCache,
  usesDatabaseServer,
  usesEmbeddedDatabase,
} from './form-values.ts'

type Connection = 'database' | 'cache'

/**
 * Returns whether the form contains the same server and user as the running product. Only then does the stored password
 * apply.
 */
function isRunning(form: FormValues, connection: Connection, running: ReadConfiguredValue): boolean {
  const now = (name: string) => running(`platform.${connection}.${name}`)
  const isSameHost = now('host') === textOf(form, `${connection}.host`)
  if (connection === 'cache') return now('enabled') === true && isSameHost && now('port') === cachePort(form)
  const port = now('port') ?? defaultDatabasePort(now('type'))
  const isSameUser = now('username') === textOf(form, 'database.username')
  return defaultDatabasePort(now('type')) !== undefined && isSameHost && isSameUser && port === databasePort(form)
}

/** The form only offers MySQL. If the product runs on the same MariaDB server, the type stays `mariadb`. */
export function databaseTypeToWrite(form: FormValues, running: ReadConfiguredValue): string {
  const type = databaseTypeOf(form) ?? ''
  const isMariaDb = type === 'mysql' && running('platform.database.type') === 'mariadb'
  return isMariaDb && isRunning(form, 'database', running) ? 'mariadb' : type
}

/**
 * Returns the password to store. An empty value or the mask means "unchanged", because some callers do not see the
 * stored password. It is only reused for the same server and user. Otherwise another server could receive it.
 */
export function passwordToWrite(form: FormValues, connection: Connection, running: ReadConfiguredValue): string {
  const given = textOf(form, `${connection}.password`)
  if (given !== '' && given !== maskedValue) return given
  return isRunning(form, connection, running) ? String(running(`platform.${connection}.password`) ?? '') : ''
}

/** True if the form contains the mask but selects another server, which must not receive the stored password. */
function isMaskMisplaced(form: FormValues, connection: Connection, running: ReadConfiguredValue): boolean {
  const isUsed = connection === 'cache' ? usesCache(form) : usesDatabaseServer(form)
  const isMask = textOf(form, `${connection}.password`) === maskedValue
  return isUsed && isMask && !isRunning(form, connection, running)
}

export interface RuleContext {
  readonly configAdmin: Pick<ConfigAdmin, 'catalogue'>
  readonly accounts: Pick<Accounts, 'check'>
  readonly passwords: Passwords
  readonly running: ReadConfiguredValue
  readonly config: Pick<InstallConfig, 'get'>
  readonly translate: Translate
  readonly locale: string
}

/** A problem that a rule found. `text` is the message name below `check.`. */
export interface FieldProblem {
  readonly status: Outcome
  readonly text: string
  readonly params?: TextParams
}

/** Checks the text of a field. Returns `undefined` if it is valid. */
export type FieldRule = (text: string, form: FormValues, context: RuleContext) => FieldProblem | undefined

export const failedRule = (text: string, params: TextParams = {}): FieldProblem => ({ status: 'failed', text, params })
const warning = (text: string): FieldProblem => ({ status: 'warning', text })

/** Returns a rule that accepts empty values, because other rules check whether a field is required. */
const holds =
  (test: (text: string) => boolean, text: string) =>
  (value: string): FieldProblem | undefined =>
    value === '' || test(value) ? undefined : failedRule(text)
/** Returns a rule for the format of a configuration key. Its message has the name of the format. */
export const formatRule = (format: string) => holds((value) => formats[format]?.validate(value) === true, format)
const firstOf =
  (...rules: readonly FieldRule[]): FieldRule =>
  (text, form, context) => {
    for (const rule of rules) {
      const finding = rule(text, form, context)
      if (finding !== undefined) return finding
    }
    return undefined
  }
/** Returns a rule for an optional field that warns if the field is empty. */
export const warnIfEmpty =
  (text: string, rule?: FieldRule): FieldRule =>
  (value, form, context) =>
    value === '' ? warning(text) : rule?.(value, form, context)

export const plainTextRule = holds((text) => !/\p{Cc}/u.test(text), 'control-characters')
export const localeRule = holds((tag) => /^(?:zh|en)\b/i.test(tag), 'locale')

export const siteUrlRule: FieldRule = (text) => {
  if (formats['url']?.validate(text) !== true) return failedRule('url')
  const { protocol, hostname } = new URL(text)
  const isOwnMachine = hostname === 'localhost' || /^(?:127\.|\[::1\])/.test(hostname)
  return protocol === 'http:' && !isOwnMachine ? warning('url-without-tls') : undefined
}

/** Returns a rule that checks a name or an address like the accounts service. */
export const accountRules =
  (field: AccountProblem['field']): FieldRule =>
  (text, _form, { accounts }) => {
    const [problem] = text === '' ? [] : accounts.check({ [field]: text })
    return problem && failedRule(problem.rule)
  }

export const passwordPolicyKey = 'platform.iam.password.policy'
const offeredPolicies = ['low', 'medium', 'high'] as const
type Policy = Passwords['policy']

/** The policy `custom` needs keys that are not in the form. So it is only offered if it is already configured. */
export const passwordPolicies = ({ policy }: Pick<Passwords, 'policy'>): readonly Policy[] =>
  policy === 'custom' ? [...offeredPolicies, policy] : offeredPolicies

/** Returns the configured policy, or `medium` if none is configured (decision F12). */
export const defaultPasswordPolicy = (
  { policy }: Pick<Passwords, 'policy'>,
  configAdmin: Pick<ConfigAdmin, 'explain'>,
): Policy => (configuredValue(configAdmin, passwordPolicyKey)?.source === 'default' ? 'medium' : policy)

/** Returns the policy that the form selects, or `undefined`. */
const chosenPolicy = (form: FormValues, passwords: Pick<Passwords, 'policy'>): Policy | undefined =>
  passwordPolicies(passwords).find((policy) => policy === textOf(form, 'administrator.passwordPolicy'))

export const passwordPolicyRule: FieldRule = (name, form, { passwords }) =>
  name === '' || chosenPolicy(form, passwords) !== undefined
    ? undefined
    : failedRule('password-policy-unknown', { known: passwordPolicies(passwords).join(', ') })

export const newPasswordRule: FieldRule = (password, form, { passwords, locale: language, translate }) => {
  if (password === maskedValue) return failedRule('password-again')
  const username = textOf(form, 'administrator.username')
  const faults = passwords.check(password, username, true, chosenPolicy(form, passwords))
  return faults.length === 0
    ? undefined
    : failedRule('password-policy', { faults: passwordProblems(faults, language, translate) })
}

/** Returns the problems of a password as one text. Uses the message of a rule if this plugin has no text for it. */
export function passwordProblems(faults: readonly PasswordProblem[], language: string, translate: Translate): string {
  return faults
    .map(({ rule, limit = 0, message }) => translate(language, `password.${rule}`, { limit }) || message)
    .join(translate(language, 'password.between'))
}

export const samePasswordRule: FieldRule = (text, form) =>
  text === textOf(form, 'administrator.password') ? undefined : failedRule('password-mismatch')

export const databaseTypeRule: FieldRule = (named, form, { config }) => {
  if (databaseTypeOf(form) === undefined) return failedRule('database-type', { type: named.slice(0, 64) })
  return usesEmbeddedDatabase(form) && !config.get('platform.install.allow-lite')
    ? failedRule('lite-not-allowed')
    : undefined
}

/** Names that are safe in every driver and URL. The name of a database file has no extension here. */
const serverName = holds((text) => /^[A-Za-z0-9_][A-Za-z0-9_$-]{0,62}$/.test(text), 'database-name')
const fileName = holds((text) => /^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$/.test(text), 'database-file')
export const databaseNameRule: FieldRule = (text, form) => (usesEmbeddedDatabase(form) ? fileName : serverName)(text)

/** The password must fit in one line of the file. Warns if it is empty. */
export const serverPassword = (group: 'database' | 'cache'): FieldRule =>
  firstOf(plainTextRule, (password, form, { running }) => {
    if (isMaskMisplaced(form, group, running)) return failedRule('password-again')
    return password === '' && running(`platform.${group}.password`) === '' ? warning('password-empty') : undefined
  })

/** Returns the names of all disks; empty without a storage plugin. */
export const diskNames = ({ catalogue }: Pick<ConfigAdmin, 'catalogue'>): readonly string[] =>
  catalogue.flatMap(({ key }) => /^platform\.storage\.disks\.([a-z0-9-]+)\.enabled$/.exec(key)?.[1] ?? [])

export const diskRule: FieldRule = (name, _form, { configAdmin }) => {
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(name)) return failedRule('disk-name')
  const known = diskNames(configAdmin)
  return known.length > 0 && !known.includes(name) ? failedRule('disk-unknown', { known: known.join(', ') }) : undefined
}
export const otherDiskRule: FieldRule = firstOf(diskRule, (name, form) =>
  name === textOf(form, 'storage.publicDisk') ? failedRule('disk-shared') : undefined,
)
