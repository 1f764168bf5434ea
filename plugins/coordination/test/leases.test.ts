import {
  LeaseLostError,
  type LeaseRenewalOptions,
  RowLeases,
  readClocks,
  startLeaseRenewal,
  UnchangedRowWatch,
} from '@plinth/coordination'
import databasePlugin, { database } from '@plinth/database'
import { manualClock, rejectsWith, startForTest } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import fc from 'fast-check'
import t from 'tap'

/**
 * Returns a lease of 3 s that is renewed each second. `responses` are the results of the first renewals. All later
 * renewals return `held`.
 */
function kept(responses: ('held' | 'lost' | 'fails')[], parts: Partial<LeaseRenewalOptions> = {}) {
  const clock = manualClock()
  const renewals: number[] = []
  const renew = async () => {
    renewals.push(clock.monotonic())
    const response = responses.shift() ?? 'held'
    if (response === 'fails') throw new Error('no database')
    return response === 'held'
  }
  const lease = startLeaseRenewal({
    clock,
    renewMs: 1000,
    giveUpMs: 3000,
    heldSince: readClocks(clock),
    renew,
    ...parts,
  })
  return { clock, lease, renewals }
}

t.test('a lease is renewed until it ends, and leaves no timer', async (t) => {
  const { clock, lease, renewals } = kept([])
  await clock.advance(10_000)
  t.equal(renewals.length, 10)
  t.notOk(lease.lost.aborted)
  lease.end()
  await clock.advance(10_000)
  t.equal(renewals.length, 10)
  t.equal(clock.sleepers, 0)
})

t.test('a lease is lost when a renewal reports it, or when no renewal was confirmed in time', async (t) => {
  const taken = kept(['held', 'lost'])
  await taken.clock.advance(2000)
  t.type(taken.lease.lost.reason, LeaseLostError)
  t.equal(taken.clock.sleepers, 0, 'and is renewed no more')

  const silent = kept(['held', 'fails', 'fails', 'fails'])
  await silent.clock.advance(3999)
  t.notOk(silent.lease.lost.aborted, 'the time counts from the last confirmation')
  await silent.clock.advance(1)
  t.ok(silent.lease.lost.aborted)
})

t.test('if the renewal itself decides, a late renewal saves the lease', async (t) => {
  const response = Promise.withResolvers<boolean>()
  const waits = { renew: () => response.promise }
  const strict = kept([], waits)
  const patient = kept([], { ...waits, isJudgedByRenewal: true })
  await strict.clock.advance(5000)
  await patient.clock.advance(5000)
  t.ok(strict.lease.lost.aborted)
  t.notOk(patient.lease.lost.aborted)
  response.resolve(true)
  await patient.clock.advance(0)
  t.notOk(patient.lease.lost.aborted)
  patient.lease.end()

  const failing = kept(Array(9).fill('fails'), { isJudgedByRenewal: true })
  await failing.clock.advance(3000)
  t.ok(failing.lease.lost.aborted, 'one that fails after that time does not')
})

t.test(
  'a process that may have been suspended checks its lease before it continues, also if only the wall clock shows it',
  async (t) => {
    const { clock, lease, renewals } = kept(['held', 'lost'])
    await lease.confirm()
    t.equal(renewals.length, 0, 'no need yet')
    clock.shiftWallClock(60_000)
    await lease.confirm()
    t.equal(renewals.length, 1)
    clock.shiftWallClock(-60_000)
    await rejectsWith(t, lease.confirm(), { name: 'LeaseLostError' })
    t.ok(lease.lost.aborted)
  },
)

const jobs = definePlugin({
  id: 'jobs',
  version: '1.0.0',
  kernel: '^1.0.0',
  migrations: [
    defineChangeSet({
      id: '0001-create-job',
      up: ({ schema, type }) => [
        schema
          .createTable('job')
          .addColumn('name', type.text(64), (c) => c.primaryKey())
          .addColumn('holder', type.text(128))
          .addColumn('fence', type.bigint, (c) => c.notNull())
          .addColumn('beat', type.bigint, (c) => c.notNull())
          .addColumn('note', type.text(64)),
      ],
    }),
  ],
})

t.test('a lease expires when its row has not changed for the lease time', async (t) => {
  const clock = manualClock()
  const watch = new UnchangedRowWatch<number>(clock, 3000)
  const remainingMs = (beat: number) => watch.remainingMs(1, { fence: 1, beat }, clock.monotonic())
  t.equal(remainingMs(1), 3000)
  await clock.advance(4000)
  t.equal(remainingMs(1), -1000)
  t.equal(remainingMs(2), 3000, 'a renewal starts the time again')
  t.match(watch.see(1, { fence: 2, beat: 0 }, clock.monotonic()), { since: { monotonic: 4000 }, changedAfter: 4000 })
})

onEachDatabase(
  t,
  'only one of several instances has the lease of a row, and only this instance renews and releases it',
  async (t, at) => {
    const running = await startForTest(
      defineProduct({ name: 'test', plugins: [databasePlugin, jobs], config: at.config }),
    )
    t.teardown(() => running.stop('test ended'))
    const db = running.service(database)
    const clock = manualClock()
    const instances = ['one', 'two', 'three'].map(
      (instance) => new RowLeases<string>({ db, clock, instance, table: 'job', key: 'name' }),
    )
    const state = async () => {
      const [row] = await db.query<{ holder: string | null; fence: unknown; beat: unknown }>(
        'select holder, fence, beat from job where name = ?',
        ['job'],
      )
      return { holder: row?.holder ?? null, fence: Number(row?.fence), beat: Number(row?.beat) }
    }
    const step = fc.record({
      by: fc.integer({ min: 0, max: 2 }),
      what: fc.constantFrom('take', 'renew', 'release', 'takeAway'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        await db.execute('delete from job')
        await db.execute('insert into job (name, fence, beat) values (?, 0, 0)', ['job'])
        const claims = new Map<number, NonNullable<Awaited<ReturnType<RowLeases<string>['take']>>>>()
        let holder: number | undefined
        for (const { by, what } of steps) {
          const leases = instances[by] as RowLeases<string>
          const before = await state()
          const claim = claims.get(by)
          if (what === 'take') {
            const taken = await leases.take('job', before, { sql: 'note = ?', parameters: ['taken'] })
            t.equal(taken !== undefined, holder === undefined)
            if (taken !== undefined) {
              claims.set(by, taken)
              holder = by
            }
          } else if (what === 'takeAway') {
            const isFreed = await leases.takeAway('job', before, { sql: 'note = null', parameters: [] })
            t.equal(isFreed, holder !== undefined)
            holder = undefined
          } else if (claim !== undefined) {
            const isDone =
              what === 'renew'
                ? await leases.renew(claim)
                : await leases.release(claim, { sql: 'note = ?', parameters: [what] })
            t.equal(isDone, holder === by && before.fence === claim.fence, `${what} by ${by}`)
            if (isDone && what === 'release') holder = undefined
          }
          const after = await state()
          t.equal(after.holder, holder === undefined ? null : ['one', 'two', 'three'][holder])
          t.ok(after.fence + after.beat >= before.fence + before.beat, 'states never come back')
        }
        const seen = await state()
        if (holder !== undefined) return
        const all = await Promise.all(instances.map((leases) => leases.take('job', seen)))
        t.equal(all.filter((taken) => taken !== undefined).length, 1, 'one of those that saw the same')
        t.ok(instances[all.findIndex((taken) => taken !== undefined)]?.isOwn(await state()))
      }),
      { numRuns: 25 },
    )
  },
)
