import type { MessageTree, Plugin } from '@plinth/kernel'
import { type SupportedLocale, supportedLocales } from './config.ts'
import { i18nError } from './errors.ts'

/** Texts by full key (`messages.<path>`). */
export type Catalogue = ReadonlyMap<string, string>
export type Catalogues = Readonly<Record<SupportedLocale, Catalogue>>

/**
 * Joins the catalogues of all plugins. Throws `PLINTH_I18N_DUPLICATE_MESSAGE`, naming every clash, when two plugins
 * bring the same key, or when the key of one is the parent of another's.
 */
export function joinCatalogues(plugins: readonly Pick<Plugin, 'id' | 'messages'>[]): Catalogues {
  const clashes: string[] = []
  const join = (locale: SupportedLocale): Catalogue => {
    const texts = new Map<string, string>()
    const owners = new Map<string, string>()
    const branches = new Map<string, string>()
    for (const { id, messages } of plugins) {
      for (const [key, text] of leaves(messages?.[locale] ?? {}, 'messages')) {
        const other =
          owners.get(key) ??
          branches.get(key) ??
          parents(key)
            .map((path) => owners.get(path))
            .find(Boolean)
        if (other !== undefined) clashes.push(`"${key}" (${locale}) of plugin "${id}" clashes with plugin "${other}"`)
        texts.set(key, text)
        owners.set(key, id)
        for (const path of parents(key)) branches.set(path, branches.get(path) ?? id)
      }
    }
    return texts
  }
  const joined = Object.fromEntries(supportedLocales.map((locale) => [locale, join(locale)])) as Catalogues
  if (clashes.length === 0) return joined
  throw i18nError('PLINTH_I18N_DUPLICATE_MESSAGE', { clashes: clashes.join('; ') })
}

function* leaves(tree: MessageTree, path: string): Generator<readonly [key: string, text: string]> {
  for (const [name, value] of Object.entries(tree)) {
    if (typeof value === 'string') yield [`${path}.${name}`, value]
    else yield* leaves(value, `${path}.${name}`)
  }
}

/** `messages.a.b` -> `messages`, `messages.a`. */
function parents(key: string): string[] {
  const names = key.split('.')
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('.'))
}
