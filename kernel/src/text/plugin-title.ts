import type { LocalizedText } from '@plinth/config-schema'
import type { Plugin } from '../plugin.ts'

/**
 * Returns the name of a plugin for users: its title, otherwise the title of the key group with its id or with the first
 * part of its id, from any plugin, otherwise its id.
 */
export function pluginTitle(
  id: string,
  plugins: readonly Pick<Plugin, 'id' | 'title' | 'configGroups'>[],
): LocalizedText {
  const own = plugins.find((plugin) => plugin.id === id)?.title
  if (own !== undefined) return own
  const titles = new Map(plugins.flatMap(({ configGroups = {} }) => Object.entries(configGroups)))
  return titles.get(id) ?? titles.get(id.split('.')[0] ?? id) ?? id
}
