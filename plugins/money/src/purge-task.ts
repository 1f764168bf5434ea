import { olderThan, purgeTask } from '@plinth/coordination'
import { type database, firstIdAt } from '@plinth/database'
import type { keys } from './config.ts'

type Uses = { requires: { database: typeof database }; config: typeof keys }

/** Removes reconciliations past their retention. The ledger itself is never removed. */
export const purge = purgeTask<Uses>('platform.money', {
  displayName: { en: 'Remove old reconciliations', 'zh-CN': '清理旧的对账记录' },
  old({ config, clock }) {
    const before = firstIdAt(clock.now() - config.get('platform.money.reconcile.retention'))
    return [olderThan('money_finding', 'id', before), olderThan('money_reconciliation', 'id', before)]
  },
})
