/** Tests many requests that change the points of one member at the same time: other requests still get connections. */
import { createDatabase, serversUnderTest } from '@plinth/dev/testing/database'
import t from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { startPoints } from './fixtures/product.ts'

const callers = 64

for (const { dialect, skip } of serversUnderTest) {
  const title = `many requests for the points of one member leave connections for others (${dialect})`
  t.test(title, { skip, timeout: 600_000 }, async (t) => {
    const at = await createDatabase(dialect)
    t.teardown(() => at.drop())
    const product = await startPoints(t, at, { config: { 'platform.database.pool-size': 10 } })
    const { db, points, ledger, ref } = product
    const administrator = await product.administrator()
    const ada = await product.member('ada')
    await points.rewardLottery(ada.id, 'grant', 10_000)
    const accountId = (await ledger.find(ref(ada.id)))?.id ?? 0
    const adjust = async (change: number, key: string) => {
      const body = { userId: ada.id, points: change, reason: 'test', idempotencyKey: key }
      return (await administrator.call('POST', 'admin/member-points/manual-adjustments', body)).code
    }
    const writers: Readonly<Record<string, readonly [change: number, write: (key: string) => Promise<unknown>]>> = {
      prize: [callers, (key) => points.rewardLottery(ada.id, key, 1)],
      spend: [-callers, (key) => points.spend({ userId: ada.id, points: 1, key })],
      grant: [callers, (key) => adjust(1, key)],
      deduction: [-callers, (key) => adjust(-1, key)],
      'check-in': [5, async () => (await ada.call('POST', 'member-points/users/me/check-in')).code],
    }
    const available = async () => (await ledger.balance(ref(ada.id))).available
    for (const [name, [change, write]] of Object.entries(writers)) {
      await t.test(name, async (t) => {
        const before = await available()
        const isLocked = Promise.withResolvers<void>()
        const isDone = Promise.withResolvers<void>()
        const holder = db.statements(async () => {
          await db.query('select id from money_account where id = ? for update', [accountId])
          isLocked.resolve()
          await isDone.promise
        })
        await isLocked.promise
        const order: string[] = []
        const calls = Array.from({ length: callers }, async (_, index) => {
          const code = await write(`${name}:${index}`)
          order.push(typeof code === 'string' ? code : '200')
        })
        try {
          for (let round = 0; round < 20; round++) {
            await Promise.all(Array.from({ length: 10 }, () => db.query('select id from money_journal limit 1')))
          }
          order.push('read')
        } finally {
          isDone.resolve()
          await holder
        }
        await Promise.all(calls)
        t.same(order, ['read', ...Array(callers).fill('200')], 'the readers do not wait')
        t.equal((await available()) - before, change)
      })
    }
    t.same(await brokenRules(product), [])
  })
}
