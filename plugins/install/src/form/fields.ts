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
  defaultCachePort,
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
  readonly connection?: 'database' | 'cache'
}
type Write = Omit<FormSetting, 'field'>

/** Describes one field of the form. Its label and description are in the message files. */
interface Field<T extends FieldView['type'] = FieldView['type']> {
  readonly type: T
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
  readonly hints: FieldView['hints']
  /** Returns whether the field applies to this form. Default: always. */
  readonly counts?: (form: FormValues) => boolean
  readonly rule?: rules.FieldRule
  readonly writes?: (form: FormValues, running: ReadConfiguredValue) => readonly Write[]
}
type Details = Omit<Field, 'type' | 'accepts'>
const text = (accepts: number, details: Details): Field<'string'> => ({ type: 'string', accepts, ...details })
const integer = (details: Details): Field<'integer'> => ({ type: 'integer', ...details })
const flag = (details: Details): Field<'boolean'> => ({ type: 'boolean', ...details })

/** Stores a field in the database configuration unless it is empty. */
const stored =
  (field: string, key: string): NonNullable<Field['writes']> =>
  (form) =>
    textOf(form, field) === '' ? [] : [{ key, value: textOf(form, field), home: 'database' }]

/** Writes a setting of a connection to `.env`. */
const connecting =
  (
    connection: 'database' | 'cache',
    name: string,
    value: (form: FormValues, running: ReadConfiguredValue) => JsonValue,
  ): NonNullable<Field['writes']> =>
  (form, running) => [{ key: `platform.${connection}.${name}`, value: value(form, running), home: 'file', connection }]

const diskSettings =
  (field: string, key: string): NonNullable<Field['writes']> =>
  (form) => {
    const disk = textOf(form, field)
    const enabled = { key: `platform.storage.disks.${disk}.enabled`, value: true, home: 'database' } as const
    return disk === '' ? [] : [...stored(field, key)(form, () => undefined), enabled]
  }

const databaseFile: NonNullable<Field['writes']> = (form, running) => {
  const current = String(running('platform.database.sqlite.file'))
  return connecting('database', 'sqlite.file', () => sqliteFile(textOf(form, 'database.database'), current))(
    form,
    running,
  )
}

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
const localeOf = (tag: string) => (/^zh\b/i.test(tag) ? 'zh-CN' : 'en')

const port = { input: 'number', minimum: 1, maximum: 65_535 } as const
const onServer = { visibleWhen: { field: 'database.type', values: ['mysql', 'postgresql'] } }
const withCache = { visibleWhen: { field: 'cache.enabled', values: [true] } }
const newPassword = { input: 'password', autocomplete: 'new-password', maxLength: 128 } as const
const knownPassword = { input: 'password', autocomplete: 'off', maxLength: 1024 } as const

/**
 * All fields by group, in display order (document 3 of the specification, "Configuration form"). This table defines the
 * request bodies, the checks, the settings, the answers of the command and the form of the page.
 */
export const fields = {
  site: {
    name: text(256, {
      required: true,
      hints: { input: 'text', maxLength: 64 },
      writes: stored('site.name', 'platform.site.name'),
    }),
    title: text(256, {
      hints: { input: 'text', maxLength: 128 },
      rule: rules.warnIfEmpty('site-title-missing'),
      writes: stored('site.title', 'platform.site.title'),
    }),
    url: text(1024, {
      hints: { input: 'url', maxLength: 512, placeholder: 'https://example.com' },
      rule: rules.warnIfEmpty('site-url-missing', rules.siteUrlRule),
      writes: stored('site.url', 'platform.site.url'),
    }),
    defaultLocale: text(64, {
      candidates: ['en', 'zh-CN'],
      hints: { input: 'select' },
      rule: rules.warnIfEmpty('locale-default', rules.localeRule),
      writes(form) {
        const tag = textOf(form, 'site.defaultLocale')
        return tag === '' ? [] : [{ key: 'platform.i18n.default-locale', value: localeOf(tag), home: 'file' }]
      },
    }),
    timeZone: text(128, {
      candidates: 'time-zones',
      hints: { input: 'combobox' },
      rule: rules.warnIfEmpty('time-zone-default', rules.timeZoneRule),
      writes: stored('site.timeZone', 'platform.site.time-zone'),
    }),
  },
  administrator: {
    username: text(256, {
      required: true,
      hints: { input: 'text', autocomplete: 'username', maxLength: 64 },
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
    passwordPolicy: text(64, {
      candidates: 'password-policies',
      hints: { input: 'select' },
      rule: rules.passwordPolicyRule,
      writes: stored('administrator.passwordPolicy', 'platform.iam.password.policy'),
    }),
    password: text(1024, { required: true, hints: newPassword, rule: rules.newPasswordRule }),
    confirmPassword: text(1024, { required: true, hints: newPassword, rule: rules.samePasswordRule }),
  },
  database: {
    type: text(64, {
      required: true,
      candidates: ['h2', 'postgresql', 'mysql'],
      hints: { input: 'select' },
      rule: rules.databaseTypeRule,
      writes: connecting('database', 'type', databaseTypeToWrite),
    }),
    host: text(512, {
      required: true,
      hints: { input: 'text', maxLength: 253, ...onServer },
      counts: usesDatabaseServer,
      rule: rules.hostRule,
      writes: connecting('database', 'host', (form) => textOf(form, 'database.host')),
    }),
    port: integer({
      hints: {
        ...port,
        ...onServer,
        follows: {
          field: 'database.type',
          values: { mysql: defaultDatabasePorts.mysql, postgresql: defaultDatabasePorts.postgresql },
        },
      },
      counts: usesDatabaseServer,
      writes: connecting('database', 'port', databasePort),
    }),
    database: text(512, {
      required: true,
      hints: { input: 'text', maxLength: 63, ...onServer },
      counts: (form) => usesDatabaseServer(form) || usesEmbeddedDatabase(form),
      // If the name of the embedded database is empty, the product chooses it.
      mayBeEmpty: usesEmbeddedDatabase,
      rule: rules.databaseNameRule,
      writes: (form, running) =>
        usesEmbeddedDatabase(form)
          ? databaseFile(form, running)
          : connecting('database', 'name', () => textOf(form, 'database.database'))(form, running),
    }),
    username: text(256, {
      required: true,
      hints: { input: 'text', autocomplete: 'off', maxLength: 128, ...onServer },
      counts: usesDatabaseServer,
      writes: connecting('database', 'username', (form) => textOf(form, 'database.username')),
    }),
    password: text(1024, {
      hints: { ...knownPassword, ...onServer },
      counts: usesDatabaseServer,
      rule: rules.serverPassword('database'),
      writes: connecting('database', 'password', (form, running) => passwordToWrite(form, 'database', running)),
    }),
  },
  cache: {
    enabled: flag({ hints: { input: 'switch' }, writes: connecting('cache', 'enabled', usesCache) }),
    host: text(512, {
      required: true,
      hints: { input: 'text', maxLength: 253, ...withCache },
      counts: usesCache,
      rule: rules.hostRule,
      writes: connecting('cache', 'host', (form) => textOf(form, 'cache.host')),
    }),
    port: integer({
      hints: { ...port, ...withCache, placeholder: String(defaultCachePort) },
      counts: usesCache,
      writes: connecting('cache', 'port', cachePort),
    }),
    database: integer({
      hints: { input: 'number', minimum: 0, maximum: 1_000_000, ...withCache },
      counts: usesCache,
      writes: connecting('cache', 'database', (form) => Number(fieldValueOf(form, 'cache.database') ?? 0)),
    }),
    password: text(1024, {
      hints: { ...knownPassword, ...withCache },
      counts: usesCache,
      rule: rules.serverPassword('cache'),
      writes: connecting('cache', 'password', (form, running) => passwordToWrite(form, 'cache', running)),
    }),
  },
  storage: {
    publicDisk: text(128, {
      candidates: 'disks',
      hints: { input: 'combobox', maxLength: 32, placeholder: 'public' },
      rule: rules.warnIfEmpty('disk-default', rules.diskRule),
      writes: diskSettings('storage.publicDisk', 'platform.storage.public-disk'),
    }),
    localDisk: text(128, {
      candidates: 'disks',
      hints: { input: 'combobox', maxLength: 32, placeholder: 'local' },
      rule: rules.warnIfEmpty('disk-default', rules.otherDiskRule),
      writes: diskSettings('storage.localDisk', 'platform.storage.local-disk'),
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

/** All fields with their paths, for example `database.host`. */
export const allFields: readonly (Field & { readonly path: string; readonly group: string; readonly name: string })[] =
  Object.entries(fields).flatMap(([group, members]: [string, Readonly<Record<string, Field>>]) =>
    Object.entries(members).map(([name, field]) => ({ ...field, group, name, path: `${group}.${name}` })),
  )

export const settingsOf = (form: FormValues, running: ReadConfiguredValue): readonly FormSetting[] =>
  allFields.flatMap(({ path, counts, writes }) =>
    writes === undefined || counts?.(form) === false
      ? []
      : writes(form, running).map((setting) => ({ field: path, ...setting })),
  )

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
