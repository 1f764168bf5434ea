import type { Database } from '@plinth/database'
import { count, instant, nullable, routesWith, Type } from '@plinth/http'
import { audit, auditCaller, type Kernel } from '@plinth/kernel'
import type { Static } from 'typebox'
import { refusal } from './failures.ts'
import { own } from './permissions.ts'

const path = '/api/v1/admin/scheduler/clock'

const states = ['agrees', 'ahead', 'behind'] as const

const clockView = Type.Object({
  state: Type.Enum(states, {
    description:
      'Clock of the host of the instance that responds, compared with the time of the database. `agrees`: irreversible tasks run. Otherwise they do not run on this instance.',
  }),
  differenceMs: count,
  remedy: nullable(Type.Enum(['correct', 'confirm']), {
    description: '`correct`: make the clocks agree. `confirm`: correct the clock of the host or confirm it.',
  }),
  hostTime: instant,
  databaseTime: instant,
  expiryTime: { ...instant, description: 'Time by which points, holds and claims expire.' },
  problems: { ...count, description: '1 while irreversible tasks do not run, otherwise 0.' },
})

interface ClockParts {
  readonly db: Database
  /** Wall clock of the process, milliseconds since the epoch. */
  readonly hostNow: () => number
  readonly product: Kernel
}

const { route } = routesWith<ClockParts>()

/** The clock of this instance, and its confirmation on SQLite. */
export const clockRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'Clock of this instance compared with the time of the database',
    access: { permission: own.taskView, scope: 'none' },
    response: clockView,
    async handler(_request, parts) {
      await parts.db.clock.check()
      return viewOfClock(parts)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/confirm`,
    summary: 'Confirm the clock of the host, so that irreversible tasks run again (SQLite only)',
    access: { permission: own.clockConfirm, scope: 'none' },
    response: clockView,
    async handler(request, parts) {
      const { db, product } = parts
      const problem = await db.clock.check()
      if (problem?.remedy === 'correct') throw refusal('clock-of-server')
      if (problem === undefined) throw refusal('clock-agrees')
      const summary = { state: problem.kind, differenceMs: problem.differenceMs }
      // The confirmation is written outside a transaction, so the record comes first.
      await audit(product, { ...auditCaller(request), action: 'database-clock.confirm', summary })
      await db.clock.confirm()
      return viewOfClock(parts)
    },
  }),
]

function viewOfClock({ db: { clock }, hostNow }: ClockParts): Static<typeof clockView> {
  const { problem } = clock
  return {
    state: problem?.kind ?? 'agrees',
    differenceMs: problem?.differenceMs ?? 0,
    remedy: problem?.remedy ?? null,
    hostTime: new Date(hostNow()).toISOString(),
    databaseTime: new Date(clock.now()).toISOString(),
    expiryTime: new Date(clock.expiryNow()).toISOString(),
    problems: problem === undefined ? 0 : 1,
  }
}
