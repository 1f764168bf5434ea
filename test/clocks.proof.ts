/** Tests that a wrong wall clock of a host, an hour to a year ahead or behind, destroys no data. Prints a table. */
import { onEachDatabase } from '@plinth/dev/testing/database'
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
/** Simulated errors of the host clock with their names. Each exists ahead and behind. */
const shifts = Object.entries(sizes).flatMap(([name, ms]) => [
  { name: `${name} ahead`, ms },
  { name: `${name} behind`, ms: -ms },
])
const print = (t: Test, dialect: string, name: string, facts: ClockRowCounts, seen: string) => {
  const values = Object.entries(facts).map(([fact, value]) => `${fact} ${value}`)
  t.comment(`${dialect.padEnd(10)} | ${name.padEnd(12)} | ${values.join(' | ')} | ${seen}`)
}

async function assertHarmless(t: Test, one: Instance, before: ClockRowCounts, shift: (typeof shifts)[number]) {
  one.host.shiftMs = shift.ms
  await one.destroy()
  const facts = await readRowCounts(one)
  t.same(facts, before, `${shift.name}: nothing is destroyed`)
  await one.db.clock.check()
  const { held, all } = await one.heldBack()
  const warnings = await one.warnings()
  t.ok(all > 5)
  t.same([held, warnings.length], [all, 1], `${shift.name}: irreversible tasks do not run, and the health check warns`)
  print(t, one.db.dialect, shift.name, facts, `warning, ${held} of ${all} tasks wait`)

  one.host.shiftMs = 0
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

onEachDatabase(t, 'two instances on one database, and the clock of one of them is wrong', async (t, at) => {
  const reserveMs = hourMs / 2
  const right = await startInstance(t, at, { reserveMs })
  await seedDueRows(right, reserveMs)
  const wrong = await startInstance(t, at, { reserveMs })
  await wrong.destroy()
  const before = await readRowCounts(right)
  t.match(before, { points: 39_980, holds: 20, logs: 20, claims: 10, entries: 5, settlements: 2 })
  print(t, at.dialect, 'clocks agree', before, '')
  for (const shift of shifts) {
    await assertHarmless(t, wrong, before, shift)
    t.equal(await right.db.clock.check(), undefined)
    t.same(await right.warnings(), [], 'the other instance is not affected')
  }
  await assertControl(t, await startInstance(t, at, { reserveMs, believesHost: true }), before)
})
