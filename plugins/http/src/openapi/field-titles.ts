import type { MessageTree, Plugin } from '@plinth/kernel'
import { messages as own } from '../texts.ts'

/** What people call a member, in the languages that have a word for it. */
export type FieldTitle = Readonly<Record<string, string>>

type Catalogue = ReadonlyMap<string, FieldTitle>

/** The part `fields` of a plugin's messages: `{ shop: { fields: { orderNo: 'Order number' } } }`. */
function catalogueOf(messages: Plugin['messages']): Catalogue {
  const titles = new Map<string, Record<string, string>>()
  for (const [locale, tree] of Object.entries(messages ?? {})) {
    for (const part of Object.values(tree as MessageTree)) {
      const fields = typeof part === 'string' ? undefined : part['fields']
      if (fields === undefined || typeof fields === 'string') continue
      for (const [name, title] of Object.entries(fields)) {
        titles.set(name, { ...titles.get(name), [locale]: String(title) })
      }
    }
  }
  return titles
}

/** Titles of members by name: those of the plugin, else those that all plugins share. */
export function fieldTitles(plugins: readonly Pick<Plugin, 'id' | 'messages'>[]) {
  const catalogues = new Map<string, Catalogue>()
  const shared = catalogueOf(own)
  const ownOf = (id: string) => {
    const known = catalogues.get(id) ?? catalogueOf(plugins.find((plugin) => plugin.id === id)?.messages)
    catalogues.set(id, known)
    return known
  }
  return (plugin: string, name: string): FieldTitle | undefined => ownOf(plugin).get(name) ?? shared.get(name)
}

/** As the API description says it: `title` for programs that know no languages, `x-title` for those that do. */
export const titleMembers = (title: FieldTitle | undefined) =>
  title === undefined ? {} : { ...(title['en'] === undefined ? {} : { title: title['en'] }), 'x-title': title }
