import { applyLiveValues, assertKeyEffect, assertMembers, rejectsWith } from '@plinth/dev/testing'
import { onEachDatabase, onSqlite, watchStatements } from '@plinth/dev/testing/database'
import { metrics } from '@plinth/http'
import iam, { accounts } from '@plinth/iam'
import t from 'tap'
import { acceptSend } from './fixtures/channel.ts'
import { configuredSecret, rejectSend, startSendLog } from './fixtures/send-log-product.ts'

const dayMs = 86_400_000
const mobile = { kind: 'mobile', number: '13800138000' } as const

onEachDatabase(t, 'C-014 C-039 the change set of the send log creates the table of the entity', async (t, at) => {
  const { db } = await startSendLog(t, at)
  const generator = db.fork().config.getExtension('@mikro-orm/schema-generator') as {
    getUpdateSchemaSQL(options: object): Promise<string>
  }
  t.equal((await generator.getUpdateSchemaSQL({ dropTables: false, safe: false, wrap: false })).trim(), '')
})

onEachDatabase(
  t,
  'N-009 N-139 B27 every send is one row per channel, listed in pages and by channel',
  async (t, at) => {
    const { facade, sms, pager, list, request, clock } = await startSendLog(t, at)
    sms.behave = rejectSend
    pager.behave = async () => ({ outcome: 'accepted', messageId: 'acme-1', provider: 'acme' })
    const draft = {
      subject: 'Order 漢 paid',
      content: 'Order 42 is paid',
      template: 'order.paid',
      recipients: [mobile, { kind: 'email', address: 'ada@example.com' }, { kind: 'user', userId: 7 }] as const,
      attributes: { traceId: 'trace-0001' },
    }
    const results = await facade.send(draft, { channels: ['pager', 'sms'] })
    t.same(await list('channel=pager'), {
      items: [
        {
          id: (await list('channel=pager')).items[0].id,
          channel: 'pager',
          provider: 'acme',
          status: 'success',
          outcome: 'accepted',
          messageId: 'acme-1',
          recipients: ['mobile:***8000', 'email:a***@example.com', 'user:7'],
          recipientCount: 3,
          subject: 'Order 漢 paid',
          template: 'order.paid',
          errorCode: null,
          errorMessage: null,
          providerCode: null,
          providerMessage: null,
          hint: null,
          retryable: false,
          attempt: 1,
          nextAttemptAt: null,
          retryOfId: null,
          notificationId: null,
          traceId: 'trace-0001',
          deliveryState: null,
          bounceKind: null,
          deliveryDetail: null,
          deliveredAt: null,
          delayedAt: null,
          bouncedAt: null,
          complainedAt: null,
          deliveryFailedAt: null,
          createdAt: new Date(clock.now()).toISOString(),
        },
      ],
      page: 1,
      size: 20,
      total: 1,
      counted: 'exact',
      next: null,
    })
    assertMembers(t, await list('channel=SMS'), {
      total: 1,
      items: [
        {
          channel: 'sms',
          status: /^failed$/,
          messageId: results[1]?.messageId,
          errorCode: 'acme.403',
          errorMessage: 'Refused',
          providerCode: '403',
          providerMessage: 'forbidden',
          hint: 'Check the key',
          retryable: true,
        },
      ],
    })
    assertMembers(t, await list('channel=telepathy'), { total: 0, items: [] })

    await clock.advance(1000)
    const headers = { channels: ['pager'], content: 'Hi' }
    t.equal((await request('POST', '/api/v1/notifications/send', headers)).code, '200')
    const [newest, ...older] = (await list()).items
    assertMembers(t, newest, { channel: 'pager', traceId: /./, recipients: [], recipientCount: 0, subject: '' })
    t.equal(older.length, 2)
    assertMembers(t, await list('size=1&page=2'), { page: 2, size: 1, total: 3, items: [{ id: older[0].id }] })
    assertMembers(t, await list('sort=createdAt&size=1'), { items: [{ traceId: 'trace-0001' }] })
    for (const query of ['sort=payload', 'size=201', 'retryableOnly=perhaps', 'channel=']) {
      t.equal((await request('GET', `/api/v1/notification-send-logs?${query}`)).code, '400', query)
    }
  },
)

onEachDatabase(t, 'N-123 N-140 N-141 N-142 D51 the totals, and retryableOnly in list and summary', async (t, at) => {
  const { facade, sms, list, summary, clock } = await startSendLog(t, at)
  const states = { success: 0, failed: 0, retried: 0, sending: 0, unknown: 0, dead: 0, waiting: 0 }
  const none = { ...states, total: 0, retryable: 0, failedLast24h: 0, counted: 'exact' }
  t.same(await summary(), none)
  t.same(await summary('retryableOnly=true'), none)

  const send = (more: object = {}) =>
    facade.send({ content: 'Hi', recipients: [mobile], ...more }, { channels: ['sms'] })
  await send()
  sms.behave = rejectSend
  await send({ subject: 'old' })
  await clock.advance(dayMs + 1)
  await send({ subject: 'new' })
  await send({ variables: { code: '482913' }, secretVariables: ['code'] })
  await send({ recipients: [] })
  t.same(await summary(), { ...none, total: 5, success: 1, failed: 4, retryable: 3, failedLast24h: 3 })
  t.same(await summary('retryableOnly=true'), { ...none, total: 3, failed: 3, retryable: 3, failedLast24h: 2 })
  const retryable = await list('retryableOnly=true&sort=id')
  assertMembers(t, retryable, {
    total: 3,
    items: [{ subject: 'old' }, { subject: 'new' }, { errorCode: 'notification.recipient-missing' }],
  })
  t.ok(retryable.items.every((item: { retryable: boolean }) => item.retryable))
  t.ok(retryable.items.every(({ status }: { status: string }) => status === 'failed'))
  t.match(await list('retryableOnly=false'), { total: 5 })

  sms.isEnabled = false
  assertMembers(t, await send(), [{ skipped: true }])
  t.equal((await summary()).total, 5, 'what is skipped was not sent')
})

onSqlite(t, 'N-019 N-180 N-181 R-095 B23 B27 D58 D59 the table contains no secret', async (t, at) => {
  const { facade, sms, pager, list, table } = await startSendLog(t, at)
  const secrets = {
    code: '4829137746',
    key: 'device-key-of-ada',
    token: 'tok/en+of=hook',
    nested: 'hidden deep inside',
    openId: 'oXy-open-id-of-ada',
    session: 'session-of-ada',
    number: '+8613912345678',
    address: 'ada.lovelace@example.com',
    configured: configuredSecret,
  }
  const everything = Object.values(secrets).join(' and ')
  const echo = (content: string) => async () => ({
    outcome: 'rejected' as const,
    errorCode: `acme.${secrets.code}`,
    errorMessage: `refused: ${content}`,
    provider: 'acme',
    providerCode: secrets.code,
    providerMessage: encodeURIComponent(content),
    hint: Buffer.from(content).toString('base64'),
  })
  const secretParts = {
    variables: { code: secrets.code, name: 'Ada' },
    secretVariables: ['code'],
    attributes: {
      'webhook.bark.device-key': secrets.key,
      'webhook.endpoint': `https://hook.example/?token=${secrets.token}`,
      payload: { list: [{ apiToken: secrets.nested }] },
      'social.to-user': secrets.openId,
    },
  }
  const said = `${secrets.code} ${secrets.key} ${secrets.nested} ${secrets.openId} ${secrets.configured}`
  for (const behave of [echo(said), acceptSend, () => Promise.reject(new Error(everything))]) {
    sms.behave = pager.behave = behave
    await facade.send(
      {
        subject: said,
        content: everything,
        template: said,
        recipients: [{ kind: 'mobile', number: secrets.number }],
        ...secretParts,
      },
      { channels: ['sms', 'pager'] },
    )
  }
  const { items } = await list()
  t.equal(items.length, 6)
  t.notOk(
    items.some(({ retryable }: { retryable: boolean }) => retryable),
    'and cannot be sent again',
  )
  t.match(items.at(-1), { providerCode: '******', errorMessage: /^refused: \*{6} / })

  pager.behave = rejectSend
  const kept = [{ kind: 'topic', topic: 'news' }] as const
  const plain = { content: 'Hi', recipients: kept }
  for (const [why, draft] of Object.entries({
    'an attribute': { ...plain, attributes: { 'webhook.secret': secrets.key } },
    'an attribute in another': { ...plain, attributes: { a: [{ b: { password: secrets.nested } }] } },
    'an open id': { ...plain, recipients: [{ kind: 'social-openid', openId: secrets.openId }] as const },
    'a session': { ...plain, recipients: [{ kind: 'websocket-session', sessionId: secrets.session }] as const },
    'a secret of the configuration': { ...plain, content: `Use ${configuredSecret}` },
    'no JSON': { ...plain, attributes: { at: new Date(0), many: new Map() } },
    'a huge message': { ...plain, content: 'x'.repeat(1_100_000) },
  })) {
    await facade.send(draft, { channels: ['pager'] })
    assertMembers(t, (await list('size=1')).items, [{ status: 'failed', retryable: false }], why)
  }
  const rows = await table()
  for (const [name, secret] of Object.entries(secrets)) {
    for (const form of [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString('base64').replace(/..=*$/, ''),
    ]) {
      t.notOk(rows.includes(form), name)
    }
  }
  t.ok(rows.includes('mobile:***5678'), 'that was a look at the table itself')
})

onEachDatabase(t, 'K-016 the response of a provider fits into the table', async (t, at) => {
  const { facade, pager, list } = await startSendLog(t, at)
  pager.behave = async () => ({
    outcome: 'rejected',
    errorCode: 'e'.repeat(500),
    errorMessage: `nul \0 half \ud800 ${'漢😀'.repeat(1000)}`,
    provider: 'p'.repeat(500),
    hint: 'h'.repeat(5000),
  })
  const users = Array.from({ length: 1000 }, (_, index) => ({ kind: 'user' as const, userId: index + 1 }))
  await facade.send({ content: 'nul \0 half \ud800 😀', subject: '😀'.repeat(900), recipients: users })
  const { items } = await list()
  assertMembers(t, items, [{ errorMessage: /^nul {2}half � 漢😀/, recipientCount: 1000, retryable: true }])
  t.equal([...items[0].subject].length, 500)
  t.equal(items[0].recipients.length, 20)
})

onEachDatabase(t, 'N-009 a rolled back transaction keeps the records of sent messages', async (t, at) => {
  const { facade, db, list, summary } = await startSendLog(t, at)
  const undone = db.transactional(async () => {
    assertMembers(t, await facade.send({ content: 'Hi' }), [{ success: true }], 'the send does not wait for its row')
    throw new Error('undo')
  })
  await rejectsWith(t, undone, { message: 'undo' })
  assertMembers(t, await list(), { total: 1, items: [{ status: 'success' }] })

  await Promise.all(Array.from({ length: 30 }, () => facade.send({ content: 'Hi' }, { channels: ['pager', 'sms'] })))
  t.match(await summary(), { total: 61, success: 31, failed: 30 }, 'many at once')
})

onSqlite(t, 'N-009 a send that cannot be recorded has happened anyway', async (t, at) => {
  const { facade, db, pager, lines, running } = await startSendLog(t, at)
  await db.execute('drop table notification_send_log')
  pager.behave = rejectSend
  const draft = { content: 'Hi', recipients: [{ kind: 'mobile', number: '13912345678' }] } as const
  const [result] = await facade.send(draft)
  t.match(result, { success: false, errorCode: 'acme.403' })
  const logged = (text: string) => lines.filter(({ msg }) => msg === text)
  const about = { channel: 'pager', messageId: result?.messageId }
  assertMembers(t, logged('notification not sent'), [{ level: 40, ...about, errorCode: 'acme.403' }])
  pager.isEnabled = false
  await facade.send(draft)
  const skipped = logged('notification not sent')[1]
  assertMembers(t, skipped, { level: 20, channel: 'pager', errorCode: 'notification.channel-disabled' })
  pager.isEnabled = true
  pager.behave = acceptSend
  t.match(await facade.sendTo('pager', draft), { success: true })
  const counter = running.service(metrics).getSingleMetric('platform_notification_send_log_lost_total')
  await running.stop('what waits is written first')
  const errors = lines.filter(({ msg }) => msg === 'a send could not be stored in the send log')
  assertMembers(t, errors, [{ messageId: result?.messageId, channel: 'pager', reason: /notification_send_log/ }])
  assertMembers(
    t,
    lines.filter(({ msg }) => msg === 'sends could not be stored in the send log'),
    [{ rows: 2 }],
  )
  assertMembers(t, await counter?.get(), { values: [{ value: 2 }] })
  t.notMatch(JSON.stringify(lines), '13912345678', 'the log does not tell what the row would have held')
})

onSqlite(t, 'K-018 a graceful stop writes all waiting records', async (t, at) => {
  const first = await startSendLog(t, at)
  const sending = first.facade.send({ content: 'Hi' })
  await first.running.stop('test')
  await sending
  const second = await startSendLog(t, at)
  t.match(await second.summary(), { total: 1 })
})

onEachDatabase(
  t,
  'the log is read by a cursor, by channel and by time, each a range scan of its index, and the totals read no row',
  async (t, at) => {
    const { facade, db, sms, list, call, clock } = await startSendLog(t, at)
    for (let round = 0; round < 12; round++) {
      sms.behave = round % 3 === 0 ? rejectSend : acceptSend
      await facade.send({ content: 'Hi', recipients: [mobile] }, { channels: ['sms', 'pager'] })
      if (round % 2 === 0) await clock.advance(1000)
    }
    for (const query of ['', 'channel=sms', 'retryableOnly=true', 'channel=sms&sort=createdAt', 'sort=-createdAt']) {
      const all = (await list(`${query}&size=200`)).items.map(({ id }: { id: number }) => id)
      t.ok(all.length >= 4, query)
      const walked: number[] = []
      for (let next: string | null = ''; next !== null; ) {
        const page = await list(`${query}&size=3${next === '' ? '' : `&cursor=${encodeURIComponent(next)}`}`)
        walked.push(...page.items.map(({ id }: { id: number }) => id))
        next = page.next
      }
      t.same(walked, all, `${query} by cursor`)
    }

    const rows = Array.from({ length: 400 }, (_, index) => index + 1)
    await db.execute(
      `insert into notification_send_log (id, channel, status, message_id, recipients, recipient_count, subject,
         restorable, attempt, created_at) values ${rows.map(() => `(?, ?, ?, 'm', '[]', 0, 's', ?, 1, ?)`).join(', ')}`,
      rows.flatMap((id) => {
        const status = id % 20 === 0 ? 'failed' : 'success'
        return [id, id % 10 === 0 ? 'sms' : 'pager', status, id % 40 === 0, new Date(clock.now() - id * dayMs)]
      }),
    )
    const { plansOf } = watchStatements(db, 'notification_send_log')
    const prefix = 'notification_send_log_'
    for (const [query, index] of [
      ['channel=sms', 'channel_id_index'],
      ['retryableOnly=true', 'status_restorable_id_index'],
      // All retryable rows belong to one channel here, so an index with the channel would not be better.
      ['channel=sms&retryableOnly=true', 'status_restorable_id_index'],
      ['channel=sms&sort=createdAt', 'channel_created_at_id_index'],
      ['sort=-createdAt', 'created_at_id_index'],
      // The statistics of a server show that this channel has all retryable rows, so the server may use either index.
      ...(db.dialect === 'sqlite'
        ? [['channel=sms&retryableOnly=true&sort=createdAt', 'retryable_of_channel_index'] as const]
        : []),
      ['status=failed', 'status_id_index'],
      ['status=failed&sort=createdAt', 'status_created_at_id_index'],
      ['channel=sms&status=failed', 'status_id_index'],
      ['notificationId=7', 'notification_id_id_index'],
    ] as const) {
      const plans = await plansOf(async () => {
        const { next } = await list(`${query}&size=1&count=capped`)
        if (next !== null) await list(`${query}&size=1&cursor=${encodeURIComponent(next)}`)
      })
      t.ok(plans.length >= 1, query)
      for (const { sql, indexes, sorts } of plans) {
        t.notOk(sorts, `${query} sorts: ${sql}`)
        t.equal(indexes.length, 1, `${query} by ${indexes}: ${sql}`)
        // Checks counts only on PostgreSQL, because the other databases use any index for a count.
        if (db.dialect === 'postgresql' || !sql.startsWith('select count'))
          t.ok(indexes[0]?.endsWith(index), `${query} by ${indexes}: ${sql}`)
      }
    }
    const usable = ['status_restorable_created_at_index', 'status_created_at_id_index'].map((name) => prefix + name)
    for (const query of ['', '?retryableOnly=true']) {
      const [recent, ...others] = await plansOf(() => call('GET', `/summary${query}`))
      t.same(others, [], 'the summary reads no table but for what failed of late')
      t.ok(recent?.indexes.length === 1 && usable.includes(recent.indexes[0] ?? ''), `by ${recent?.indexes}`)
      t.notOk(recent?.sorts, `/summary${query} sorts`)
    }
    await db.execute(
      `insert into notification_send_log (id, channel, status, message_id, recipients, recipient_count, subject,
         restorable, attempt, created_at)
       select 1000 * a.id + b.id, 'pager', 'failed', 'm', '[]', 0, 's', a.id <= 25, 1, ?
       from (select id from notification_send_log where id <= 26) a
       cross join (select id from notification_send_log where id <= 400) b`,
      [new Date(clock.now())],
    )
    t.match(await call('GET', '/summary'), { data: { failedLast24h: 10_000, counted: 'capped' } }, 'up to a cap')

    await db.execute(`update notification_send_log set status = 'retried', restorable = ? where id > 100`, [true])
    const ofRetry = await plansOf(() => call('POST', '/1/retry'))
    const ofClaims = ofRetry.filter(({ sql }) => /where .*claimed_until. </.test(sql))
    t.same(
      ofClaims.map(({ indexes }) => indexes),
      [[`${prefix}status_claimed_until_index`]],
      'a retry does not look at all that were ever sent again',
    )
  },
)

onEachDatabase(t, 'A11 rows are removed in steps after their retention', async (t, at) => {
  const { facade, pager, running, clock, list, summary } = await startSendLog(t, at)
  const retention = 'platform.notification.send-log.retention'
  const purge = async (signal = new AbortController().signal) =>
    running.scheduledTasks.find(({ name }) => name === 'notification.send-log.purge')?.run(signal)
  const keep = (written: string) => running.config.apply([{ name: retention, by: 'key', written, place: 'test' }])
  const [portion, more] = [500, 5]
  for (let row = 0; row < portion + more; row++) await facade.send({ content: 'Hi' })
  await clock.advance(90 * dayMs)
  pager.behave = rejectSend
  await facade.send({ content: 'Hi' })
  await purge()
  t.equal((await summary()).total, portion + more + 1, 'exactly at the age they stay')

  await clock.advance(1)
  await keep('0s')
  await purge()
  t.equal((await summary()).total, portion + more + 1, '0 keeps them for ever')
  await keep('90d')
  await purge(AbortSignal.abort())
  t.equal((await summary()).total, portion + more + 1, 'nothing is begun on the way to a stop')
  await purge()
  assertMembers(t, await list(), { total: 1, items: [{ status: 'failed' }] })
  await keep('1ms')
  await clock.advance(2)
  await purge()
  t.equal((await summary()).total, 0, 'failed ones too')
})

onSqlite(t, 'a row of the send log is stored as long as its retention', async (t, at) => {
  const { facade, running, clock, summary } = await startSendLog(t, at)
  const purge = running.scheduledTasks.find(({ name }) => name === 'notification.send-log.purge')
  const [isStored] = await assertKeyEffect(t, 'platform.notification.send-log.retention', {
    changed: '30d',
    async observe(values) {
      await applyLiveValues(running, values)
      await facade.send({ content: 'Hi' })
      await clock.advance(31 * dayMs)
      await purge?.run(new AbortController().signal)
      return (await summary()).total > 0
    },
  })
  t.match(isStored, { before: true, after: false })
})

onSqlite(t, 'B41 the send log requires a permission', async (t, at) => {
  const { running, call, request } = await startSendLog(t, at, {
    identity: [iam],
    config: { 'platform.iam.password.hash.memory': '1MiB', 'platform.iam.password.hash.passes': 1 },
  })
  const manager = running.service(accounts)
  const origin = { clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap', name: 'test' }
  const password = 'Correct-horse-7'
  await manager.createAdministrator({ username: 'admin', password }, origin)
  await manager.create({ username: 'mia', password }, origin)
  const login = async (username: string) =>
    (await request('POST', '/api/v1/auth/login', { username, password })).data.accessToken
  const [admin, mia] = [await login('admin'), await login('mia')]
  for (const [method, path, body, code] of [
    ['GET', '', undefined, '200'],
    ['GET', '/summary', undefined, '200'],
    ['GET', '/7', undefined, '404'],
    ['POST', '/7/retry', undefined, '404'],
    ['POST', '/retry-batch', { ids: [7] }, '404'],
  ] as const) {
    t.equal((await call(method, path, body)).code, '401', path)
    t.equal((await call(method, path, body, mia)).code, '403', path)
    t.equal((await call(method, path, body, admin)).code, code, path)
  }
})
