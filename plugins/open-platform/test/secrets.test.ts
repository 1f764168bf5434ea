import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, database } from '@plinth/database'
import { manualClock, rejectsWith } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onSqlite, type TestDatabase } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { dataCheck, definePlugin, maskedValue, redact } from '@plinth/kernel'
import type { RunningProduct } from '@plinth/kernel/host'
import { openApi, signatureOf } from '@plinth/open-platform'
import { configCentre } from '@plinth/system-config'
import { pino } from 'pino'
import t from 'tap'
import { Type } from 'typebox'
import { AppSecretEncryption } from '../src/applications/applications.ts'
import { Authenticator } from '../src/signature/authenticator.ts'
import { type ApiResponse, describeOutcome, shop, startOpen } from './fixtures/product.ts'

const apps = '/api/v1/admin/open-platform/apps'
const audits = '/api/v1/admin/iam/audits'
const unusable = '503 open-platform.secret-key-unusable'

/** Returns all stored data as one text. */
async function stored(db: TestDatabase, running: RunningProduct): Promise<string> {
  const tables = ['open_app', 'iam_audit', 'open_call', 'sys_config', 'sys_config_history', 'shared_store_entry']
  const kysely = running.service(database).fork().getKysely<Record<string, object>>()
  const rows = await Promise.all(tables.map((table) => kysely.selectFrom(table).selectAll().execute()))
  const text = JSON.stringify(rows)
  if (db.dialect !== 'sqlite') return text
  const files = readdirSync(db.directory).filter((name) => name.startsWith('test.sqlite'))
  return text + files.map((name) => readFileSync(join(db.directory, name), 'latin1')).join('')
}

onDatabase(t, 'C-053 W-032 no database table, log, response or API description contains a secret', async (t, db) => {
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  const broken = definePlugin({
    id: 'broken',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http },
    setup: ({ services }) =>
      services.http.route({
        method: 'POST',
        path: '/api/v1/broken/open',
        summary: 'Fails',
        access: 'signed',
        annotations: [openApi({ scopes: [] })],
        response: Type.Null(),
        handler: (request) => {
          throw new Error(`failed for ${request.openCaller?.appKey}`, { cause: request.openCaller })
        },
      }),
  })
  const { running, adminToken, createApp, signed, call, server } = await startOpen(t, db, {
    logger,
    plugins: [shop, broken],
    config: { 'platform.http.access-log': true },
  })
  const admin = await adminToken()
  const app = await createApp(admin)
  const rotated = await call('POST', `${apps}/${app.id}/rotate-secret`, admin, {})
  const secrets = [app.secret, rotated.data.secret]
  const responses: ApiResponse[] = [
    await signed(app),
    await signed(app, { method: 'POST', target: '/api/v1/broken/open', body: '{}' }),
    await signed({ ...app, secret: 'plinth_open_wrong' }),
    await signed(app, { target: '/api/v1/shop/exports', method: 'POST', body: '{"year":"x"}' }),
    await call('GET', apps, admin),
    await call('GET', audits, admin),
    await call('PUT', `${apps}/${app.id}`, admin, { name: 'Other' }),
  ]
  t.equal(responses[1]?.code, '500')
  const keyItem = await running.service(configCentre).get('platform.open-platform.security.secret-key')
  t.equal(keyItem.stored?.value, maskedValue, 'the key of the secrets is masked')
  await running.stop('so that everything is written')

  const again = await startOpen(t, db, {
    logger,
    clock: manualClock(Date.UTC(2026, 0, 1, 1)),
    plugins: [shop, broken],
  })
  t.equal(describeOutcome(await again.signed(app)), '200', 'a new process can read the secrets')
  const kept = await stored(db, again.running)
  const texts = [kept, lines.join(''), JSON.stringify(await server.openapi()), ...responses.map(({ text }) => text)]
  for (const text of texts)
    t.equal(redact(text, secrets).length, text.length, 'nothing to mask: clear, escaped or in base64')
  t.match(kept, app.appKey, 'what was looked at holds the application')
  t.match(lines.join(''), /failed for app_/, 'and the failure')
})

onSqlite(t, 'C-053 an encrypted secret can be decrypted only in its own row', async (t, db) => {
  const { adminToken, createApp, signed, running, call } = await startOpen(t, db)
  const admin = await adminToken()
  const [one, other] = [await createApp(admin), await createApp(admin)]
  const service = running.service(database)
  const sealedOf = async ({ id }: { id: number }) => {
    const [row] = await service.query<{ sealed: string }>('select secret_enc as sealed from open_app where id = ?', [
      id,
    ])
    return row?.sealed ?? ''
  }
  const put = (id: number, sealed: string) =>
    service.execute('update open_app set secret_enc = ? where id = ?', [sealed, id])
  const check = async () => {
    const { signal } = new AbortController()
    return running.contributions(dataCheck).get('open-platform.secrets')?.({ signal, progress: () => {} })
  }
  t.equal(await check(), undefined)
  const original = await sealedOf(one)
  const altered = Buffer.from(original, 'base64')
  altered[20] = (altered[20] as number) ^ 1
  for (const sealed of [
    await sealedOf(other),
    altered.toString('base64'),
    '',
    'no base64 at all',
    original.slice(0, 20),
  ]) {
    await put(one.id, sealed)
    t.equal(describeOutcome(await signed(one)), unusable)
    await rejectsWith(t, check(), { message: `The secrets of application ${one.appKey} cannot be decrypted.` })
  }
  t.equal(describeOutcome(await signed(other)), '200', 'others are not touched')
  const renewed = await call('POST', `${apps}/${one.id}/rotate-secret`, admin, { graceSeconds: 0 })
  t.equal(describeOutcome(await signed(renewed.data)), '200', 'a new secret mends it')
  const [again] = [await call('POST', `${apps}/${one.id}/rotate-secret`, admin, { graceSeconds: 0 })]
  t.not(await sealedOf(one), original)
  t.equal(describeOutcome(await signed(again.data)), '200')
})

t.test('C-053 without the master key nothing is replaced, and with it all secrets can be read again', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  const first = await startOpen(t, db, { clock })
  const app = await first.createApp(await first.adminToken())
  await first.running.stop('test')

  const lost = { 'platform.system-config.master-key-file': `${db.directory}/other.key` }
  const second = await startOpen(t, db, { clock, config: lost })
  const admin = await second.login()
  t.equal(describeOutcome(await second.signed(app)), unusable)
  t.equal(describeOutcome(await second.call('POST', apps, admin, { name: 'x' })), unusable)
  t.equal(
    describeOutcome(await second.signed({ ...app, appKey: 'app_unknown' })),
    '401 open-platform.signature-invalid',
  )
  await second.running.stop('test')
  rmSync(`${db.directory}/other.key`, { force: true })

  const third = await startOpen(t, db, { clock })
  t.equal(describeOutcome(await third.signed(app)), '200')
})

onDatabase(t, 'C-052 an unknown application costs the database and the mapper the same work', async (t, db) => {
  const { adminToken, createApp, running, clock } = await startOpen(t, db)
  const app = await createApp(await adminToken())
  const real = running.service(database)
  let work: unknown[] = []
  const typesOf = (row: object) =>
    Object.entries(row).map(([name, value]) => `${name} ${value === null ? null : typeof value}`)
  const watchedManager = () =>
    new Proxy(real.fork(), {
      get(manager, name) {
        const member = Reflect.get(manager, name)
        if (typeof member !== 'function') return member
        return (...given: unknown[]) => {
          const response = member.apply(manager, given)
          const seen = (found: unknown) => work.push([name, found === null ? 'nothing' : 'an entity'])
          if (response instanceof Promise) response.then(seen)
          else seen(response)
          return response
        }
      },
    })
  const watched = {
    dialect: real.dialect,
    fork: watchedManager,
    async query(sql: string, parameters: never) {
      const rows = await real.query<object>(sql, parameters)
      work.push(['query', rows.map(typesOf)])
      return rows
    },
  } as unknown as Database
  const key = Buffer.alloc(32, 7)
  const log = pino({ level: 'silent' })
  const box = new AppSecretEncryption({ find: async () => key, get: async () => key }, log)
  const authenticator = new Authenticator({ db: watched, clock, log, box, alerts: { keyAbnormal: () => {} } })
  await real.execute('update open_app set secret_enc = ? where id = ?', [
    await box.seal(app.appKey, app.secret),
    app.id,
  ])
  const workFor = async (appKey: string) => {
    work = []
    const sent = { appKey, timestamp: '1', nonce: 'n'.repeat(16), signature: 'ab'.repeat(32) }
    const rejected = await authenticator.callerOf(sent, 'text').catch((error) => error)
    t.equal(rejected.reason, 'open-platform.signature-invalid')
    return work
  }
  const known = await workFor(app.appKey)
  t.ok(known.length > 0)
  t.same(await workFor('app_000000000000000000000000'), known, 'unknown')
  await real.execute(`update open_app set status = 'disabled' where id = ?`, [app.id])
  t.same(await workFor(app.appKey), known, 'disabled')
  const right = {
    appKey: app.appKey,
    timestamp: '1',
    nonce: 'n'.repeat(16),
    signature: signatureOf(app.secret, 'text'),
  }
  await rejectsWith(t, authenticator.callerOf(right, 'text'), { code: '401' }, 'disabled, with the right signature')
  await real.execute(`update open_app set status = 'active' where id = ?`, [app.id])
  t.match(await authenticator.callerOf(right, 'text'), { appId: app.id, appKey: app.appKey, name: 'Partner' })
  const decoy = { ...right, appKey: 'decoy' }
  await rejectsWith(t, authenticator.callerOf(decoy, 'text'), { code: '401' })
})
