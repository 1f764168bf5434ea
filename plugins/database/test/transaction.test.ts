import { DeadlockException, TransactionPropagation } from '@mikro-orm/core'
import { rejectsWith } from '@plinth/dev/testing'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { isConflict, retryOnConflict } from '../src/current-transaction.ts'
import type { DatabaseService } from '../src/database-service.ts'
import {
  createDatabase,
  onEachDatabase,
  runOnServer,
  serverDialects,
  startOn,
  type TestDatabase,
} from './fixtures/databases.ts'
import samplePlugin, { Sample } from './fixtures/sample-plugin.ts'

async function addSample(service: DatabaseService, balance = 0): Promise<number> {
  const id = service.newId()
  const em = service.fork()
  em.create(Sample, { id, ownerId: 1, code: `code-${id}`, createdAt: new Date(0), amountRaw: '0', balance })
  await em.flush()
  return id
}

const balanceOf = async (service: DatabaseService, id: number) =>
  (await service.fork().findOneOrFail(Sample, id)).balance

const add = (service: DatabaseService, id: number, amount: number) =>
  service.execute('update sample set balance = balance + ? where id = ?', [amount, id])

onEachDatabase(t, 'transactions', async (t, db) => {
  const { service } = await startOn(t, db, samplePlugin)

  t.test('a transaction commits the work of the entity manager and of bound statements, or none of it', async (t) => {
    const id = await addSample(service)
    const response = await service.transactional(async (em) => {
      const row = await em.findOneOrFail(Sample, id)
      row.note = 'changed'
      t.equal(await add(service, id, 5), 1)
      t.same(await service.query('select balance from sample where id = ?', [id]), [{ balance: 5 }])
      return 'done'
    })
    t.equal(response, 'done')
    t.match(await service.fork().findOneOrFail(Sample, id), { note: 'changed', balance: 5 })
    await rejectsWith(
      t,
      service.transactional(async (em) => {
        ;(await em.findOneOrFail(Sample, id)).note = 'lost'
        await em.flush()
        await add(service, id, 7)
        throw new Error('no')
      }),
      { message: 'no' },
    )
    t.match(await service.fork().findOneOrFail(Sample, id), { note: 'changed', balance: 5 })
  })

  t.test('nested calls and forks use the surrounding transaction without a second connection', async (t) => {
    const id = await addSample(service)
    await rejectsWith(
      t,
      service.transactional(async (outer) => {
        await add(service, id, 1)
        await service.transactional(async (inner) => {
          t.equal(inner, outer)
          await add(service, id, 2)
        })
        const fork = service.fork()
        t.not(fork, outer)
        t.equal((await fork.findOneOrFail(Sample, id)).balance, 3, 'sees what is not committed')
        throw new Error('undo')
      }),
      { message: 'undo' },
    )
    t.equal(await balanceOf(service, id), 0)
  })

  t.test('a nested failure that is caught still rolls everything back; a savepoint does not', async (t) => {
    const id = await addSample(service)
    const failing = async () => {
      await add(service, id, 10)
      throw new Error('inner')
    }
    await rejectsWith(
      t,
      service.transactional(async () => {
        await add(service, id, 1)
        await service.transactional(failing).catch(() => undefined)
      }),
      { code: 'PLINTH_DATABASE_ROLLED_BACK', cause: { message: 'inner' } },
    )
    t.equal(await balanceOf(service, id), 0)
    await service.transactional(async (em) => {
      await add(service, id, 1)
      await em.transactional(() => service.transactional(failing)).catch(() => undefined)
    })
    t.equal(await balanceOf(service, id), 1)
  })

  t.test('hooks run after the commit, in order, and not after a rollback', async (t) => {
    const id = await addSample(service)
    const seen: string[] = []
    await service.transactional(async () => {
      service.afterCommit(async () => void seen.push(`first ${await balanceOf(service, id)}`))
      service.afterCommit(() => Promise.reject(new Error('only logged')))
      await service.transactional(async () => service.afterCommit(() => void seen.push('second')))
      await add(service, id, 3)
      seen.push('work')
    })
    t.same(seen, ['work', 'first 3', 'second'])
    await service
      .transactional(async () => {
        service.afterCommit(() => void seen.push('never'))
        throw new Error('undo')
      })
      .catch(() => undefined)
    service.afterCommit(() => void seen.push('at once'))
    t.same(seen.slice(3), ['at once'])
  })

  t.test('listeners are told once about each table that a commit wrote to, and about nothing else', async (t) => {
    const received: string[] = []
    const stop = service.onWritten(['sample', 'other'], (table) => void received.push(table))
    const broken = service.onWritten(['sample'], () => {
      throw new Error('only logged')
    })
    const id = await addSample(service)
    t.strictSame(received, ['sample'], 'a flush')
    await add(service, id, 1)
    t.strictSame(received, ['sample', 'sample'], 'a statement by itself')
    await service.reserved.execute('update sample set balance = 1 where id = ?', [id])
    await service.query('select balance from sample where id = ?', [id])
    t.equal(received.length, 3, 'who reads says nothing')
    for (const run of ['transactional', 'statements'] as const) {
      received.length = 0
      await service[run](async () => {
        await add(service, id, 1)
        await add(service, id, 1)
        await service.fork().nativeUpdate(Sample, id, { note: run })
        t.strictSame(received, [], 'not before the commit')
      })
      t.strictSame(received, ['sample'], run)
      await t.rejects(
        service[run](async () => {
          await add(service, id, 1)
          throw new Error('undo')
        }),
      )
      t.strictSame(received, ['sample'], 'nothing of what was rolled back')
    }
    await t.rejects(service.execute('update sample set id = null where id = ?', [id]))
    t.strictSame(received, ['sample'], 'nor of what failed')
    await service.fork().nativeDelete(Sample, id)
    t.equal(received.length, 2)
    stop()
    broken()
    await addSample(service)
    t.equal(received.length, 2)
  })

  t.test('work that outlives its transaction is not part of it', async (t) => {
    const id = await addSample(service)
    const later = Promise.withResolvers<void>()
    const { stray } = await service.transactional(async () => ({
      stray: later.promise.then(() => service.transactional(async () => add(service, id, 4))),
    }))
    later.resolve()
    t.equal(await stray, 1)
    t.equal(await balanceOf(service, id), 4)
  })

  t.test('another attempt starts without state of the previous one', async (t) => {
    const id = await addSample(service)
    const managers = new Set<unknown>()
    const committed: string[] = []
    const result = await service.transactional(async (em) => {
      managers.add(em)
      service.afterCommit(() => void committed.push(`try ${managers.size}`))
      ;(await em.findOneOrFail(Sample, id)).note = `try ${managers.size}`
      await add(service, id, 1)
      if (managers.size < 3) throw new DeadlockException(new Error('lost'))
      return managers.size
    })
    t.equal(result, 3)
    t.match(await service.fork().findOneOrFail(Sample, id), { note: 'try 3', balance: 1 })
    t.same(committed, ['try 3'])
  })

  t.test('concurrent conditional updates have the result of a sequential model', async (t) => {
    const deltas = fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(fc.nat(100), deltas, async (start, steps) => {
        const id = await addSample(service, start)
        const results = await Promise.all(
          steps.map((delta, index) => {
            const update = () =>
              service.execute('update sample set balance = balance + ? where id = ? and balance + ? >= 0', [
                delta,
                id,
                delta,
              ])
            return index % 2 === 0 ? update() : service.transactional(update)
          }),
        )
        const applied = steps.filter((_, index) => results[index] === 1)
        const end = await balanceOf(service, id)
        return (
          results.every((rows) => rows === 0 || rows === 1) &&
          end >= 0 &&
          end === applied.reduce((sum, delta) => sum + delta, start) &&
          steps.every((delta, index) => delta < 0 || results[index] === 1)
        )
      }),
      { numRuns: 12 },
    )
    t.pass('property held')
  })

  t.test('transfers that lock in opposite order all succeed in the end', async (t) => {
    const [a, b] = [await addSample(service, 1_000), await addSample(service, 1_000)]
    const transfer = (from: number, to: number) =>
      service.transactional(async () => {
        await add(service, from, -1)
        await add(service, to, 1)
      })
    // The test uses few transfers, because PostgreSQL needs a second to detect each deadlock.
    await Promise.all(Array.from({ length: 4 }, (_, i) => (i % 2 ? transfer(a, b) : transfer(b, a))))
    t.same([await balanceOf(service, a), await balanceOf(service, b)], [1_000, 1_000])
  })
})

t.test('on SQLite a query outside the open transaction is an error, not an endless wait', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { service } = await startOn(t, db, samplePlugin)
  const id = await addSample(service)
  const early = service.fork()
  const rejected = { code: 'PLINTH_DATABASE_SECOND_CONNECTION', fix: String }
  await service.transactional(async (em) => {
    await rejectsWith(t, early.findOne(Sample, id), rejected)
    await rejectsWith(
      t,
      early.transactional(async () => undefined),
      rejected,
    )
    await rejectsWith(
      t,
      em.transactional(async () => undefined, { propagation: TransactionPropagation.REQUIRES_NEW }),
      rejected,
    )
    t.equal((await em.findOneOrFail(Sample, id)).id, id)
  })
  t.equal((await early.findOneOrFail(Sample, id)).id, id, 'afterwards it works')
  t.same(
    await Promise.all(Array.from({ length: 50 }, () => service.transactional(async () => add(service, id, 1)))),
    Array.from({ length: 50 }, () => 1),
    'many transactions queue for the one connection',
  )
})

t.test('on SQLite two processes that read before they write do not fail', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  // A second product on the same file opens its own connection, as a second process would.
  const first = (await startOn(t, db, samplePlugin)).service
  const second = (await startOn(t, db, samplePlugin)).service
  const id = await addSample(first)
  const readThenWrite = (service: DatabaseService) =>
    service.transactional(async (em) => {
      const { balance } = await em.findOneOrFail(Sample, id)
      await new Promise(setImmediate)
      await service.execute('update sample set balance = ? where id = ?', [balance + 1, id])
    })
  await Promise.all(Array.from({ length: 30 }, (_, i) => readThenWrite(i % 2 ? first : second)))
  t.equal(await balanceOf(first, id), 30)
})

/**
 * For each database: statements that make the first two updates of balances fail with a conflict. They use sequences,
 * because a rollback does not reset a sequence.
 */
const firstUpdatesConflict = {
  postgresql: [
    'create sequence attempts',
    `create function conflict() returns trigger language plpgsql as $$ begin
       if nextval('attempts') < 3 then raise exception using errcode = '40001'; end if;
       return new;
     end $$`,
    'create trigger conflicts before update on sample for each row execute function conflict()',
  ],
  mariadb: [
    'create sequence attempts',
    `create trigger conflicts before update on sample for each row begin
       if nextval(attempts) < 3 then signal sqlstate '40001' set mysql_errno = 1213; end if;
     end`,
  ],
  sqlite: [],
}

onEachDatabase(t, 'a statement outside a transaction is repeated after a conflict', async (t, db) => {
  const { service } = await startOn(t, db, samplePlugin)
  const id = await addSample(service)
  for (const statement of firstUpdatesConflict[db.dialect]) await service.execute(statement)
  t.equal(await add(service, id, 3), 1)
  t.equal(await balanceOf(service, id), 3)
})

const brokenConnections = async (t: Test, db: TestDatabase) => {
  const { service } = await startOn(t, db, samplePlugin)
  const id = await addSample(service)
  const ownSession =
    db.dialect === 'postgresql' ? 'select pg_backend_pid() as session' : 'select connection_id() as session'
  const end = (session: number | undefined) =>
    runOnServer(
      db.dialect as 'postgresql' | 'mariadb',
      db.dialect === 'postgresql' ? `select pg_terminate_backend(${session})` : `kill ${session}`,
    )
  for (let round = 0; round < 8; round++) {
    await rejectsWith(
      t,
      service.transactional(async (em) => {
        const [row] = await service.query<{ session: number }>(ownSession)
        await end(row?.session)
        // Alternates between statements of the service and of the entity manager.
        await (round % 2 === 0 ? add(service, id, 1) : em.execute('select 1'))
      }),
      { code: 'PLINTH_DATABASE_CONNECTION_LOST', unavailable: true },
      'a server that goes is no fault of the request',
    )
  }
  await rejectsWith(
    t,
    service.statements(async () => {
      const [row] = await service.query<{ session: number }>(ownSession)
      const underWay = service.query(db.dialect === 'postgresql' ? 'select pg_sleep(60)' : 'select sleep(60)')
      await Promise.all([underWay, end(row?.session)])
    }),
    { code: 'PLINTH_DATABASE_CONNECTION_LOST', unavailable: true },
    'under a statement',
  )
  t.equal(await add(service, id, 1), 1, 'with a pool of 5')
  t.equal(await balanceOf(service, id), 1)
}
onEachDatabase(t, 'connections that break do not use up the pool', brokenConnections, serverDialects)

t.test('transactions of two databases in one process are separate', async (t) => {
  const [one, two] = [await createDatabase('sqlite'), await createDatabase('sqlite')]
  t.teardown(() => Promise.all([one.drop(), two.drop()]))
  const first = (await startOn(t, one, samplePlugin)).service
  const second = (await startOn(t, two, samplePlugin)).service
  const [a, b] = [await addSample(first), await addSample(second)]
  await rejectsWith(
    t,
    first.transactional(async () => {
      await add(first, a, 1)
      await second.transactional(async () => {
        await add(second, b, 1)
        await add(first, a, 1)
      })
      t.equal(await add(second, b, 1), 1)
      throw new Error('undo the first')
    }),
    { message: 'undo the first' },
  )
  t.same([await balanceOf(first, a), await balanceOf(second, b)], [0, 2])
})

t.test('conflicts are distinguished from other errors and tried five times in total', async (t) => {
  const sqliteBusy = Object.assign(new Error('x'), { code: 'SQLITE_BUSY_SNAPSHOT' })
  for (const error of [
    sqliteBusy,
    { code: '40001' },
    { code: '40P01' },
    { errno: 1213 },
    { errno: 1205 },
    { errno: 1020 },
    { errno: 1615 },
  ]) {
    t.ok(isConflict(error), JSON.stringify(error))
  }
  for (const error of [
    new Error('x'),
    { code: '23505' },
    { errno: 1062 },
    { code: 'SQLITE_CONSTRAINT' },
    { errno: 0 },
  ]) {
    t.notOk(isConflict(error), JSON.stringify(error))
  }
  const waits: number[] = []
  const wait = async (ms: number) => void waits.push(ms)
  let tries = 0
  const always = async () => {
    tries++
    throw sqliteBusy
  }
  await rejectsWith(t, retryOnConflict(always, wait), {
    code: 'PLINTH_DATABASE_TRANSACTION_GAVE_UP',
    cause: sqliteBusy,
  })
  t.equal(tries, 5)
  t.equal(waits.length, 4)
  t.ok(waits.every((ms) => ms >= 5 && ms <= 80))
  await rejectsWith(
    t,
    retryOnConflict(async () => Promise.reject(new Error('other')), wait),
    { message: 'other' },
  )
  t.equal(waits.length, 4, 'other errors are not retried')
})
