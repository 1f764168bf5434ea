/** Tests the rules of roles for sessions, the list of sessions, and the names of devices. */
import { database } from '@plinth/database'
import { manualClock } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import { identity, proofMethod } from '@plinth/iam'
import { definePlugin } from '@plinth/kernel'
import t from 'tap'
import { deviceNameOf } from '../src/sessions/device-name.ts'
import { adminPassword, startIam, system } from './fixtures/product.ts'

const minute = 60_000
const me = '/api/v1/iam/users/me'
const roles = '/api/v1/admin/iam/roles'
const users = '/api/v1/admin/iam/users'
const password = 'secret1'
const none = { secondFactorFrom: null, sessionLifetime: null, sessionIdleTimeout: null }

interface Answer {
  readonly code: string
  readonly data: { readonly reason?: string } | null
}
const reasonOf = ({ code, data }: Answer) => [code, data?.reason].filter((part) => part !== undefined).join(' ')

const totp = {
  strength: 'possession',
  isAvailable: () => false,
  secondFactor: { isSetUp: () => false, canSetUp: () => true },
} as const
/** Offers a second factor that nobody has set up. */
const factors = definePlugin({
  id: 'factors',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [proofMethod.of({ totp })],
  setup() {},
})

type Iam = Awaited<ReturnType<typeof startIam>>

/** Returns functions of an administrator. */
async function administer(iam: Iam) {
  const token = await iam.administrator()
  const role = async (code: string, permissions: readonly string[] = [], dataScope = 'all') => {
    const body = { code, name: code, dataScope, permissions }
    return (await iam.call('POST', roles, { token, body })).data as { id: number; version: number }
  }
  const user = async (username: string, roleIds: readonly number[] = []) =>
    iam.accounts.create({ username, password, roleIds }, system)
  const setPolicy = async (id: number, policy: object, as = token) => {
    const reader = await iam.login('admin', adminPassword)
    const { version } = (await iam.call('GET', `${roles}/${id}`, { token: reader })).data
    return iam.call('PUT', `${roles}/${id}/sign-in-policy`, { token: as, body: { ...none, ...policy, version } })
  }
  return { token, role, user, setPolicy }
}

onDatabase(t, 'a rule of a role limits running sessions on every instance', async (t, db) => {
  const clock = manualClock()
  const one = await startIam(t, db, { clock, plugins: [factors] })
  const two = await startIam(t, db, { clock, plugins: [factors] })
  const { token: admin, role, user, setPolicy } = await administer(one)
  const [desk, till, office] = [await role('desk'), await role('till'), await role('office')]
  const both = async (token: string) => {
    await clock.advance(900)
    return [reasonOf(await one.call('GET', me, { token })), reasonOf(await two.call('GET', me, { token }))]
  }
  const valid = ['200', '200']
  const expired = ['401 iam.token-expired', '401 iam.token-expired']
  const standing = async (id: number) => (await one.running.service(identity).standingSessions([id])).has(id)
  const listed = async (userId: number) =>
    (await one.call('GET', `${users}/${userId}/sessions`, { token: await one.login('admin', adminPassword) })).data

  await t.test('the lifetime of a role that gets a rule', async (t) => {
    const mia = await user('mia', [desk.id, till.id])
    const token = await one.login('mia', password)
    const startedAt = clock.now()
    const [session] = await listed(mia.id)
    t.same(await both(token), valid)
    await clock.advance(30 * minute)
    await setPolicy(till.id, { sessionLifetime: 7_200 })
    await setPolicy(desk.id, { sessionLifetime: 3_600 })
    t.same(await both(token), valid)
    t.equal((await listed(mia.id))[0].expiresAt, new Date(startedAt + 60 * minute).toISOString(), 'the shortest limit')
    await clock.advance(startedAt + 60 * minute - 1_000 - clock.now())
    t.same([await both(token), await standing(session.id)], [valid, true], 'until the last second')
    await clock.advance(1_000)
    t.same([await both(token), await standing(session.id), await listed(mia.id)], [expired, false, []])
    const opened = await one.call('POST', '/api/v1/auth/login', { body: { username: 'mia', password } })
    t.equal(opened.data.expiresAt, new Date(clock.now() + 60 * minute).toISOString(), 'the login reports the same end')
  })

  await t.test('a role that a user gets meanwhile', async (t) => {
    const noa = await user('noa')
    const token = await one.login('noa', password)
    for (let hour = 0; hour < 2; hour++) {
      t.same(await both(token), valid)
      await clock.advance(60 * minute)
    }
    const body = { roleIds: [desk.id] }
    const fresh = await one.login('admin', adminPassword)
    t.equal((await one.call('PUT', `${users}/${noa.id}`, { token: fresh, body })).code, '200')
    t.same(await both(token), expired)
  })

  await t.test('the idle timeout of a role', async (t) => {
    const lia = await user('lia', [till.id])
    await setPolicy(till.id, { sessionIdleTimeout: 600 }, await one.login('admin', adminPassword))
    const token = await one.login('lia', password)
    const [session] = await listed(lia.id)
    await clock.advance(9 * minute)
    t.same(await both(token), valid)
    await clock.advance(9 * minute)
    t.same([await both(token), await standing(session.id)], [valid, true], 'used in time')
    await clock.advance(10 * minute)
    t.same([await both(token), await standing(session.id), await listed(lia.id)], [expired, false, []])
  })

  await t.test('a second factor that a role requires from a time', async (t) => {
    const ida = await user('ida', [office.id])
    const [plain, proven] = [await one.login('ida', password), await one.login('ida', password)]
    await one.running
      .service(database)
      .execute('update iam_token set second_factor = ? where id = (select max(id) from (select id from iam_token) t)', [
        'totp',
      ])
    t.same([await both(plain), await both(proven)], [valid, valid])
    const from = new Date(clock.now() + 10 * minute).toISOString()
    await setPolicy(office.id, { secondFactorFrom: from }, await one.login('admin', adminPassword))
    t.same([await both(plain), await both(proven)], [valid, valid], 'before the time')
    await clock.advance(10 * minute)
    t.same([await both(plain), await both(proven)], [expired, valid])
    t.same(
      (await listed(ida.id)).map(({ secondFactor }: { secondFactor: string | null }) => secondFactor),
      ['totp'],
    )
  })
  t.equal((await one.call('GET', me, { token: admin })).code, '401', 'the first session is long over')
})

onDatabase(t, 'only operators with the permission and the authority change the rules of a role', async (t, db) => {
  const iam = await startIam(t, db, { config: { 'platform.iam.fresh-proof.enabled': false } })
  const { token: admin, role, user, setPolicy } = await administer(iam)
  const view = ['iam:role:view', 'iam:role:save', 'iam:user:view']
  const guards = await role('guards', ['iam:guards:save', ...view])
  const clerk = await role('clerk', ['iam:user:view'])
  const wide = await role('wide', ['iam:audit:view'])
  const editors = await role('editors', view)
  const hand = await role('hand', ['iam:user:view'], 'self')
  const inOrg = await role('local', ['iam:guards:save', ...view], 'org')
  await user('keeper', [guards.id])
  await user('editor', [editors.id])
  await user('local', [inOrg.id])
  await user('cara', [clerk.id, hand.id])
  const superAdmin = (await iam.call('GET', `${roles}?keyword=super-admin`, { token: admin })).data.items[0]
  const [keeper, editor, local] = [
    await iam.login('keeper', password),
    await iam.login('editor', password),
    await iam.login('local', password),
  ]
  const day = { sessionLifetime: 86_400 }
  const soon = { secondFactorFrom: new Date(iam.clock.now() + minute).toISOString() }
  const attempts = {
    'without the permission': () => setPolicy(clerk.id, day, editor),
    'a role with more permissions': () => setPolicy(wide.id, day, keeper),
    'the role of administrators': () => setPolicy(superAdmin.id, day, keeper),
    'holders outside of the data scope': () => setPolicy(hand.id, day, local),
    'an unknown role': () =>
      iam.call('PUT', `${roles}/9/sign-in-policy`, { token: admin, body: { ...none, version: 1 } }),
    'an old version': () =>
      iam.call('PUT', `${roles}/${clerk.id}/sign-in-policy`, { token: admin, body: { ...none, ...day, version: 9 } }),
    'a factor that nobody offers': () => setPolicy(clerk.id, soon),
    'too short a lifetime': () => setPolicy(clerk.id, { sessionLifetime: 59 }),
    'too short an idle timeout': () => setPolicy(clerk.id, { sessionIdleTimeout: 119 }),
    'a member left out': () =>
      iam.call('PUT', `${roles}/${clerk.id}/sign-in-policy`, { token: admin, body: { ...day, version: 1 } }),
    'by the permission and authority': () => setPolicy(clerk.id, day, keeper),
    'the built-in role, by an administrator': () => setPolicy(superAdmin.id, day),
  }
  const results: Record<string, string> = {}
  for (const [name, attempt] of Object.entries(attempts)) results[name] = reasonOf(await attempt())
  t.same(results, {
    'without the permission': '403 iam.permission-denied',
    'a role with more permissions': '403 iam.beyond-own-authority',
    'the role of administrators': '403 iam.beyond-own-authority',
    'holders outside of the data scope': '403 iam.out-of-scope',
    'an unknown role': '404 iam.role-unknown',
    'an old version': '409 iam.version-conflict',
    'a factor that nobody offers': '409 iam.second-factor-missing',
    'too short a lifetime': '400 http.invalid-input',
    'too short an idle timeout': '400 http.invalid-input',
    'a member left out': '400 http.invalid-input',
    'by the permission and authority': '200',
    'the built-in role, by an administrator': '200',
  })

  const changed = await setPolicy(clerk.id, { sessionLifetime: 3_600, sessionIdleTimeout: 600 })
  t.match(changed.data, { sessionLifetime: 3_600, sessionIdleTimeout: 600, secondFactorFrom: null })
  const same = await setPolicy(clerk.id, { sessionLifetime: 3_600, sessionIdleTimeout: 600 })
  t.equal(same.data.version, changed.data.version, 'the same rules write nothing')
  const audits = `/api/v1/admin/iam/audits?action=role.sign-in-policy&targetId=${clerk.id}`
  const { items } = (await iam.call('GET', audits, { token: admin })).data
  t.same(
    items.map(({ summary }: { summary: object }) => summary),
    [
      {
        code: 'clerk',
        name: 'clerk',
        sessionLifetime: 3_600,
        sessionLifetimeBefore: 86_400,
        sessionIdleTimeout: 600,
        sessionIdleTimeoutBefore: null,
      },
      { code: 'clerk', name: 'clerk', sessionLifetime: 86_400, sessionLifetimeBefore: null },
    ],
    'the history of the values',
  )
  const titles = async (language: string) =>
    (await iam.call('GET', `/api/v1/admin/iam/audits/${items[0].id}`, { token: admin, language })).data.changes.map(
      ({ title }: { title: string }) => title,
    )
  t.same(
    [await titles('en'), await titles('zh-CN')],
    [
      ['Code', 'Name', 'Maximum session lifetime in seconds', 'Idle timeout in seconds'],
      ['代码', '名称', '会话最长有效期（秒）', '会话闲置超时（秒）'],
    ],
  )
})

onDatabase(t, 'operators cannot escape the rules of their role with another role', async (t, db) => {
  const iam = await startIam(t, db, { plugins: [factors], config: { 'platform.iam.fresh-proof.enabled': false } })
  const { token: admin, role, user, setPolicy } = await administer(iam)
  const own = ['iam:role:save', 'iam:role:view', 'iam:user:update', 'iam:user:view']
  const [desk, spare] = [await role('desk', own), await role('spare', [], 'self')]
  const ada = await user('ada', [desk.id])
  const rules = { secondFactorFrom: null, sessionLifetime: 3_600, sessionIdleTimeout: 600 }
  await setPolicy(desk.id, rules)
  const token = await iam.login('ada', password)
  const rulesOf = async (id: number) => {
    const { secondFactorFrom, sessionLifetime, sessionIdleTimeout } = (
      await iam.call('GET', `${roles}/${id}`, { token: admin })
    ).data
    return { secondFactorFrom, sessionLifetime, sessionIdleTimeout }
  }
  const content = { name: 'copy', dataScope: 'all', permissions: own }
  const copy = (await iam.call('POST', roles, { token, body: { code: 'copy', ...content } })).data
  t.same(await rulesOf(copy.id), rules, 'a copy of the own role')
  await setPolicy(spare.id, { sessionLifetime: 1_800 })
  const { version } = (await iam.call('GET', `${roles}/${spare.id}`, { token })).data
  const widened = await iam.call('PUT', `${roles}/${spare.id}`, { token, body: { ...content, version } })
  t.same([reasonOf(widened), await rulesOf(spare.id)], ['200', { ...rules, sessionLifetime: 1_800 }], 'a wider role')
  const audits = `/api/v1/admin/iam/audits?action=role.update&targetId=${spare.id}`
  const [{ summary }] = (await iam.call('GET', audits, { token: admin })).data.items
  t.match(summary, { sessionIdleTimeout: 600, sessionIdleTimeoutBefore: null })
  t.notOk('sessionLifetime' in summary, 'only the rules that differ')
  await iam.call('PUT', `${users}/${ada.id}`, { token, body: { roleIds: [copy.id] } })
  const opened = await iam.call('POST', '/api/v1/auth/login', { body: { username: 'ada', password } })
  t.equal(opened.data.expiresAt, new Date(iam.clock.now() + 3_600_000).toISOString(), 'after the exchange of the roles')

  const free = (await iam.call('POST', roles, { token: admin, body: { code: 'free', ...content } })).data
  t.same(await rulesOf(free.id), none, 'administrators may change rules, so they pass none on')
})

onSqlite(t, 'an API token cannot change the rules while operations need a fresh proof', async (t, db) => {
  const iam = await startIam(t, db, { config: { 'platform.iam.fresh-proof.enabled': true } })
  const { token, role, setPolicy } = await administer(iam)
  const { id } = await role('clerk')
  const expiresAt = new Date(iam.clock.now() + 86_400_000).toISOString()
  const body = { name: 'script', permissions: ['iam:guards:save'], dataScope: 'all', expiresAt }
  const script = (await iam.call('POST', `${me}/api-tokens`, { token, body })).data.token
  t.equal(reasonOf(await setPolicy(id, { sessionLifetime: 60 }, script)), '401 iam.proof-required')
  await iam.clock.advance(6 * minute)
  t.equal(reasonOf(await setPolicy(id, { sessionLifetime: 60 })), '401 iam.proof-required', 'an old proof')
})

onDatabase(t, 'a session has the name of its device, which only its user changes', async (t, db) => {
  const iam = await startIam(t, db)
  const { token, user } = await administer(iam)
  await user('mia')
  const agent =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
  const opened = await iam.call('POST', '/api/v1/auth/login', {
    body: { username: 'mia', password },
    headers: { 'user-agent': agent },
  })
  const own = { token: opened.data.accessToken }
  const names = async () =>
    (await iam.call('GET', `${me}/sessions`, own)).data.map(
      ({ id, deviceName, secondFactor }: { id: number; deviceName: string; secondFactor: null }) => ({
        id,
        deviceName,
        secondFactor,
      }),
    )
  const [{ id, ...first }] = await names()
  t.same(first, { deviceName: 'Chrome, Windows', secondFactor: null })
  const rename = (name: string, as = own) =>
    iam.call('PUT', `${me}/sessions/${id}`, { ...as, body: { name } }).then(reasonOf)
  const forged = '<img src=x onerror=alert(1)>'
  t.same(
    {
      other: await rename('x', { token }),
      long: await rename('x'.repeat(101)),
      empty: await rename(''),
      lines: await rename('a\nb'),
      markup: await rename(forged),
    },
    {
      other: '404 iam.session-unknown',
      long: '400 http.invalid-input',
      empty: '400 http.invalid-input',
      lines: '400 http.invalid-input',
      markup: '200',
    },
  )
  t.same(await names(), [{ id, deviceName: forged, secondFactor: null }], 'text, which pages escape')
  await iam.call('POST', '/api/v1/auth/logout', own)
  t.equal(await rename('later'), '401 iam.token-invalid')
})

t.test('the name of a device is short, whatever the header contains', async (t) => {
  const mozilla = (rest: string) => `Mozilla/5.0 (${rest}`
  const cases: Readonly<Record<string, string | undefined>> = {
    [mozilla('Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36')]:
      'Chrome, Windows',
    [mozilla('Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0')]: 'Edge, Windows',
    [mozilla('Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.1 Safari/605.1.15')]: 'Safari, macOS',
    [mozilla('iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1 CriOS/142.0 Mobile Safari/604.1')]:
      'Chrome, iPhone',
    [mozilla('Linux; Android 10; K) AppleWebKit/537.36 SamsungBrowser/28.0 Chrome/130.0 Mobile Safari/537.36')]:
      'Samsung Internet, Android',
    [mozilla('X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0')]: 'Firefox, Linux',
    [mozilla('X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 Chrome/142.0 Safari/537.36')]: 'Chrome, ChromeOS',
    'Mozilla/5.0 (Unknown) Chrome/1': 'Chrome',
    'curl/8.5.0': 'curl',
    'python-requests/2.32': 'python-requests',
    okhttp: 'okhttp',
    '': undefined,
    '<b>x</b>': undefined,
    '../../etc/passwd': undefined,
    'evil.example.com/1': undefined,
    [`${'a'.repeat(41)}/1`]: undefined,
    [`${' '.repeat(512)}Chrome/1`]: undefined,
  }
  t.same(Object.fromEntries(Object.keys(cases).map((header) => [header, deviceNameOf(header)])), cases)
})
