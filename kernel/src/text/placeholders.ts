import type { Report } from '../plan-declarations.ts'
import type { MessageTree, Plugin } from '../plugin.ts'

/** Maximum number of texts that a warning names. */
const maxNamed = 5

/**
 * Warns of messages that users would read with a placeholder in them: `{id}` instead of `{{id}}`, and a placeholder
 * that the other language does not have. A quoted `"{id}"` is meant literally.
 */
export function warnOfPlaceholders({ id, messages }: Plugin, warn: Report): void {
  if (messages === undefined) return
  const { en, 'zh-CN': chinese = {} } = messages
  const english = textsOf(en)
  const texts = textsOf(chinese)
  const report = (locale: keyof typeof messages, names: readonly string[], reason: string) => {
    if (names.length === 0) return
    const details = { count: names.length, names: names.slice(0, maxNamed).join(', '), reason }
    warn('PLINTH_PLAN_MESSAGES_PLACEHOLDERS', `messages["${locale}"]`, details, id)
  }
  for (const [locale, one] of [['en', english] as const, ['zh-CN', texts] as const]) {
    const names = [...one].flatMap(([name, text]) => (/(?<![{$"“])\{\w+\}(?![}"”])/.test(text) ? [name] : []))
    report(locale, names, 'contain a placeholder with one brace')
  }
  const differing = [...english].flatMap(([name, text]) => {
    const other = texts.get(name)
    return other === undefined || placeholdersOf(text) === placeholdersOf(other) ? [] : [name]
  })
  report('zh-CN', differing, 'have other placeholders than in English')
}

/** Returns the texts of a tree by their dotted name. */
function textsOf(tree: MessageTree, path = ''): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(tree).flatMap(([name, node]) =>
      typeof node === 'string' ? [[path + name, node] as const] : [...textsOf(node, `${path}${name}.`)],
    ),
  )
}

/** Returns the placeholders of a text as one string that can be compared. */
function placeholdersOf(text: string): string {
  const names = [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name)
  return [...new Set(names)].sort().join(' ')
}
