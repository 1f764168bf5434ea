import type { Report } from './plan-declarations.ts'
import { carriedOut, type MessageTree, type Plugin } from './plugin.ts'

/** Texts of a catalogue that are named when they have no counterpart. */
const mostNamed = 5

/** Finds declarations that would have no effect: those that no plugin carries out, and texts in one language only. */
export function findOmissions(plugins: readonly Plugin[], warn: Report): void {
  for (const member of carriedOut) {
    const declaring = plugins.filter((plugin) => {
      const declared: object = plugin[member] ?? []
      return Object.keys(declared).length > 0
    })
    if (declaring.length === 0 || plugins.some(({ carriesOut = [] }) => carriesOut.includes(member))) continue
    warn('PLINTH_PLAN_NOT_CARRIED_OUT', member, { member, plugins: declaring.map(({ id }) => id).join(', ') })
  }
  for (const plugin of plugins) {
    const names = englishTexts(plugin)
    if (names.length === 0) continue
    const details = { count: names.length, names: names.slice(0, mostNamed).join(', ') }
    warn('PLINTH_PLAN_TEXT_IN_ONE_LANGUAGE', names[0] ?? '', details, plugin.id)
  }
  for (const { id, messages } of plugins) {
    for (const [locale, other] of [['zh-CN', 'en'] as const, ['en', 'zh-CN'] as const]) {
      const missing = missingTexts(messages?.[other], messages?.[locale])
      if (missing.length === 0) continue
      const details = { count: missing.length, locale, names: missing.slice(0, mostNamed).join(', ') }
      warn('PLINTH_PLAN_MESSAGES_INCOMPLETE', `messages["${locale}"]`, details, id)
    }
  }
}

/** Places of texts for users that are written as plain text, which counts as English. */
function englishTexts({ title, permissions = [], installTasks = [], scheduledTasks = [] }: Plugin): readonly string[] {
  const named = Object.entries({ permissions, installTasks, scheduledTasks }).flatMap(([member, list]) =>
    list.flatMap(({ displayName }, index) =>
      typeof displayName === 'string' ? [`${member}[${index}].displayName`] : [],
    ),
  )
  return typeof title === 'string' ? ['title', ...named] : named
}

/** Names of the texts of one tree that another does not have. */
function missingTexts(tree: MessageTree = {}, other: MessageTree = {}, path = ''): string[] {
  return Object.entries(tree).flatMap(([name, node]) => {
    const counterpart = other[name]
    if (typeof node === 'string') return typeof counterpart === 'string' ? [] : [path + name]
    return missingTexts(node, typeof counterpart === 'object' ? counterpart : {}, `${path}${name}.`)
  })
}
