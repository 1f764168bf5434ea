import { errorTable, type MessageTree, type Plugin } from '@plinth/kernel'
import { type SupportedLocale, supportedLocales } from './config.ts'

/** Every coded error of this plugin. */
export const i18nError = errorTable({
  PLINTH_I18N_DUPLICATE_MESSAGE: `Message keys are declared twice: {{clashes}}.
    Put the texts of each plugin under a unique name, for example messages.<plugin id>.<path>.`,
})

/** Texts by full key (`messages.<path>`). */
type Catalogue = ReadonlyMap<string, string>
export type Catalogues = Readonly<Record<SupportedLocale, Catalogue>>

/**
 * Joins the catalogues of all plugins.
 *
 * @throws PlinthError `PLINTH_I18N_DUPLICATE_MESSAGE` with every clash: two plugins declare the same key, or the key
 *   of one plugin is the parent of a key of the other
 */
export function joinCatalogues(plugins: readonly Pick<Plugin, 'id' | 'messages'>[]): Catalogues {
  const clashes: string[] = []
  const join = (locale: SupportedLocale): Catalogue => {
    const texts = new Map<string, string>()
    /** For each path, the first plugin that has a text at this path. */
    const owners = new Map<string, string>()
    /** For each path, the first plugin that has a text below this path. */
    const branches = new Map<string, string>()
    /** @param above plugin that has a text at the path or at a parent of the path */
    const add = (id: string, tree: MessageTree, path: string, above: string | undefined) => {
      for (const [name, node] of Object.entries(tree)) {
        const key = `${path}.${name}`
        if (typeof node !== 'string') {
          add(id, node, key, owners.get(key) ?? above)
          continue
        }
        const other = owners.get(key) ?? branches.get(key) ?? above
        if (other !== undefined) clashes.push(`"${key}" (${locale}) of plugin "${id}" clashes with plugin "${other}"`)
        texts.set(key, node)
        owners.set(key, id)
      }
      if (Object.keys(tree).length > 0 && !branches.has(path)) branches.set(path, id)
    }
    for (const { id, messages } of plugins) add(id, messages?.[locale] ?? {}, 'messages', undefined)
    return texts
  }
  const joined = Object.fromEntries(supportedLocales.map((locale) => [locale, join(locale)])) as Catalogues
  if (clashes.length === 0) return joined
  throw i18nError('PLINTH_I18N_DUPLICATE_MESSAGE', { clashes: clashes.join('; ') })
}
