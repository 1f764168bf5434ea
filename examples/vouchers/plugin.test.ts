import consolePlugin from '@plinth/console'
import consoleAdmin from '@plinth/console/admin'
import databasePlugin, { database } from '@plinth/database'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import { onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import idempotencyPlugin from '@plinth/idempotency'
import { defineProduct } from '@plinth/kernel'
import rateLimitPlugin from '@plinth/rate-limit'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStorePlugin from '@plinth/shared-store'
import sitePlugin from '@plinth/site'
import systemConfigPlugin from '@plinth/system-config'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import vouchersPlugin, { Voucher } from './plugin.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'correct horse battery staple'
const page = '/api/v1/admin/console/pages/vouchers.vouchers'

async function startVouchers(t: Test, db: TestDatabase) {
  const config = {
    ...db.config,
    'platform.http.port': 0,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
    'platform.rate-limit.default-store': 'shared-window',
    'platform.rate-limit.enabled': false,
    'platform.system-config.master-key-file': `${db.directory}/master.key`,
  }
  const plugins = [
    databasePlugin,
    httpPlugin,
    sitePlugin,
    i18nPlugin,
    iamPlugin,
    eventsPlugin,
    idempotencyPlugin,
    sharedStorePlugin,
    systemConfigPlugin,
    rateLimitPlugin,
    sharedWindow,
    consolePlugin,
    consoleAdmin,
    vouchersPlugin,
  ]
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const running = await startForTest(defineProduct({ name: 'vouchers', plugins, config }), { logger })
  t.teardown(() => running.stop('test ended'))
  await running.service(accounts).createAdministrator({ username: 'root', password }, origin)
  const anna = await running.service(accounts).create({ username: 'anna', password, orgId: 1, roleIds: [] }, origin)
  const server = running.service(http)
  const login = await server.inject({
    method: 'POST',
    url: '/api/v1/auth/login',
    payload: { username: 'root', password },
  })
  const send = (method: 'GET' | 'POST', url: string, payload?: object, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${login.json().data.accessToken}`
    return server.inject({ method, url, headers: { authorization, ...headers }, ...(payload && { payload }) })
  }
  const load = async (csv: string, mode = 'check', headers?: Record<string, string>) =>
    (await send('POST', `${page}/import`, { csv, mode }, headers)).json()
  const rows = () =>
    running
      .service(database)
      .fork()
      .find(Voucher.entity, {}, { orderBy: { id: 'asc' } })
  return { send, load, rows, lines, anna, db: running.service(database) }
}

const twoHundred = (faults: Readonly<Record<number, string>>) =>
  [
    'Code,Value,Holder,Note',
    ...Array.from({ length: 200 }, (_, at) => faults[at] ?? `GIFT-${at},10.00 CNY,anna,`),
  ].join('\r\n')

onDatabase(
  t,
  '200 vouchers with three faults are reported by line, and the others are imported',
  async (t: Test, db) => {
    const { load, rows, lines, anna } = await startVouchers(t, db)
    const csv = twoHundred({
      10: 'gift!,10.00 CNY,anna,',
      20: 'GIFT-3,10.00 CNY,anna,',
      30: 'GIFT-30,10.005 CNY,anna,',
    })
    const faults = [
      [12, 'Code', 'pattern'],
      [22, 'Code', 'vouchers.code-taken'],
      [32, 'Value', 'console.import-amount'],
    ]
    const checked = (await load(csv)).data
    t.hasStrict(checked, { outcome: 'checked', rows: 200, valid: 197, created: 0 })
    const problemsOf = ({ problems }: typeof checked) =>
      problems.map(({ line, title, code }: Record<string, unknown>) => [line, title, code])
    t.same(problemsOf(checked), faults)
    const all = (await load(csv, 'all', { 'idempotency-key': 'import-0' })).data
    t.hasStrict(all, { outcome: 'rejected', created: 0 })
    t.same(problemsOf(all), faults)
    t.equal((await rows()).length, 0, 'nothing half done')
    const key = { 'idempotency-key': 'import-1' }
    t.hasStrict((await load(csv, 'valid', key)).data, { outcome: 'imported', created: 197 })
    t.hasStrict((await load(csv, 'valid', key)).data, { outcome: 'imported', created: 197 }, 'a repeated call')
    const stored = await rows()
    t.equal(stored.length, 197)
    t.hasStrict(stored[0], { code: 'GIFT-0', value: 1_000, holderId: anna.id, status: 'draft', note: null })
    t.notMatch(lines.join(), /PLINTH_CONSOLE_PAGE|NO_CLAIM/, 'the back office finds no problem')
  },
)

onDatabase(t, 'a file of the export is accepted in both languages', async (t: Test, db) => {
  const { send, load, rows, anna } = await startVouchers(t, db)
  const note = '=1+1; \'-2, "x"'
  for (const voucher of [
    { code: 'TEA-1', value: 500, holderId: anna.id, validUntil: '2027-01-02T03:04:00.000Z', note },
    { code: 'TEA-2', value: 1_250 },
  ])
    t.equal((await send('POST', '/api/v1/admin/example-vouchers', voucher)).json().code, '200')
  for (const locale of ['en', 'zh-CN']) {
    const file = (await send('GET', `${page}/export?locale=${locale}&filters=${encodeURIComponent('keyword=TEA')}`))
      .body
    const renamed = file.replaceAll('TEA-', `${locale.slice(0, 2).toUpperCase()}-`)
    t.hasStrict((await load(renamed, 'all')).data, { outcome: 'imported', created: 2 }, locale)
  }
  const fields = (prefix: string, all: Awaited<ReturnType<typeof rows>>) =>
    all
      .filter(({ code }) => code.startsWith(prefix))
      .map(({ code, value, holderId, validUntil, note }) => [code.slice(-1), value, holderId, validUntil, note])
      .sort()
  const stored = await rows()
  t.equal(fields('TEA', stored)[0]?.[4], note)
  for (const prefix of ['EN', 'ZH']) t.same(fields(prefix, stored), fields('TEA', stored), prefix)
})

onDatabase(t, 'a file that cannot be read is rejected with its line', async (t: Test, db) => {
  const { load, send, rows } = await startVouchers(t, db)
  const problemOf = async (csv: string, mode?: string) => {
    const { code, data } = await load(csv, mode)
    return code === '200'
      ? [data.outcome, data.problems[0]?.line, data.problems[0]?.title, data.problems[0]?.code]
      : code
  }
  // Of very long input, only the first rule is reported: one of text or null.
  const cases: readonly (readonly [string, readonly unknown[]])[] = [
    ['', ['rejected', 1, null, 'console.import-empty']],
    ['Code,Value\n\n\n', ['rejected', 1, null, 'console.import-empty']],
    ['Code,Value\nA\uFFFD,1', ['rejected', 1, null, 'console.import-encoding']],
    ['Code,Value\nGIFT,1\n"GIFT', ['rejected', 3, null, 'console.import-quote']],
    ['Code,Value\n"GIFT"x,1', ['rejected', 2, null, 'console.import-quote']],
    ['Code,Note\nGIFT,1', ['rejected', 1, 'Value', 'console.import-missing']],
    ['Code,code,Value\nGIFT,GIFT,1', ['rejected', 1, 'Code', 'console.import-twice']],
    ['Code,Value\nGIFT,1,2', ['rejected', 2, null, 'console.import-cells']],
    ['Code,Value,Holder\nGIFT,1,nobody', ['rejected', 2, 'Holder', 'console.import-name']],
    ['Code,Value\nGIFT,', ['rejected', 2, 'Value', 'required']],
    ['Code,Value\nGIFT,297.00 USD', ['rejected', 2, 'Value', 'console.import-amount']],
    ['Code,Value\nGIFT,297 jpy ', ['rejected', 2, 'Value', 'console.import-amount']],
    [`Code,Value${','.repeat(900_000)}\nGIFT,1`, ['rejected', 1, null, 'console.import-columns']],
    [`Code,Value\nGIFT${',1'.repeat(400_000)}`, ['rejected', 2, null, 'console.import-columns']],
    [`Code,Value\n${'GIFT,1\n'.repeat(1_001)}`, ['rejected', 1_002, null, 'console.import-too-long']],
    [`Code,Value,Note\nGIFT,1,${'x'.repeat(900_000)}`, ['rejected', 2, 'Note', 'anyOf']],
    [`Code,Value,Note\nGIFT,1,"${'""'.repeat(450_000)}"`, ['rejected', 2, 'Note', 'anyOf']],
  ]
  for (const [csv, expected] of cases) t.same(await problemOf(csv, 'all'), expected, csv.slice(0, 40))
  t.equal(await problemOf(`Code\n${'x'.repeat(1_000_000)}`), '400')
  t.hasStrict((await load('\uFEFF代金券,券码;面额\r\n', 'check')).data, { outcome: 'rejected' })
  assertMembers(t, (await load('券码;面额;Unknown\r\n\r\nGIFT;7;x\r\n', 'check')).data, {
    valid: 1,
    columns: [{ title: 'Code' }, { title: 'Value' }, { header: 'Unknown', title: null }],
  })
  t.hasStrict((await load('\r\n\nCode;Value\nGIFT;7 CNY\n')).data, { valid: 1 }, 'empty lines precede the header')
  t.equal((await rows()).length, 0)
  const other = await send('POST', '/api/v1/admin/console/pages/iam.users/import', { csv: 'a\nb', mode: 'check' })
  t.equal(other.json().data.reason, 'console.page-unknown')
})

onDatabase(t, 'a file of unknown names gives other requests a turn', async (t: Test, db) => {
  const { load } = await startVouchers(t, db)
  const names = Array.from({ length: 200 }, (_, at) => `GIFT-${at},1,nobody${at}`)
  let turns = 0
  const timer = setInterval(() => turns++)
  const { data } = await load(['Code,Value,Holder', ...names].join('\n'))
  clearInterval(timer)
  t.equal(data.problems.length, 200)
  t.ok(turns >= 10, `${turns} turns`)
})

onDatabase(t, 'a holder is found by name among many users', async (t: Test, at) => {
  const { load, rows, db, anna } = await startVouchers(t, at)
  const [user = {}] = await db.query<Record<string, never>>('select * from iam_user where username = ?', ['anna'])
  const names = Object.keys(user)
  const row = `(${names.map(() => '?').join(', ')})`
  for (let from = 0; from < 3_200; from += 100) {
    const users = Array.from({ length: 100 }, (_, index) => {
      const username = `an-${from + index}-anna`
      return names.flatMap((name) => ({ ...user, id: db.newId(), username, username_key: username })[name] as never)
    })
    await db.execute(
      `insert into iam_user (${names.join(', ')}) values ${users.map(() => row).join(', ')}`,
      users.flat(),
    )
  }
  t.hasStrict((await load('Code,Value,Holder\nGIFT,1,anna', 'all')).data, { outcome: 'imported' })
  t.equal((await rows())[0]?.holderId, anna.id)
})
