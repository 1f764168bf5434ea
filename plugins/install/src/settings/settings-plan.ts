import type { CatalogueEntry, ConfigAdmin } from '@plinth/kernel/host'
import type { FormSetting } from '../form/fields.ts'
import { configuredValue, defaultDatabasePort, type ReadConfiguredValue } from '../form/form-values.ts'

/** A setting and how it will be written. */
export interface PlannedSetting extends FormSetting {
  readonly entry: CatalogueEntry | undefined
  readonly isChanged: boolean
  /** `.env`: to the file. `config`: to the database. `runtime`: not at all. */
  readonly target: '.env' | 'config' | 'runtime'
  /** Source with a higher priority that sets another value, so that the written value would have no effect. */
  readonly overriddenBy: string | undefined
}

/**
 * Returns where each setting will be written. Only keys of loaded plugins are written, because an unknown name in the
 * file would stop the product from starting. The name must also be in the example file (document 3 of the
 * specification, "Write rules").
 */
export function planSettings(
  settings: readonly FormSetting[],
  configAdmin: Pick<ConfigAdmin, 'catalogue' | 'explain'>,
  running: ReadConfiguredValue,
  allowed: ReadonlySet<string>,
): readonly PlannedSetting[] {
  const declared = new Map(configAdmin.catalogue.map((entry) => [entry.key, entry]))
  return settings.map((setting) => {
    const entry = declared.get(setting.key)
    const isChanged = entry !== undefined && inForce(setting.key, running) !== setting.value
    const isWritten = entry !== undefined && (setting.home === 'database' || allowed.has(entry.env))
    const target = isWritten ? (setting.home === 'database' ? 'config' : '.env') : 'runtime'
    const overriddenBy = isChanged && target !== 'runtime' ? fixingPlace(setting, configAdmin) : undefined
    return { ...setting, entry, isChanged, target, overriddenBy }
  })
}

/**
 * Returns the settings of a new product that no field asks for. Products that are not installed with the installer keep
 * the defaults, so that calls of existing clients work as before. A value that another source sets is not replaced.
 */
export const valuesOfNewProducts = (configAdmin: Pick<ConfigAdmin, 'explain'>): readonly FormSetting[] =>
  (['platform.iam.fresh-proof.enabled'] as const)
    .filter((key) => configAdmin.explain(key)?.effective.source === 'default')
    .map((key) => ({ field: '', key, value: true, home: 'database', connection: undefined }))

/** Returns the place of a value that overrides what the installer writes, or `undefined`. */
export function fixingPlace(
  { key, home }: Pick<FormSetting, 'key' | 'home'>,
  configAdmin: Pick<ConfigAdmin, 'explain'>,
): string | undefined {
  const source = configuredValue(configAdmin, key)
  const isStronger = source?.source === 'command-line' || (home === 'file' && isStrongerThanFile(source?.source))
  return isStronger ? source?.place : undefined
}

/** Returns the current value of a key. For the database port, the default is the usual port of the database type. */
function inForce(key: string, running: ReadConfiguredValue): unknown {
  const value = running(key)
  return key === 'platform.database.port' ? (value ?? defaultDatabasePort(running('platform.database.type'))) : value
}

const isStrongerThanFile = (source: string | undefined) => source === 'environment' || source === 'database'

/** Returns the connections of the form that the product does not use yet. */
export const changedConnections = (planned: readonly PlannedSetting[]): ReadonlySet<'database' | 'cache'> =>
  new Set(planned.flatMap(({ connection, isChanged }) => (isChanged && connection !== undefined ? [connection] : [])))
