/** Tests how operators work off what needs attention: done, snoozed and assigned, shared by all who see it. */
import { attention } from '@plinth/admin'
import { onDatabase } from '@plinth/dev/testing/database'
import { http, routesWith, Type } from '@plinth/http'
import { callerRows } from '@plinth/iam'
import { definePlugin } from '@plinth/kernel'
import t from 'tap'
import { snoozeTimes, sortedByMark } from '../web/admin/shell/attention-marks.ts'
import { startLiveOffice } from './fixtures/live-office.ts'

const hourMs = 3_600_000

onDatabase(t, 'a decision is shared, and ends by time or by a further case', async (t, at) => {
  const start = () => startLiveOffice((work) => t.teardown(work), at)
  const office = await start()
  const { clock, people, password, actor, signIn, call } = office
  const root = await office.root()
  const viewer = { code: 'viewer', name: 'Viewer', dataScope: 'all', permissions: ['console:health:view'] }
  const role: { readonly id: number } = (await call('POST', 'admin/iam/roles', root, viewer)).data
  const mia = await people.create({ username: 'mia', password, roleIds: [role.id] }, actor)
  const eve = await people.create({ username: 'eve', password }, actor)
  type Mark = { readonly doneCount: number | null } | null
  const markOf = async (token: string, from: Pick<typeof office, 'call'> = office) => {
    const { data } = await from.call('GET', 'admin/console/attention', token)
    const { items } = data as { readonly items: readonly { readonly id: string; readonly mark: Mark }[] }
    return items.find(({ id }) => id === 'console.health')?.mark
  }
  const put = async (token: string, body: object, id = 'console.health') => {
    const { code, data } = await call('PUT', `admin/console/attention/${id}`, token, body)
    return code === '200' ? data : (data as { readonly reason: string }).reason
  }
  const none = { assigneeUserId: null, snoozedUntil: null, doneCount: null }
  const given = { ...none, assigneeUserId: mia.id }

  t.equal(await markOf(root), null)
  t.strictSame(await put(root, { assigneeUserId: mia.id }), given)
  const other = await start()
  t.strictSame(await markOf(await other.signIn('mia'), other), given, 'on another instance')
  const until = new Date(clock.now() + hourMs).toISOString()
  t.strictSame(await put(await signIn('mia'), { snoozedUntil: until }), { ...given, snoozedUntil: until })
  await clock.advance(hourMs)
  t.strictSame(await markOf(root), given, 'the snooze has ended')
  t.strictSame(await put(root, { doneCount: 3, assigneeUserId: null }), { ...none, doneCount: 3 })
  clock.shiftWallClock(7 * 24 * hourMs)
  const later = await signIn('root')
  t.strictSame(await markOf(later), none, 'done is forgotten after a week')

  const tooLate = new Date(clock.now() + 91 * 24 * hourMs).toISOString()
  const rejected = [
    [later, { snoozedUntil: tooLate }, 'console.health', 'console.snooze-too-long'],
    [later, { doneCount: 1 }, 'console.nothing', 'console.attention-unknown'],
    [later, { doneCount: 0 }, 'console.health', 'http.invalid-input'],
    [later, { assigneeUserId: 4711 }, 'console.health', 'iam.out-of-scope'],
    [await signIn(eve.username), { doneCount: 1 }, 'console.health', 'console.attention-unknown'],
  ] as const
  for (const [token, body, id, reason] of rejected) t.equal(await put(token, body, id), reason)
})

/** An attention whose cases are counted in the data scope of the caller. */
const rowsOfCaller = definePlugin({
  id: 'scoped',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  contributes: [
    attention.of({
      'scoped.rows': { id: 'scoped.rows', title: 'Rows', source: 'getAdminScopedRows', count: 'total', tone: 'warn' },
    }),
  ],
  permissions: [{ code: 'scoped:row:view', displayName: 'View rows' }],
  setup({ services }) {
    const { route } = routesWith<Record<never, never>>()
    const rows = route({
      method: 'GET',
      path: '/api/v1/admin/scoped/rows',
      operationId: 'getAdminScopedRows',
      summary: 'Count rows',
      access: { permission: 'scoped:row:view', scope: 'caller' },
      response: Type.Object({ total: Type.Integer() }),
      reasons: [],
      handler: (request) => {
        callerRows(request, 'user_id')
        return { total: 1 }
      },
    })
    services.http.addRoutes([rows], {})
  },
})

onDatabase(t, 'an operator who sees only some cases does not decide about them for all', async (t, at) => {
  const office = await startLiveOffice((work) => t.teardown(work), at, {}, { plugins: [rowsOfCaller] })
  const { clock, people, password, actor, signIn, call } = office
  const root = await office.root()
  const scopes = { wide: 'all', narrow: 'org' } as const
  for (const [code, dataScope] of Object.entries(scopes)) {
    const role = { code, name: code, dataScope, permissions: ['scoped:row:view'] }
    const { id } = (await call('POST', 'admin/iam/roles', root, role)).data as { readonly id: number }
    await people.create({ username: code, password, roleIds: [id], orgId: 7 }, actor)
  }
  const [wide, narrow] = [await signIn('wide'), await signIn('narrow')]
  const put = async (token: string, body: object) => {
    const { code, data } = await call('PUT', 'admin/console/attention/scoped.rows', token, body)
    return code === '200' ? code : (data as { readonly reason: string }).reason
  }
  const seenBy = async (token: string) => {
    const { items } = (await call('GET', 'admin/console/attention', token)).data as {
      readonly items: readonly { readonly id: string; readonly mayDecide: boolean; readonly mark: unknown }[]
    }
    const found = items.find(({ id }) => id === 'scoped.rows')
    return [found?.mayDecide, found?.mark !== null]
  }
  const until = new Date(clock.now() + 90 * 24 * hourMs).toISOString()
  for (const body of [{ snoozedUntil: until }, { doneCount: 2_147_483_647 }, { assigneeUserId: null }])
    t.equal(await put(narrow, body), 'console.attention-partial')
  t.strictSame(await seenBy(wide), [true, false], 'nothing is hidden')
  t.equal(await put(wide, { doneCount: 3 }), '200')
  t.strictSame(await seenBy(wide), [true, true])
  t.strictSame(await seenBy(narrow), [false, false], 'the number of all cases stays unknown')
})

t.test('what is done or snoozed is put aside until there is a further case', async (t) => {
  const marked = (count: number, mark: object | null) => ({ count, item: { mark: mark as never } })
  const none = { assigneeUserId: null, snoozedUntil: null, doneCount: null }
  const counted = [
    marked(1, null),
    marked(2, { ...none, assigneeUserId: 7 }),
    marked(3, { ...none, doneCount: 3 }),
    marked(4, { ...none, doneCount: 3 }),
    marked(5, { ...none, snoozedUntil: '2026-01-01T00:00:00Z' }),
  ]
  const { open, aside } = sortedByMark(counted)
  t.strictSame(
    [open.map(({ count }) => count), aside.map(({ count }) => count)],
    [
      [1, 2, 4],
      [3, 5],
    ],
  )
})

t.test('a snooze ends in the morning of another day', async (t) => {
  for (const [day, monday] of [
    [4, 5],
    [5, 12],
    [11, 12],
  ] as const) {
    const now = new Date(2026, 0, day, 10)
    const times = snoozeTimes(now)
    t.strictSame(times, {
      later: new Date(2026, 0, day, 14),
      tomorrow: new Date(2026, 0, day + 1, 9),
      monday: new Date(2026, 0, monday, 9),
    })
    t.equal(times.monday.getDay(), 1)
  }
})
