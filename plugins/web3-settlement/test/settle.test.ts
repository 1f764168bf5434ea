/** Tests the way from a saved review to a paid order, with everything that can prevent it. */

import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { createOrder, hashNumber, paidChainFacts, SettlementDoubles } from './fixtures/doubles.ts'
import { adminWeb3Path, reviewPath, startSettlement } from './fixtures/product.ts'
import { hashOf, receiver, stranger, token, transferLog } from './fixtures/ready-case.ts'

onDatabase(
  t,
  'S-004 S-010 S-025 S-027 S-028 S-029 S-032 S-074 S-086 a reviewed payment is settled in one transaction and announced',
  async (t: Test, at) => {
    const { paidOrder, save, settle, statusOf, rows, count, world, call, log, reported } = await startSettlement(t, at)
    const { outTradeNo, transactionHash } = await paidOrder()
    const dry = await call('POST', `${adminWeb3Path}/payment-confirmations`, { outTradeNo })
    assertMembers(t, dry, { code: '200', data: { state: 'ready', reasons: [], confirmations: 3 } })
    t.equal(await statusOf(outTradeNo), 'pending', 'a plan that is ready changes nothing')
    const named = { outTradeNo, transactionHash: hashNumber(900) }
    const other = await call('POST', `${adminWeb3Path}/payment-confirmations`, named)
    t.hasStrict(
      other.data,
      { transactionHash: named.transactionHash },
      'a named transaction comes before that of the order',
    )
    const review = await save(outTradeNo, { remark: 'looks good', reviewFingerprint: dry.data.reviewFingerprint })
    t.hasStrict(review, {
      code: '200',
      data: {
        state: 'ready',
        candidate: true,
        retryable: true,
        status: 'open',
        action: 'settle',
        remark: 'looks good',
        reviewFingerprint: dry.data.reviewFingerprint,
        plan: { eventKey: `local:${transactionHash}:5` },
      },
    })
    t.equal(await statusOf(outTradeNo), 'pending', 'a review changes nothing either')

    const requested = world.questions.length
    const result = await settle(review.data.id)
    assertMembers(t, result, { code: '200', data: { outcome: 'settled', state: 'settled', reason: null, reasons: [] } })
    t.equal(world.questions.length, requested + 1, 'the chain was asked afresh')
    t.equal(await statusOf(outTradeNo), 'success')
    assertMembers(t, await rows('select type, transaction_hash, log_ordinal from money_payment_transaction'), [
      { type: 'web3-settlement', transaction_hash: transactionHash, log_ordinal: 0 },
    ])
    t.equal(await count('test_effect'), 1, 'the handler of the scene ran once')
    assertMembers(t, await rows('select outcome, started_by, event_key from web3_payment_callback_log'), [
      { outcome: 'settled', started_by: 'settle', event_key: `local:${transactionHash}:5` },
    ])
    const { data: logs } = await call('GET', `${reviewPath}?outTradeNo=${outTradeNo}`)
    assertMembers(t, logs.items, [
      { action: 'settle', status: 'settled', state: 'settled', sourceLogId: review.data.id },
      { id: review.data.id, status: 'settled', state: 'settled', retryable: false },
    ])
    await reported()
    t.equal(log.sent.length, 1)
    const notice = JSON.stringify(log.sent[0])
    for (const part of [outTradeNo, 'local', transactionHash, 'https://explorer.example/tx/']) {
      t.ok(notice.includes(String(part)), `the notice names ${part}`)
    }
  },
)

onDatabase(
  t,
  'S-021 S-033 S-034 S-037 S-038 S-039 S-093 paid and closed orders are skipped, and nothing is written',
  async (t: Test, at) => {
    const { paidOrder, save, settle, statusOf, count, db } = await startSettlement(t, at)
    const { outTradeNo, transactionHash } = await paidOrder()
    const { data: review } = await save(outTradeNo)
    await settle(review.id)
    const again = await settle(review.id)
    t.hasStrict(again.data, { outcome: 'skipped', reason: 'local-order-already-paid' })
    t.match((await settle(review.id, 'retry')).data, again.data, 'a retry is the same')

    for (const status of ['closed', 'refunded']) {
      const other = await paidOrder()
      const { data } = await save(other.outTradeNo)
      await db.execute('update money_payment_order set status = ? where out_trade_no = ?', [status, other.outTradeNo])
      const { outcome, reasons } = (await settle(data.id)).data
      t.same([outcome, reasons], ['skipped', ['order-not-settleable']])
      const planned = await save(other.outTradeNo)
      assertMembers(
        t,
        planned.data,
        { state: 'blocked', reasons: ['local-order-not-settleable'] },
        'the plan has its own name for it',
      )
    }

    // Another order with the same amount claims the same transfer.
    const claim = await paidOrder({ transactionHash: transactionHash ?? null })
    const { data: claimed } = await save(claim.outTradeNo)
    assertMembers(t, claimed, { state: 'blocked', reasons: ['transaction-already-exists'] })
    assertMembers(t, (await settle(claimed.id)).data, { outcome: 'skipped', reasons: ['transaction-already-exists'] })
    t.equal(await statusOf(claim.outTradeNo), 'pending')
    t.equal(await count('money_payment_transaction'), 1)
    t.equal(await count('test_effect'), 1)
  },
)

onSqlite(
  t,
  'S-026 S-036 S-094 a payment that changed since the review is not settled, and all changes are reported',
  async (t: Test, at) => {
    const { paidOrder, save, settle, statusOf, world, count, call } = await startSettlement(t, at)
    const moved = await paidOrder()
    const { data: first } = await save(moved.outTradeNo)
    const elsewhere = {
      blockHash: hashOf('99'),
      logs: [{ ...transferLog(5), transactionHash: moved.transactionHash, blockHash: hashOf('99') }],
    }
    world.answers.set(
      String(moved.transactionHash),
      paidChainFacts(String(moved.transactionHash), {
        canonicalBlockHash: hashOf('99'),
        transaction: { hash: moved.transactionHash },
        receipt: elsewhere,
      }),
    )
    assertMembers(t, (await settle(first.id)).data, {
      outcome: 'skipped',
      reasons: ['review-fingerprint-mismatched'],
      plan: { state: 'ready' },
    })
    const { data: second } = await save(moved.outTradeNo)
    t.hasStrict((await settle(second.id)).data, { outcome: 'settled' }, 'a new review settles')

    const short = await paidOrder()
    const { data: early } = await save(short.outTradeNo)
    const hash = String(short.transactionHash)
    world.answers.set(hash, paidChainFacts(hash, { head: 11 }))
    assertMembers(t, (await settle(early.id)).data, {
      outcome: 'skipped',
      state: 'confirming',
      reasons: ['chain-confirmations-insufficient'],
    })
    world.answers.set(hash, undefined)
    assertMembers(t, (await settle(early.id)).data, {
      outcome: 'skipped',
      state: 'failed',
      reasons: ['rpc-query-failed'],
    })
    world.answers.set(hash, paidChainFacts(hash, { receipt: null, canonicalBlockHash: null }))
    assertMembers(t, (await settle(early.id)).data, {
      outcome: 'skipped',
      state: 'blocked',
      reasons: ['chain-transaction-not-mined', 'review-fingerprint-mismatched', 'transfer-removed'],
    })
    world.answers.set(hash, paidChainFacts(hash))
    t.hasStrict((await settle(early.id)).data, { outcome: 'settled' }, 'back where it was')

    const rejected = await save(moved.outTradeNo, { reviewFingerprint: '0'.repeat(64) })
    t.match(rejected, {
      code: /^409$/,
      data: { reason: /^web3-settlement\.fingerprint-differs$/, reviewFingerprint: /^[0-9a-f]{64}$/ },
    })
    t.hasStrict(await call('POST', `${reviewPath}/1/settle`), {
      code: '404',
      data: { reason: 'web3-settlement.review-log-unknown' },
    })
    t.equal(await statusOf(short.outTradeNo), 'success')
    t.equal(await count('money_payment_transaction'), 2)
  },
)

onSqlite(
  t,
  'S-019 S-022 S-087 S-088 S-089 S-090 S-091 every reason reaches the caller, and no order changes',
  async (t: Test, at) => {
    const { paidOrder, save, statusOf, world, call, count, db } = await startSettlement(t, at)
    const confirm = async (outTradeNo: string, body: object = {}) =>
      (await call('POST', `${adminWeb3Path}/payment-confirmations`, { outTradeNo, ...body })).data
    assertMembers(t, await confirm('nobody'), { state: 'blocked', reasons: ['order-not-found'] })
    const change = async (order: object, response: object | null, ...reasons: string[]) => {
      const made = await paidOrder(order)
      const hash = String(made.transactionHash)
      if (response !== null) world.answers.set(hash, response)
      t.same((await confirm(made.outTradeNo)).reasons, reasons, reasons.join())
      const { data } = await save(made.outTradeNo)
      t.hasStrict(await call('POST', `${reviewPath}/${data.id}/settle`), { data: { outcome: 'skipped' } })
      t.equal(await statusOf(made.outTradeNo), 'pending')
    }
    const paid = (change: object) => {
      const hash = hashNumber(next + 1)
      return paidChainFacts(hash, change as never)
    }
    let next = 0
    const cases: readonly (readonly [object, (() => object) | null, ...string[]])[] = [
      [{ provider: 'alipay' }, null, 'provider-not-web3'],
      [{ chainName: 'unknown' }, null, 'chain-not-configured'],
      [{ chainId: 5 }, null, 'chain-id-mismatch'],
      [{}, () => paid({ chainId: 1 }), 'chain-id-mismatch'],
      [{ transactionHash: null }, null, 'transaction-hash-missing'],
      [{}, () => paid({ receipt: null, canonicalBlockHash: null }), 'chain-transaction-not-mined'],
      [{}, () => paid({ receipt: { status: 'reverted', logs: [] } }), 'chain-transaction-failed'],
      [{}, () => paid({ head: 10 }), 'chain-confirmations-insufficient'],
      [{}, () => paid({ receipt: { logs: [] } }), 'transfer-missing'],
      [{ receiver: stranger }, null, 'receiver-address-mismatch'],
      [{ tokenContract: stranger }, null, 'token-contract-mismatch'],
      [{ amountRaw: '1000001' }, null, 'amount-mismatch'],
      [{ receiver: stranger, amountRaw: '7' }, null, 'receiver-address-mismatch', 'amount-mismatch'],
      [{}, () => ({ error: 'timeout' }), 'rpc-query-failed'],
    ]
    for (const [order, response, ...reasons] of cases) {
      await change(order, response === null ? null : response(), ...reasons)
      next += 1
    }
    world.chains.set('local', { ...world.chains.get('local'), enabled: false } as never)
    await change({}, null, 'chain-not-configured')
    t.equal(await count('money_payment_transaction'), 0)
    const batch = await call('POST', `${adminWeb3Path}/payment-confirmations/batch`, {
      items: [{ outTradeNo: 'order-1' }, { outTradeNo: 'nobody' }, { outTradeNo: 'order-1' }],
    })
    assertMembers(
      t,
      batch.data.items.map(({ reasons }: { reasons: string[] }) => reasons.at(-1)),
      ['chain-not-configured', 'order-not-found', 'chain-not-configured'],
    )
    t.ok(db)
  },
)

onDatabase(
  t,
  'S-011 S-020 S-030 S-031 S-092 a failing or missing handler leaves nothing behind',
  async (t: Test, at) => {
    const { paidOrder, save, settle, statusOf, count, world, call, lines } = await startSettlement(t, at)
    const orphan = await paidOrder({ scene: 'nobody' })
    const { data: first } = await save(orphan.outTradeNo)
    assertMembers(t, (await settle(first.id)).data, { outcome: 'skipped', reasons: ['applier-not-available'] })
    t.equal(await statusOf(orphan.outTradeNo), 'pending')
    const { outTradeNo } = await paidOrder({ scene: 'gift' })
    const { data: review } = await save(outTradeNo)
    world.handlers.set('gift', async (order, db) => {
      await world.handlers.get('test')?.(order, db)
      const [log] = await db.query('select state from web3_settlement_review_log where id = ?', [review.id])
      t.hasStrict(log, { state: 'settling' }, 'S-011 the candidate is settling while it is written')
      throw new Error('https://node.example/key-of-the-node is away')
    })
    const failed = await settle(review.id)
    assertMembers(t, failed.data, { outcome: 'failed', state: 'failed', reasons: ['handler-failed'] })
    t.notMatch(JSON.stringify(failed), /node\.example/)
    t.equal(await statusOf(outTradeNo), 'pending')
    for (const table of ['money_payment_transaction', 'test_effect']) t.equal(await count(table), 0, table)
    const logged = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes('rolled back'))
    assertMembers(t, logged, [{ level: 50, outTradeNo, reviewLogId: review.id }])
    assertMembers(t, logged, [{ err: { message: /is away$/ } }])
    t.hasStrict((await call('GET', `${reviewPath}/${review.id}`)).data, {
      status: 'open',
      state: 'ready',
      retryable: true,
    })
    world.handlers.set('gift', async () => {})
    t.hasStrict((await settle(review.id)).data, { outcome: 'settled', state: 'settled' })
    t.equal(await statusOf(outTradeNo), 'success')
    t.hasStrict((await settle(review.id)).data, { outcome: 'skipped', reason: 'local-order-already-paid' })
    t.equal(await statusOf(outTradeNo), 'success', 'what is paid stays paid')
  },
)

onDatabase(t, 'S-027 S-035 S-080 S-081 one of two instances settles, whatever states they see', async (t: Test, at) => {
  const world = new SettlementDoubles()
  const one = await startSettlement(t, at, { world })
  const other = await startSettlement(t, at, { world, clock: one.clock, isFirst: false })
  const both = [one, other, one, other]
  const outcomes = async (work: readonly Promise<{ data: { outcome: string; reason: string } }>[]) =>
    (await Promise.all(work)).map(({ data }) => `${data.outcome} ${data.reason ?? ''}`.trim()).sort()
  const allowed = /^skipped (local-order-already-paid|order-update-conflict|transaction-already-exists)$/

  for (let round = 0; round < 3; round++) {
    const { outTradeNo } = await one.paidOrder()
    const { data: review } = await one.save(outTradeNo)
    const found = await outcomes(both.map((instance) => instance.settle(review.id)))
    t.equal(found.filter((outcome) => outcome === 'settled').length, 1, `the same review: ${found}`)
    t.ok(
      found.filter((outcome) => outcome !== 'settled').every((outcome) => allowed.test(outcome)),
      found.join(),
    )
  }
  const two = await one.paidOrder()
  const reviews = [await one.save(two.outTradeNo), await one.save(two.outTradeNo)]
  const found = await outcomes(reviews.map(({ data }, index) => (index === 0 ? one : other).settle(data.id)))
  t.equal(found.filter((outcome) => outcome === 'settled').length, 1, `two reviews of one order: ${found}`)

  const first = await one.paidOrder()
  const second = await one.paidOrder({ transactionHash: first.transactionHash ?? null })
  const claims = [await one.save(first.outTradeNo), await one.save(second.outTradeNo)]
  const claimed = await outcomes(
    claims.map(({ data }, index) => (index === 0 ? one : other).settle(data.id, 'settle', undefined, true)),
  )
  t.same(claimed.filter((outcome) => outcome === 'settled').length, 1, `two orders, one transfer: ${claimed}`)
  t.ok(
    claimed.filter((outcome) => outcome !== 'settled').every((outcome) => allowed.test(outcome)),
    claimed.join(),
  )

  t.equal(await one.count('money_payment_transaction'), 5)
  t.equal(await one.count('test_effect'), 5, 'one effect for each order that is paid')
  const [paid] = await one.rows("select count(*) as n from money_payment_order where status = 'success'")
  t.equal(Number(paid?.['n']), 5)
})

onDatabase(t, 'S-080 a transfer whose log gets another index is not used twice', async (t: Test, at) => {
  const { paidOrder, save, settle, statusOf, world, count } = await startSettlement(t, at)
  const first = await paidOrder()
  const hash = String(first.transactionHash)
  const second = await paidOrder({ transactionHash: hash })
  const { data: early } = await save(second.outTradeNo)
  const { data: review } = await save(first.outTradeNo)
  t.hasStrict((await settle(review.id, 'settle', undefined, true)).data, { outcome: 'settled' })
  // The transaction is included again in a block in which its log comes first.
  world.answers.set(hash, paidChainFacts(hash, {}, [transferLog(0)]))
  const { data: late } = await save(second.outTradeNo)
  assertMembers(t, late, { reasons: ['transaction-already-exists'], plan: { eventKey: `local:${hash}:0` } })
  for (const { id } of [early, late]) t.hasStrict((await settle(id)).data, { outcome: 'skipped' })
  t.equal(await statusOf(second.outTradeNo), 'pending')
  t.equal(await count('money_payment_transaction'), 1)
})

onDatabase(
  t,
  'S-040 S-041 S-042 a batch runs in the order of ids, and a failure does not stop the others',
  async (t: Test, at) => {
    const { paidOrder, save, call, world, clock } = await startSettlement(t, at)
    const ids: number[] = []
    for (let index = 0; index < 4; index++) {
      const { outTradeNo } = await paidOrder(index === 1 ? { scene: 'broken' } : {})
      ids.push((await save(outTradeNo)).data.id)
    }
    world.handlers.set('broken', async () => {
      throw new Error('out of order')
    })
    const [a = 0, b = 0, c = 0, d = 0] = ids
    world.questions.length = 0
    const { data } = await call('POST', `${reviewPath}/retry-batch`, { ids: [d, a, 7, c, b, a, 7] })
    t.match(data, { requested: 5, executed: 3, skipped: 2 }, 'each id once')
    t.same(
      data.items.map(({ id, outcome }: { id: number; outcome: string }) => [id, outcome]),
      [
        [7, 'skipped'],
        [a, 'settled'],
        [b, 'failed'],
        [c, 'settled'],
        [d, 'settled'],
      ],
    )
    t.equal(data.items[0].reason, 'web3-settlement.review-log-unknown')
    t.same(world.questions.flat(), [1, 2, 3, 4].map(hashNumber), 'one after another')
    t.hasStrict(await call('POST', `${reviewPath}/retry-batch`, { ids: [] }), { code: '400' })
    t.ok(clock)
  },
)

onSqlite(
  t,
  'S-055 S-073 each action needs its permission, and stores the permissions of that time',
  async (t: Test, at) => {
    const { operator, paidOrder, save, settle, call, rows } = await startSettlement(t, at)
    const base = 'money:web3:payment-settlement'
    await operator('viewer', `${base}-review-log:view`)
    const maker = await operator('maker', `${base}-review-log:create`, `${base}-review-log:view`)
    await operator('executor', `${base}:execute`)
    await operator('auditor', `${base}-audit-log:view`)
    const { outTradeNo } = await paidOrder()
    t.equal((await save(outTradeNo, {}, 'viewer')).code, '403')
    const { data: review } = await save(outTradeNo, {}, 'maker')
    assertMembers(t, review, {
      actorUserId: maker,
      permissions: [`${base}-review-log:view`, `${base}-review-log:create`],
    })
    for (const who of ['viewer', 'maker', 'auditor']) {
      t.equal((await settle(review.id, 'settle', who)).code, '403', who)
      t.equal((await settle(review.id, 'retry', who)).code, '403', who)
      t.equal((await call('POST', `${reviewPath}/retry-batch`, { ids: [review.id] }, who)).code, '403', who)
    }
    t.equal((await call('GET', reviewPath, undefined, 'auditor')).code, '403')
    t.equal((await call('GET', `${adminWeb3Path}/payment-settlement-audit-logs`, undefined, 'viewer')).code, '403')
    t.equal((await call('POST', `${reviewPath}/auto-handle-expired`, undefined, 'executor')).code, '403')
    t.equal((await call('GET', reviewPath, undefined, 'viewer')).code, '200')
    t.hasStrict((await settle(review.id, 'settle', 'executor')).data, { outcome: 'settled' })
    assertMembers(t, await rows('select action, result from approval_instance order by id'), [
      { action: 'record', result: 'approved' },
      { action: 'settle', result: 'approved' },
    ])
    const actions = (await rows('select action from iam_audit order by id')).map(({ action }) => action)
    t.ok(actions.includes('web3-settlement-review.save') && actions.includes('web3-settlement-review.settle'))
  },
)

onSqlite(
  t,
  'S-002 S-003 an order with a large amount and addresses in another case is settled',
  async (t: Test, at) => {
    const { db, save, settle, statusOf, world } = await startSettlement(t, at)
    const amount = 10n ** 30n
    const transactionHash = hashOf('ab')
    const upper = (text: string) => text.toUpperCase().replace('0X', '0x')
    await createOrder(db, {
      outTradeNo: 'large',
      provider: 'web3',
      transactionHash,
      amountRaw: String(amount),
      tokenContract: upper(token),
      receiver: upper(receiver),
    })
    world.answers.set(transactionHash, paidChainFacts(transactionHash, {}, [transferLog(1, { value: amount })]))
    t.hasStrict((await settle((await save('large')).data.id)).data, { outcome: 'settled' })
    t.equal(await statusOf('large'), 'success')
  },
)
