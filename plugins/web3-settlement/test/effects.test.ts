/** Tests the effect of each configuration key of reviews and retries. */

import { assertKeyEffect, assertMembers, type KeyValues } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { hashNumber, paidChainFacts } from './fixtures/doubles.ts'
import { reviewPath, startSettlement } from './fixtures/product.ts'

const minute = 60_000
const retryTask = 'money.web3.payment-settlement.retry'

async function start(config: KeyValues = {}) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  return startSettlement(t, at, { config })
}
const product = await start()
const { call, clock, db, operator, paidOrder, rows, runTask, save, settle, world } = product

/** Saves reviews of orders, and runs the task for overdue reviews after some time. */
async function handledAfter(ms: number, count: number, config: KeyValues) {
  await product.reset(config)
  const hashes: string[] = []
  for (let index = 0; index < count; index++) {
    const { outTradeNo, transactionHash } = await paidOrder()
    await save(outTradeNo)
    hashes.push(String(transactionHash))
  }
  clock.shiftWallClock(ms)
  const handle = async () => (await call('POST', `${reviewPath}/auto-handle-expired`)).data
  return { ...product, hashes, handle }
}

t.test('overdue reviews are handled as configured', async (t) => {
  const observe =
    (ms: number, count = 1) =>
    async (config: KeyValues) => {
      const { handled, executed, items } = await (await handledAfter(ms, count, config)).handle()
      return { handled, executed, actions: items.map(({ action }: { action: string }) => action) }
    }
  const [switches] = await assertKeyEffect(t, 'platform.money.web3.settlement.review.auto.enabled', {
    changed: false,
    observe: observe(31 * minute),
  })
  t.match(switches, { before: { handled: 1 }, after: { handled: 0 } })
  const [actions] = await assertKeyEffect(t, 'platform.money.web3.settlement.review.auto.action', {
    changed: 'auto-reject',
    observe: observe(31 * minute),
  })
  assertMembers(t, actions, { before: { actions: ['auto-approve'] }, after: { actions: ['auto-reject'] } })
  const [executed] = await assertKeyEffect(t, 'platform.money.web3.settlement.review.auto.execute-approved', {
    changed: false,
    observe: observe(31 * minute),
  })
  t.match(executed, { before: { handled: 1, executed: 1 }, after: { handled: 1, executed: 0 } })
  const [limits] = await assertKeyEffect(t, 'platform.money.web3.settlement.review.auto.limit', {
    changed: 2,
    observe: observe(31 * minute, 3),
  })
  t.match(limits, { before: { handled: 3 }, after: { handled: 2 } })
  const [timeouts] = await assertKeyEffect(t, 'platform.money.web3.settlement.review.auto.timeout', {
    changed: '10m',
    observe: observe(11 * minute),
  })
  t.match(timeouts, { before: { handled: 0 }, after: { handled: 1 } })
})

t.test('operators are notified if an overdue review was not settled', async (t) => {
  const root = 'platform.money.web3.settlement.review.auto.failure-notification'
  const observe = async (config: KeyValues) => {
    const { handle, hashes, reported, log, mail } = await handledAfter(31 * minute, 1, config)
    for (const hash of hashes) world.answers.set(hash, undefined)
    await handle()
    await reported()
    const shown = [log, mail].map(({ sent }) => sent.map(({ subject, recipients }) => ({ subject, recipients })))
    return { log: shown[0] ?? [], mail: shown[1] ?? [] }
  }
  const [switches] = await assertKeyEffect(
    t,
    'platform.money.web3.settlement.review.auto.failure-notification.enabled',
    {
      changed: false,
      observe,
    },
  )
  t.match(switches, { before: { log: { length: 1 } }, after: { log: { length: 0 } } })
  const [channels] = await assertKeyEffect(
    t,
    'platform.money.web3.settlement.review.auto.failure-notification.channels',
    {
      changed: ['mail'],
      observe,
    },
  )
  t.match(channels, { before: { mail: { length: 0 } }, after: { log: { length: 0 }, mail: { length: 1 } } })
  const [subjects] = await assertKeyEffect(
    t,
    'platform.money.web3.settlement.review.auto.failure-notification.subject',
    {
      changed: 'Look here',
      observe,
    },
  )
  assertMembers(t, subjects?.after.log, [{ subject: 'Look here' }])
  const mailTo = { [`${root}.channels`]: ['mail'], [`${root}.recipient-type`]: 'email' }
  const address = { [`${root}.recipient-value`]: 'ops@example.org' }
  const [kinds] = await assertKeyEffect(
    t,
    'platform.money.web3.settlement.review.auto.failure-notification.recipient-type',
    {
      compared: 'email',
      changed: 'user',
      observe: (config) => observe({ ...mailTo, [`${root}.recipient-value`]: '7', ...config }),
    },
  )
  assertMembers(t, kinds?.before.mail, [{ recipients: [{ kind: 'email' }] }])
  const [recipients] = await assertKeyEffect(
    t,
    'platform.money.web3.settlement.review.auto.failure-notification.recipient-value',
    {
      compared: 'ops@example.org',
      changed: 'other@example.org',
      observe: (config) => observe({ ...mailTo, ...address, ...config }),
    },
  )
  assertMembers(t, recipients?.after.mail, [{ recipients: [{ address: 'other@example.org' }] }])
})

t.test('a failed settlement is retried as configured', async (t) => {
  /** Returns the automatic attempts after the first one, in three runs of the task. */
  const observe = async (config: KeyValues) => {
    await product.reset(config)
    const { outTradeNo, transactionHash } = await paidOrder()
    const hash = String(transactionHash)
    const { data: review } = await save(outTradeNo)
    world.answers.set(hash, paidChainFacts(hash, { head: 11 }))
    await settle(review.id)
    for (let run = 0; run < 3; run++) {
      clock.shiftWallClock(60 * minute)
      await runTask(retryTask)
    }
    return (await rows(`select id from web3_settlement_review_log where action = 'auto-retry'`)).length
  }
  const [attempts] = await assertKeyEffect(t, 'platform.money.web3.settlement.retry.max-attempts', {
    changed: 1,
    observe,
  })
  t.match(attempts, { before: 3, after: 1 })
  const [switches] = await assertKeyEffect(t, 'platform.money.web3.settlement.retry.enabled', {
    changed: false,
    observe,
  })
  t.match(switches, { before: 3, after: 0 })
})

t.test('the tasks have the configured names', async (t) => {
  const found = await assertKeyEffect(
    t,
    'platform.money.web3.settlement.{audit.task-name,retry.task-name,review.auto.task-name}',
    {
      changed: 'renamed',
      observe: async (config) => (await start(config)).running.scheduledTasks.some(({ name }) => name === 'renamed'),
    },
  )
  for (const { before, after } of found) t.same([before, after], [false, true])
})

t.test('a review waits for a decision as configured', async (t) => {
  const permission = 'money:web3:payment-settlement'
  await operator('both', `${permission}-review-log:create`, `${permission}:execute`)
  const [codes] = await assertKeyEffect(t, 'platform.money.web3.settlement.review.four-eyes', {
    changed: true,
    observe: async (config) => {
      await product.reset(config)
      const { data: review } = await save((await paidOrder()).outTradeNo, {}, 'both')
      return (await settle(review.id, 'settle', 'both')).code
    },
  })
  t.match(codes, { before: '200', after: '403' })
  const [states] = await assertKeyEffect(t, 'platform.money.web3.settlement.block-time-tolerance', {
    changed: '2m',
    observe: async (config) => {
      await product.reset(config)
      const hash = hashNumber(900)
      const { outTradeNo } = await paidOrder({ transactionHash: hash }, undefined)
      world.answers.set(hash, paidChainFacts(hash, { blockTime: clock.now() }))
      await db.execute('update money_payment_order set created_at = ?', [clock.now() + 3 * minute])
      return (await save(outTradeNo)).data.state
    },
  })
  t.match(states, { before: 'ready', after: 'review_required' })
})

t.test('a payment of nearly the right amount settles its order only with a tolerance', async (t) => {
  const [states] = await assertKeyEffect(t, 'platform.money.web3.settlement.amount-tolerance', {
    changed: 100,
    observe: async (config) => {
      await product.reset(config)
      const { outTradeNo } = await paidOrder({ amountRaw: '995000' })
      return (await save(outTradeNo)).data.state
    },
  })
  t.match(states, { before: 'blocked', after: 'ready' })
})
