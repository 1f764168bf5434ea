import type { LocalizedText } from '@plinth/config-schema'
import { extensionPoint } from '../refs.ts'
import { shape } from '../shapes/shape.ts'

/** Demo data of one kind that would be removed. */
export interface CleanupTarget {
  /** Stable and kebab-case, for example `boards`. Unique in its preview. */
  readonly type: string
  readonly displayName: LocalizedText
  /** Rows. */
  readonly count: number
}

/** Something real that hangs on the demo data, so that nothing of it is removed. */
export interface CleanupBlocker {
  /** Stable and kebab-case, for example `real-posts`. */
  readonly code: string
  /** What it is, and what to do about it. */
  readonly message: LocalizedText
  /** How many there are; 0 does not block. */
  readonly count: number
}

/** Without targets nothing is left to do; with a blocker nothing may be done. */
export interface CleanupPreview {
  readonly targets: readonly CleanupTarget[]
  readonly blockers: readonly CleanupBlocker[]
}

/**
 * Demo data of one module that an operator may remove (document 3, "Demo-data cleanup"). Both methods talk to the
 * database of the product and to nothing else.
 */
export interface QuickstartCleanup {
  /**
   * Name of the module.
   *
   * @example displayName: { en: 'Text messages', 'zh-CN': '短信' }
   */
  readonly displayName: LocalizedText
  /**
   * Kind of data that goes, kebab-case, for example `demo-boards`. Whoever removes it has to repeat it.
   *
   * @example dataType: 'demo-messages'
   */
  readonly dataType: string
  /**
   * Only reads. Is also asked inside the transaction of `execute`, before and after it.
   *
   * @example preview: async () => ({ targets: [{ type: 'messages', displayName: 'Messages', count: 3 }], blockers: [] })
   */
  preview(signal: AbortSignal): Promise<CleanupPreview>
  /**
   * Removes the demo data and answers the rows removed per type of target. Called inside a transaction of the product's
   * database, which is rolled back when this throws or when the preview still finds a target afterwards; it may be called
   * again after a conflict. Must have ended all of its work when it returns.
   *
   * @param signal aborts when the operation takes too long or the product stops
   *
   * @example execute: async () => ({ messages: 3 })
   */
  execute(signal: AbortSignal): Promise<Readonly<Record<string, number>>>
}

/** Cleanups, contributed under their module codes: kebab-case, for example `forum`. Owned by the kernel, so any plugin may contribute. */
export const quickstartCleanup = extensionPoint<QuickstartCleanup>('kernel.quickstart-cleanup', {
  live: true,
  names: shape.kebab,
  shape: shape.object<QuickstartCleanup>({
    displayName: shape.localized,
    dataType: shape.kebab,
    preview: shape.function,
    execute: shape.function,
  }),
})
