/** Tests that suppressed addresses get no messages, and how addresses get on the list. */
import { assertMembers, manualClock, rejectsWith } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase, onSqlite } from '@plinth/dev/testing/database'
import { personalData } from '@plinth/kernel'
import t from 'tap'
import { mailTo, startSuppression, user } from './suppression-product.ts'

const dayMs = 86_400_000

onEachDatabase(t, 'a suppressed address gets no mails and no text messages', async (t, at) => {
  const { users, add, send, received, admin, facade } = await startSuppression(t, at)
  const { ada, bob } = users
  await add('ada@EXAMPLE.com', { reason: 'hard-bounce' })
  await add('07911 123452', { channel: 'sms', reason: 'complaint' })
  await add('eve@example.com', { reason: 'unsubscribe', category: 'marketing' })

  const all = [user(ada), user(bob), mailTo('eve@example.com'), mailTo('dan@example.com')]
  assertMembers(t, await send('mail', all), [
    {
      success: false,
      outcome: 'rejected',
      errorCode: 'notification.suppressed',
      errorMessage: `1 of 4 recipients: user:${ada} is on the suppression list: hard-bounce`,
    },
  ])
  t.same(received(), ['bob@example.com', 'dan@example.com', 'eve@example.com'], 'only the suppressed one is left out')
  await send('mail', all, { attributes: { module: 'marketing' } })
  t.same(received(), ['bob@example.com', 'dan@example.com'], 'an entry of a category stops this category')
  await send('sms', [user(ada), user(bob)])
  t.same(received(), ['+447911123451'], 'another channel has its own entries')
  await send('sms', [user(bob)], { attributes: { module: 'security' } })
  await send('mail', [user(ada)], { attributes: { module: 'security' } })
  t.same(received(), ['+447911123452'], 'a required message passes a complaint, and not a hard bounce')
  const code = { content: 'Code 471108', variables: { code: '471108' }, secretVariables: ['code'] }
  await send('sms', [{ kind: 'mobile', number: '+44 7911 123452' }], code)
  t.same(received(), ['+447911123452'], 'a code that its recipient asked for is a required message')
  await rejectsWith(t, facade.sendTo('mail', { content: 'x', recipients: [user(ada)] }), {
    reason: 'notification.delivery-failed',
  })

  const logs = (await admin('GET', 'notification-send-logs?status=failed&size=50')).data.items
  const shown = logs.map(({ channel, outcome, errorCode, recipients }: Record<string, unknown>) =>
    [channel, outcome, errorCode, recipients].join(' '),
  )
  const rejected = (channel: string, recipient: string) => `${channel} rejected notification.suppressed ${recipient}`
  t.strictSame(shown, [
    rejected('mail', `user:${ada}`),
    rejected('mail', `user:${ada}`),
    rejected('sms', `user:${bob}`),
    rejected('mail', 'email:e***@example.com'),
    rejected('mail', `user:${ada}`),
    rejected('mail', `user:${ada}`),
  ])
})

// The clock of a database server cannot be moved.
onSqlite(t, 'a queued part is checked when it begins', async (t, at) => {
  const clock = manualClock(Date.now())
  const { users, facade, add, received, idle, db } = await startSuppression(t, at, { clock })
  const recipients = [user(users.ada), user(users.bob)]
  const later = { channels: ['mail'], notBefore: clock.now() + 3_600_000 }
  await facade.enqueue({ subject: 'News', content: 'Hi', recipients }, later)
  await add('ada@example.com')
  await idle()
  t.same(received(), [])
  await clock.advance(3_600_001)
  await idle()
  t.same(received(), ['bob@example.com'])
  const rows = await db.query<{ status: string; error_code: string | null }>(
    'select status, error_code from notification_send_log order by id',
  )
  t.same(rows.map(({ status, error_code }) => [status, error_code]).sort(), [
    ['failed', 'notification.suppressed'],
    ['success', null],
  ])
})

onDatabase(t, 'without the plugin, nothing is checked', async (t, at) => {
  const { users, send, received, db } = await startSuppression(t, at, { isLoaded: false })
  const statements: string[] = []
  const query = db.query.bind(db)
  const recorded: typeof query = (...given) => {
    statements.push(given[0])
    return query(...given)
  }
  Object.assign(db, { query: recorded })
  assertMembers(t, await send('mail', [user(users.ada)]), [{ success: true }])
  t.same(received(), ['ada@example.com'])
  t.notMatch(statements.join('\n'), /suppression/)
  const [row] = await db.query<{ address_key: unknown }>('select address_key from notification_send_log')
  t.equal(row?.address_key, null)
})

onEachDatabase(t, 'delivery states suppress addresses by their policy', async (t, at) => {
  const { users, send, report, received, admin, list, db } = await startSuppression(t, at)
  const entries = async () =>
    (await admin('GET', 'admin/suppressions')).data.items.map((one: Record<string, unknown>) => [
      one['address'],
      one['reason'],
      one['endsAt'] === null,
      one['userId'],
    ])
  const mail = async (
    address: string,
    state: Parameters<typeof report>[0],
    more: Parameters<typeof report>[1] = {},
  ) => {
    await send('mail', [mailTo(address)])
    await report(state, more)
  }
  await send('mail', [user(users.ada)])
  await report('complained')
  t.same(await entries(), [[`user:${users.ada}`, 'complaint', true, users.ada]])
  await report('bounced', { bounce: 'hard' })
  t.same(await entries(), [[`user:${users.ada}`, 'hard-bounce', true, users.ada]], 'a stronger reason replaces')
  await report('complained', { at: Date.now() + 1 })
  t.same((await entries())[0][1], 'hard-bounce', 'a weaker reason does not')
  await mail('eve@example.com', 'failed', { detail: 'suppressed by the provider: OnAccountSuppressionList' })
  await mail('eve@example.com', 'delayed')
  t.equal((await entries()).length, 1, 'a list of the provider counts nothing here')

  await t.test('the third soft bounce within 30 days suppresses for 7 days', async (t) => {
    received()
    await mail('soft@example.com', 'bounced')
    await mail('soft@example.com', 'bounced')
    await report('bounced')
    t.equal((await entries()).length, 1, 'a repeated report counts once')
    await mail('soft@example.com', 'bounced')
    const [entry] = (await admin('GET', 'admin/suppressions?address=soft@example.com')).data.items
    t.hasStrict(entry, { reason: 'soft-bounce', address: 'email:s***@example.com', source: 'report' })
    const days = (Date.parse(entry.endsAt) - Date.parse(entry.since)) / dayMs
    t.equal(days, 7)
    t.equal(received().length, 3)
    await send('mail', [mailTo('soft@example.com')])
    t.same(received(), [], 'it gets nothing')
    await db.execute('update suppression set ends_at = ? where reason = ?', [new Date(1_000), 'soft-bounce'])
    await send('mail', [mailTo('soft@example.com')])
    t.same(received(), ['soft@example.com'], 'after the end it gets mails again')
  })
  await t.test('a delivery between, or more than 30 days, starts again', async (t) => {
    const at = Date.now()
    const key = (await list?.keyOf('mail', 'calm@example.com')) ?? ''
    const about = { channel: 'mail', key, bounce: 'soft', address: '', userId: null, sendLogId: 1 } as const
    const tell = (state: string, days: number) => list?.report({ ...about, state, at: at + days * dayMs })
    const found = async () =>
      (
        await list?.check({ channel: 'mail', addresses: ['calm@example.com'], category: 'mall', isRequired: false })
      )?.get('calm@example.com')?.reason
    for (const [state, days] of [
      ['bounced', 0],
      ['bounced', 1],
      ['delivered', 2],
      ['bounced', 3],
      ['bounced', 4],
      ['bounced', 34.5],
    ] as const)
      await tell(state, days)
    t.equal(await found(), undefined)
    await tell('bounced', 35)
    await tell('bounced', 36)
    t.equal(await found(), 'soft-bounce')
  })
  await t.test('bounces that arrive at the same time are all counted', async (t) => {
    const key = (await list?.keyOf('mail', 'busy@example.com')) ?? ''
    const about = { channel: 'mail', key, bounce: 'soft', address: '', userId: null, sendLogId: 1 } as const
    const times = [1, 2, 3].map((minute) => Date.now() + minute)
    await Promise.all(times.map((at) => list?.report({ ...about, state: 'bounced', at })))
    const checked = await list?.check({
      channel: 'mail',
      addresses: ['busy@example.com'],
      category: 'mall',
      isRequired: false,
    })
    t.equal(checked?.get('busy@example.com')?.reason, 'soft-bounce')
  })
})

onDatabase(t, 'a mail to an address without an account has a link that ends its category', async (t, at) => {
  const { send, mails, server, received, admin } = await startSuppression(t, at)
  const linkOf = async (address: string, module: string) => {
    await send('mail', [mailTo(address)], { attributes: { module } })
    const header = mails.received.at(-1)?.headers['list-unsubscribe'] ?? ''
    return /^<https:\/\/shop\.example(\/.*)>$/.exec(header)?.[1]
  }
  const url = (await linkOf('eve@example.com', 'forum')) ?? ''
  t.equal(await linkOf('eve@example.com', 'security'), undefined, 'required messages have no link')
  const others = (await linkOf('dan@example.com', 'forum')) ?? ''
  const token = (link: string) => new URL(link, 'https://shop.example').searchParams.get('token')?.split('.') ?? []
  const [evesKey, , evesMac] = token(url)
  const [dansKey] = token(others)
  for (const forged of [`${dansKey}.forum.${evesMac}`, `${evesKey}.mall.${evesMac}`, `${evesKey}.${evesMac}`, 'x']) {
    const at = `/api/v1/notifications/unsubscribe?token=${forged}`
    t.match(await server.inject(at), { statusCode: 404 })
    t.match(await server.inject({ method: 'POST', url: at }), { statusCode: 404 })
  }
  t.match(await server.inject(url), { statusCode: 200, body: /<form method="post">/ })
  t.equal(
    (await admin('GET', 'admin/suppressions')).data.total,
    0,
    'neither a scanner nor a forged link changes anything',
  )
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const response = await server.inject({ method: 'POST', url, headers, payload: 'List-Unsubscribe=One-Click' })
  t.same([response.statusCode, response.headers['location']], [200, undefined])
  received()
  for (const module of ['forum', 'mall']) await send('mail', [mailTo('eve@example.com')], { attributes: { module } })
  await send('mail', [mailTo('dan@example.com')], { attributes: { module: 'forum' } })
  t.same(received(), ['dan@example.com', 'eve@example.com'], 'only this address, only this category')
  const [entry] = (await admin('GET', 'admin/suppressions?address=eve@example.com')).data.items
  t.hasStrict(entry, { reason: 'unsubscribe', category: 'forum', source: 'link', userId: null })
})

onDatabase(t, 'operators find, import and release addresses', async (t, at) => {
  const { add, admin, send, received, users, running, db, clock } = await startSuppression(t, at)
  const found = async (query: string) => {
    const { data } = await admin('GET', `admin/suppressions?${query}`)
    return data.items.map(({ address }: { address: string }) => address)
  }
  const { data: created } = await add('Eve@Example.com', { note: 'asked by phone' })
  t.hasStrict(created, { address: 'E***@example.com', reason: 'manual', category: 'all', source: 'operator' })
  t.same(await found('address=Eve@EXAMPLE.COM'), ['E***@example.com'], 'the full address finds it')
  t.same(await found('address=eve@example.com'), [], 'the local part keeps its case')
  t.same(await found('address=Eve'), [])
  t.same(await found('reason=complaint'), [])
  t.notMatch(JSON.stringify(await db.query('select * from suppression')), /Eve@/i, 'the address is not stored')

  for (const [body, reason, field] of [
    [{ address: 'nobody' }, 'suppression.address-invalid', 'address'],
    [{ address: '12', channel: 'sms' }, 'http.invalid-input', undefined],
    [{ address: '911', channel: 'sms' }, 'suppression.address-invalid', 'address'],
    [
      { address: 'dan@x.example', reason: 'complaint', category: 'mall' },
      'suppression.category-unexpected',
      'category',
    ],
    [{ address: 'dan@x.example', category: 'weather' }, 'suppression.category-unknown', 'category'],
    [{ address: 'dan@x.example', endsAt: '2020-01-01T00:00:00Z' }, 'suppression.end-passed', 'endsAt'],
    [{ address: 'Eve@example.com' }, 'suppression.listed', 'address'],
  ] as const) {
    const { code, data } = await admin('POST', 'admin/suppressions', body)
    t.same([code === '200', data?.reason, data?.field], [false, reason, field])
  }

  const short = { endsAt: new Date(clock.now() + 3_600_000).toISOString() }
  t.equal((await add('dan@x.example', short)).code, '200')
  await db.execute('update suppression set ends_at = ? where ends_at is not null', [new Date(1)])
  t.hasStrict(await add('dan@x.example'), { data: { endsAt: null } }, 'an entry that has ended is replaced')

  const rows = [{ address: 'a@x.example' }, { address: 'b@x.example', category: 'mall' }, { address: 'b' }]
  const dry = await admin('POST', 'admin/suppressions/import', { rows: rows.slice(0, 2), mode: 'check' })
  t.hasStrict(dry.data, { outcome: 'checked', valid: 2, created: 0 })
  t.hasStrict((await admin('POST', 'admin/suppressions/import', { rows })).data, { outcome: 'rejected', created: 0 })
  const imported = await admin('POST', 'admin/suppressions/import', { rows, mode: 'valid' })
  t.hasStrict(imported.data, { outcome: 'imported', created: 2 })
  t.same((await found('category=mall')).length, 1)

  await send('mail', [mailTo('Eve@example.com')])
  t.same(received(), [])
  t.equal((await admin('DELETE', `admin/suppressions/${created.id}`)).code, '200')
  await send('mail', [mailTo('Eve@example.com')])
  t.same(received(), ['Eve@example.com'], 'a released address gets mails again')

  await send('mail', [user(users.ada)])
  const [{ address_key: key } = { address_key: '' }] = await db.query<{ address_key: string }>(
    'select address_key from notification_send_log order by id desc limit 1',
  )
  const about = { channel: 'mail', key, bounce: 'hard', at: 1, address: 'x', userId: users.ada, sendLogId: 1 } as const
  const list = running.service((await import('@plinth/suppression')).suppressions)
  await list.report({ ...about, state: 'bounced' })
  const tables = running.contributions(personalData).get('suppression') ?? []
  const person = { userId: users.ada, username: 'ada' }
  const rowsOf = async () => {
    const rows: object[] = []
    for (const one of tables) for await (const row of one.read(person)) rows.push(row)
    return rows
  }
  t.equal((await rowsOf()).length, 1)
  t.notMatch(JSON.stringify(await rowsOf()), key)
  for (const one of tables) await one.erase(person, new AbortController().signal)
  t.same(await rowsOf(), [])
  await send('mail', [user(users.ada)])
  t.same(received(), ['ada@example.com'], 'only the first mail: the hash outlives the erasure')
})

onDatabase(t, 'operators with a limited data scope see only entries of users in it', async (t, at) => {
  const { admin, signIn, createUser, users, list, add, purge, db } = await startSuppression(t, at)
  const permissions = ['suppression:entry:view', 'suppression:entry:manage']
  const role = { code: 'clerk', name: 'Clerk', dataScope: 'self', permissions }
  const { id: roleId } = (await admin('POST', 'admin/iam/roles', role)).data
  const clerk = await createUser('clerk', [roleId])
  for (const [address, userId] of [
    ['ada@example.com', users.ada],
    ['clerk@example.com', clerk],
  ] as const) {
    const key = (await list?.keyOf('mail', address)) ?? ''
    await list?.report({
      channel: 'mail',
      key,
      state: 'complained',
      bounce: 'soft',
      at: 1,
      address,
      userId,
      sendLogId: 1,
    })
  }
  await add('eve@example.com')
  const call = await signIn('clerk')
  const seen = (await call('GET', 'admin/suppressions')).data.items
  t.same(
    seen.map(({ userId }: { userId: number }) => userId),
    [clerk],
  )
  t.same((await call('GET', 'admin/suppressions?address=eve@example.com')).data.items, [])
  t.equal((await call('POST', 'admin/suppressions', { address: 'dan@example.com' })).code, '403')

  await db.execute('update suppression set ends_at = ? where user_id = ?', [new Date(1_000), clerk])
  await purge()
  t.equal((await admin('GET', 'admin/suppressions')).data.total, 2, 'ended entries are removed')
})
