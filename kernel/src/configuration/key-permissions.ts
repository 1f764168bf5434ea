import { guardsPermission } from '@plinth/config-schema'
import type { OwnedKey } from '@plinth/config-schema/reading'
import type { ReportProblem } from '../plan-declarations.ts'
import type { Plugin } from '../plugin.ts'
import { unwrapOptional } from '../refs.ts'

/**
 * Reports keys whose permission is not declared by their plugin or by a plugin that it requires. A permission of another
 * plugin would be missing in products without that plugin. In a product without permissions, all users may change all
 * keys.
 *
 * @returns all keys, also those with a problem
 */
export function checkKeyPermissions(
  plugins: readonly Plugin[],
  keys: ReadonlyMap<string, OwnedKey>,
  providers: ReadonlyMap<string, string>,
  report: ReportProblem,
): ReadonlyMap<string, OwnedKey> {
  const byId = new Map(plugins.map((plugin) => [plugin.id, plugin]))
  for (const { key, plugin, declaration } of keys.values()) {
    const { permission = guardsPermission } = declaration
    const { requires = {} } = byId.get(plugin) ?? {}
    const required = Object.values(requires).filter(({ kind }) => kind !== 'optional')
    const known = [plugin, ...required.map((need) => providers.get(unwrapOptional(need).id) ?? '')]
    const isDeclared = known.some((id) => byId.get(id)?.permissions?.some(({ code }) => code === permission))
    if (permission !== guardsPermission && !isDeclared) {
      report('PLINTH_PLAN_KEY_PERMISSION', `config["${key}"].permission`, { key, permission }, plugin)
    }
  }
  return keys
}
