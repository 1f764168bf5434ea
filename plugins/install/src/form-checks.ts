import type { PasswordFault, Passwords } from '@plinth/iam'
import { type ConfigAdmin, formats, maskedValue } from '@plinth/kernel'
import type { Check, InstallForm, Outcome } from './contract.ts'
import { databaseTypeOf, fieldOf, type Running, textOf } from './form.ts'
import { isMaskMisplaced } from './settings.ts'
import type { Params, Say } from './texts.ts'

export interface FormCheckParts {
  readonly configAdmin: Pick<ConfigAdmin, 'catalogue'>
  readonly passwords: Passwords
  readonly running: Running
  readonly allowLite: () => boolean
  readonly say: Say
}

/** What a rule finds. `text` names the message below `check.`. */
export interface Finding {
  readonly status: Outcome
  readonly text: string
  readonly params?: Params
}
type Rule = (form: InstallForm, field: string, parts: FormCheckParts & { readonly locale: string }) => Finding

const passed: Finding = { status: 'passed', text: 'passed' }
const failed = (text: string, params: Params = {}): Finding => ({ status: 'failed', text, params })
const warning = (text: string, params: Params = {}): Finding => ({ status: 'warning', text, params })

/** The first finding that is not good, else that all is. */
const firstOf =
  (...rules: readonly Rule[]): Rule =>
  (form, field, parts) => {
    for (const rule of rules) {
      const finding = rule(form, field, parts)
      if (finding.status !== 'passed') return finding
    }
    return passed
  }

const required: Rule = (form, field) => (textOf(form, field) === '' ? failed('required') : passed)
const suggested =
  (text: string): Rule =>
  (form, field) =>
    textOf(form, field) === '' ? warning(text) : passed
const longest =
  (limit: number): Rule =>
  (form, field) =>
    [...textOf(form, field)].length > limit ? failed('too-long', { limit }) : passed
/** What is empty is left to other rules. */
const holds =
  (test: (text: string) => boolean, text: string, params: Params = {}): Rule =>
  (form, field) => {
    const value = textOf(form, field)
    return value === '' || test(value) ? passed : failed(text, params)
  }
const plainText = holds((text) => !/\p{Cc}/u.test(text), 'control-characters')
const inRange =
  (minimum: number, maximum: number): Rule =>
  (form, field) => {
    const value = fieldOf(form, field)
    if (value === undefined || value === null) return passed
    return Number(value) < minimum || Number(value) > maximum ? failed('out-of-range', { minimum, maximum }) : passed
  }

const isServer = (form: InstallForm) => {
  const type = databaseTypeOf(form)
  return type !== undefined && type !== 'sqlite'
}
const usesCache = (form: InstallForm) => fieldOf(form, 'cache.enabled') === true

const isHost = (text: string) => formats['host']?.validate(text) === true
/** Names that mean the same to every driver and in every URL. */
const isDatabaseName = (text: string) => /^[A-Za-z0-9_][A-Za-z0-9_$-]{0,62}$/.test(text)
const isFileName = (text: string) => /^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$/.test(text)

const siteUrl: Rule = (form, field) => {
  const text = textOf(form, field)
  if (text === '') return warning('site-url-missing')
  if (formats['url']?.validate(text) !== true) return failed('url')
  const { protocol, hostname } = new URL(text)
  const isOwnMachine = hostname === 'localhost' || /^(?:127\.|\[::1\])/.test(hostname)
  return protocol === 'http:' && !isOwnMachine ? warning('url-without-tls') : passed
}

const isTimeZone = (text: string) => formats['time-zone']?.validate(text) === true

const isUsername = (text: string) => /^[\p{L}\p{N}_][\p{L}\p{N}_.-]{1,63}$/u.test(text.normalize('NFKC'))
const isMobile = (text: string) => /^\+?\d{5,15}$/.test(text.replace(/[\s()-]/g, ''))

const passwordPolicy: Rule = (form, field, { passwords, locale, say }) => {
  const password = textOf(form, field)
  if (password === '') return failed('required')
  if (password === maskedValue) return failed('password-again')
  const faults = passwords.check(password, textOf(form, 'administrator.username'))
  return faults.length === 0 ? passed : failed('password-policy', { faults: passwordFaults(faults, locale, say) })
}
/** What a password lacks, in words; a rule that this plugin does not know speaks for itself. */
export function passwordFaults(faults: readonly PasswordFault[], locale: string, say: Say): string {
  return faults
    .map(({ rule, limit = 0, message }) => say(locale, `password.${rule}`, { limit }) || message)
    .join(say(locale, 'password.between'))
}

const confirmation: Rule = (form, field) =>
  textOf(form, field) === textOf(form, 'administrator.password') ? passed : failed('password-mismatch')

const databaseType: Rule = (form, field, { allowLite }) => {
  const named = textOf(form, field)
  if (named === '') return failed('required')
  const type = databaseTypeOf(form)
  if (type === undefined) return failed('database-type', { type: named.slice(0, 64) })
  return type === 'sqlite' && !allowLite() ? failed('lite-not-allowed') : passed
}

/** A password goes to the file on one line; an empty one is somebody's open door. */
const serverPassword =
  (group: 'database' | 'cache'): Rule =>
  (form, field, { running }) => {
    if (isMaskMisplaced(form, group, running)) return failed('password-again')
    return textOf(form, field) === '' && running(`platform.${group}.password`) === ''
      ? warning('password-empty')
      : passed
  }

const disk: Rule = (form, field, { configAdmin }) => {
  const name = textOf(form, field)
  if (name === '') return warning('disk-default')
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(name)) return failed('disk-name')
  const known = configAdmin.catalogue.flatMap(
    ({ key }) => /^platform\.storage\.disks\.([a-z0-9-]+)\.enabled$/.exec(key)?.[1] ?? [],
  )
  return known.length > 0 && !known.includes(name) ? failed('disk-unknown', { known: known.join(', ') }) : passed
}
const otherDisk: Rule = (form, field) => {
  const name = textOf(form, field)
  return name !== '' && name === textOf(form, 'storage.publicDisk') ? failed('disk-shared') : passed
}

/** Every field with its rule, and when it counts. */
const rules: readonly {
  readonly field: string
  readonly rule: Rule
  readonly when?: (form: InstallForm) => boolean
}[] = [
  { field: 'site.name', rule: firstOf(required, longest(64), plainText) },
  { field: 'site.title', rule: firstOf(suggested('site-title-missing'), longest(128), plainText) },
  { field: 'site.url', rule: firstOf(longest(512), plainText, siteUrl) },
  {
    field: 'site.defaultLocale',
    rule: firstOf(
      suggested('locale-default'),
      holds((tag) => /^(?:zh|en)\b/i.test(tag), 'locale'),
    ),
  },
  { field: 'site.timeZone', rule: firstOf(suggested('time-zone-default'), holds(isTimeZone, 'time-zone')) },
  { field: 'administrator.username', rule: firstOf(required, holds(isUsername, 'username')) },
  {
    field: 'administrator.email',
    rule: firstOf(
      suggested('email-missing'),
      holds((text) => formats['email']?.validate(text) === true, 'email'),
    ),
  },
  { field: 'administrator.mobile', rule: holds(isMobile, 'mobile') },
  { field: 'administrator.password', rule: passwordPolicy },
  { field: 'administrator.confirmPassword', rule: confirmation },
  { field: 'database.type', rule: databaseType },
  { field: 'database.host', rule: firstOf(required, holds(isHost, 'host')), when: isServer },
  { field: 'database.port', rule: inRange(1, 65_535), when: isServer },
  { field: 'database.database', rule: firstOf(required, holds(isDatabaseName, 'database-name')), when: isServer },
  {
    field: 'database.database',
    rule: holds(isFileName, 'database-file'),
    when: (form) => databaseTypeOf(form) === 'sqlite',
  },
  { field: 'database.username', rule: firstOf(required, longest(128), plainText), when: isServer },
  { field: 'database.password', rule: firstOf(plainText, serverPassword('database')), when: isServer },
  { field: 'cache.host', rule: firstOf(required, holds(isHost, 'host')), when: usesCache },
  { field: 'cache.port', rule: inRange(1, 65_535), when: usesCache },
  { field: 'cache.database', rule: inRange(0, 1_000_000), when: usesCache },
  { field: 'cache.password', rule: firstOf(plainText, serverPassword('cache')), when: usesCache },
  { field: 'storage.publicDisk', rule: disk },
  { field: 'storage.localDisk', rule: firstOf(disk, otherDisk) },
]

/** The meaning of the form alone: reads nothing but configuration, connects to nothing, writes nothing. */
export function checkForm(form: InstallForm, locale: string, parts: FormCheckParts): readonly Check[] {
  return rules.flatMap(({ field, rule, when }) =>
    when === undefined || when(form)
      ? [checkOf(field, rule(form, field, { ...parts, locale }), locale, parts.say)]
      : [],
  )
}

/** A check of one field, in the caller's language. */
export function checkOf(field: string, { status, text, params = {} }: Finding, locale: string, say: Say): Check {
  const [group = ''] = field.split('.')
  const label = say(locale, `field.${field}.label`)
  return {
    code: field,
    finding: text,
    group,
    field,
    status,
    message: say(locale, `check.${text}`, { field: label, ...params }),
    fix: '',
  }
}

export const hasPassed = (checks: readonly Check[]) => checks.every(({ status }) => status !== 'failed')
