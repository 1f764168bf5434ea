import { createDatabase } from '@plinth/database/testing'
import { declaredTasks } from '@plinth/kernel'
import { effectOf } from '@plinth/kernel/testing'
import t from 'tap'
import { startLedger } from './fixtures/product.ts'

t.test('a reconciliation is stored as long as its retention', async (t) => {
  const [stored] = await effectOf(t, 'platform.money.reconcile.retention', {
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
