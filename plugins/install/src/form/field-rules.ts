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
  type FormValues,
  isServer,
  type Running,
  textOf,
  usesCache,
  usesEmbeddedDatabase,
  usualPort,
} from './form-values.ts'

type Connection = 'database' | 'cache'

/**
 * Returns whether the form contains the same server and user as the running product. Only then does the stored password
 * apply.
 */
function isRunning(form: FormValues, connection: Connection, running: Running): boolean {
  const now = (name: string) => running(`platform.${connection}.${name}`)
  const isSameHost = now('host') === textOf(form, `${connection}.host`)
  if (connection === 'cache') return now('enabled') === true && isSameHost && now('port') === cachePort(form)
  const port = now('port') ?? usualPort(now('type'))
  const isSameUser = now('username') === textOf(form, 'database.username')
  return usualPort(now('type')) !== undefined && isSameHost && isSameUser && port === databasePort(form)
}

/** The form only offers MySQL. If the product runs on the same MariaDB server, the type stays `mariadb`. */
export function databaseTypeToWrite(form: FormValues, running: Running): string {
  const type = databaseTypeOf(form) ?? ''
  const isMariaDb = type === 'mysql' && running('platform.database.type') === 'mariadb'
  return isMariaDb && isRunning(form, 'database', running) ? 'mariadb' : type
}

/**
 * Returns the password to store. An empty value or the mask means "unchanged", because some callers do not see the
 * stored password. It is only reused for the same server and user. Otherwise another server could receive it.
 */
export function passwordToWrite(form: FormValues, connection: Connection, running: Running): string {
  const given = textOf(form, `${connection}.password`)
  if (given !== '' && given !== maskedValue) return given
  return isRunning(form, connection, running) ? String(running(`platform.${connection}.password`) ?? '') : ''
}

/** True if the form contains the mask but selects another server, which must not receive the stored password. */
function isMaskMisplaced(form: FormValues, connection: Connection, running: Running): boolean {
  const isUsed = connection === 'cache' ? usesCache(form) : isServer(form)
  const isMask = textOf(form, `${connection}.password`) === maskedValue
  return isUsed && isMask && !isRunning(form, connection, running)
}

export interface RuleContext {
  readonly configAdmin: Pick<ConfigAdmin, 'catalogue'>
  readonly accounts: Pick<Accounts, 'check'>
  readonly passwords: Passwords
  readonly running: Running
  readonly config: Pick<InstallConfig, 'get'>
  readonly translate: Translate
  readonly locale: string
}

/** A problem that a rule found. `text` is the message name below `check.`. */
export interface Finding {
  readonly status: Outcome
  readonly text: string
  readonly params?: TextParams
}

/** Checks the text of a field. Returns `undefined` if it is valid. */
export type Rule = (text: string, form: FormValues, context: RuleContext) => Finding | undefined

export const failed = (text: string, params: TextParams = {}): Finding => ({ status: 'failed', text, params })
const warning = (text: string): Finding => ({ status: 'warning', text })

/** Returns a rule that accepts empty values, because other rules check whether a field is required. */
const holds =
  (test: (text: string) => boolean, text: string) =>
  (value: string): Finding | undefined =>
    value === '' || test(value) ? undefined : failed(text)
const inFormat = (format: string, text: string) => holds((value) => formats[format]?.validate(value) === true, text)
const firstOf =
  (...rules: readonly Rule[]): Rule =>
  (text, form, context) => {
    for (const rule of rules) {
      const finding = rule(text, form, context)
      if (finding !== undefined) return finding
    }
    return undefined
  }
/** Returns a rule for an optional field that warns if the field is empty. */
export const suggested =
  (text: string, rule?: Rule): Rule =>
  (value, form, context) =>
    value === '' ? warning(text) : rule?.(value, form, context)

export const plainText = holds((text) => !/\p{Cc}/u.test(text), 'control-characters')
export const host = inFormat('host', 'host')
export const timeZone = inFormat('time-zone', 'time-zone')
export const locale = holds((tag) => /^(?:zh|en)\b/i.test(tag), 'locale')

export const siteUrl: Rule = (text) => {
  if (formats['url']?.validate(text) !== true) return failed('url')
  const { protocol, hostname } = new URL(text)
  const isOwnMachine = hostname === 'localhost' || /^(?:127\.|\[::1\])/.test(hostname)
  return protocol === 'http:' && !isOwnMachine ? warning('url-without-tls') : undefined
}

/** Returns a rule that checks a name or an address like the accounts service. */
export const account =
  (field: AccountProblem['field']): Rule =>
  (text, _form, { accounts }) => {
    const [problem] = text === '' ? [] : accounts.check({ [field]: text })
    return problem && failed(problem.rule)
  }

const policyKey = 'platform.iam.password.policy'
const offeredPolicies = ['low', 'medium', 'high'] as const
type Policy = Passwords['policy']

/** The policy `custom` needs keys that are not in the form. So it is only offered if it is already configured. */
export const passwordPolicies = ({ policy }: Pick<Passwords, 'policy'>): readonly Policy[] =>
  policy === 'custom' ? [...offeredPolicies, policy] : offeredPolicies

/** Returns the configured policy, or `medium` if none is configured (decision F.12). */
export const proposedPolicy = (
  { policy }: Pick<Passwords, 'policy'>,
  configAdmin: Pick<ConfigAdmin, 'explain'>,
): Policy => (configuredValue(configAdmin, policyKey)?.source === 'default' ? 'medium' : policy)

/** Returns the policy that the form selects, or `undefined`. */
const chosenPolicy = (form: FormValues, passwords: Pick<Passwords, 'policy'>): Policy | undefined =>
  passwordPolicies(passwords).find((policy) => policy === textOf(form, 'administrator.passwordPolicy'))

export const passwordPolicy: Rule = (name, form, { passwords }) =>
  name === '' || chosenPolicy(form, passwords) !== undefined
    ? undefined
    : failed('password-policy-unknown', { known: passwordPolicies(passwords).join(', ') })

export const newPassword: Rule = (password, form, { passwords, locale: language, translate }) => {
  if (password === maskedValue) return failed('password-again')
  const username = textOf(form, 'administrator.username')
  const faults = passwords.check(password, username, true, chosenPolicy(form, passwords))
  return faults.length === 0
    ? undefined
    : failed('password-policy', { faults: passwordProblems(faults, language, translate) })
}

/** Returns the problems of a password as one text. Uses the message of a rule if this plugin has no text for it. */
export function passwordProblems(faults: readonly PasswordProblem[], language: string, translate: Translate): string {
  return faults
    .map(({ rule, limit = 0, message }) => translate(language, `password.${rule}`, { limit }) || message)
    .join(translate(language, 'password.between'))
}

export const samePassword: Rule = (text, form) =>
  text === textOf(form, 'administrator.password') ? undefined : failed('password-mismatch')

export const databaseType: Rule = (named, form, { config }) => {
  if (databaseTypeOf(form) === undefined) return failed('database-type', { type: named.slice(0, 64) })
  return usesEmbeddedDatabase(form) && !config.get('platform.install.allow-lite')
    ? failed('lite-not-allowed')
    : undefined
}

/** Names that are safe in every driver and URL. The name of a database file has no extension here. */
const serverName = holds((text) => /^[A-Za-z0-9_][A-Za-z0-9_$-]{0,62}$/.test(text), 'database-name')
const fileName = holds((text) => /^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$/.test(text), 'database-file')
export const databaseName: Rule = (text, form) => (usesEmbeddedDatabase(form) ? fileName : serverName)(text)

/** The password must fit in one line of the file. Warns if it is empty. */
export const serverPassword = (group: 'database' | 'cache'): Rule =>
  firstOf(plainText, (password, form, { running }) => {
    if (isMaskMisplaced(form, group, running)) return failed('password-again')
    return password === '' && running(`platform.${group}.password`) === '' ? warning('password-empty') : undefined
  })

/** Returns the names of all disks; empty without a storage plugin. */
export const diskNames = ({ catalogue }: Pick<ConfigAdmin, 'catalogue'>): readonly string[] =>
  catalogue.flatMap(({ key }) => /^platform\.storage\.disks\.([a-z0-9-]+)\.enabled$/.exec(key)?.[1] ?? [])

export const disk: Rule = (name, _form, { configAdmin }) => {
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(name)) return failed('disk-name')
  const known = diskNames(configAdmin)
  return known.length > 0 && !known.includes(name) ? failed('disk-unknown', { known: known.join(', ') }) : undefined
}
export const otherDisk: Rule = firstOf(disk, (name, form) =>
  name === textOf(form, 'storage.publicDisk') ? failed('disk-shared') : undefined,
)
