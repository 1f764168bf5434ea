import { describeValue } from '@plinth/config-schema/shapes'
import type { ReportProblem } from './plan-declarations.ts'
import { implementedMembers, isPlugin, type Plugin } from './plugin.ts'
import { unwrapOptional } from './refs.ts'
import { flattenMessages, reportPlaceholderProblems } from './text/plugin-texts.ts'

/** Maximum number of untranslated texts that a message lists. */
const maxNamed = 5

/** Reports declarations that no plugin implements, and texts that exist in one language only. */
export function reportOmissions(plugins: readonly Plugin[], warn: ReportProblem): void {
  for (const member of implementedMembers) {
    const declaring = plugins.filter((plugin) => {
      const declared: object = plugin[member] ?? []
      return Object.keys(declared).length > 0
    })
    if (declaring.length === 0 || plugins.some(({ implements: implemented = [] }) => implemented.includes(member)))
      continue
    warn('PLINTH_PLAN_NOT_IMPLEMENTED', member, { member, plugins: declaring.map(({ id }) => id).join(', ') })
  }
  for (const plugin of plugins) {
    reportPlaceholderProblems(plugin, warn)
    const names = englishTexts(plugin)
    if (names.length === 0) continue
    const details = { count: names.length, names: names.slice(0, maxNamed).join(', ') }
    warn('PLINTH_PLAN_TEXT_IN_ONE_LANGUAGE', names[0] ?? '', details, plugin.id)
  }
  for (const { id, messages } of plugins) {
    for (const [locale, other] of [['zh-CN', 'en'] as const, ['en', 'zh-CN'] as const]) {
      const texts = flattenMessages(messages?.[locale])
      const missing = [...flattenMessages(messages?.[other]).keys()].filter((name) => !texts.has(name))
      if (missing.length === 0) continue
      const details = { count: missing.length, locale, names: missing.slice(0, maxNamed).join(', ') }
      warn('PLINTH_PLAN_MESSAGES_INCOMPLETE', `messages["${locale}"]`, details, id)
    }
  }
}

/** Returns the places of texts for users that are plain strings, which are shown in English to all users. */
function englishTexts({ title, permissions = [], installTasks = [], scheduledTasks = [] }: Plugin): readonly string[] {
  const named = Object.entries({ permissions, installTasks, scheduledTasks }).flatMap(([member, list]) =>
    list.flatMap(({ displayName }, index) =>
      typeof displayName === 'string' ? [`${member}[${index}].displayName`] : [],
    ),
  )
  return typeof title === 'string' ? ['title', ...named] : named
}

/** A place that must contain a reference and contains another value. */
interface BrokenReference {
  readonly place: string
  readonly value: unknown
  /**
   * Completes a sentence of an error message that begins with "It", for example "is undefined instead of a reference".
   */
  readonly found: string
}

/** Ids are only compared and printed, so almost any text is valid. */
const refId = /^[^\s"]+$/

const kinds = { service: 'a service', 'extension-point': 'an extension point' } as const

/**
 * Returns the places of a declaration that must contain a reference but do not. The compiler cannot find all of them:
 * an import cycle makes a value undefined at run time, and some plugins are written in JavaScript.
 */
export function findBrokenReferences(plugin: Plugin): readonly BrokenReference[] {
  const { requires = {} } = plugin
  const required = Object.entries(requires).flatMap(([name, need]) => broken(`requires.${name}`, need, 'service'))
  const listed = (['provides', 'extensionPoints', 'contributes'] as const).flatMap((member) =>
    (plugin[member] ?? []).flatMap((ref, index) =>
      broken(`${member}[${index}]`, ref, member === 'provides' ? 'service' : 'extension-point'),
    ),
  )
  return [...required, ...listed]
}

function broken(
  place: string,
  need: { readonly kind: string } | undefined,
  kind: keyof typeof kinds,
): BrokenReference[] {
  const value = need && unwrapOptional(need)
  const found = foundInstead(value, kind)
  return found === undefined ? [] : [{ place, value, found }]
}

function foundInstead(value: unknown, kind: keyof typeof kinds): string | undefined {
  const ref: { readonly kind?: unknown; readonly id?: unknown } = Object(value)
  if (value === undefined) return 'is undefined instead of a reference'
  if (typeof value === 'string') return `is the text ${JSON.stringify(value)} instead of a reference`
  if (ref.kind === kind) {
    if (typeof ref.id === 'string' && refId.test(ref.id)) return undefined
    return `has the id ${typeof ref.id === 'string' ? JSON.stringify(ref.id) : String(ref.id)}, which is not a name`
  }
  const other = Object.entries(kinds).find(([name]) => name === ref.kind)?.[1]
  return other === undefined
    ? `is ${describeValue(value)}, not a reference made by service() or extensionPoint()`
    : `is a reference to ${other}, where a reference to ${kinds[kind]} is needed`
}

/** Returns a reference to suggest to an author who wrote a plugin where a reference is required. */
export function suggestReference({ id, provides = [], extensionPoints = [] }: Plugin) {
  const offered = [...provides, ...extensionPoints]
  const name = (offered[0]?.id.split('.').at(-1) ?? 'reference').replace(/-(.)/g, (_, letter) => letter.toUpperCase())
  const origin = offered.find(({ from }) => from !== undefined)?.from ?? 'its package'
  return { other: id, name, origin, offered: offered.map((ref) => ref.id).join(', ') || 'nothing' }
}

interface Entry {
  readonly id: string | undefined
  /** Completes an error message that begins with "Entry 1 of the plugin list", for example "is undefined". */
  readonly found: string
  /** Package or file to import the plugin from. */
  readonly origin: string
}

/**
 * Describes an entry of the plugin list that is not a plugin, and returns the id of the plugin that the author probably
 * meant.
 */
export function describeNonPlugin(value: unknown): Entry {
  const { kind, id, from, default: exported, version, then }: Readonly<Record<string, unknown>> = Object(value)
  const origin = typeof from === 'string' ? from : 'its file'
  const idOf = (one: unknown) => (typeof one === 'string' ? one : undefined)
  if (kind === 'service' || kind === 'extension-point') {
    const found = `is the reference to ${kinds[kind].replace(/^an? /, 'the ')} "${String(id)}", not the plugin`
    return { id: undefined, found, origin }
  }
  if (isPlugin(exported)) return { id: exported.id, found: 'is a module, not its default export', origin }
  if (typeof then === 'function') return { id: undefined, found: 'is a promise', origin }
  if (value === undefined) return { id: undefined, found: 'is undefined', origin }
  if (idOf(id) !== undefined && version !== undefined) {
    return { id: idOf(id), found: 'is a plain object, not the result of definePlugin()', origin }
  }
  return { id: undefined, found: `is ${describeValue(value)}, not a plugin`, origin }
}
