import type { LocalizedText } from '@plinth/config-schema'
import { extensionPoint } from '../refs.ts'
import { shape } from '../shapes/shape.ts'

/** Demo data of one kind to remove. */
export interface CleanupTarget {
  /** Stable and kebab-case, for example `boards`. Unique in its preview. */
  readonly type: string
  readonly displayName: LocalizedText
  /** Number of rows. */
  readonly count: number
}

/** Real data that depends on the demo data and prevents its removal. */
export interface CleanupBlocker {
  /** Stable and kebab-case, for example `real-posts`. */
  readonly code: string
  /** Describes what blocks the removal and what the operator can do. */
  readonly message: LocalizedText
  /** Number of items that block. A blocker with 0 items does not block. */
  readonly count: number
}

/** If there are no targets, nothing is left to remove. If a blocker has items, the removal is not allowed. */
export interface CleanupPreview {
  readonly targets: readonly CleanupTarget[]
  readonly blockers: readonly CleanupBlocker[]
}

/**
 * Demo data of one module that an operator may remove (document 3, "Demo-data cleanup"). Both methods use only the
 * database of the product.
 */
export interface QuickstartCleanup {
  /**
   * Name of the module.
   *
   * @example displayName: { en: 'Text messages', 'zh-CN': '短信' }
   */
  readonly displayName: LocalizedText
  /**
   * Kind of the removed data, kebab-case, for example `demo-boards`. A removal request must repeat it.
   *
   * @example dataType: 'demo-messages'
   */
  readonly dataType: string
  /**
   * Only reads. Also called inside the transaction of `execute`, before and after it.
   *
   * @example preview: async () => ({ targets: [{ type: 'messages', displayName: 'Messages', count: 3 }], blockers: [] })
   */
  preview(signal: AbortSignal): Promise<CleanupPreview>
  /**
   * Removes the demo data and returns the removed rows per type of target. Called inside a transaction of the product's
   * database. The transaction is rolled back if this throws or if the preview still finds a target afterwards. It may
   * be called again after a conflict. All its work must have ended when it returns.
   *
   * @param signal aborts when the operation takes too long or the product stops
   *
   * @example execute: async () => ({ messages: 3 })
   */
  execute(signal: AbortSignal): Promise<Readonly<Record<string, number>>>
}

/** Cleanups by module code: kebab-case, for example `forum`. Owned by the kernel, so any plugin may contribute. */
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
