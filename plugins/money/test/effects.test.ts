import { type AmountUnit, amountUnits } from '@plinth/admin'
import { assertKeyEffect, type KeyValues } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import { definePlugin } from '@plinth/kernel'
import { declaredTasks } from '@plinth/kernel/host'
import paymentsPlugin, { payments } from '@plinth/money/payments'
import t from 'tap'
import { reasonOf, startLedger, userOwner } from './fixtures/product.ts'

t.test('a reconciliation is stored as long as its retention', async (t) => {
  const [stored] = await assertKeyEffect(t, 'platform.money.reconcile.retention', {
    changed: '30d',
    observe: async (config) => {
      const at = await createDatabase('sqlite')
      t.teardown(() => at.drop())
      const { running, clock, db } = await startLedger(t, at, { config })
      const tasks = running.service(declaredTasks).scheduledTasks
      const run = async (name: string) => {
        const task = tasks.find((one) => one.name === name)
        if (task === undefined) throw new Error(`no task ${name}`)
        await task.run(new AbortController().signal)
      }
      await run('money.reconcile')
      await clock.advance(31 * 86_400_000)
      await run('money.purge')
      return (await db.query('select id from money_reconciliation')).length
    },
  })
  t.match(stored, { before: 1, after: 0 })
})

t.test('a recharge credits the wallet asset, which the back office shows with its decimal places', async (t) => {
  const observe = async (config: KeyValues) => {
    const at = await createDatabase('sqlite')
    t.teardown(() => at.drop())
    let unitsOf = (): ReadonlyMap<string, AmountUnit> => new Map()
    const backOffice = definePlugin({
      id: 'test.back-office',
      version: '1.0.0',
      kernel: '^1.0.0',
      extensionPoints: [amountUnits],
      setup({ contributions }) {
        unitsOf = contributions(amountUnits).get('money') ?? unitsOf
      },
    })
    const { running, ledger } = await startLedger(t, at, {
      config,
      plugins: [eventsPlugin, paymentsPlugin, backOffice],
    })
    const book = running.service(payments)
    const wallets: Record<string, [decimals: number | undefined, balance: string | number]> = {}
    for (const asset of ['wallet:cny', 'wallet:eur']) {
      const outTradeNo = asset.replace(':', '-')
      await book.create({ outTradeNo, provider: 'test', scene: 'recharge', userId: 7, asset, amount: 1_500 })
      const reason = await reasonOf(book.settle({ outTradeNo, type: 'test', transactionHash: outTradeNo }))
      const balance = reason === 'done' ? (await ledger.balance({ owner: userOwner(7), asset })).available : reason
      wallets[asset] = [unitsOf().get(asset)?.scale, balance]
    }
    return wallets
  }
  const [unknown, none] = ['400 money.asset-unknown', undefined]
  const [asset] = await assertKeyEffect(t, 'platform.money.payments.wallet-asset', { changed: 'wallet:eur', observe })
  t.same(asset?.before, { 'wallet:cny': [2, 1_500], 'wallet:eur': [none, unknown] })
  t.same(asset?.after, { 'wallet:cny': [none, unknown], 'wallet:eur': [2, 1_500] })
  const [scale] = await assertKeyEffect(t, 'platform.money.payments.wallet-scale', { changed: 3, observe })
  t.same(scale?.after, { ...asset?.before, 'wallet:cny': [3, 1_500] })
})
