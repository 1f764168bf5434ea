import { taskType } from '@plinth/async-task'
import { Type } from '@plinth/http'
import { own } from '../permissions.ts'

/** A reconciliation that somebody asked for. */
export const reconcileTask = taskType('money.reconcile', {
  displayName: { en: 'Reconcile the ledger', 'zh-CN': '账本对账' },
  params: Type.Object({ reconciliationId: Type.Integer({ minimum: 1 }) }),
  readPermission: own.ledgerView,
})
