import type { CatalogueEntry, ConfigAdmin } from '@plinth/kernel'
import type { Setting } from '../form/fields.ts'
import { configuredValue, type Running, usualPort } from '../form/form-values.ts'

/** A setting with what it would change. */
export interface PlannedSetting extends Setting {
  readonly entry: CatalogueEntry | undefined
  readonly isChanged: boolean
  /** `.env`: written to the file. `config`: to the database. `runtime`: nowhere. */
  readonly target: '.env' | 'config' | 'runtime'
  /** Where a stronger source sets another value, so that what is written would not count. */
  readonly overriddenBy: string | undefined
}

/**
 * Where each setting goes. Only what a loaded plugin declares is written, because an unknown name in the file would keep
 * the product from starting, and only what the example file lists (document 3, "Write rules").
 */
export function planSettings(
  settings: readonly Setting[],
  configAdmin: Pick<ConfigAdmin, 'catalogue' | 'explain'>,
  running: Running,
  allowed: ReadonlySet<string>,
): readonly PlannedSetting[] {
  const declared = new Map(configAdmin.catalogue.map((entry) => [entry.key, entry]))
  return settings.map((setting) => {
    const entry = declared.get(setting.key)
    const isChanged = entry !== undefined && inForce(setting.key, running) !== setting.value
    const isWritten = entry !== undefined && (setting.home === 'database' || allowed.has(entry.env))
    const target = isWritten ? (setting.home === 'database' ? 'config' : '.env') : 'runtime'
    const source = configuredValue(configAdmin, setting.key)
    const isStronger = source?.source === 'command-line' || (target === '.env' && isStrongerThanFile(source?.source))
    return {
      ...setting,
      entry,
      isChanged,
      target,
      overriddenBy: isChanged && isStronger ? source?.place : undefined,
    }
  })
}

/** The port of the server may be left to its type. */
function inForce(key: string, running: Running): unknown {
  const value = running(key)
  return key === 'platform.database.port' ? (value ?? usualPort(running('platform.database.type'))) : value
}

const isStrongerThanFile = (source: string | undefined) => source === 'environment' || source === 'database'

/** Whether the form asks for another database or another Redis than the product runs on. */
export const changedConnections = (planned: readonly PlannedSetting[]): ReadonlySet<'database' | 'cache'> =>
  new Set(planned.flatMap(({ connection, isChanged }) => (isChanged && connection !== undefined ? [connection] : [])))
