import type { ConnectionSecret } from '@plinth/database'
import type { ConfigAdmin } from '@plinth/kernel'
import type { InstallForm } from './contract.ts'

/** Fields that hold a secret. */
export const secretFields = [
  'administrator.password',
  'administrator.confirmPassword',
  'database.password',
  'cache.password',
] as const

export type FieldValue = string | number | boolean | null | undefined

/** The value of a field such as `database.host`; texts come without blanks around them, save for secrets. */
export function fieldOf(form: InstallForm, field: string): FieldValue {
  const [group = '', name = ''] = field.split('.')
  const value = (form as Readonly<Record<string, Readonly<Record<string, FieldValue>> | undefined>>)[group]?.[name]
  return typeof value === 'string' && !(secretFields as readonly string[]).includes(field) ? value.trim() : value
}

export const textOf = (form: InstallForm, field: string): string => {
  const value = fieldOf(form, field)
  return value === null || value === undefined ? '' : String(value)
}

/** Secrets in the form: they must not be seen anywhere. */
export const secretsOf = (form: InstallForm): readonly string[] =>
  secretFields.map((field) => textOf(form, field)).filter((secret) => secret !== '')

/** Types of databases as the form names them, and what they are here. `h2` is the embedded one (decision D18). */
export const databaseTypes = {
  mysql: 'mysql',
  postgresql: 'postgresql',
  h2: 'sqlite',
  sqlite: 'sqlite',
  mariadb: 'mariadb',
} as const
export type DatabaseType = (typeof databaseTypes)[keyof typeof databaseTypes]

export const databaseTypeOf = (form: InstallForm): DatabaseType | undefined => {
  const named = textOf(form, 'database.type').toLowerCase()
  return Object.hasOwn(databaseTypes, named) ? databaseTypes[named as keyof typeof databaseTypes] : undefined
}

export const usualPorts = { mysql: 3306, mariadb: 3306, postgresql: 5432 } as const
export const usualCachePort = 6379

/**
 * Values of the keys that run now, in written form, whoever owns them; `undefined` for a key that no plugin declares. A
 * secret is masked, save for the two passwords that an installation keeps.
 */
export type Running = (key: string) => unknown

/** @param secrets what the owners of the two connections hand out, by key */
export function runningValues(
  { explain }: Pick<ConfigAdmin, 'explain'>,
  secrets: Readonly<Record<string, ConnectionSecret | undefined>>,
): Running {
  return (key) => secrets[key]?.password ?? explain(key)?.effective.value
}
