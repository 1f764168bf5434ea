import type { LocalizedText } from '@plinth/config-schema'
import { extensionPoint } from '../refs.ts'

export interface CleanupPreview {
  /** `ready`: can be removed. `blocked`: something real depends on it. `clean`: nothing is left. */
  readonly state: 'ready' | 'blocked' | 'clean'
  /** Why it is blocked. */
  readonly blockedReason?: string
  /** Rows per kind of data that would go. */
  readonly counts: Readonly<Record<string, number>>
}

/** Demo data of one module that an operator may remove. Removal is one transaction: all of it or nothing. */
export interface QuickstartCleanup {
  readonly displayName: LocalizedText
  preview(signal: AbortSignal): Promise<CleanupPreview>
  /** Removes the demo data and answers the rows removed per kind. */
  execute(signal: AbortSignal): Promise<Readonly<Record<string, number>>>
}

/** Cleanups, contributed under their module codes. */
export const quickstartCleanup = extensionPoint<QuickstartCleanup>('quickstart.cleanup', {
  from: '@plinth/quickstart-cleanup',
})
