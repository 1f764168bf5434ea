import { basename, dirname, extname, join } from 'node:path'
import { Type } from '@plinth/http'
import type { JsonValue } from '@plinth/kernel'
import type { TSchema } from 'typebox'
import type { FieldView } from '../contract.ts'
import * as rules from './field-rules.ts'
import { databaseTypeToWrite, passwordToWrite } from './field-rules.ts'
import {
  cachePort,
  databasePort,
  defaultDatabasePorts,
  type FormValues,
  fieldValueOf,
  type ReadConfiguredValue,
  textOf,
  usesCache,
  usesDatabaseServer,
  usesEmbeddedDatabase,
} from './form-values.ts'

/** A configuration value that a form field sets. */
export interface FormSetting {
  readonly field: string
  readonly key: string
  readonly value: JsonValue
  /**
   * Where the value is stored. `file`: the value is read at the start of a process, so it is written to `.env`.
   * `database`: the value is stored in the database.
   */
  readonly home: 'file' | 'database'
  readonly connection: 'database' | 'cache' | undefined
}

/** Condition under which the page shows a field, and under which the field applies to a form. */
interface Condition extends NonNullable<FieldView['hints']['visibleWhen']> {
  readonly applies: (form: FormValues) => boolean
}

/** Describes one field of the form. */
interface Field<T extends FieldView['type'] = FieldView['type']> {
  readonly type: T
  /**
   * Configuration key that the field sets. The declaration of the key contains title, description and limits. A
   * description in the message files replaces the one of the key. A field without a key has all its texts there.
   */
  readonly key?: string
  /**
   * Maximum number of characters in a request. It is larger than the limit of the field, so that a long value causes a
   * readable problem.
   */
  readonly accepts?: number
  /** True if the field must not be empty. Only checked while the field is visible. */
  readonly required?: boolean
  /** Returns true if the required field may be empty. */
  readonly mayBeEmpty?: (form: FormValues) => boolean
  /**
   * Allowed values, with labels in the message files below `option.`. `disks` and `password-policies`: the disks and
   * policies of the product. `time-zones`: the time zones that Node.js knows.
   */
  readonly candidates?: readonly string[] | 'disks' | 'password-policies' | 'time-zones'
  /** Hints that the key does not contain. */
  readonly hints?: Partial<FieldView['hints']>
  readonly shownWhen?: Condition
  readonly rule?: rules.FieldRule
  /** Default: `file` for keys of the database and of Redis, `database` for other keys. */
  readonly home?: FormSetting['home']
  /** Returns the value of the key. Default: the text of the field. */
  readonly value?: (form: FormValues, running: ReadConfiguredValue) => JsonValue
  /** Returns the values by key, for a field that does not set exactly its `key`. */
  readonly sets?: (form: FormValues, running: ReadConfiguredValue) => Readonly<Record<string, JsonValue>>
}
type Details = Omit<Field, 'type' | 'accepts' | 'key'>
const text = (accepts: number, details: Details): Field<'string'> => ({ type: 'string', accepts, ...details })
const keyText = (key: string, accepts: number, details: Details): Field<'string'> => ({
  ...text(accepts, details),
  key,
})
const keyInteger = (key: string, details: Details): Field<'integer'> => ({ type: 'integer', key, ...details })
const keyFlag = (key: string, details: Details): Field<'boolean'> => ({ type: 'boolean', key, ...details })

/** A field that chooses a disk, which is enabled too. */
const disk = (key: string, field: string, details: Details): Field<'string'> =>
  keyText(key, 128, {
    candidates: 'disks',
    sets: (form) => {
      const name = textOf(form, field)
      return name === '' ? {} : { [key]: name, [`platform.storage.disks.${name}.enabled`]: true }
    },
    ...details,
  })

/**
 * Returns the path of a SQLite file next to the current one. The form contains only its name, without directory and
 * extension.
 */
function sqliteFile(name: string, current: string): string {
  if (name === '' || name === sqliteDatabaseName(current)) return current
  const directory = current === ':memory:' ? 'data' : dirname(current)
  return join(directory, `${name}.sqlite`)
}

export const sqliteDatabaseName = (file: string) => basename(file, extname(file))

/** All tags of a language, such as `zh-TW`, use the texts of that language. */
const localeOf = (tag: string) => (tag === '' ? '' : /^zh\b/i.test(tag) ? 'zh-CN' : 'en')

const onServer: Condition = { field: 'database.type', values: ['mysql', 'postgresql'], applies: usesDatabaseServer }
const withCache: Condition = { field: 'cache.enabled', values: [true], applies: usesCache }
const newPassword = { input: 'password', autocomplete: 'new-password', maxLength: 128 } as const

/**
 * All fields by group, in display order (document 3 of the specification, "Configuration form"). This table defines the
 * request bodies, the checks, the settings, the answers of the command and the form of the page.
 */
export const fields = {
  site: {
    name: keyText('platform.site.name', 256, { required: true }),
    title: keyText('platform.site.title', 256, { rule: rules.warnIfEmpty('site-title-missing') }),
    url: keyText('platform.site.url', 1024, {
      hints: { input: 'url', placeholder: 'https://example.com' },
      rule: rules.warnIfEmpty('site-url-missing', rules.siteUrlRule),
    }),
    defaultLocale: keyText('platform.i18n.default-locale', 64, {
      candidates: ['en', 'zh-CN'],
      rule: rules.warnIfEmpty('locale-default', rules.localeRule),
      home: 'file',
      value: (form) => localeOf(textOf(form, 'site.defaultLocale')),
    }),
    timeZone: keyText('platform.site.time-zone', 128, {
      candidates: 'time-zones',
      rule: rules.warnIfEmpty('time-zone-default'),
    }),
  },
  administrator: {
    username: text(256, {
      required: true,
      hints: { autocomplete: 'username', maxLength: 64 },
      rule: rules.accountRules('username'),
    }),
    email: text(320, {
      hints: { input: 'email', autocomplete: 'email', maxLength: 254 },
      rule: rules.warnIfEmpty('email-missing', rules.accountRules('email')),
    }),
    mobile: text(64, {
      hints: { input: 'tel', autocomplete: 'tel', maxLength: 32 },
      rule: rules.accountRules('mobile'),
    }),
    passwordPolicy: keyText(rules.passwordPolicyKey, 64, {
      candidates: 'password-policies',
      rule: rules.passwordPolicyRule,
    }),
    password: text(1024, { required: true, hints: newPassword, rule: rules.newPasswordRule }),
    confirmPassword: text(1024, { required: true, hints: newPassword, rule: rules.samePasswordRule }),
  },
  database: {
    type: keyText('platform.database.type', 64, {
      required: true,
      candidates: ['h2', 'postgresql', 'mysql'],
      rule: rules.databaseTypeRule,
      value: databaseTypeToWrite,
    }),
    host: keyText('platform.database.host', 512, {
      required: true,
      hints: { maxLength: 253 },
      shownWhen: onServer,
    }),
    port: keyInteger('platform.database.port', {
      hints: {
        follows: {
          field: 'database.type',
          values: { mysql: defaultDatabasePorts.mysql, postgresql: defaultDatabasePorts.postgresql },
        },
      },
      shownWhen: onServer,
      value: databasePort,
    }),
    database: keyText('platform.database.name', 512, {
      required: true,
      hints: { maxLength: 63 },
      // The page does not show the name of the embedded database, but a caller may choose it.
      shownWhen: { ...onServer, applies: (form) => usesDatabaseServer(form) || usesEmbeddedDatabase(form) },
      // If the name of the embedded database is empty, the product chooses it.
      mayBeEmpty: usesEmbeddedDatabase,
      rule: rules.databaseNameRule,
      sets(form, running) {
        const name = textOf(form, 'database.database')
        const file = 'platform.database.sqlite.file'
        return usesEmbeddedDatabase(form)
          ? { [file]: sqliteFile(name, String(running(file))) }
          : { 'platform.database.name': name }
      },
    }),
    username: keyText('platform.database.username', 256, {
      required: true,
      hints: { autocomplete: 'off', maxLength: 128 },
      shownWhen: onServer,
    }),
    password: keyText('platform.database.password', 1024, {
      hints: { maxLength: 1024 },
      shownWhen: onServer,
      rule: rules.serverPassword('database'),
      value: (form, running) => passwordToWrite(form, 'database', running),
    }),
  },
  cache: {
    enabled: keyFlag('platform.cache.enabled', { value: usesCache }),
    host: keyText('platform.cache.host', 512, { required: true, hints: { maxLength: 253 }, shownWhen: withCache }),
    port: keyInteger('platform.cache.port', { shownWhen: withCache, value: cachePort }),
    database: keyInteger('platform.cache.database', {
      hints: { maximum: 1_000_000 },
      shownWhen: withCache,
      value: (form) => Number(fieldValueOf(form, 'cache.database') ?? 0),
    }),
    password: keyText('platform.cache.password', 1024, {
      hints: { maxLength: 1024 },
      shownWhen: withCache,
      rule: rules.serverPassword('cache'),
      value: (form, running) => passwordToWrite(form, 'cache', running),
    }),
  },
  storage: {
    publicDisk: disk('platform.storage.public-disk', 'storage.publicDisk', {
      hints: { maxLength: 32, placeholder: 'public' },
      rule: rules.warnIfEmpty('disk-default', rules.diskRule),
    }),
    localDisk: disk('platform.storage.local-disk', 'storage.localDisk', {
      hints: { maxLength: 32, placeholder: 'local' },
      rule: rules.warnIfEmpty('disk-default', rules.otherDiskRule),
    }),
  },
} as const

type ValueOf<T> =
  T extends Field<infer Type>
    ? Type extends 'string'
      ? string
      : Type extends 'integer'
        ? number | null
        : boolean
    : never
type GroupOf<G> = { [F in keyof G]?: ValueOf<G[F]> }
export type InstallForm = { [G in keyof typeof fields]?: GroupOf<(typeof fields)[G]> }
export type AdministratorForm = Omit<GroupOf<(typeof fields)['administrator']>, 'passwordPolicy'>

/** A field with its path, for example `database.host`. */
export type FormField = Field & { readonly path: string; readonly group: string; readonly name: string }
export const allFields: readonly FormField[] = Object.entries(fields).flatMap(
  ([group, members]: [string, Readonly<Record<string, Field>>]) =>
    Object.entries(members).map(([name, field]) => ({ ...field, group, name, path: `${group}.${name}` })),
)

/** Returns whether the field applies to this form. */
export const isApplicable = ({ shownWhen }: Field, form: FormValues): boolean => shownWhen?.applies(form) !== false

export const settingsOf = (form: FormValues, running: ReadConfiguredValue): readonly FormSetting[] =>
  allFields
    .filter((field) => isApplicable(field, form))
    .flatMap(({ path, group, key, home = 'database', value, sets }) => {
      const connection = group === 'database' || group === 'cache' ? group : undefined
      const own = key === undefined ? {} : { [key]: value?.(form, running) ?? textOf(form, path) }
      return Object.entries(sets?.(form, running) ?? own)
        .filter(([, value]) => value !== '' || connection !== undefined)
        .map(([key, value]) => ({ field: path, key, value, home: connection ? 'file' : home, connection }))
    })

const schemas = {
  string: ({ accepts = 0 }: Field): TSchema => Type.String({ maxLength: accepts }),
  integer: (): TSchema => Type.Union([Type.Integer(), Type.Null()]),
  boolean: (): TSchema => Type.Boolean(),
}
/**
 * Properties that the response with the default values has in addition to the form values. They are allowed and ignored
 * in requests, so that a caller may send the default values back unchanged.
 */
const unused = Type.Optional(Type.Unknown({ description: 'Of the defaults. Not used.' }))
const factsOf: Readonly<Record<string, Readonly<Record<string, typeof unused>>>> = {
  database: { url: unused, passwordSet: unused, fault: unused, faultField: unused },
  cache: { passwordSet: unused },
}
const bodyOf = (members: Readonly<Record<string, Field>>, facts: Readonly<Record<string, TSchema>> = {}) =>
  Type.Object({
    ...facts,
    ...Object.fromEntries(
      Object.entries(members).map(([name, field]) => [name, Type.Optional(schemas[field.type](field))]),
    ),
  })

/** Request bodies. All fields are optional in the schemas, because the checks report each missing field. */
const { passwordPolicy: _setting, ...account } = fields.administrator
export const administratorForm = Type.Unsafe<AdministratorForm>(bodyOf(account))
export const installForm = Type.Unsafe<InstallForm>(
  Type.Object(
    Object.fromEntries(
      Object.entries(fields).map(([group, members]) => [group, Type.Optional(bodyOf(members, factsOf[group]))]),
    ),
  ),
)
