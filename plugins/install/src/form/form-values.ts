import type { ConnectionSecret } from '@plinth/database'
import { type ConfigAdmin, fallbackPlace, type SourcedValue } from '@plinth/kernel'

export type FieldValue = string | number | boolean | null | undefined

/** A submitted form: groups with their fields. */
export type FormValues = Readonly<Record<string, Readonly<Record<string, FieldValue>> | undefined>>

/** The value of a field such as `database.host`, as it came. */
export function answerOf(form: FormValues, field: string): FieldValue {
  const [group = '', name = ''] = field.split('.')
  return form[group]?.[name]
}

/** Fields that hold a secret, by their name. */
export const isSecret = (field: string) => /password$/i.test(field)

/** The same as text; empty for nothing. Blanks around it do not count, save in a secret. */
export function textOf(form: FormValues, field: string): string {
  const text = String(answerOf(form, field) ?? '')
  return isSecret(field) ? text : text.trim()
}

/** Secrets in the form: they must not be seen anywhere. */
export function secretsOf(form: FormValues): readonly string[] {
  const fields = Object.entries(form).flatMap(([group, values]) =>
    Object.keys(values ?? {}).map((name) => `${group}.${name}`),
  )
  return fields.filter(isSecret).flatMap((field) => textOf(form, field) || [])
}

/** Types of databases as the form names them, and what they are here. `h2` is the embedded one (decision D18). */
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

export const isEmbedded = (form: FormValues) => databaseTypeOf(form) === 'sqlite'
export const isServer = (form: FormValues) => databaseTypeOf(form) !== undefined && !isEmbedded(form)
export const usesCache = (form: FormValues) => answerOf(form, 'cache.enabled') === true

/** Ports of the servers, where none is named. */
export const usualPorts = { mysql: 3306, mariadb: 3306, postgresql: 5432 } as const
export function usualPort(type: unknown): number | undefined {
  const name = String(type)
  return isNameIn(usualPorts, name) ? usualPorts[name] : undefined
}
export const usualCachePort = 6379

export const databasePort = (form: FormValues) =>
  Number(answerOf(form, 'database.port') ?? usualPort(databaseTypeOf(form)))
export const cachePort = (form: FormValues) => Number(answerOf(form, 'cache.port') ?? usualCachePort)

/** The value of a key as it is configured, also while the start has fallen back on another one. */
export const configuredValue = ({ explain }: Pick<ConfigAdmin, 'explain'>, key: string): SourcedValue | undefined =>
  explain(key)?.sources.findLast(({ place }) => place !== fallbackPlace)

/**
 * Configured values of the keys, in written form, whoever owns them; `undefined` for a key that no plugin declares. A
 * secret is masked, save for the two passwords that an installation keeps.
 */
export type Running = (key: string) => unknown

/** @param secrets what the owners of the two connections hand out, by key */
export function runningValues(
  configAdmin: Pick<ConfigAdmin, 'explain'>,
  secrets: Readonly<Record<string, ConnectionSecret | undefined>>,
): Running {
  return (key) => secrets[key]?.password ?? configuredValue(configAdmin, key)?.value
}
