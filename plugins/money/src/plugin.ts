import { adminPages, amountUnits, attention, labelSources } from '@plinth/admin'
import { asyncTasks } from '@plinth/async-task'
import { database, type WithDatabase } from '@plinth/database'
import { http } from '@plinth/http'
import { auditTexts, bilingual, dataCheck, definePlugin, optional, personalData, tracing } from '@plinth/kernel'
import { site } from '@plinth/site'
import { ledgerPages, needsAttention, reconciliationPages } from './admin-pages.ts'
import { keys } from './config.ts'
import { ledger, ledgerAssets, ledgerKinds } from './contract.ts'
import { audited, businessError, messages, permissions } from './declarations.ts'
import { entities, FindingRow, ledgerTables, ReconciliationRow } from './entities.ts'
import { ledgerLabels } from './label-sources.ts'
import { Accounts } from './ledger/accounts.ts'
import { Assets } from './ledger/assets.ts'
import { Debts } from './ledger/debts.ts'
import { Journals } from './ledger/journals.ts'
import { LedgerReader } from './ledger/ledger-reader.ts'
import { LedgerService } from './ledger/ledger-service.ts'
import { PostingEngine } from './ledger/posting-engine.ts'
import { createLedger } from './migrations/0001-create-ledger.ts'
import { createReconciliation } from './migrations/0002-create-reconciliation.ts'
import { recordDebts } from './migrations/0003-record-debts.ts'
import {
  createLedgerCheck,
  Reconciler,
  reconcileCommand,
  reconcileTask,
  reconciliations,
} from './reconcile/reconciler.ts'
import { ledgerRoutes } from './routes/ledger-routes.ts'
import { reconciliationRoutes } from './routes/reconciliation-routes.ts'
import { purgeReconciliations, reconcileLedger, releaseExpiredHolds } from './tasks.ts'

const kindNames = {
  'money.release': bilingual('Hold released', '冻结解除'),
  'money.hold-expired': bilingual('Hold expired', '冻结到期'),
  'money.reverse': bilingual('Returned', '退回'),
  'money.recover': bilingual('Debt collected', '扣回欠款'),
}

/** The money ledger requires only a database. With `http` it adds routes for operators. */
export default definePlugin({
  id: 'money',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    database,
    http: optional(http),
    site: optional(site),
    tasks: optional(asyncTasks),
    tracing: optional(tracing),
  },
  provides: [ledger, reconciliations],
  extensionPoints: [ledgerAssets, ledgerKinds],
  contributes: [
    auditTexts.of(audited),
    dataCheck,
    personalData.of(({ database }: WithDatabase) => ({ money: ledgerTables(database) })),
    ledgerKinds.of(kindNames),
    optional(adminPages),
    optional(amountUnits),
    optional(attention),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { money: { en: 'Money and payments', 'zh-CN': '资金与支付' } },
  permissions,
  migrations: [createLedger, createReconciliation, recordDebts],
  entities: [...entities, ReconciliationRow, FindingRow],
  messages,
  scheduledTasks: [releaseExpiredHolds, reconcileLedger, purgeReconciliations],
  commands: [reconcileCommand],
  setup({ services, provide, contribute, contributions }) {
    const { database: db, http, site, tasks } = services
    const { clock } = db
    const assets = new Assets(contributions(ledgerAssets), () => site?.timeZone ?? 'UTC')
    const accounts = new Accounts(db, clock)
    const journals = new Journals(db)
    const kinds = contributions(ledgerKinds)
    const debts = new Debts(db)
    const engine = new PostingEngine({ db, clock, assets, accounts, journals, debts })
    contribute(amountUnits, 'money', () => assets.all)
    const reader = new LedgerReader(db, assets, clock)
    const tracer = services.tracing?.tracer
    const books = new LedgerService({ db, assets, kinds, accounts, engine, journals, debts, reader, tracer })
    const reconciler = new Reconciler({ db, clock, assets, accounts })
    provide(ledger, books)
    provide(reconciliations, reconciler)
    contribute(dataCheck, 'money.ledger', createLedgerCheck(reconciler))

    http?.addRoutes(ledgerRoutes, { ledger: books })
    const pages = tasks === undefined ? ledgerPages : [...ledgerPages, ...reconciliationPages]
    for (const page of pages) contribute(adminPages, page.id, page)
    for (const [kind, source] of Object.entries(ledgerLabels(db, books))) contribute(labelSources, kind, source)
    if (tasks === undefined) return
    for (const one of needsAttention) contribute(attention, one.id, one)
    http?.addRoutes(reconciliationRoutes, { db, reconciler, tasks })
    tasks.handle(reconcileTask, async ({ reconciliationId }, { signal, progress }) => {
      await reconciler.run(reconciliationId, { signal, onProgress: progress })
    })
  },
})
