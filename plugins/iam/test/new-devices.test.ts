/** Tests how devices are recognised, and the notice of a sign-in from a new one. */
import { database } from '@plinth/database'
import { manualClock } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import t from 'tap'
import { adminPassword, system } from './fixtures/product.ts'
import { startRecovery } from './fixtures/recovery.ts'

const login = '/api/v1/auth/login'
const hour = 3_600_000
const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
const page = { origin: 'http://shop.test', host: 'shop.test', 'user-agent': agent }

type Shop = Awaited<ReturnType<typeof startRecovery>>

/** A browser that stores the device cookie, and no session. */
function browserOf(shop: Shop, headers: Readonly<Record<string, string>> = {}) {
  const jar = { cookie: '' }
  const lines: string[] = []
  const signIn = async (username: string, more: { readonly password?: string; readonly language?: string } = {}) => {
    const response = await shop.server.inject({
      method: 'POST',
      url: login,
      headers: {
        ...page,
        ...headers,
        ...(jar.cookie === '' ? {} : { cookie: jar.cookie }),
        ...(more.language === undefined ? {} : { 'accept-language': more.language }),
      },
      payload: { username, password: more.password ?? adminPassword, session: 'cookie' },
    })
    const set = [response.headers['set-cookie'] ?? []].flat().filter((line) => line.includes('plinth-device'))
    lines.push(...set)
    if (set[0] !== undefined) jar.cookie = set[0].split(';', 1)[0] ?? ''
    return response.json().code as string
  }
  return { jar, lines, signIn }
}

const noticesOf = (shop: Shop) => shop.mailbox.sent.filter(({ text }) => text.includes('iam.own-sessions'))
const devices = async (shop: Shop) => Number((await shop.rows('select count(*) as n from iam_known_device'))[0]?.['n'])

onDatabase(t, 'a new device is announced once, and not the first device of an account', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { username, address } = await shop.createUser()
  const [home, work] = [browserOf(shop), browserOf(shop)]
  const sent = async () => {
    await shop.settled()
    return noticesOf(shop).length
  }
  const steps: unknown[] = []
  for (const [name, browser, password] of [
    ['the first device', home, adminPassword],
    ['the first device again', home, adminPassword],
    ['a wrong password on another device', work, 'wrong'],
    ['another device', work, adminPassword],
    ['another device again', work, adminPassword],
    ['the first device later', home, adminPassword],
  ] as const) {
    const code = await browser.signIn(username, { password })
    steps.push([name, code, await sent()])
    await shop.clock.advance(hour)
  }
  t.same(steps, [
    ['the first device', '200', 0],
    ['the first device again', '200', 0],
    ['a wrong password on another device', '401', 0],
    ['another device', '200', 1],
    ['another device again', '200', 1],
    ['the first device later', '200', 1],
  ])
  t.equal(work.lines.length, 2, 'no cookie without a sign-in')
  const [notice] = noticesOf(shop)
  t.match(notice, { to: address, subject: 'New sign-in to Shop' })
  const text = notice?.text ?? ''
  for (const part of [username, '2026-01-01 03:00', 'Password', 'Firefox, Linux', '127.0.0.1'])
    t.ok(text.includes(part), part)
  t.same(text.match(/https?:\S+/g), ['https://shop.example/admin/iam.own-sessions'], 'only the page, no link to end it')
})

onDatabase(t, 'a cookie that another user or an attacker has set does not hide a new device', async (t, db) => {
  const shop = await startRecovery(t, db)
  const [owner, attacker] = [await shop.createUser(), await shop.createUser()]
  const [home, evil] = [browserOf(shop), browserOf(shop)]
  await home.signIn(owner.username)
  await evil.signIn(attacker.username)
  const secret = (browser: typeof home) => browser.jar.cookie.slice('plinth-device='.length).split('.')
  const planted = secret(evil)[0] ?? ''

  await evil.signIn(owner.username)
  await shop.settled()
  t.equal(noticesOf(shop).length, 1, 'the cookie of the attacker is unknown for the owner')
  t.equal(secret(evil).length, 2, 'the browser keeps the secrets of both users')
  t.not(secret(evil)[0], planted)
  await evil.signIn(attacker.username)
  await evil.signIn(owner.username)
  await shop.settled()
  t.equal(noticesOf(shop).length, 1, 'both users are recognised in this browser')

  // The attacker plants a value in the browser of a third user, and later uses the value.
  const victim = await shop.createUser()
  const [theirs, later] = [browserOf(shop), browserOf(shop)]
  theirs.jar.cookie = `plinth-device=${'A'.repeat(43)}`
  await theirs.signIn(victim.username)
  t.not(secret(theirs)[0], 'A'.repeat(43), 'a planted value never becomes a secret')
  later.jar.cookie = `plinth-device=${'A'.repeat(43)}`
  await later.signIn(victim.username)
  await shop.settled()
  t.equal(noticesOf(shop).length, 2)
  const stored = await shop.rows('select secret_hash as hash from iam_known_device')
  for (const browser of [home, evil, theirs])
    for (const value of secret(browser)) t.notOk(JSON.stringify(stored).includes(value), 'only hashes are stored')
})

onSqlite(t, 'the device cookie is out of reach of scripts, other sites, hosts and paths', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { username } = await shop.createUser()
  const plain = browserOf(shop)
  await plain.signIn(username)
  const secure = browserOf(shop, {
    'x-forwarded-proto': 'https',
    'x-forwarded-prefix': '/shop',
    origin: 'https://shop.test',
  })
  await secure.signIn(username)
  t.match(plain.lines[0], /^plinth-device=[\w-]{43}; Max-Age=34560000; Path=\/api; HttpOnly; SameSite=Strict$/)
  t.match(
    secure.lines[0],
    /^__Host-plinth-device-[0-9a-f]{12}=[\w-]{43}; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
  )
  const rejected: unknown[] = []
  for (const cookie of [
    'plinth-device=',
    'plinth-device=x.y',
    `plinth-device=${'.'.repeat(3000)}`,
    'plinth-device="a',
  ]) {
    const browser = browserOf(shop)
    browser.jar.cookie = cookie
    rejected.push(await browser.signIn(username), browser.jar.cookie.length)
  }
  t.same(
    rejected,
    [57, 57, 57, 57].flatMap((length) => ['200', length]),
    'other values are replaced',
  )
})

onSqlite(t, 'a browser keeps 5 users, a user 20 devices, and an hour 5 new devices', async (t, db) => {
  const shop = await startRecovery(t, db)
  const owner = await shop.createUser()
  const first = browserOf(shop)
  await first.signIn(owner.username)
  for (let count = 0; count < 25; count++) {
    await shop.clock.advance(1_000)
    await browserOf(shop).signIn(owner.username)
  }
  await shop.settled()
  t.same([await devices(shop), noticesOf(shop).length], [20, 4])
  await shop.clock.advance(hour)
  await first.signIn(owner.username)
  await shop.settled()
  t.same([await devices(shop), noticesOf(shop).length], [20, 5], 'the oldest device was forgotten')

  const shared = browserOf(shop)
  for (let count = 0; count < 7; count++) await shared.signIn((await shop.createUser()).username)
  t.equal(shared.jar.cookie.split('.').length, 5)

  await shop.clock.advance(401 * 24 * hour)
  const task = shop.running.scheduledTasks.find(({ name }) => name === 'iam.purge')
  await task?.run(new AbortController().signal)
  t.equal(await devices(shop), 0, 'forgotten after 400 days')
})

onDatabase(t, 'a program that asks for a token is announced to operators, by its name and network', async (t, db) => {
  const shop = await startRecovery(t, db)
  await shop.accounts.createAdministrator({ username: 'admin', password: adminPassword }, system)
  const root = await shop.accounts.findByUsername('admin')
  await shop.running
    .service(database)
    .execute('update iam_user set email = ?, email_key = ? where id = ?', [
      'admin@example.com',
      'admin@example.com',
      root?.id ?? 0,
    ])
  const member = await shop.createUser()
  const from = (username: string, address: string, program: string) =>
    shop.call('POST', login, {
      body: { username, password: adminPassword },
      from: address,
      headers: { 'user-agent': program },
    })
  await Promise.all(['curl/8.5', 'curl/8.5'].map((program) => from('admin', '192.0.2.1', program)))
  await from('admin', '192.0.2.1', 'curl/8.6')
  await shop.settled()
  t.equal(noticesOf(shop).length, 0, 'the first program, and its next version')
  await from('admin', '192.0.2.1', 'python-requests/2.32')
  await from('admin', '198.51.100.7', 'curl/8.5')
  await from('admin', '198.51.100.7', 'curl/8.5')
  for (const address of ['192.0.2.1', '198.51.100.7', '203.0.113.9']) await from(member.username, address, 'app/1')
  await shop.settled()
  t.same(
    noticesOf(shop).map(({ to }) => to),
    ['admin@example.com', 'admin@example.com'],
    'operators only',
  )
  await browserOf(shop).signIn('admin')
  await shop.settled()
  t.equal(noticesOf(shop).length, 3, 'a browser is another device')
})

onSqlite(t, 'the notice is in the language of the sign-in and goes only to a confirmed address', async (t, db) => {
  const clock = manualClock()
  const shop = await startRecovery(t, db, { clock })
  const { username, id } = await shop.createUser()
  await browserOf(shop).signIn(username)
  await browserOf(shop).signIn(username, { language: 'zh-CN' })
  await shop.settled()
  const [notice] = noticesOf(shop)
  t.equal(notice?.subject, 'Shop 有新的登录')
  t.match(notice?.text, /方式：密码\r\n设备：Firefox, Linux\r\n/)

  await shop.running.service(database).execute('update iam_user set email_key = null where id = ?', [id])
  await browserOf(shop).signIn(username)
  await shop.running.service(events).idle()
  t.equal(noticesOf(shop).length, 1, 'a stranger may own an address that is not confirmed')
})

onSqlite(t, 'a sign-in succeeds although the device cannot be stored', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { username } = await shop.createUser()
  await shop.running.service(database).execute('drop table iam_known_device')
  const browser = browserOf(shop)
  t.equal(await browser.signIn(username), '200')
  t.same(browser.lines, [])
  t.ok(shop.log.some((line) => line.includes('the device of a sign-in could not be stored')))
})
