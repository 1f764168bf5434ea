/** Tests the repeated check of settled payments, and the suggested action for each risk. */

import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import t, { type Test } from 'tap'
import { assessRisk, type RiskReason } from '../src/audit/risk.ts'
import { blockingReasons } from '../src/planning/reasons.ts'
import { paidChainFacts, SettlementDoubles } from './fixtures/doubles.ts'
import { administrator, adminWeb3Path, auditPath, type RunningSettlement, startSettlement } from './fixtures/product.ts'
import { hashOf, stranger, transferLog } from './fixtures/ready-case.ts'

const audit = 'platform.money.web3.settlement.audit'
const auditTask = 'money.web3.payment-settlement.audit'
const auditsPath = `${adminWeb3Path}/payment-confirmations/settled-audits`

/** Adds a settled order. The state of its transaction on the chain then changes. */
async function settledOrder(
  { paidOrder, save, settle, world, db }: RunningSettlement,
  change?: object,
  order: object = {},
  agoMs = 86_400_000,
) {
  const made = await paidOrder(order)
  await settle((await save(made.outTradeNo)).data.id)
  await db.execute('update money_payment_order set paid_at = paid_at - ? where out_trade_no = ?', [
    agoMs,
    made.outTradeNo,
  ])
  const hash = String(made.transactionHash)
  if (change !== undefined) world.answers.set(hash, 'error' in change ? change : paidChainFacts(hash, change))
  return made
}

/**
 * Risk level and suggested action for each audit reason, from the requirements (document 3 of the specification,
 * "Compensation plan actions") and the README.
 */
const advice: Partial<Record<RiskReason, readonly [level: string, action: string]>> = {
  'chain-not-configured': ['low', 'recheck-later'],
  'chain-id-mismatch': ['high', 'manual-review'],
  'transaction-hash-missing': ['high', 'manual-review'],
  'chain-transaction-not-mined': ['high', 'manual-compensation'],
  'chain-transaction-failed': ['high', 'manual-compensation'],
  'chain-confirmations-insufficient': ['medium', 'wait-confirmations'],
  'transfer-missing': ['high', 'manual-compensation'],
  'receiver-address-mismatch': ['high', 'manual-review'],
  'token-contract-mismatch': ['high', 'manual-review'],
  'amount-mismatch': ['high', 'manual-review'],
  'transfer-removed': ['high', 'manual-compensation'],
  'rpc-query-failed': ['low', 'recheck-later'],
  'transfer-moved': ['low', 'recheck-later'],
}

const gone = { receipt: null, canonicalBlockHash: null, transaction: null }
const cases = {
  sound: undefined,
  gone,
  replaced: { canonicalBlockHash: hashOf('77') },
  failed: { receipt: { status: 'reverted', logs: [] } },
  shallow: { head: 10 },
  unreachable: { error: 'timeout' },
} as const

/** Returns all data that an audit must not change. */
const fundsOf = async ({ rows }: RunningSettlement) =>
  JSON.stringify([
    await rows('select out_trade_no, status, version from money_payment_order order by id'),
    await rows('select out_trade_no, transaction_hash, event_key from money_payment_transaction order by id'),
    await rows('select id, handling_status from web3_settlement_audit_log order by id'),
    await rows('select id, status, state from web3_settlement_review_log order by id'),
  ])

onDatabase(
  t,
  'S-023 S-056 S-057 an audit finds every risk, and changes no order and no transaction',
  async (t: Test, at) => {
    const product = await startSettlement(t, at)
    for (const change of Object.values(cases)) await settledOrder(product, change)
    const wrong = await settledOrder(product)
    const hash = String(wrong.transactionHash)
    product.world.answers.set(hash, paidChainFacts(hash, {}, [transferLog(5, { to: stranger })]))
    const before = await fundsOf(product)
    const { data } = await product.call('POST', auditsPath, {})
    t.match(data, { audited: 7, risky: 6, nextAfterId: null })
    t.same(
      data.items.map((item: Record<string, unknown>) => [
        item['riskReasons'],
        item['riskLevel'],
        item['suggestedAction'],
        item['chainReorgSuspected'],
      ]),
      [
        [[], 'none', 'mark-resolved', false],
        [['chain-transaction-not-mined', 'transfer-removed'], 'high', 'manual-compensation', true],
        [['transfer-removed'], 'high', 'manual-compensation', true],
        [['chain-transaction-failed'], 'high', 'manual-compensation', false],
        [['chain-confirmations-insufficient'], 'medium', 'wait-confirmations', false],
        [['rpc-query-failed'], 'low', 'recheck-later', false],
        [['receiver-address-mismatch'], 'high', 'manual-review', false],
      ],
    )
    t.equal((await product.call('POST', auditsPath, { onlyRisky: true })).data.items.length, 6)
    t.match((await product.call('POST', auditsPath, { outTradeNos: ['order-2', 'nobody'] })).data, {
      audited: 1,
      risky: 1,
    })
    t.match((await product.call('POST', auditsPath, { chainName: 'other' })).data, { audited: 0 })
    for (const provider of ['a\0b', 'half \ud800', '']) {
      t.hasStrict(await product.call('POST', auditsPath, { provider }), { code: '400' }, 'no text for a database')
    }
    const page = (await product.call('POST', auditsPath, { limit: 3 })).data
    t.equal(page.audited, 3)
    t.equal((await product.call('POST', auditsPath, { limit: 4, afterId: page.nextAfterId })).data.audited, 4)
    assertMembers(
      t,
      (await product.call('POST', auditsPath, { outTradeNos: ['order-1'], requiredConfirmations: 4 })).data.items,
      [{ riskReasons: ['chain-confirmations-insufficient'] }],
    )
    t.equal(await fundsOf(product), before, 'an audit writes nothing')
    t.equal(await product.statusOf('order-2'), 'success', 'what was paid stays paid')
  },
)

onDatabase(t, 'S-058 two concurrent audits write one log for each risk', async (t: Test, at) => {
  const world = new SettlementDoubles()
  const one = await startSettlement(t, at, { world })
  const other = await startSettlement(t, at, { world, clock: one.clock, isFirst: false })
  await settledOrder(one, cases.gone)
  const isWriting = Promise.withResolvers<void>()
  const goesOn = Promise.withResolvers<void>()
  /** Makes this instance run the given work before each of its statements on a table. */
  const before = ({ db }: RunningSettlement, table: RegExp, work: () => Promise<void>) => {
    const execute = db.execute.bind(db)
    db.execute = async (sql, parameters) => {
      if (table.test(sql)) await work()
      return execute(sql, parameters)
    }
  }
  before(one, /^insert into web3_settlement_audit_count/, async () => {
    isWriting.resolve()
    await goesOn.promise
  })
  const first = one.runTask(auditTask)
  await isWriting.promise
  // On SQLite the second run waits for the whole transaction of the first.
  if (at.dialect === 'sqlite') goesOn.resolve()
  else before(other, /^insert into web3_settlement_audit_/, async () => goesOn.resolve())
  await Promise.all([first, other.runTask(auditTask)])
  t.equal(await one.count('web3_settlement_audit_log'), 1)
})

onDatabase(
  t,
  'S-005 S-058 S-059 S-072 the scheduled audit records each risk once and publishes it',
  async (t: Test, at) => {
    const product = await startSettlement(t, at)
    const { clock, runTask, rows, call, log, reported } = product
    for (const change of Object.values(cases)) await settledOrder(product, change)
    await reported()
    log.sent.length = 0
    await runTask(auditTask)
    const written = await rows(
      'select out_trade_no, handling_status, risk_level from web3_settlement_audit_log order by id',
    )
    t.same(
      written.map(({ out_trade_no }) => out_trade_no),
      ['order-2', 'order-3', 'order-4', 'order-5', 'order-6'],
    )
    t.ok(written.every(({ handling_status }) => handling_status === 'open'))
    await reported()
    t.equal(log.sent.length, 5)
    t.ok(log.sent.every(({ subject }) => subject === 'Web3 payment settlement audit risk'))
    t.ok(log.sent.some(({ content }) => content?.includes('order-2') && content.includes('transfer-removed')))

    clock.shiftWallClock(30 * 60_000)
    await runTask(auditTask)
    t.equal(await product.count('web3_settlement_audit_log'), 5, 'the same is not written twice')
    const { data: summary } = await call('GET', `${auditPath}/summary`)
    t.match(summary, {
      total: 5,
      open: 5,
      resolved: 0,
      ignored: 0,
      risky: 5,
      openReorgSuspected: 2,
      openByRiskLevel: { none: 0, low: 1, medium: 1, high: 3 },
    })
    const list = (await call('GET', `${auditPath}?outTradeNo=order-4`)).data
    assertMembers(t, list.items, [
      { riskReasons: ['chain-transaction-failed'], confirmation: { state: 'blocked', providerId: 'one' } },
    ])
  },
)

onDatabase(
  t,
  'S-023 S-058 an audit reads its orders once and writes its results together, however many there are',
  async (t: Test, at) => {
    const product = await startSettlement(t, at, { config: { [`${audit}.limit`]: 120 } })
    const { db, world, runTask, count } = product
    for (let index = 0; index < 120; index++) {
      const { transactionHash } = await product.paidOrder({ status: 'success', paidAt: 1 })
      world.answers.set(String(transactionHash), paidChainFacts(String(transactionHash), gone))
    }
    const statements: string[] = []
    for (const name of ['query', 'execute'] as const) {
      const run = db[name].bind(db) as (sql: string, ...rest: unknown[]) => unknown
      const counted = (sql: string, ...rest: unknown[]) => {
        statements.push(sql)
        return run(sql, ...rest)
      }
      Object.defineProperty(db, name, { configurable: true, value: counted })
    }
    await runTask(auditTask)
    t.equal(await count('web3_settlement_audit_log'), 120)
    for (const table of ['money_payment_order', 'money_payment_transaction', 'web3_settlement_audit_count']) {
      t.equal(statements.filter((sql) => new RegExp(`\\b${table}\\b`).test(sql)).length, 1, table)
    }
    t.same(
      world.questions.map(({ length }) => length),
      [100, 20],
      'the chain is asked for a hundred at a time',
    )
    await runTask(auditTask)
    t.equal(await count('web3_settlement_audit_log'), 120, 'the same is not written twice')
    t.match((await product.call('GET', `${auditPath}/summary`)).data, { total: 120, open: 120 })
  },
)

onSqlite(t, 'S-059 S-060 the settings of the audit select which orders, how many and how deep', async (t: Test, at) => {
  const product = await startSettlement(t, at)
  const { rows, runTask, call, log, mail, reported, reset } = product
  const logged = async () =>
    (await rows('select out_trade_no from web3_settlement_audit_log order by id')).map(
      ({ out_trade_no }) => out_trade_no,
    )

  await reset({ [`${audit}.limit`]: 2 })
  for (let index = 0; index < 3; index++) await settledOrder(product, gone)
  await runTask(auditTask)
  t.same(await logged(), ['order-1', 'order-2'])
  await runTask(auditTask)
  t.same(await logged(), ['order-1', 'order-2', 'order-3'], 'the next run goes on behind')
  await runTask(auditTask)
  t.equal((await logged()).length, 3, 'and from the beginning again')

  await reset({ [`${audit}.older-than-minutes`]: 5 })
  await settledOrder(product, gone, {}, 4 * 60_000)
  await settledOrder(product, gone, {}, 6 * 60_000)
  await runTask(auditTask)
  t.same(await logged(), ['order-2'])

  await reset({ [`${audit}.chain-name`]: 'other' })
  await settledOrder(product, gone)
  await runTask(auditTask)
  t.same(await logged(), [])

  await reset({ [`${audit}.provider`]: 'alipay' })
  await settledOrder(product, gone)
  await runTask(auditTask)
  t.same(await logged(), [])

  await reset({ [`${audit}.required-confirmations`]: 4 })
  await settledOrder(product)
  await runTask(auditTask)
  t.same(await logged(), ['order-1'])

  await reset({})
  await settledOrder(product, undefined, { requiredConfirmations: 3 })
  await runTask(auditTask)
  t.same(await logged(), [], 'three are enough where nothing else is said')

  await reset({ [`${audit}.only-risky`]: false })
  await settledOrder(product)
  await runTask(auditTask)
  t.same(await logged(), ['order-1'])
  t.match((await call('GET', `${auditPath}/summary`)).data, { open: 1, risky: 0 })
  t.equal((await call('GET', `${auditPath}/compensation-candidates`)).data.total, 0)

  await reset({ [`${audit}.enabled`]: false })
  await settledOrder(product, gone)
  await runTask(auditTask)
  t.same(await logged(), [])
  for (const [config, logs, mails] of [
    [{ [`${audit}.risk-notification.enabled`]: false }, 0, 0],
    [{ [`${audit}.risk-notification.channels`]: ['mail'], [`${audit}.risk-notification.subject`]: 'Risk!' }, 0, 1],
  ] as const) {
    await reset(config)
    await settledOrder(product, gone)
    await reported()
    log.sent.length = 0
    await runTask(auditTask)
    await reported()
    t.equal(log.sent.length, logs)
    t.equal(mail.sent.length, mails)
    if (mails > 0) assertMembers(t, mail.sent, [{ subject: 'Risk!' }])
  }
})

onDatabase(
  t,
  'S-062 S-063 S-064 S-065 S-067 S-068 S-069 S-070 S-071 operators check again, get advice and close handled risks',
  async (t: Test, at) => {
    const product = await startSettlement(t, at)
    const { call, runTask, world } = product
    const orders = []
    for (const change of Object.values(cases)) orders.push(await settledOrder(product, change))
    await runTask(auditTask)
    const { data: all } = await call('GET', `${auditPath}?size=50`)
    const ids: number[] = all.items.map(({ id }: { id: number }) => id).reverse()
    const [lost = 0, , , shallow = 0, unreachable = 0] = ids
    const before = await fundsOf(product)

    const candidates = async (query: string) => (await call('GET', `${auditPath}/compensation-candidates${query}`)).data
    t.equal((await candidates('')).total, 5)
    for (const [query, expected] of [
      ['?riskLevel=high', [2, 1, 0]],
      ['?riskLevel=medium', [3]],
      ['?retryable=true', [4, 3]],
      ['?retryable=false', [2, 1, 0]],
      ['?needsManualReview=true', [2, 1, 0]],
      ['?needsManualReview=false', [4, 3]],
      ['?needsFundReview=true', [2, 1, 0]],
      ['?needsFundReview=false', [4, 3]],
      ['?riskLevel=low&retryable=true', [4]],
      ['?riskLevel=low&retryable=false', []],
    ] as const) {
      const { items, total } = await candidates(query)
      t.same(
        items.map(({ id }: { id: number }) => ids.indexOf(id)),
        expected,
        query,
      )
      t.equal(total, expected.length)
    }

    t.match((await call('POST', `${auditPath}/${lost}/recheck`)).data, {
      id: lost,
      stillRisky: true,
      entry: { riskLevel: 'high' },
    })
    const hash = String(orders[1]?.transactionHash)
    world.answers.set(hash, paidChainFacts(hash))
    assertMembers(t, (await call('POST', `${auditPath}/${lost}/recheck`)).data, {
      stillRisky: false,
      entry: { riskLevel: 'none', riskReasons: [] },
    })
    const { data: rechecked } = await call('POST', `${auditPath}/recheck-batch`, { ids: [unreachable, lost] })
    assertMembers(t, rechecked.items, [
      { id: unreachable, stillRisky: true },
      { id: lost, stillRisky: false },
    ])
    const plan = async (id: number, recheck: boolean) =>
      (await call('POST', `${auditPath}/${id}/compensation-plan`, { recheck })).data
    t.match(await plan(lost, false), {
      action: 'manual-compensation',
      riskLevel: 'high',
      chainReorgSuspected: true,
      rechecked: false,
    })
    t.match(await plan(lost, true), {
      action: 'mark-resolved',
      riskLevel: 'none',
      chainReorgSuspected: false,
      rechecked: true,
    })
    const { data: plans } = await call('POST', `${auditPath}/compensation-plan-batch`, { ids: [shallow, unreachable] })
    assertMembers(t, plans.items, [
      { id: shallow, action: 'wait-confirmations', riskLevel: 'medium' },
      { id: unreachable, action: 'recheck-later', riskLevel: 'low' },
    ])
    t.hasStrict(await call('POST', `${auditPath}/7/recheck`), {
      code: '404',
      data: { reason: 'web3-settlement.audit-log-unknown' },
    })
    t.equal(await fundsOf(product), before, 'none of this changed anything')

    const close = (body: object, who?: string) => call('PUT', `${auditPath}/status-batch`, body, who)
    t.equal((await close({ ids: [lost], status: 'open' })).code, '400')
    t.equal((await close({ ids: [lost], status: 'done' })).code, '400')
    await product.operator('auditor', 'money:web3:payment-settlement-audit-log:view')
    t.equal((await close({ ids: [lost], status: 'resolved' }, 'auditor')).code, '403')
    t.match((await close({ ids: [lost, shallow, lost], status: 'resolved' })).data, { affected: 2 })
    t.match(
      (await close({ ids: [shallow, unreachable], status: 'ignored' })).data,
      { affected: 1 },
      'what is closed stays so',
    )
    t.match((await call('GET', `${auditPath}/summary`)).data, { total: 5, open: 2, resolved: 2, ignored: 1, risky: 2 })
    assertMembers(t, (await call('GET', `${auditPath}?outTradeNo=order-2`)).data.items, [
      { handlingStatus: 'resolved', handledBy: 'admin' },
    ])
    t.equal((await candidates('')).total, 2)

    world.answers.set(hash, paidChainFacts(hash, gone))
    await runTask(auditTask)
    t.equal(
      (await call('GET', `${auditPath}?outTradeNo=order-2`)).data.total,
      2,
      'a risk that comes back is written again',
    )
    t.equal((await call('GET', `${auditPath}?outTradeNo=order-6`)).data.total, 1, 'what is ignored is not')
  },
)

onSqlite(
  t,
  'C-018 S-066 the metadata lists every value with its name, and each risk has its advice',
  async (t: Test, at) => {
    const { running } = await startSettlement(t, at)
    const server = running.service(http)
    const payload = { username: 'admin', password: administrator.password }
    const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })
    const metadata = async (language: string) => {
      const headers = { authorization: `Bearer ${login.json().data.accessToken}`, 'accept-language': language }
      const response = await server.inject({ method: 'GET', url: `${auditPath}/compensation-metadata`, headers })
      return response.json().data as Record<string, { code: string; displayName: string }[]>
    }
    const [english, chinese] = [await metadata('en'), await metadata('zh-CN')]
    const codes = (data: typeof english) =>
      Object.fromEntries(Object.entries(data).map(([name, options]) => [name, options.map(({ code }) => code)]))
    const expected = {
      suggestedActions: [
        'mark-resolved',
        'wait-confirmations',
        'recheck-later',
        'manual-compensation',
        'manual-review',
      ],
      riskLevels: ['none', 'low', 'medium', 'high'],
      riskReasons: Object.keys(advice),
      handlingStatuses: ['open', 'resolved', 'ignored'],
    }
    t.same(codes(english), expected)
    t.same(codes(chinese), expected)
    for (const { code, displayName } of Object.values(english).flat()) {
      t.match(displayName, /^[A-Z][A-Za-z ]+$/, code)
    }
    for (const { code, displayName } of Object.values(chinese).flat()) {
      t.match(displayName, /^\p{Script=Han}+$/u, code)
    }
    for (const reason of [...blockingReasons, 'transfer-moved'] as const) {
      const { risky, suggestedAction, riskLevel } = assessRisk({ reasons: [reason] })
      const [level, action] = advice[reason] ?? ['none', 'mark-resolved']
      t.same([riskLevel, suggestedAction, risky], [level, action, level !== 'none'], reason)
    }
    t.match(assessRisk({ reasons: ['chain-confirmations-insufficient', 'amount-mismatch', 'transfer-removed'] }), {
      riskLevel: 'high',
      suggestedAction: 'manual-compensation',
      retryable: false,
      needsManualReview: true,
      needsFundReview: true,
      chainReorgSuspected: true,
    })
    t.match(assessRisk({ reasons: ['local-order-already-paid'] }), { risky: false }, 'which every settled order is')
  },
)

onDatabase(t, 'logs are removed after their retention, together with the summary', async (t: Test, at) => {
  const config = { 'platform.money.web3.settlement.retention': '30d' }
  const product = await startSettlement(t, at, { config })
  const { db, clock, call, runTask, count } = product
  for (const change of [gone, gone, cases.shallow]) await settledOrder(product, change)
  await runTask(auditTask)
  const tables = [
    ['web3_settlement_review_log', 'created_at'],
    ['web3_payment_callback_log', 'created_at'],
    ['web3_settlement_audit_log', 'created_at'],
  ] as const
  for (const [table, column] of tables) {
    const old = new Date(clock.now() - 31 * 86_400_000)
    await db.execute(`update ${table} set ${column} = ? where out_trade_no <> 'order-3'`, [old])
  }
  await runTask('money.web3.settlement.purge')
  t.equal(await count('web3_settlement_review_log'), 2, 'the review and the settlement of one order')
  t.equal(await count('web3_payment_callback_log'), 1)
  t.equal(await count('web3_settlement_audit_log'), 1)
  t.match((await call('GET', `${auditPath}/summary`)).data, {
    total: 1,
    open: 1,
    openByRiskLevel: { medium: 1, high: 0 },
  })
})
