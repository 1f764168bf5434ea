/** Tests that nothing is settled from a review after the providers or other settings of its chain have changed. */

import { assertMembers } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { ReviewRow } from '../src/entities.ts'
import { paidChainFacts, SettlementDoubles } from './fixtures/doubles.ts'
import { reviewPath, startSettlement } from './fixtures/product.ts'

const minute = 60_000
const stale = 'review-fingerprint-mismatched'

onEachDatabase(
  t,
  'a review from before a change of the chain is settled by no operator, task or instance',
  async (t: Test, at) => {
    const world = new SettlementDoubles()
    const one = await startSettlement(t, at, { world })
    const other = await startSettlement(t, at, { world, clock: one.clock, isFirst: false })
    const { paidOrder, save, clock, statusOf, count } = one
    let changes = 0
    const changeChain = () => {
      const chain = world.chains.get('local')
      if (chain === undefined) throw new Error('The simulated chain exists')
      world.chains.set('local', { ...chain, settingsDigest: `settings ${++changes}`, updatedAt: clock.now() })
    }
    changeChain()
    const review = async () => {
      const { outTradeNo, transactionHash } = await paidOrder()
      return { outTradeNo, hash: String(transactionHash), id: (await save(outTradeNo)).data.id }
    }
    const [manual, retried, overdue, fresh] = [await review(), await review(), await review(), await review()]
    world.answers.set(retried.hash, { error: 'timeout' })
    assertMembers(t, (await one.settle(retried.id)).data, { reasons: ['rpc-query-failed'] })
    world.answers.set(retried.hash, paidChainFacts(retried.hash))
    changeChain()

    const skipped = { outcome: 'skipped', reasons: [stale], plan: { state: 'ready' } }
    for (const instance of [one, other]) {
      assertMembers(t, (await instance.settle(manual.id)).data, skipped)
      assertMembers(t, (await instance.settle(manual.id, 'retry', undefined, true)).data, skipped)
    }
    assertMembers(t, (await other.call('POST', `${reviewPath}/retry-batch`, { ids: [manual.id] })).data, {
      executed: 0,
      items: [{ reason: stale }],
    })
    clock.shiftWallClock(6 * minute)
    await other.runTask('money.web3.payment-settlement.retry')
    const attempted = { retryAt: null, lastAttempt: { outcome: 'skipped', reasons: [stale] } }
    assertMembers(t, (await one.call('GET', `${reviewPath}/${retried.id}`)).data, attempted)
    clock.shiftWallClock(25 * minute)
    const held = { reason: stale, handlingLogId: null, result: null }
    const { data } = await other.call('POST', `${reviewPath}/auto-handle-expired`)
    assertMembers(t, data, { executed: 0, items: [held, held, held, held] })
    assertMembers(t, (await one.call('GET', `${reviewPath}/${overdue.id}`)).data, { status: 'open', heldAt: String })

    const again = (await save(fresh.outTradeNo)).data
    world.answers.set(fresh.hash, () => {
      changeChain()
      return paidChainFacts(fresh.hash)
    })
    assertMembers(t, (await one.settle(again.id)).data, skipped, 'the chain changed while it was queried')
    t.equal(await count('money_payment_transaction'), 0)
    t.equal(await count('test_effect'), 0)

    world.answers.set(fresh.hash, paidChainFacts(fresh.hash))
    for (const { outTradeNo } of [manual, retried, overdue, fresh]) {
      const planned = (await save(outTradeNo)).data
      t.hasStrict((await other.settle(planned.id)).data, { outcome: 'settled' }, 'a new review settles')
      t.equal(await statusOf(outTradeNo), 'success')
    }

    // A review of an earlier release does not contain the settings.
    clock.shiftWallClock(minute)
    const early = [await review(), await review()]
    for (const { id } of early) {
      const em = one.db.fork()
      const { planSnapshot } = await em.findOneOrFail(ReviewRow, { id })
      const { chainSettingsDigest: _, ...plan } = planSnapshot
      await em.nativeUpdate(ReviewRow, { id }, { planSnapshot: plan })
    }
    t.hasStrict((await one.settle(early[0]?.id)).data, { outcome: 'settled' })
    clock.shiftWallClock(minute)
    changeChain()
    assertMembers(t, (await one.settle(early[1]?.id)).data, skipped)
  },
)
