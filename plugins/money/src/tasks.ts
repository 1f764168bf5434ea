import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import { type database, firstIdAt } from '@plinth/database'
import { isBusinessError, type ScheduledTask } from '@plinth/kernel'
import type { keys } from './config.ts'
import { ledger } from './contract.ts'
import { expiredHoldRelease, findAllExpiredHolds } from './ledger/movements.ts'
import { reconciliations } from './reconcile/reconciler.ts'

/** The ledger itself is never purged. */
export const purgeReconciliations = createPurgeTask<Uses>('platform.money', {
  displayName: { en: 'Remove old reconciliations', 'zh-CN': '清理旧的对账记录' },
  old({ config, clock }) {
    const before = firstIdAt(clock.now() - config.get('platform.money.reconcile.retention'))
    return [rowsBefore('money_finding', 'id', before), rowsBefore('money_reconciliation', 'id', before)]
  },
})

type Uses = {
  requires: { database: typeof database }
  provides: readonly [typeof ledger, typeof reconciliations]
  config: typeof keys
}

export const releaseExpiredHolds: ScheduledTask<Uses> = {
  name: 'money.hold-expiry',
  displayName: { en: 'Release expired holds', 'zh-CN': '退回到期冻结' },
  fixedDelay: 'platform.money.hold-expiry.fixed-delay',
  autoStartup: 'platform.money.hold-expiry.auto-startup',
  irreversible: true,
  async run({ services: { database: db }, own, log, signal }) {
    const stuck = new Set<number>()
    while (!signal.aborted) {
      const due = (await findAllExpiredHolds(db, db.clock.expiryNow())).filter((id) => !stuck.has(id))
      if (due.length === 0) return
      for (const id of due) {
        if (signal.aborted) return
        try {
          await own(ledger).release(expiredHoldRelease(id))
        } catch (error) {
          // Another caller may have closed the hold. The next run tries the holds again that failed for another reason.
          if (!isBusinessError(error)) throw error
          stuck.add(id)
          log.warn({ hold: id, reason: error.reason }, 'an expired hold could not be released')
        }
      }
    }
  },
}

export const reconcileLedger: ScheduledTask<Uses> = {
  name: 'money.reconcile',
  displayName: { en: 'Reconcile the ledger', 'zh-CN': '账本对账' },
  fixedDelay: 'platform.money.reconcile.fixed-delay',
  autoStartup: 'platform.money.reconcile.auto-startup',
  async run({ own, log, signal }) {
    signal.throwIfAborted()
    const reconciler = own(reconciliations)
    const id = await reconciler.request(null, 'scheduler')
    const result = await reconciler.run(id, { signal })
    if (result.findings > 0)
      log.error({ reconciliation: id, ...result }, 'the reconciliation found differences in the ledger')
  },
}
