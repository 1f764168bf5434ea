import { type CleanupPreview, localize, type QuickstartCleanup } from '@plinth/kernel'
import {
  type ModuleState,
  type ModuleView,
  modulePhrase,
  type Outcome,
  type ResultView,
  type RunView,
} from './contract.ts'

/**
 * Codes of the modules that the specification lists, in display order. A module is only shown if a plugin contributes
 * it. Other modules follow, sorted by code.
 */
export const knownModules = [
  'cms',
  'blog',
  'forum',
  'mall',
  'advertising',
  'ai',
  'chat',
  'distribution',
  'form',
  'live',
  'live-code',
  'marketing',
  'marketplace',
  'meeting',
  'open-platform',
  'payment-platform',
  'reading',
  'short-link',
  'video',
] as const

export function compareModuleCodes(left: string, right: string): number {
  const known: readonly string[] = knownModules
  const [a, b] = [known.indexOf(left), known.indexOf(right)]
  if (a === b) return left < right ? -1 : 1
  return (a === -1 ? knownModules.length : a) - (b === -1 ? knownModules.length : b)
}

export function withoutEmptyEntries({ targets, blockers }: CleanupPreview): CleanupPreview {
  const isThere = ({ count }: { readonly count: number }) => count > 0
  return { targets: targets.filter(isThere), blockers: blockers.filter(isThere) }
}

export function moduleStateOf({ targets, blockers }: CleanupPreview): Exclude<ModuleState, 'unknown'> {
  return targets.length === 0 ? 'clean' : blockers.length > 0 ? 'blocked' : 'ready'
}

export const sum = (list: readonly { readonly count: number }[]) => list.reduce((total, { count }) => total + count, 0)

export function moduleView(
  moduleCode: string,
  { displayName, dataType }: QuickstartCleanup,
  preview: CleanupPreview | undefined,
  locale: string,
): ModuleView {
  const { targets, blockers } = preview ?? { targets: [], blockers: [] }
  const state = preview === undefined ? 'unknown' : moduleStateOf(preview)
  return {
    moduleCode,
    moduleName: localize(displayName, locale),
    dataType,
    state,
    executable: state === 'ready',
    targets: targets.map(({ type, displayName, count }) => ({ type, name: localize(displayName, locale), count })),
    targetCount: sum(targets),
    blockers: blockers.map(({ code, message, count }) => ({ code, message: localize(message, locale), count })),
    blockerCount: sum(blockers),
    confirmation: { moduleCode, dataType, confirmation: modulePhrase(moduleCode) },
  }
}

export function viewOfRun(modules: ResultView[]): RunView {
  const count = (...outcomes: readonly Outcome[]) => modules.filter(({ outcome }) => outcomes.includes(outcome)).length
  const failedCount = count('failed')
  const counts = { cleanedCount: count('cleaned'), failedCount, skippedCount: count('blocked', 'clean') }
  return { passed: failedCount === 0, ...counts, modules }
}
