import { adminAttention, adminDetail } from '@plinth/admin'
import type { Database } from '@plinth/database'
import { count, instant, nullable, routesWith, Type } from '@plinth/http'
import { auditFieldsOfCaller, type Kernel, bilingual as text, writeAuditEntry } from '@plinth/kernel'
import type { Static } from 'typebox'
import { businessError, permissionCodes } from './declarations.ts'

const stateLabels = {
  agrees: text('Agrees', '一致'),
  ahead: text('Host is ahead', '主机超前'),
  behind: text('Host is behind', '主机滞后'),
}
const remedies = {
  correct: text('Make the clocks of host and database server agree', '校准主机与数据库服务器的时钟'),
  confirm: text('Correct the clock of the host, or confirm it', '校准主机时钟，或确认其正确'),
}

/** Page with the clock of the instance that responds. */
export const clockPage = adminDetail('getAdminSchedulerClock', (it) => ({
  id: 'scheduler.clock',
  title: text('Clock', '时钟'),
  sections: [
    {
      columns: [
        it.status('state', { agrees: 'good', ahead: 'bad', behind: 'bad' }, { labels: stateLabels }),
        it.count('differenceMs', { title: text('Difference', '偏差'), unit: 'ms' }),
        it.status(
          'remedy',
          { correct: 'info', confirm: 'info' },
          { title: text('Remedy', '处理方法'), labels: remedies },
        ),
        it.time('hostTime', { title: text('Time of the host', '主机时间') }),
        it.time('databaseTime', { title: text('Time of the database', '数据库时间') }),
        it.time('expiryTime', { title: text('Time of expiry', '到期判定时间') }),
      ],
    },
  ],
  actions: [
    it.action('postAdminSchedulerClockConfirm', {
      label: text('Confirm the clock', '确认时钟'),
      confirm: text(
        'The time of the host is correct. What has expired by this time expires, and irreversible tasks run again.',
        '主机时间正确。按此时间已到期的内容将会过期，不可逆任务将恢复执行。',
      ),
      params: {},
      when: { remedy: 'confirm' },
      tone: 'danger',
    }),
  ],
}))

export const clockAttention = adminAttention('getAdminSchedulerClock', {
  id: 'scheduler.clock',
  title: text('Clock that differs; irreversible tasks do not run', '时钟不一致，不可逆任务未执行'),
  tone: 'bad',
  unattended: text('Nothing expires and nothing is removed.', '任何内容都不会到期或被清除。'),
  count: 'problems',
  page: { id: 'scheduler.clock' },
})

const path = '/api/v1/admin/scheduler/clock'

const states = ['agrees', 'ahead', 'behind'] as const

const clockView = Type.Object({
  state: Type.Enum(states, {
    description:
      'Result of the comparison between the clock of the host and the time of the database. `agrees`: irreversible tasks run. Otherwise they do not run on this instance.',
  }),
  differenceMs: count,
  remedy: nullable(Type.Enum(['correct', 'confirm']), {
    description: '`correct`: make the clocks agree. `confirm`: correct the clock of the host or confirm it.',
  }),
  hostTime: instant,
  databaseTime: instant,
  expiryTime: { ...instant, description: 'Time that decides whether points, holds and claims have expired.' },
  problems: { ...count, description: '1 while irreversible tasks are stopped, otherwise 0.' },
})

interface ClockDependencies {
  readonly db: Database
  /** Wall clock of the host in milliseconds since the epoch. */
  readonly hostNow: () => number
  readonly product: Kernel
}

const { route } = routesWith<ClockDependencies>()

export const clockRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'Compare the clock of this instance with the time of the database',
    access: { permission: permissionCodes.taskView, scope: 'none' },
    response: clockView,
    reasons: [],
    async handler(_request, parts) {
      await parts.db.clock.check()
      return viewOfClock(parts)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/confirm`,
    summary: 'Confirm the clock of the host, so that irreversible tasks run again (SQLite only)',
    access: { permission: permissionCodes.clockConfirm, scope: 'all' },
    response: clockView,
    reasons: ['scheduler.clock-agrees', 'scheduler.clock-of-server', 'scheduler.task-running'],
    async handler(request, parts) {
      const { db, product } = parts
      const problem = await db.clock.check()
      if (problem?.remedy === 'correct') throw businessError('clock-of-server')
      if (problem === undefined) throw businessError('clock-agrees')
      const summary = { state: problem.kind, differenceMs: problem.differenceMs }
      // The confirmation runs outside of a transaction, so the audit record is written first.
      await writeAuditEntry(product, { ...auditFieldsOfCaller(request), action: 'database-clock.confirm', summary })
      await db.clock.confirm()
      return viewOfClock(parts)
    },
  }),
]

function viewOfClock({ db: { clock }, hostNow }: ClockDependencies): Static<typeof clockView> {
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
