import type { LocalizedText, MessageTree, Plugin } from '@plinth/kernel'

/** Help texts of the fields of one plugin, by dotted name, in several languages. */
export type HelpTexts = ReadonlyMap<string, LocalizedText>

/**
 * Returns the help texts of a plugin: the part `helps` of its messages, `{ shop: { helps: { orderNo: '...' } } }`. The
 * descriptions of the API are in English and for programmers, so the pages do not show them.
 */
export function helpTexts(messages: Plugin['messages']): HelpTexts {
  const texts = new Map<string, Record<string, string>>()
  for (const [locale, tree] of Object.entries(messages ?? {})) {
    for (const part of Object.values(tree as MessageTree)) {
      const helps = typeof part === 'string' ? undefined : part['helps']
      for (const [name, text] of flat(helps ?? {})) texts.set(name, { ...texts.get(name), [locale]: text })
    }
  }
  return texts as ReadonlyMap<string, unknown> as HelpTexts
}

function flat(tree: MessageTree | string, prefix = ''): readonly (readonly [string, string])[] {
  if (typeof tree === 'string') return [[prefix, tree]]
  return Object.entries(tree).flatMap(([name, part]) => flat(part, prefix === '' ? name : `${prefix}.${name}`))
}

/**
 * Returns the help text of the field with this dotted name, otherwise the text for all fields with the last part of the
 * name.
 */
export const helpOf = (texts: HelpTexts, name: string): LocalizedText | undefined =>
  texts.get(name) ?? texts.get(name.slice(name.lastIndexOf('.') + 1))
