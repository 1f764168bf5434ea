import { database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, type TestDatabase, watchStatements } from '@plinth/dev/testing/database'
import { event } from '@plinth/events'
import httpPlugin, { http, metrics } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { definePlugin, key, omitUndefined } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { pages } from '../src/admin-pages.ts'
import { startEvents } from './fixtures/product.ts'

const base = '/api/v1/admin/events/outbox'
const secret = 'correct-horse-battery'
const noted = event('test.noted', Type.Object({ note: Type.String() }))
const unheard = event('test.unheard', Type.Object({}))

/** Has a secret. */
const secretPlugin = definePlugin({
  id: 'secretive',
  version: '1.0.0',
  kernel: '^1.0.0',
  config: { 'platform.secretive.token': key.string({ title: 'Token', sensitive: true }) },
})

async function start(t: Test, at: TestDatabase) {
  const broken = new Set<string>()
  const seen: string[] = []
  const lines: Record<string, unknown>[] = []
  const product = await startEvents(t, at, {
    logger: pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) }),
    plugins: [httpPlugin, i18nPlugin, iamPlugin, secretPlugin],
    config: {
      'platform.http.port': 0,
      'platform.http.response-check': true,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.events.retry.max-attempts': 1,
      'platform.secretive.token': secret,
    },
    handlers: (events) => {
      events.on(noted, 'test.first', () => {})
      events.on(noted, 'test.second', ({ payload }) => {
        seen.push(payload.note)
        if (broken.has(payload.note)) throw new Error(`no ${secret}\u0000 here`)
      })
    },
  })
  const server = product.running.service(http)
  const manager = product.running.service(accounts)
  const origin = { clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap', name: 'test' }

  async function call(method: 'GET' | 'POST', url: string, token?: string, body?: object) {
    const response = await server.inject(
      omitUndefined({
        method,
        url,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        payload: body,
      }),
    )
    return { status: response.statusCode, traceId: response.headers['x-trace-id'], ...response.json() }
  }
  const login = async (username: string, password: string): Promise<string> =>
    (await call('POST', '/api/v1/auth/login', undefined, { username, password } as object)).data.accessToken
  const password = 'secret-of-a-person'
  await manager.createAdministrator({ username: 'admin', password }, origin)
  await manager.create({ username: 'mia', password }, origin)
  return {
    ...product,
    broken,
    seen,
    lines,
    call,
    admin: await login('admin', password),
    mia: await login('mia', password),
  }
}

onDatabase(t, 'A10 operators see the outbox and can act on it', async (t, at) => {
  const { db, clock, events, broken, seen, lines, call, admin, mia, running } = await start(t, at)
  broken.add('a').add('b').add('c')
  const a = await events.publish(noted, { note: 'a' }, { key: 'k' })
  const behind = await events.publish(noted, { note: 'behind' }, { key: 'k' })
  const b = await events.publish(noted, { note: 'b' })
  const c = await events.publish(noted, { note: 'c' }, { key: 'l' })
  await events.publish(unheard, {})
  await events.idle()

  await t.test('without the permission nothing is returned and nothing is changed', async (t) => {
    const routes = [
      ['GET', ''],
      ['GET', '/backlog'],
      ['GET', `/${a}`],
      ['POST', `/${a}/replay`],
      ['POST', `/${a}/skip`],
      ['POST', '/replay'],
    ] as const
    for (const [method, path] of routes) {
      const body = method === 'POST' ? { type: 'test.noted' } : undefined
      t.hasStrict(await call(method, base + path, undefined, body), { status: 200, code: '401' })
      const needed = method === 'GET' ? 'events:outbox:view' : 'events:outbox:replay'
      t.match(await call(method, base + path, mia, body), {
        code: /^403$/,
        message: `You need the permission ${needed}.`,
      })
    }
    t.equal((await call('GET', `${base}/${a}`, admin)).data.status, 'failed')
  })

  await t.test('backlog, list with filters, sorting and pages, and one event', async (t) => {
    const { code, data } = await call('GET', `${base}/backlog`, admin)
    t.equal(code, '200')
    // The delivered events are three alerts and the event without a subscriber.
    t.match(data, {
      counts: { scheduled: 0, pending: 1, delivered: 4, failed: 3, skipped: 0 },
      counted: 'exact',
      blockedKeys: 2,
    })
    t.match(data.oldestPendingAt, /^\d{4}-\d{2}-\d{2}T.*Z$/)

    const ids = async (query: string) =>
      (await call('GET', `${base}?${query}`, admin)).data.items.map(({ id }: { id: number }) => id)
    t.same(await ids('status=failed'), [c, b, a])
    t.same(await ids('status=failed&sort=id'), [a, b, c])
    t.same(await ids('key=k&sort=-createdAt'), [behind, a])
    t.same(await ids('type=test.noted&size=2&page=2'), [behind, a])
    t.match((await call('GET', `${base}?type=test.noted&size=2&page=2`, admin)).data, { page: 2, size: 2, total: 4 })
    const first = (await call('GET', `${base}?type=test.noted&size=3&count=none`, admin)).data
    assertMembers(t, first, { total: null, counted: 'none', items: [{ id: c }, { id: b }, { id: behind }] })
    t.same(await ids(`type=test.noted&size=3&cursor=${first.next}`), [a])
    for (const query of [
      'status=lost',
      'sort=payload',
      'sort=attempts',
      'cursor=none',
      'size=0',
      'size=201',
      'page=0',
      'key=%00',
    ]) {
      t.hasStrict(await call('GET', `${base}?${query}`, admin), { code: '400' }, query)
    }

    const one = (await call('GET', `${base}/${a}`, admin)).data
    assertMembers(t, one, {
      id: a,
      type: 'test.noted',
      key: 'k',
      status: 'failed',
      attempts: 1,
      handled: ['test.first'],
    })
    const { createdAt } = one
    assertMembers(
      t,
      (await call('GET', `${base}/${behind}`, admin)).data,
      { key: 'k', lastError: null, createdAt, nextAt: createdAt, notBefore: null, finishedAt: null },
      'an event that waits for another one has no time of its own',
    )
    assertMembers(t, one.deliveries, [{ handler: 'test.first', deliveredAt: /^\d{4}-.*Z$/ }])
    t.equal(one.payload, '{"note":"a"}')
    t.equal(one.lastError.includes(secret), false)
    t.match(one.lastError, /^test\.second: no .* here$/)
    t.hasStrict(await call('GET', `${base}/1`, admin), { code: '404', data: { reason: 'events.event-unknown' } })
  })

  await t.test('skip and replay, for one and for many events, unblock the waiting events', async (t) => {
    seen.length = 0
    /** Publishes an event that already had an attempt and is waiting for the next one. */
    const parked = (payload: { note: string }, key: string) =>
      db.transactional(async () => {
        const id = await events.publish(noted, payload, { key })
        await db.execute('update outbox_event set next_at = ? where id = ?', [
          new Date((db.dialect === 'sqlite' ? clock.now() : Date.now()) + 300_000),
          id,
        ])
        return id
      })
    const skipped = await call('POST', `${base}/${a}/skip`, admin)
    t.hasStrict(skipped, { code: '200', data: null })
    const logged = (text: string) => lines.filter(({ msg }) => msg === text)
    assertMembers(t, logged('an operator skipped an event'), [{ event: a, traceId: skipped.traceId }])
    const finishedAt = new Date(clock.now()).toISOString()
    t.equal((await call('GET', `${base}/${a}`, admin)).data.finishedAt, finishedAt)
    await events.idle()
    t.same(seen.splice(0), ['behind'])
    t.hasStrict(await call('POST', `${base}/${a}/skip`, admin), {
      code: '409',
      data: { reason: 'events.event-finished' },
    })
    t.hasStrict(await call('POST', `${base}/${a}/replay`, admin), { code: '409' }, 'a skipped event stays where it is')
    t.hasStrict(await call('POST', `${base}/1/replay`, admin), { code: '404' })

    broken.clear()
    const retried = await call('POST', `${base}/${b}/replay`, admin)
    t.hasStrict(retried, { code: '200', data: null })
    assertMembers(t, logged('an operator retries an event'), [{ event: b, traceId: retried.traceId }])
    await events.idle()
    t.same(seen.splice(0), ['b'], 'only the handler that had failed is called')

    t.hasStrict(await call('POST', `${base}/replay`, admin, {}), { code: '400' })
    t.same((await call('POST', `${base}/replay`, admin, { ids: [a, b, c], type: 'other' })).data, {
      affected: 0,
      isMore: false,
      results: [a, b, c].map((id) => ({ id, outcome: 'unchanged' })),
    })
    const replayed = await call('POST', `${base}/replay`, admin, { ids: [a, b, c] })
    t.same(
      replayed.data.results.filter(({ outcome }: { outcome: string }) => outcome === 'done').length,
      1,
      'the outcome of each event',
    )
    t.strictSame([replayed.data.affected, replayed.data.isMore], [1, false])
    assertMembers(t, lines.filter(({ msg }) => msg === 'an operator retries events').at(-1), {
      affected: 1,
      traceId: replayed.traceId,
    })
    await events.idle()
    t.same(seen, ['c'])

    const [lost, stays, rescued] = [
      await parked({ note: 'lost' }, 'm'),
      await parked({ note: 'stays' }, 'm'),
      await parked({ note: 'rescued' }, 'n'),
    ]
    await events.idle()
    t.same(seen.splice(1), [])
    t.hasStrict(await call('POST', `${base}/${stays}/skip`, admin), { code: '200' }, 'one that waits behind another')
    t.hasStrict(await call('POST', `${base}/${rescued}/replay`, admin), { code: '200' }, 'one whose time has not come')
    await events.idle()
    t.same(seen.splice(1), ['rescued'])
    t.hasStrict(await call('POST', `${base}/${lost}/skip`, admin), { code: '200' }, 'the first of its key')
    await events.publish(noted, { note: 'next' }, { key: 'm' })
    await events.idle()
    t.same(seen.splice(1), ['next'])
    const { data } = await call('GET', `${base}/backlog`, admin)
    t.match(data, { counts: { pending: 0, failed: 0, skipped: 3 }, oldestPendingAt: null, blockedKeys: 0 })
  })

  await t.test('the audit records who replayed and skipped which events, and no rejected call', async (t) => {
    const url = '/api/v1/admin/iam/audits?targetType=outbox-event'
    const { items } = (await call('GET', url, admin)).data
    assertMembers(t, items.toReversed(), [
      { action: 'outbox-event.skip', targetId: a, actor: /^user:\d+$/, clientIp: '127.0.0.1' },
      { action: 'outbox-event.replay', targetId: b },
      { action: 'outbox-event.replay', summary: { affected: 0, type: 'other' } },
      { action: 'outbox-event.replay', summary: { affected: 1, ids: [a, b, c] } },
      ...['skip', 'replay', 'skip'].map((verb) => ({ action: `outbox-event.${verb}` })),
    ])
    t.equal(items.length, 7)
  })

  await t.test('metrics have bounded tags and come from the same numbers', async (t) => {
    const text = await running.service(metrics).metrics()
    const lines = text.split('\n').filter((line) => line.startsWith('platform_events_'))
    t.same(
      lines.filter((line) => line.includes('outbox_events')),
      [
        'platform_events_outbox_events{status="scheduled"} 0',
        'platform_events_outbox_events{status="pending"} 0',
        'platform_events_outbox_events{status="failed"} 0',
      ],
    )
    t.ok(lines.includes('platform_events_deliveries_total{type="test.noted",outcome="failed"} 3'))
    t.ok(lines.includes('platform_events_deliveries_total{type="test.noted",outcome="delivered"} 5'))
    t.ok(lines.includes('platform_events_deliveries_total{type="other",outcome="delivered"} 4'))
    t.equal(text.includes('test.unheard'), false)
  })

  await t.test('an event of the future shows when it is due', async (t) => {
    const due = clock.now() + 3_600_000
    const id = await events.publish(noted, { note: 'later' }, { notBefore: due })
    const moment = new Date(due).toISOString()
    assertMembers(t, (await call('GET', `${base}/${id}`, admin)).data, {
      key: null,
      status: 'scheduled',
      notBefore: moment,
      nextAt: moment,
    })
  })
})

onDatabase(
  t,
  'each filter of the list is a range scan of its index, also if two filters have no row in common',
  async (t, at) => {
    const { call, admin, running } = await start(t, at)
    const db = running.service(database)
    const ids = Array.from({ length: 400 }, (_, index) => index + 1)
    const moment = new Date(Date.UTC(2024, 0, 1))
    await db.execute(
      `insert into outbox_event (id, type, payload, stream_key, position, status, attempts, next_at, created_at, finished_at)
     values ${ids.map(() => `(?, ?, '{}', ?, ?, ?, 1, ?, ?, ?)`).join(', ')}`,
      ids.flatMap((id) => {
        const status = id % 50 === 0 ? 'failed' : 'delivered'
        return [id, `test.${id % 50}`, `key-${id % 80}`, id, status, moment, moment, moment]
      }),
    )
    const { plansOf } = watchStatements(db, 'outbox_event')
    const backlog = await plansOf(() => call('GET', `${base}/backlog`, admin))
    const blocked = backlog.filter(({ sql }) => sql.includes('stream_key is not null'))
    // MariaDB may count with any index that finds the rows.
    if (at.dialect !== 'mariadb') assertMembers(t, blocked, [{ indexes: ['outbox_event_status_stream_key_index'] }])
    for (const { sql, sorts, scans } of backlog.filter(({ sql }) => sql.startsWith('select count'))) {
      t.notOk(sorts || scans.length > 0, sql)
    }
    for (const [query, index] of [
      ['status=failed', 'outbox_event_status_id_index'],
      // With so few rows PostgreSQL may also use the primary key.
      ['type=test.7', /^(?:outbox_event_type_id_index|primary)$/],
      ['type=test.7&status=failed', 'outbox_event_type_status_id_index'],
      ['key=key-7', 'outbox_event_stream_key_id_index'],
    ] as const) {
      const plans = await plansOf(async () => {
        const { data } = await call('GET', `${base}?${query}&size=4&count=capped`, admin)
        if (data.next !== null) await call('GET', `${base}?${query}&size=4&cursor=${data.next}`, admin)
      })
      const pages = plans.filter(({ sql }) => sql.includes('last_error') && sql.includes('order by'))
      t.ok(pages.length > 0, query)
      for (const { sql, indexes, sorts } of pages) {
        assertMembers(t, indexes, [index], `${query} by ${indexes}: ${sql}`)
        t.notOk(sorts, sql)
      }
    }
  },
)

t.test('the outbox shows the names of events in both languages', async (t) => {
  const columns = pages.flatMap((page) =>
    page.kind === 'list' ? page.columns : page.sections.flatMap((one) => one.columns),
  )
  for (const column of columns.filter(({ field }) => field === 'type'))
    t.strictSame(column.labels?.['iam.user.deleted'], { en: 'User deleted', 'zh-CN': '用户已删除' })
  t.equal(columns.filter(({ field }) => field === 'type').length, 2)
})
