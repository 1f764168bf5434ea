import { createLedger } from './0001-create-ledger.ts'
import { createReconciliation } from './0002-create-reconciliation.ts'

export const changeSets = [createLedger, createReconciliation]
