import fc from 'fast-check'
import t from 'tap'
import { expiredBackups, type Retention } from '../src/retention.ts'

const dayMs = 86_400_000
const retention = fc.record({ daily: fc.nat(5), weekly: fc.nat(5), monthly: fc.nat(5) })
const time = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2030, 0, 1) })
const backups = fc
  .array(time, { maxLength: 40 })
  .map((times) => times.map((createdAt, n) => ({ id: `b${n}`, createdAt })))
const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id).sort()
const kept = <B extends { readonly id: string; readonly createdAt: number }>(
  all: readonly B[],
  rule: Retention,
  made?: string,
) => {
  const expired = new Set(expiredBackups(all, rule, made))
  return all.filter((backup) => !expired.has(backup))
}

t.test('the last backups of days, weeks and months are kept', async (t) => {
  const everyDay = Array.from({ length: 100 }, (_, day) => {
    const createdAt = Date.UTC(2026, 0, 1, 3) + day * dayMs
    return { id: new Date(createdAt).toISOString().slice(0, 10), createdAt }
  })
  // 2026-04-10 is a Friday.
  t.same(idsOf(kept(everyDay, { daily: 3, weekly: 3, monthly: 3 })), [
    '2026-02-28',
    '2026-03-29',
    '2026-03-31',
    '2026-04-05',
    '2026-04-08',
    '2026-04-09',
    '2026-04-10',
  ])
  t.same(idsOf(kept(everyDay, { daily: 0, weekly: 0, monthly: 0 })), ['2026-04-10'], 'the newest is always kept')
})

t.test('the newest backup and the one that was just made are never deleted', async () => {
  fc.assert(
    fc.property(backups, retention, fc.nat(), (all, rule, choice) => {
      const made = all[choice % Math.max(1, all.length)]
      const newest = Math.max(...all.map(({ createdAt }) => createdAt))
      const left = kept(all, rule, made?.id)
      return all.length === 0 || (left.includes(made as never) && left.some(({ createdAt }) => createdAt === newest))
    }),
  )
})

t.test('no more backups are kept than the rule allows, and each kept day has its last backup', async () => {
  fc.assert(
    fc.property(backups, retention, (all, rule) => {
      const left = kept(all, rule)
      const newestDays = [...new Set(all.map(({ createdAt }) => Math.floor(createdAt / dayMs)))].sort((a, b) => b - a)
      const lastOfDay = (day: number) =>
        Math.max(...all.map(({ createdAt }) => createdAt).filter((at) => Math.floor(at / dayMs) === day))
      return (
        left.length <= Math.max(1, rule.daily + rule.weekly + rule.monthly) + 1 &&
        newestDays.slice(0, rule.daily).every((day) => left.some(({ createdAt }) => createdAt === lastOfDay(day)))
      )
    }),
  )
})

t.test('what was kept once is kept again if no backup is added', async () => {
  fc.assert(
    fc.property(backups, retention, (all, rule) => {
      const left = kept(all, rule)
      return expiredBackups(left, rule).length === 0
    }),
  )
})

t.test('a clock that jumps forward deletes at most one backup per rule', async () => {
  fc.assert(
    fc.property(backups, retention, fc.integer({ min: 0, max: 1_000 }), (all, rule, days) => {
      const left = kept(all, rule)
      const last = Math.max(Date.UTC(2020, 0, 1), ...left.map(({ createdAt }) => createdAt))
      const jumped = { id: 'jumped', createdAt: last + days * dayMs }
      const expired = expiredBackups([...left, jumped], rule, 'jumped')
      return expired.length <= 4 && !expired.includes(jumped)
    }),
  )
})
