import type { LocalizedText } from '@plinth/config-schema'
import type { ReportProblem } from '../plan-declarations.ts'
import type { MessageTree, Plugin } from '../plugin.ts'

/**
 * Returns the name of a plugin for users. Uses the first that exists: the title of the plugin, the title of the key
 * group with its id, the title of the key group with the first part of its id, the id. Any plugin may declare the title
 * of a key group.
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

const maxNamed = 5

/**
 * Warns about texts with a placeholder in single braces, `{id}` instead of `{{id}}`, because it would not be replaced.
 * Also warns about placeholders that differ between the languages. Braces in quotation marks, `"{id}"`, are allowed.
 */
export function reportPlaceholderProblems({ id, messages }: Plugin, warn: ReportProblem): void {
  if (messages === undefined) return
  const english = flattenMessages(messages.en)
  const chinese = flattenMessages(messages['zh-CN'])
  const report = (locale: keyof typeof messages, names: readonly string[], reason: string) => {
    if (names.length === 0) return
    const details = { count: names.length, names: names.slice(0, maxNamed).join(', '), reason }
    warn('PLINTH_PLAN_MESSAGES_PLACEHOLDERS', `messages["${locale}"]`, details, id)
  }
  for (const [locale, one] of [['en', english] as const, ['zh-CN', chinese] as const]) {
    const names = [...one].flatMap(([name, text]) => (/(?<![{$"“])\{\w+\}(?![}"”])/.test(text) ? [name] : []))
    report(locale, names, 'contain a placeholder with one brace')
  }
  const differing = [...english].flatMap(([name, text]) => {
    const other = chinese.get(name)
    return other === undefined || placeholdersOf(text) === placeholdersOf(other) ? [] : [name]
  })
  report('zh-CN', differing, 'have other placeholders than in English')
}

/** Returns all texts of a tree by their path with dots. */
export function flattenMessages(tree: MessageTree = {}, path = ''): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(tree).flatMap(([name, node]) =>
      typeof node === 'string' ? [[path + name, node] as const] : [...flattenMessages(node, `${path}${name}.`)],
    ),
  )
}

/** Returns the names of the placeholders of a text as one string, for comparison. */
function placeholdersOf(text: string): string {
  const names = [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name)
  return [...new Set(names)].sort().join(' ')
}
