/** Tests that the running product does not perform certain forbidden actions. */

import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onSqlite, watchStatements } from '@plinth/dev/testing/database'
import { http, type RateLimited, rateLimitedAnnotation } from '@plinth/http'
import t, { type Test } from 'tap'
import { hashNumber, paidChainFacts } from './fixtures/doubles.ts'
import { adminWeb3Path, auditPath, reviewPath, startSettlement } from './fixtures/product.ts'
import { hashOf, transferLog } from './fixtures/ready-case.ts'

const day = 86_400_000

onDatabase(
  t,
  'S-027 S-082 the statements of a settlement are the same on every database, without special lock clauses',
  async (t: Test, at) => {
    const { paidOrder, save, settle, db, call, clock, runTask } = await startSettlement(t, at)
    const tables = ['money_payment_order', 'money_payment_transaction', 'web3_settlement_review_log']
    const watched = tables.map((table) => watchStatements(db, table))
    const { outTradeNo } = await paidOrder()
    t.hasStrict((await settle((await save(outTradeNo)).data.id)).data, { outcome: 'settled' })
    const overdue = await paidOrder()
    await save(overdue.outTradeNo)
    clock.shiftWallClock(day)
    t.match((await call('POST', `${reviewPath}/auto-handle-expired`)).data, { executed: 1 })
    await runTask('money.web3.payment-settlement.retry')
    const statements = watched.flatMap((watch) => [...watch.statements.keys()])
    for (const sql of statements)
      t.notMatch(sql, /\bfor (?:no key )?(?:update|share)\b|lock in share|skip locked|nowait/i)
    for (const part of [
      'set status = ?, version = version + ?, paid_at = ?, transaction_hash = ? where id = ? and status = ? and version = ?',
      "set state = 'settling', version = version + 1 where id = ? and version = ?",
    ]) {
      t.ok(
        statements.some((sql) => sql.includes(part)),
        part,
      )
    }
  },
)

onSqlite(
  t,
  'S-022 S-083 S-085 no route of the plugin settles an order that the executor rejects, and all use the envelope',
  async (t: Test, at) => {
    const { paidOrder, save, statusOf, call, count, running, db, runTask, world } = await startSettlement(t, at)
    const settled = await paidOrder()
    await call('POST', `${reviewPath}/${(await save(settled.outTradeNo)).data.id}/settle`)
    const gone = String(settled.transactionHash)
    world.answers.set(gone, paidChainFacts(gone, { receipt: null, canonicalBlockHash: null }))
    await db.execute('update money_payment_order set paid_at = 1 where out_trade_no = ?', [settled.outTradeNo])
    await runTask('money.web3.payment-settlement.audit')
    const { data: audits } = await call('GET', auditPath)
    const audit: number = audits.items[0].id

    const { outTradeNo, transactionHash } = await paidOrder({ amountRaw: '7' })
    const { data: review } = await save(outTradeNo)
    assertMembers(t, review, { state: 'blocked', reasons: ['amount-mismatch'] })
    const unmatchedPath = `${adminWeb3Path}/unmatched-payments`
    const [unmatched] = (await call('GET', unmatchedPath)).data.items
    /** Routes that use the transfer for a credit or a repayment: see unmatched.test.ts. */
    const uses = [`${unmatchedPath}/{id}/credit`, `${unmatchedPath}/{id}/repayment`]
    /** Request body of each route that needs one. */
    const bodies: Readonly<Record<string, object>> = {
      [`POST ${adminWeb3Path}/payment-confirmations`]: { outTradeNo },
      [`POST ${adminWeb3Path}/payment-confirmations/batch`]: { items: [{ outTradeNo }] },
      [`POST ${adminWeb3Path}/payment-confirmations/settled-audits`]: { outTradeNos: [outTradeNo] },
      [`POST ${reviewPath}`]: { outTradeNo, action: 'settle' },
      [`POST ${reviewPath}/retry-batch`]: { ids: [review.id] },
      [`POST ${auditPath}/recheck-batch`]: { ids: [audit] },
      [`POST ${auditPath}/{id}/compensation-plan`]: { recheck: true },
      [`POST ${auditPath}/compensation-plan-batch`]: { ids: [audit], recheck: true },
      [`PUT ${auditPath}/status-batch`]: { ids: [audit], status: 'resolved' },
      [`POST ${unmatchedPath}`]: { outTradeNo, transactionHash },
      [`POST ${unmatchedPath}/{id}/repayment/preview`]: { transactionHash },
    }
    const { paths } = await running.service(http).openapi()
    const routes = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, operation]) => operation['x-plugin'] === 'web3-settlement')
        .map(([method, { requestBody }]) => ({
          method: method.toUpperCase(),
          path,
          takesBody: requestBody !== undefined,
        })),
    )
    t.ok(routes.length >= 17, `${routes.length} routes`)
    t.same(
      routes.filter(({ path }) => path.includes('/money/')).map(({ path }) => path),
      [],
      'S-083 the proposed routes, which are optional, are not there',
    )
    const before = await count('money_payment_transaction')
    const idOf = (path: string) =>
      path.startsWith(auditPath) ? audit : path.startsWith(unmatchedPath) ? unmatched.id : review.id
    for (const { method, path, takesBody } of routes.filter((route) => !uses.includes(route.path))) {
      const url = path.replace('{id}', String(idOf(path)))
      const body = bodies[`${method} ${path}`]
      t.equal(takesBody, body !== undefined, `${method} ${path} is known here`)
      const response = await call(method as 'POST', url, body)
      t.same(Object.keys(response).sort(), ['code', 'data', 'message'], url)
      t.match(response, { code: /^200$/, message: 'success' }, url)
      if (body !== undefined) {
        t.hasStrict(await call(method as 'POST', url, []), { code: '400' }, `${url}, badly`)
      }
      t.equal(await statusOf(outTradeNo), 'pending', url)
      t.equal(await statusOf(settled.outTradeNo), 'success', url)
      t.equal(await count('money_payment_transaction'), before, url)
    }
  },
)

onSqlite(
  t,
  'S-024 S-084 nothing is settled by rules: without a review a payment waits, whatever its amount and age',
  async (t: Test, at) => {
    const { paidOrder, save, settle, statusOf, count, clock, running, call, login } = await startSettlement(t, at)
    const { outTradeNo } = await paidOrder()
    const small = hashNumber(2)
    const cent = await paidOrder({ amountRaw: '1' }, paidChainFacts(small, {}, [transferLog(0, { value: 1n })]))
    const confirm = async (number: string) =>
      (await call('POST', `${adminWeb3Path}/payment-confirmations`, { outTradeNo: number })).data
    for (let round = 0; round < 3; round++) {
      clock.shiftWallClock(day)
      for (const task of running.scheduledTasks) await task.run(new AbortController().signal)
    }
    await login('admin')
    for (const number of [outTradeNo, cent.outTradeNo]) {
      t.hasStrict(await confirm(number), { state: 'ready', explorer: 'https://explorer.example' })
      t.equal(await statusOf(number), 'pending', number)
    }
    for (const table of ['money_payment_transaction', 'web3_settlement_review_log', 'web3_payment_callback_log']) {
      t.equal(await count(table), 0, table)
    }
    // Runs the first stages of a settlement (dry run, fingerprint and log), and then the executor.
    const { reviewFingerprint } = await confirm(outTradeNo)
    const { data: review } = await save(outTradeNo, { reviewFingerprint })
    t.hasStrict((await settle(review.id)).data, { outcome: 'settled' })
  },
)

onSqlite(t, 'S-021 S-024 a second payment of a paid order is neither accepted nor refunded', async (t: Test, at) => {
  const { paidOrder, save, settle, rows, world, reported, count } = await startSettlement(t, at)
  const { outTradeNo } = await paidOrder()
  await settle((await save(outTradeNo)).data.id)
  const again = hashNumber(77)
  world.answers.set(again, paidChainFacts(again))
  const { data: late } = await save(outTradeNo, { transactionHash: again })
  assertMembers(t, late, { state: 'blocked', reasons: ['local-order-already-paid'] })
  t.hasStrict((await settle(late.id)).data, { outcome: 'skipped', reason: 'local-order-already-paid' })
  await reported()
  assertMembers(t, await rows('select status, refunded_amount, version from money_payment_order'), [
    { status: 'success', refunded_amount: 0, version: 2 },
  ])
  assertMembers(t, await rows('select type from money_payment_transaction'), [{ type: 'web3-settlement' }])
  t.equal(await count('test_effect'), 1)
})

onSqlite(t, 'S-031 only the handler of a scene delivers what was paid', async (t: Test, at) => {
  const { paidOrder, save, settle, statusOf, count, world } = await startSettlement(t, at)
  const seen: unknown[] = []
  world.handlers.set('gift', async ({ outTradeNo, status }) => void seen.push([outTradeNo, status]))
  const { outTradeNo } = await paidOrder({ scene: 'gift' })
  t.hasStrict((await settle((await save(outTradeNo)).data.id)).data, { outcome: 'settled' })
  t.equal(await statusOf(outTradeNo), 'success')
  t.same(seen, [[outTradeNo, 'success']])
  for (const table of ['test_effect', 'money_journal', 'money_account']) t.equal(await count(table), 0, table)
})

onSqlite(
  t,
  'S-014 S-016 a candidate changes from any state to any other, as the current data requires',
  async (t: Test, at) => {
    const { paidOrder, world, call } = await startSettlement(t, at)
    const { outTradeNo, transactionHash } = await paidOrder()
    const hash = String(transactionHash)
    const answers: Readonly<Record<string, Parameters<typeof world.answers.set>[1]>> = {
      pending: paidChainFacts(hash, { receipt: null, canonicalBlockHash: null }),
      confirming: paidChainFacts(hash, { head: 11 }),
      review_required: paidChainFacts(hash, {}, [transferLog(5), transferLog(6)]),
      ready: paidChainFacts(hash),
      blocked: paidChainFacts(hash, { canonicalBlockHash: hashOf('77') }),
      failed: undefined,
    }
    const states = Object.keys(answers)
    for (const from of states) {
      for (const to of states) {
        for (const state of [from, to]) {
          world.answers.set(hash, answers[state])
          const { data } = await call('POST', `${adminWeb3Path}/payment-confirmations`, { outTradeNo })
          if (data.state !== state) t.fail(`from ${from} to ${to}: ${data.state}`)
        }
      }
    }
    t.equal(states.length, 6, 'all but those that the executor sets')
  },
)

onSqlite(t, 'operations on many reviews, orders or audit logs have a quota', async (t: Test, at) => {
  const { running } = await startSettlement(t, at)
  const limited = running.service(http).routes.flatMap(({ method, path, annotations }) => {
    const limit = annotations.find(({ id }) => id === rateLimitedAnnotation)?.value as RateLimited | undefined
    const isOwn = path.startsWith(`${adminWeb3Path}/payment-`)
    return isOwn && limit !== undefined ? [[`${method} ${path}`, limit.maxAttempts, limit.windowSeconds]] : []
  })
  t.same(
    limited.sort(),
    [
      [`POST ${auditPath}/compensation-plan-batch`, 30, 60],
      [`POST ${auditPath}/recheck-batch`, 30, 60],
      [`POST ${adminWeb3Path}/payment-confirmations/batch`, 10, 60],
      [`POST ${adminWeb3Path}/payment-confirmations/settled-audits`, 30, 60],
      [`POST ${reviewPath}/auto-handle-expired`, 10, 60],
      [`POST ${reviewPath}/retry-batch`, 10, 60],
      [`PUT ${auditPath}/status-batch`, 30, 60],
    ].sort(),
  )
})
