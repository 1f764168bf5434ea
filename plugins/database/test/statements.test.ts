/** Tests that transactions of statements follow the same rules as `transactional`. */
import { rejectsWith } from '@plinth/dev/testing'
import t from 'tap'
import { onEachDatabase, startOn } from './fixtures/databases.ts'
import samplePlugin, { Sample } from './fixtures/sample-plugin.ts'

onEachDatabase(t, 'statements', async (t, db) => {
  const { service } = await startOn(t, db, samplePlugin)
  const id = service.newId()
  const em = service.fork()
  em.create(Sample, { id, ownerId: 1, code: 'code', createdAt: new Date(0), amountRaw: '0', balance: 0 })
  await em.flush()
  const add = (amount: number) => service.execute('update sample set balance = balance + ? where id = ?', [amount, id])
  const balance = async () => (await service.fork().findOneOrFail(Sample, id)).balance

  await t.test('writes in a transaction are committed together or not at all', async (t) => {
    t.notOk(service.inTransaction)
    const response = await service.statements(async () => {
      t.ok(service.inTransaction)
      t.equal(await add(1), 1)
      return add(2)
    })
    t.equal(response, 1)
    t.equal(await balance(), 3)
    await rejectsWith(
      t,
      service.statements(async () => {
        await add(4)
        throw new Error('undo')
      }),
      { message: 'undo' },
    )
    t.equal(await balance(), 3)
    t.notOk(service.inTransaction)
  })

  await t.test('each transaction flushes all entity managers that were requested in it', async (t) => {
    await service.statements(async () => {
      await add(10)
      t.equal((await service.fork().findOneOrFail(Sample, id)).balance, 13, 'sees what is not committed')
      await service.transactional(async (inner) => {
        const row = await inner.findOneOrFail(Sample, id)
        t.equal(row.balance, 13)
        row.note = 'flushed'
      })
      await service.statements(() => add(1))
    })
    t.match(await service.fork().findOneOrFail(Sample, id), { note: 'flushed', balance: 14 })
    await rejectsWith(
      t,
      service.statements(async () => {
        await service.transactional(async (inner) => {
          ;(await inner.findOneOrFail(Sample, id)).note = 'lost'
        })
        throw new Error('undo')
      }),
      { message: 'undo' },
    )
    t.match(await service.fork().findOneOrFail(Sample, id), { note: 'flushed' })
  })

  await t.test('a nested failure rolls back everything, unless a savepoint contains it', async (t) => {
    const failing = () =>
      service.statements(async () => {
        await add(100)
        throw new Error('inner')
      })
    await rejectsWith(
      t,
      service.statements(async () => {
        await failing().catch(() => undefined)
      }),
      { code: 'PLINTH_DATABASE_ROLLED_BACK' },
    )
    t.equal(await balance(), 14)
    await service.statements(async () => {
      await add(1)
      await service
        .fork()
        .transactional(failing)
        .catch(() => undefined)
    })
    t.equal(await balance(), 15)
  })

  await t.test('transactions are repeated after a conflict, end in time, and report their commit', async (t) => {
    let tries = 0
    const seen: string[] = []
    await service.statements(async () => {
      service.afterCommit(() => void seen.push(`committed after ${tries} tries`))
      await add(1)
      if (++tries < 3) throw Object.assign(new Error('conflict'), { errno: 1213 })
    })
    t.same(seen, ['committed after 3 tries'])
    t.equal(await balance(), 16)
    const late = service.statements(
      async () => {
        await add(1)
        await new Promise(() => {})
      },
      { timeoutMs: 1_000 },
    )
    await rejectsWith(t, late, { code: 'PLINTH_DATABASE_TRANSACTION_TIMEOUT' })
    t.equal(await balance(), 16)
    await t.rejects(
      service.statements(() => add(1), { timeoutMs: 0 }),
      RangeError,
    )
    await rejectsWith(
      t,
      service.statements(() => add(1), { signal: AbortSignal.abort(new Error('stop')) }),
      { message: 'stop' },
    )
    t.equal(await balance(), 16)
  })
})
