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
  isEmbedded,
  isServer,
  type Running,
  textOf,
  usesCache,
  usualPort,
} from './form-values.ts'

type Connection = 'database' | 'cache'

/**
 * Returns whether the form contains the server and the user that the product runs on. Only then does the stored
 * password belong to the connection.
 */
function isRunning(form: FormValues, connection: Connection, running: Running): boolean {
  const now = (name: string) => running(`platform.${connection}.${name}`)
  const isSameHost = now('host') === textOf(form, `${connection}.host`)
  if (connection === 'cache') return now('enabled') === true && isSameHost && now('port') === cachePort(form)
  const port = now('port') ?? usualPort(now('type'))
  const isSameUser = now('username') === textOf(form, 'database.username')
  return usualPort(now('type')) !== undefined && isSameHost && isSameUser && port === databasePort(form)
}

/** The form only offers MySQL. A product that runs on MariaDB stays on MariaDB. */
export function databaseTypeToWrite(form: FormValues, running: Running): string {
  const type = databaseTypeOf(form) ?? ''
  const isMariaDb = type === 'mysql' && running('platform.database.type') === 'mariadb'
  return isMariaDb && isRunning(form, 'database', running) ? 'mariadb' : type
}

/**
 * Returns the password to store. Only some callers see a secret in the form, so an empty value or the mask means
 * "unchanged". This applies only to the server that the secret belongs to. Otherwise another server could receive it.
 */
export function passwordToWrite(form: FormValues, connection: Connection, running: Running): string {
  const given = textOf(form, `${connection}.password`)
  if (given !== '' && given !== maskedValue) return given
  return isRunning(form, connection, running) ? String(running(`platform.${connection}.password`) ?? '') : ''
}

/** True if the form refers to a secret that must not be sent to this server. */
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

/** Problem that a rule finds. `text` is the name of the message below `check.`. */
export interface Finding {
  readonly status: Outcome
  readonly text: string
  readonly params?: TextParams
}

/** Checks the text of a field. Returns `undefined` if it is valid. */
export type Rule = (text: string, form: FormValues, context: RuleContext) => Finding | undefined

export const failed = (text: string, params: TextParams = {}): Finding => ({ status: 'failed', text, params })
const warning = (text: string): Finding => ({ status: 'warning', text })

/** Other rules handle empty values. */
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
/** An optional field. `text` is the warning if it is empty. */
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

/** Checks a name or an address with the rules of the accounts service. */
export const account =
  (field: AccountProblem['field']): Rule =>
  (text, _form, { accounts }) => {
    const [problem] = text === '' ? [] : accounts.check({ [field]: text })
    return problem && failed(problem.rule)
  }

const policyKey = 'platform.iam.password.policy'
const offeredPolicies = ['low', 'medium', 'high'] as const
type Policy = Passwords['policy']

/** `custom` needs keys that are not in the form, so it is offered only if it is configured already. */
export const passwordPolicies = ({ policy }: Pick<Passwords, 'policy'>): readonly Policy[] =>
  policy === 'custom' ? [...offeredPolicies, policy] : offeredPolicies

/** The configured policy, or `medium` while none is configured (decision F.12). */
export const proposedPolicy = (
  { policy }: Pick<Passwords, 'policy'>,
  configAdmin: Pick<ConfigAdmin, 'explain'>,
): Policy => (configuredValue(configAdmin, policyKey)?.source === 'default' ? 'medium' : policy)

/** The policy that the form selects, or `undefined`. */
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

/** Describes the problems of a password. A rule without a text in this plugin uses its own message. */
export function passwordProblems(faults: readonly PasswordProblem[], language: string, translate: Translate): string {
  return faults
    .map(({ rule, limit = 0, message }) => translate(language, `password.${rule}`, { limit }) || message)
    .join(translate(language, 'password.between'))
}

export const samePassword: Rule = (text, form) =>
  text === textOf(form, 'administrator.password') ? undefined : failed('password-mismatch')

export const databaseType: Rule = (named, form, { config }) => {
  if (databaseTypeOf(form) === undefined) return failed('database-type', { type: named.slice(0, 64) })
  return isEmbedded(form) && !config.get('platform.install.allow-lite') ? failed('lite-not-allowed') : undefined
}

/** Names that are safe in every driver and URL. The name of a file has no extension. */
const serverName = holds((text) => /^[A-Za-z0-9_][A-Za-z0-9_$-]{0,62}$/.test(text), 'database-name')
const fileName = holds((text) => /^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$/.test(text), 'database-file')
export const databaseName: Rule = (text, form) => (isEmbedded(form) ? fileName : serverName)(text)

/** A password is written on one line of the file. An empty password is insecure. */
export const serverPassword = (group: 'database' | 'cache'): Rule =>
  firstOf(plainText, (password, form, { running }) => {
    if (isMaskMisplaced(form, group, running)) return failed('password-again')
    return password === '' && running(`platform.${group}.password`) === '' ? warning('password-empty') : undefined
  })

/** Names of the disks of the product; empty without a storage. */
export const disksOf = ({ catalogue }: Pick<ConfigAdmin, 'catalogue'>): readonly string[] =>
  catalogue.flatMap(({ key }) => /^platform\.storage\.disks\.([a-z0-9-]+)\.enabled$/.exec(key)?.[1] ?? [])

export const disk: Rule = (name, _form, { configAdmin }) => {
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(name)) return failed('disk-name')
  const known = disksOf(configAdmin)
  return known.length > 0 && !known.includes(name) ? failed('disk-unknown', { known: known.join(', ') }) : undefined
}
export const otherDisk: Rule = firstOf(disk, (name, form) =>
  name === textOf(form, 'storage.publicDisk') ? failed('disk-shared') : undefined,
)
