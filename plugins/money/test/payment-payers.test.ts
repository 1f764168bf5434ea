/** Tests payers of orders, orders for which the same transfer is claimed, and the iteration over paid orders. */
import databasePlugin, { database } from '@plinth/database'
import { manualClock } from '@plinth/dev/testing'
import { onDatabase, startMigrated, type TestDatabase } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import { defineProduct } from '@plinth/kernel'
import money from '@plinth/money'
import paymentsPlugin, { type PaymentTerms, payments } from '@plinth/money/payments'
import t, { type Test } from 'tap'
import { reasonOf } from './fixtures/product.ts'

const token = `0x${'a1'.repeat(20)}`
const receiver = `0x${'c3'.repeat(20)}`
const payer = `0x${'b2'.repeat(20)}`
const hashNumber = (number: number) => `0x${number.toString(16).padStart(64, '0')}`

async function startPayments(t: Test, db: TestDatabase) {
  const clock = manualClock(Date.UTC(2026, 10, 1))
  const plugins = [databasePlugin, eventsPlugin, money, paymentsPlugin]
  const running = await startMigrated(defineProduct({ name: 'test', plugins, config: db.config }), { clock })
  t.teardown(() => running.stop('test ended'))
  const service = running.service(payments)
  const create = (outTradeNo: string, more: Partial<PaymentTerms> = {}) =>
    service.create({
      outTradeNo,
      provider: 'web3',
      scene: 'recharge',
      userId: 7,
      asset: 'wallet:cny',
      amount: 1_000,
      chainName: 'local',
      chainId: 31337,
      receiver,
      tokenContract: token,
      amountRaw: '1000000',
      ...more,
    })
  return { clock, create, payments: service, db: running.service(database) }
}

onDatabase(t, 'the payer of a pending order is stored once and never changes', async (t, db) => {
  const { create, payments } = await startPayments(t, db)
  t.match(await create('P-1'), { payer: null, payerProof: null, version: 1 })
  t.match(await payments.provePayer('P-1', payer, 'signature'), { payer, payerProof: 'signature', version: 2 })
  t.match(await payments.provePayer('P-1', payer, 'account'), { payerProof: 'signature', version: 2 }, 'once')
  t.equal(await reasonOf(payments.provePayer('P-1', receiver, 'account')), '409 payment.payer-differs')
  t.equal(await reasonOf(payments.provePayer('P-2', payer, 'account')), '404 payment.order-unknown')
  t.equal(await reasonOf(payments.provePayer('P-1', '', 'account')), '400 payment.terms-invalid')
  await create('P-2')
  await payments.close('P-2')
  t.equal(await reasonOf(payments.provePayer('P-2', payer, 'account')), '409 payment.order-not-pending')
  t.match((await payments.findMany(['P-1'])).get('P-1'), { payer, payerProof: 'signature' })
})

onDatabase(t, 'an order that changed after the decision to close it stays pending', async (t, db) => {
  const { create, payments } = await startPayments(t, db)
  const { version } = await create('V-1')
  await payments.attachTransaction('V-1', hashNumber(1))
  t.equal((await payments.close('V-1', version)).status, 'pending')
  t.equal((await payments.close('V-1', version + 1)).status, 'closed')
  t.equal((await payments.close('V-1', version)).status, 'closed', 'once')
  await create('V-2')
  await payments.settle({ outTradeNo: 'V-2', type: 'web3-settlement', transactionHash: hashNumber(2) })
  t.equal(await reasonOf(payments.close('V-2', 1)), '409 payment.order-not-pending')
})

onDatabase(t, 'pending orders that claim a transfer are found by hash and by payer', async (t, db) => {
  const { create, payments } = await startPayments(t, db)
  for (const number of ['C-1', 'C-2', 'C-3', 'C-4', 'C-5']) await create(number)
  await create('C-6', { chainName: 'other' })
  const hash = hashNumber(0xab)
  // The same hash in upper case is the same transaction.
  await payments.attachTransaction('C-1', hash.toUpperCase().replace('X', 'x'))
  for (const number of ['C-2', 'C-3', 'C-6']) await payments.attachTransaction(number, hash)
  await payments.close('C-3')
  await payments.provePayer('C-4', payer, 'account')
  await payments.attachTransaction('C-5', hashNumber(2))
  const claims = await payments.pendingClaims({
    chainName: 'local',
    payers: [payer],
    transactionHashes: [hash, hashNumber(2), hashNumber(3)],
  })
  const found = claims.map(({ transactionHash, payer: by, newest, total }) => [
    transactionHash,
    by,
    newest.map(({ outTradeNo }) => outTradeNo),
    total,
  ])
  t.same(
    new Set(found.map((row) => JSON.stringify(row))),
    new Set([
      JSON.stringify([hash, null, ['C-2', 'C-1'], 2]),
      JSON.stringify([hashNumber(2), null, ['C-5'], 1]),
      JSON.stringify([null, payer, ['C-4'], 1]),
    ]),
  )
  t.match(
    claims.find((claim) => claim.payer === payer),
    { tokenContract: token, receiver, amountRaw: '1000000' },
  )
  const many = Array.from({ length: 201 }, (_, at) => hashNumber(at))
  await t.rejects(payments.pendingClaims({ chainName: 'local', transactionHashes: many, payers: [] }), RangeError)
})

onDatabase(t, 'reading paid orders: the latest payments first, or by id', async (t, db) => {
  const { create, payments, clock } = await startPayments(t, db)
  const start = clock.now()
  for (let number = 1; number <= 5; number++) {
    await create(`W-${number}`)
    clock.shiftWallClock(1_000)
    // The last two orders are paid in the same millisecond.
    if (number === 5) clock.shiftWallClock(-1_000)
    const settled = { outTradeNo: `W-${number}`, type: 'web3-settlement', transactionHash: hashNumber(number) }
    t.hasStrict(await payments.settle(settled), { outcome: 'settled' })
  }
  const walk = async (more: object) => {
    const [byId = [], recent = []] = await payments.paidWalks('web3', [
      { afterId: 0, limit: 2 },
      { paidAfter: start + 1_000, paidUntil: start + 60_000, limit: 2, ...more },
    ])
    t.same(
      byId.map(({ outTradeNo }) => outTradeNo),
      ['W-1', 'W-2'],
    )
    return recent
  }
  const first = await walk({})
  t.same(
    first.map(({ outTradeNo }) => outTradeNo),
    ['W-5', 'W-4'],
  )
  const last = first.at(-1)
  const second = await walk({ before: { paidAt: last?.paidAt, id: last?.id } })
  t.same(
    second.map(({ outTradeNo }) => outTradeNo),
    ['W-3', 'W-2'],
  )
  t.same(await walk({ paidUntil: start + 1_000 }), [])
  await t.rejects(payments.paidWalks('web3', [{ afterId: 0, limit: 201 }]), RangeError)
  t.same(await payments.paidWalks('web3', []), [])
})
