/** Tests the effect of each configuration key of the audit of settled orders. */

import { assertKeyEffect, type KeyValues } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { paidChainFacts } from './fixtures/doubles.ts'
import { startSettlement } from './fixtures/product.ts'

const minute = 60_000
const day = 86_400_000
const auditTask = 'money.web3.payment-settlement.audit'
/** Response of a chain that does not know the transaction. */
const gone = { receipt: null, canonicalBlockHash: null, transaction: null }

const at = await createDatabase('sqlite')
t.teardown(() => at.drop())
const { clock, count, db, log, mail, paidOrder, reported, reset, rows, runTask, save, settle, world } =
  await startSettlement(t, at)

/** Adds an order that was settled some time ago. The chain then reports a change. */
async function settledOrder({
  change = gone,
  order = {},
  agoMs = day,
}: {
  change?: object | undefined
  order?: object
  agoMs?: number
} = {}) {
  const { outTradeNo, transactionHash } = await paidOrder(order)
  await settle((await save(outTradeNo)).data.id)
  await db.execute('update money_payment_order set paid_at = paid_at - ? where out_trade_no = ?', [agoMs, outTradeNo])
  world.answers.set(String(transactionHash), paidChainFacts(String(transactionHash), change))
}

/** Runs the audit of settled orders and returns the reported orders. */
const auditOf =
  (...orders: readonly Parameters<typeof settledOrder>[0][]) =>
  async (config: KeyValues) => {
    await reset(config)
    for (const order of orders) await settledOrder(order)
    await runTask(auditTask)
    const logs = await rows('select out_trade_no from web3_settlement_audit_log order by id')
    return logs.map(({ out_trade_no }) => out_trade_no).join(' ')
  }

t.test('the audit checks the configured orders', async (t) => {
  const proofs = [
    await assertKeyEffect(t, 'platform.money.web3.settlement.audit.enabled', { changed: false, observe: auditOf({}) }),
    await assertKeyEffect(t, 'platform.money.web3.settlement.audit.chain-name', {
      changed: 'other',
      observe: auditOf({}),
    }),
    await assertKeyEffect(t, 'platform.money.web3.settlement.audit.provider', {
      changed: 'alipay',
      observe: auditOf({}),
    }),
    await assertKeyEffect(t, 'platform.money.web3.settlement.audit.limit', {
      changed: 2,
      observe: auditOf({}, {}, {}),
    }),
    await assertKeyEffect(t, 'platform.money.web3.settlement.audit.older-than-minutes', {
      changed: 5,
      observe: auditOf({ agoMs: 4 * minute }, { agoMs: 6 * minute }, { agoMs: day }),
    }),
    await assertKeyEffect(t, 'platform.money.web3.settlement.audit.required-confirmations', {
      changed: 4,
      observe: auditOf({ change: {}, order: { requiredConfirmations: 3 } }),
    }),
    await assertKeyEffect(t, 'platform.money.web3.settlement.audit.only-risky', {
      changed: false,
      observe: auditOf({ change: {} }),
    }),
  ].flat()
  t.same(
    proofs.map(({ before, after }) => [before, after]),
    [
      ['order-1', ''],
      ['order-1', ''],
      ['order-1', ''],
      ['order-1 order-2 order-3', 'order-1 order-2'],
      ['order-3', 'order-2 order-3'],
      ['', 'order-1'],
      ['', 'order-1'],
    ],
  )
  const [requested] = await assertKeyEffect(t, 'platform.money.web3.settlement.audit.final-confirmations', {
    changed: 100,
    observe: async (config) => {
      await reset(config)
      await settledOrder({ change: { head: 200 } })
      let audits = 0
      for (; audits < 3; audits++) {
        world.questions.length = 0
        await runTask(auditTask)
        if (world.questions.flat().length === 0) break
      }
      return audits
    },
  })
  t.match(requested, { before: 3, after: 2 })
})

t.test('operators are notified of a risk that the audit finds', async (t) => {
  const observe = async (config: KeyValues) => {
    await reset(config)
    await settledOrder()
    await reported()
    log.sent.length = 0
    await runTask(auditTask)
    await reported()
    return { log: log.sent.map(({ subject }) => subject), mail: mail.sent.map(({ subject }) => subject) }
  }
  const root = 'platform.money.web3.settlement.audit.risk-notification'
  const [switches] = await assertKeyEffect(t, 'platform.money.web3.settlement.audit.risk-notification.enabled', {
    changed: false,
    observe,
  })
  t.match(switches, { before: { log: { length: 1 } }, after: { log: { length: 0 } } })
  const [channels] = await assertKeyEffect(t, 'platform.money.web3.settlement.audit.risk-notification.channels', {
    changed: ['mail'],
    observe,
  })
  t.match(channels, { before: { mail: { length: 0 } }, after: { log: { length: 0 }, mail: { length: 1 } } })
  const [subjects] = await assertKeyEffect(t, 'platform.money.web3.settlement.audit.risk-notification.subject', {
    changed: 'Risk!',
    observe: (config) => observe({ [`${root}.channels`]: ['mail'], ...config }),
  })
  t.same(subjects?.after.mail, ['Risk!'])
})

t.test('logs are stored as long as their retention', async (t) => {
  const [counts] = await assertKeyEffect(t, 'platform.money.web3.settlement.retention', {
    changed: '30d',
    observe: async (config) => {
      await reset(config)
      await settledOrder()
      const old = new Date(clock.now() - 31 * day)
      await db.execute('update web3_payment_callback_log set created_at = ?', [old])
      await runTask('money.web3.settlement.purge')
      return count('web3_payment_callback_log')
    },
  })
  t.match(counts, { before: 1, after: 0 })
})
