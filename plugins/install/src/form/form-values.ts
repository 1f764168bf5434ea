import type { ConnectionSecret } from '@plinth/database'
import { type ConfigAdmin, fallbackValuePlace, type SourcedValue } from '@plinth/kernel/host'

export type FieldValue = string | number | boolean | null | undefined

export type FormValues = Readonly<Record<string, Readonly<Record<string, FieldValue>> | undefined>>

/** Returns the value of a field such as `database.host`. */
export function fieldValueOf(form: FormValues, field: string): FieldValue {
  const [group = '', name = ''] = field.split('.')
  return form[group]?.[name]
}

/** True if the field contains a secret, judged by its name. */
export const isSecretField = (field: string) => /password$/i.test(field)

/** Returns the value of a field as text, or empty if it is missing. Trims all values except secrets. */
export function textOf(form: FormValues, field: string): string {
  const text = String(fieldValueOf(form, field) ?? '')
  return isSecretField(field) ? text : text.trim()
}

/** Returns the secrets in the form, so that they can be masked. */
export function secretsOf(form: FormValues): readonly string[] {
  const fields = Object.entries(form).flatMap(([group, values]) =>
    Object.keys(values ?? {}).map((name) => `${group}.${name}`),
  )
  return fields.filter(isSecretField).flatMap((field) => textOf(form, field) || [])
}

/** Database types by their names in the form. `h2` means the embedded database (decision D18). */
const databaseTypes = {
  mysql: 'mysql',
  postgresql: 'postgresql',
  h2: 'sqlite',
  sqlite: 'sqlite',
  mariadb: 'mariadb',
} as const
type DatabaseType = (typeof databaseTypes)[keyof typeof databaseTypes]

const isNameIn = <T extends object>(table: T, name: PropertyKey): name is keyof T => Object.hasOwn(table, name)

export const databaseTypeOf = (form: FormValues): DatabaseType | undefined => {
  const named = textOf(form, 'database.type').toLowerCase()
  return isNameIn(databaseTypes, named) ? databaseTypes[named] : undefined
}

export const usesEmbeddedDatabase = (form: FormValues) => databaseTypeOf(form) === 'sqlite'
export const usesDatabaseServer = (form: FormValues) =>
  databaseTypeOf(form) !== undefined && !usesEmbeddedDatabase(form)
export const usesCache = (form: FormValues) => fieldValueOf(form, 'cache.enabled') === true

/** Default ports of database servers. */
export const defaultDatabasePorts = { mysql: 3306, mariadb: 3306, postgresql: 5432 } as const
export function defaultDatabasePort(type: unknown): number | undefined {
  const name = String(type)
  return isNameIn(defaultDatabasePorts, name) ? defaultDatabasePorts[name] : undefined
}
export const defaultCachePort = 6379

export const databasePort = (form: FormValues) =>
  Number(fieldValueOf(form, 'database.port') ?? defaultDatabasePort(databaseTypeOf(form)))
export const cachePort = (form: FormValues) => Number(fieldValueOf(form, 'cache.port') ?? defaultCachePort)

/** Returns the configured value of a key, even while the product runs on the fallback database. */
export const configuredValue = ({ explain }: Pick<ConfigAdmin, 'explain'>, key: string): SourcedValue | undefined =>
  explain(key)?.sources.findLast(({ place }) => place !== fallbackValuePlace)

/**
 * Returns the configured value of a key, or `undefined` if no plugin declares it. Secrets are masked, except the
 * passwords of the database and of Redis, which an installation reuses.
 */
export type ReadConfiguredValue = (key: string) => unknown

/** @param secrets passwords of the database and of Redis in plain text, by key */
export function createConfiguredValueReader(
  configAdmin: Pick<ConfigAdmin, 'explain'>,
  secrets: Readonly<Record<string, ConnectionSecret | undefined>>,
): ReadConfiguredValue {
  return (key) => secrets[key]?.password ?? configuredValue(configAdmin, key)?.value
}
