import type { LocalizedText } from '@plinth/config-schema'
import { shape } from '@plinth/config-schema/shapes'
import { extensionPoint } from '../refs.ts'

/** One kind of demo data that can be removed. */
export interface CleanupTarget {
  /** Kind of the data in kebab-case, for example `boards`. It never changes and is unique in its preview. */
  readonly type: string
  readonly displayName: LocalizedText
  /** Number of rows. */
  readonly count: number
}

/** Real data that needs the demo data, so that the demo data must stay. */
export interface CleanupBlocker {
  /** Code of the reason in kebab-case, for example `real-posts`. It never changes. */
  readonly code: string
  /** What prevents the removal, and what the operator can do. */
  readonly message: LocalizedText
  /** Number of items that prevent the removal. With 0, the removal is allowed. */
  readonly count: number
}

/** The demo data that would be removed, and the data that prevents it. Without targets, nothing is left to remove. */
export interface CleanupPreview {
  readonly targets: readonly CleanupTarget[]
  readonly blockers: readonly CleanupBlocker[]
}

/**
 * Demo data of one module that an operator can remove (document 3 of the specification, "Demo-data cleanup"). Both
 * methods may only use the database of the product.
 */
export interface QuickstartCleanup {
  /**
   * Name of the module.
   *
   * @example displayName: { en: 'Text messages', 'zh-CN': '短信' }
   */
  readonly displayName: LocalizedText
  /**
   * Kind of the removed data in kebab-case, for example `demo-boards`. A request to remove the data must repeat it.
   *
   * @example dataType: 'demo-messages'
   */
  readonly dataType: string
  /**
   * Finds the demo data. Changes nothing. Also called inside the transaction of `execute`, before and after the
   * removal.
   *
   * @example preview: async () => ({ targets: [{ type: 'messages', displayName: 'Messages', count: 3 }], blockers: []
   * })
   */
  preview(signal: AbortSignal): Promise<CleanupPreview>
  /**
   * Removes the demo data and returns the number of removed rows for each type. Runs in a transaction of the database.
   * The transaction is rolled back if this method throws, or if `preview` still finds demo data afterwards. After a
   * conflict with another transaction, the method is called again. No work may continue after the returned promise
   * settles.
   *
   * @param signal aborts when the operation takes too long or the product stops
   *
   * @example execute: async () => ({ messages: 3 })
   */
  execute(signal: AbortSignal): Promise<Readonly<Record<string, number>>>
}

/**
 * Cleanups by module in kebab-case, for example `forum`. The kernel owns this extension point, so any plugin may
 * contribute.
 */
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
