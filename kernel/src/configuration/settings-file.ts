import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { environmentName } from '@plinth/config-schema'
import { type ConfigSource, type ConfigSourceInputs, sourcesOf } from '@plinth/config-schema/reading'
import { type Problem, problem } from '../errors/kernel-errors.ts'
import { isPlugin } from '../plugin.ts'
import type { Product } from '../product.ts'

type SettingsFileOptions = Partial<Pick<ConfigSourceInputs, 'envFile' | 'environment' | 'set'>>

/** Returns the key that a plugin declares for the path of the settings file. */
const settingsFileKeyOf = ({ plugins }: Product): string | undefined =>
  plugins.filter(isPlugin).find(({ settingsFileKey }) => settingsFileKey !== undefined)?.settingsFileKey

/**
 * Returns the absolute path of the settings file, which may be missing: the file that the caller specifies, otherwise
 * the value of the key that a plugin declares as `settingsFileKey`, otherwise `.env` in the directory of the product.
 *
 * @returns `undefined` if the product uses no settings file
 */
export function settingsFileOf(product: Product, options: SettingsFileOptions): string | undefined {
  const { envFile, environment = {}, set = {} } = options
  if (envFile === false) return undefined
  const key = settingsFileKeyOf(product)
  const names: readonly unknown[] = key === undefined ? [] : [key, environmentName(key)]
  // The settings file cannot specify its own path, so it is not one of the sources.
  const { config, file, root } = product
  const sources = sourcesOf({ config, file, root, envFile: false, environment, set })
  const entry = sources.flatMap(({ entries }) => entries).findLast(({ name }) => names.includes(name))
  const configured = entry?.text ?? entry?.written
  const path = typeof configured === 'string' && configured !== '' ? configured : '.env'
  return resolve(root, envFile ?? path)
}

/** Returns warnings about settings that the product does not read. */
export function settingsFileWarnings(product: Product, source: ConfigSource | undefined): readonly Problem[] {
  const key = settingsFileKeyOf(product)
  const { file, entries = [] } = source ?? {}
  if (key === undefined || file === undefined) return []
  const variable = environmentName(key)
  const usual = join(product.root, '.env')
  const ignored = [
    ...(file.path !== usual && existsSync(usual) ? ['does not read .env'] : []),
    ...(entries.some(({ name }) => name === variable) ? [`ignores ${variable} in this file`] : []),
  ]
  return ignored.map((text) =>
    problem('PLINTH_CONFIG_SETTINGS_FILE', basename(file.path), { used: file.path, ignored: text, variable }),
  )
}
