import type { LocalizedText } from '@plinth/config-schema'
import type { Plugin } from '../plugin.ts'

/**
 * What people read in place of the id of a plugin: its own title, else that of the group of keys which is named like it or like
 * the first part of its id, whoever titles that group; the id where nobody has a name for it.
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
