/**
 * Tests that a wrong wall clock of a host destroys no data. `npm run proof:clocks` shifts the clock by an hour, a day,
 * a month and a year in both directions on each database, and prints a table. Without `--proof` only a sample runs.
 */
import { onEachServer, onSqlite } from '@plinth/database/testing'
import t, { type Test } from 'tap'
import {
  type ClockRowCounts,
  type Instance,
  readRowCounts,
  seedDueRows,
  startInstance,
} from './fixtures/clock-world.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const sizes = { hour: hourMs, day: dayMs, month: 30 * dayMs, year: 366 * dayMs }
const isProof = process.argv.includes('--proof')
// A proof runs without the test runner, which would set a timeout.
if (isProof) t.setTimeout(1_800_000)

/** Simulated errors of the host clock with their names. Each exists ahead and behind. */
const shifts = Object.entries(sizes).flatMap(([name, ms]) => [
  { name: `${name} ahead`, ms },
  { name: `${name} behind`, ms: -ms },
])
const sample = new Set(['hour behind', 'year ahead'])
const tested = isProof ? shifts : shifts.filter(({ name }) => sample.has(name))

/**
 * True if the product trusts a clock with this difference. With a database server, a difference above 30 s is reported
 * as a problem. With SQLite, a clock that is up to a day ahead is trusted.
 */
const isTrusted = (ms: number, isServer: boolean) => !isServer && ms >= 0 && ms <= dayMs

const print = (t: Test, dialect: string, name: string, facts: ClockRowCounts, seen: string) => {
  const values = Object.entries(facts).map(([fact, value]) => `${fact} ${value}`)
  t.comment(`${dialect.padEnd(10)} | ${name.padEnd(12)} | ${values.join(' | ')} | ${seen}`)
}

async function assertHarmless(t: Test, one: Instance, before: ClockRowCounts, shift: (typeof shifts)[number]) {
  const { dialect } = one.db
  const isServer = dialect !== 'sqlite'
  one.host.shiftMs = shift.ms
  await one.destroy()
  const facts = await readRowCounts(one)
  t.same(facts, before, `${shift.name}: nothing is destroyed`)
  await one.db.clock.check()
  const { held, all } = await one.heldBack()
  const warnings = await one.warnings()
  const isWrong = !isTrusted(shift.ms, isServer)
  t.ok(all > 5)
  t.equal(held, isWrong ? all : 0, `${shift.name}: irreversible tasks ${isWrong ? 'do not run' : 'run'}`)
  t.equal(warnings.length, isWrong ? 1 : 0, `${shift.name}: the health check ${isWrong ? 'warns' : 'does not warn'}`)
  print(t, dialect, shift.name, facts, warnings.length > 0 ? `warning, ${held} of ${all} tasks wait` : 'trusted')

  one.host.shiftMs = 0
  const problem = await one.db.clock.check()
  // If a clock was trusted while it was ahead, and is then corrected, the stored time is in the future. An operator
  // must then confirm the clock.
  if (problem?.remedy === 'confirm') await one.db.clock.confirm()
  t.equal(await one.db.clock.check(), undefined)
  t.same([(await one.heldBack()).held, await one.warnings()], [0, []], `${shift.name}: the way back`)
}

/** Control test: it shows that the data would change if the product used the clock of the host. */
async function assertControl(t: Test, one: Instance, before: ClockRowCounts) {
  one.host.shiftMs = sizes.year
  await one.destroy()
  const facts = await readRowCounts(one)
  // With a database server, a SQL statement expires the entries of the shared store by the time of the database, so the
  // clock of the host has no effect.
  const byStatement = one.db.dialect === 'sqlite' ? [] : ['entries']
  for (const [name, value] of Object.entries(before)) {
    if (byStatement.includes(name)) continue
    t.ok(
      facts[name as keyof ClockRowCounts] < value,
      `control: ${name} are destroyed where the clock of the host decides`,
    )
  }
  print(t, one.db.dialect, 'control', facts, 'the clock of the host decides, a year ahead')
}

onEachServer(t, 'two instances on one database, and the clock of one of them is wrong', async (t, at) => {
  const reserveMs = hourMs / 2
  const right = await startInstance(t, at, { reserveMs })
  await seedDueRows(right, reserveMs)
  const wrong = await startInstance(t, at, { reserveMs })
  await wrong.destroy()
  const before = await readRowCounts(right)
  t.match(before, { points: 39_980, holds: 20, logs: 20, claims: 10, entries: 5, settlements: 2 })
  print(t, at.dialect, 'clocks agree', before, '')
  for (const shift of tested) {
    await assertHarmless(t, wrong, before, shift)
    t.same(await right.warnings(), [], 'the other instance is not affected')
  }
  await assertControl(t, await startInstance(t, at, { reserveMs, believesHost: true }), before)
})

onSqlite(t, 'the clock of the host of an SQLite database is wrong', async (t, at) => {
  // Data that expires within a day may expire a day too early, because a pause of a day is trusted. Here everything
  // expires later.
  const reserveMs = 3 * dayMs
  const one = await startInstance(t, at, { reserveMs })
  await seedDueRows(one, reserveMs)
  await one.destroy()
  const before = await readRowCounts(one)
  t.match(before, { points: 39_980, holds: 20, logs: 20, claims: 10, entries: 5, settlements: 2 })
  print(t, at.dialect, 'clocks agree', before, '')
  for (const shift of tested) await assertHarmless(t, one, before, shift)
  await one.running.stop('done')
  await assertControl(t, await startInstance(t, at, { reserveMs, believesHost: true }), before)
})
