/**
 * Tests upgrades on SQLite, PostgreSQL and MariaDB. `record-database.ts` filled the databases with an earlier version.
 * After the upgrade, work in progress is finished: open reviews, points on hold, refunds, and stored secrets.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { database } from '@plinth/database'
import { programEnvironment, startForTest } from '@plinth/dev/testing'
import { createDatabase, everyDialect, type TestDatabase, type TestDialect } from '@plinth/dev/testing/database'
import { skipAnvil, startAnvil } from '@plinth/dev/testing/web3'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { defineProduct, systemClock } from '@plinth/kernel'
import checkoutPlugin from '@plinth-example/checkout'
import t, { type Test } from 'tap'
import quickstart from '../../examples/quickstart/plinth.config.ts'
import { readAsFirst } from '../../plugins/system-config/test/fixtures/stored-forms.ts'

const recordings = join(import.meta.dirname, '../fixtures/upgrade')
/** Versions with a recording, and the form in which they store secrets. */
const versions = [
  { version: '78ecff9', secrets: 'first' },
  { version: '17b02a68', secrets: 'combined' },
] as const

// biome-ignore lint/suspicious/noExplicitAny: responses of many routes
type Data = any

/** Command line clients of the database servers, with the arguments before the database name. */
const clients = {
  postgresql: ['psql', '-q', '-v', 'ON_ERROR_STOP=1', '-h', '127.0.0.1', '-U', 'postgres'],
  mariadb: ['mariadb', '-h', '127.0.0.1', '-u', 'root'],
} as const

function skipRestore(dialect: TestDialect): false | string {
  if (skipAnvil !== false || dialect === 'sqlite') return skipAnvil
  const [program] = clients[dialect]
  return spawnSync(program, ['--version'], { env: process.env }).error === undefined
    ? false
    : `no ${program} program on this machine`
}

function restore({ dialect, config }: TestDatabase, folder: string): void {
  if (dialect === 'sqlite') {
    const dump = gunzipSync(readFileSync(join(folder, 'sqlite.sqlite.gz')))
    writeFileSync(`${config['platform.database.sqlite.file']}`, dump)
    return
  }
  const [program, ...words] = clients[dialect]
  const input = gunzipSync(readFileSync(join(folder, `${dialect}.sql.gz`)))
  const env = { ...programEnvironment(), PATH: process.env['PATH'] }
  execFileSync(program, [...words, `${config['platform.database.name']}`], {
    input,
    env,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
}

/** Starts this version on a database of an earlier version, together with the recorded chain. */
async function upgrade(t: Test, dialect: TestDialect, version: string) {
  const folder = join(recordings, version)
  const facts: Data = JSON.parse(readFileSync(join(folder, `${dialect}.json`), 'utf8'))
  const chain = await startAnvil()
  t.teardown(() => chain.stop())
  await chain.rpc('anvil_loadState', [facts.chainState])
  const db = await createDatabase(dialect)
  t.teardown(() => db.drop())
  restore(db, folder)
  const masterKey = join(db.directory, 'master.key')
  copyFileSync(join(folder, `${dialect}.master.key`), masterKey)
  const product = defineProduct({
    name: 'quickstart',
    plugins: [...quickstart.plugins, checkoutPlugin],
    config: {
      ...quickstart.config,
      ...db.config,
      'platform.http.port': 0,
      'platform.http.response-check': true,
      'platform.http.overload.max-wait': '1m',
      'platform.storage.root': join(db.directory, 'storage'),
      'platform.system-config.master-key-file': masterKey,
      'platform.install.installed': true,
      'platform.rate-limit.enabled': false,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.outgoing-http.allow-http': true,
      'platform.outgoing-http.allowed-hosts': [`127.0.0.1:${chain.port}`],
      'platform.example.checkout.chain': 'local',
      'platform.example.checkout.token': facts.token,
      'platform.example.checkout.receiver': `0x${'5c'.repeat(20)}`,
    },
  })
  // The clock of the product shows one minute after the recording, so that no stored data has expired.
  const age = systemClock.now() - Date.parse(facts.application.createdAt) - 60_000
  const clock = { ...systemClock, now: () => systemClock.now() - age }
  const running = await startForTest(product, { clock })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const call = async (
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    payload?: object,
    accessToken?: string,
  ): Promise<Data> => {
    const headers = accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }
    const body = payload === undefined ? {} : { payload }
    const response = (await server.inject({ method, url: `/api/v1/${path}`, headers, ...body })).json()
    t.equal(response.code, '200', `${method} ${path}: ${JSON.stringify(response).slice(0, 500)}`)
    return response.data
  }
  const logIn = async (username: string) => {
    const { accessToken } = await call('POST', 'auth/login', { username, password: facts.password })
    return (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) => call(method, path, payload, accessToken)
  }
  return { facts, masterKey, chain, running, call, logIn, settled: () => running.service(events).idle() }
}

for (const { version, secrets: form } of versions)
  for (const { dialect, skip } of everyDialect)
    t.test(
      `C-040 a database of ${version} is upgraded (${dialect})`,
      { skip: skip || skipRestore(dialect), timeout: 600_000 },
      async (t) => {
        const { facts, masterKey, chain, running, logIn, settled } = await upgrade(t, dialect, version)
        const root = await logIn('root')
        const ann = await logIn('ann')
        const ben = await logIn('ben')
        const pointsOf = async (member: typeof ann) =>
          (await member('GET', 'member-points/users/me/overview')).available

        await t.test('points and messages are unchanged', async (t) => {
          t.same({ ann: await pointsOf(ann), ben: await pointsOf(ben) }, facts.points)
          t.equal((await ann('GET', 'notifications/inbox')).items[0].subject, 'Hello')
          t.same((await root('GET', 'notification-rules')).items.length, 1)
        })

        await t.test('points on hold during a refund are not returned', async (t) => {
          const { items: refunds } = await root('GET', 'admin/mall/refunds')
          t.equal(refunds.length, 1)
          await root('POST', `admin/mall/refunds/${refunds[0].refundNo}/decision`, { approve: true })
          await settled()
          await ann('POST', `mall/orders/${facts.orders.held}/cancel`, {})
          await settled()
          t.equal(await pointsOf(ann), 100, 'the member keeps the reward of a first order alone')
        })

        await t.test('points that paid an order return to the member when it is refunded', async (t) => {
          const before = await pointsOf(ben)
          await ben('POST', `mall/orders/${facts.orders.spent}/refunds`, { amount: 25_600, reason: 'too small' })
          const { items: refunds } = await root('GET', 'admin/mall/refunds')
          const open = refunds.find(({ status }: Data) => status === 'pending')
          await root('POST', `admin/mall/refunds/${open.refundNo}/decision`, { approve: true })
          await settled()
          t.equal(await pointsOf(ben), before + 300 - 256, 'less the points that the order earned')
        })

        await t.test('after a change of the nodes, open reviews settle nothing, and new ones do', async (t) => {
          const [{ id, version, requiredConfirmations }] = await root('GET', 'admin/web3/chains')
          const provider = { id: 'node', url: chain.url }
          await root('PUT', `admin/web3/chains/${id}`, { version, requiredConfirmations, providers: [provider] })
          const logs = 'admin/web3/payment-settlement-review-logs'
          const path = (name: string) => `${logs}/${facts.reviews[name].id}`
          t.hasStrict(await root('POST', `${path('ready')}/settle`), { outcome: 'skipped' })
          const renewed = await root('POST', logs, { outTradeNo: facts.payments.ready, action: 'settle' })
          t.hasStrict(await root('POST', `${logs}/${renewed.id}/settle`), { outcome: 'settled' })
          t.hasStrict(await root('POST', `${path('short')}/settle`), { outcome: 'skipped' })
          await chain.mine(5)
          t.match(await root('POST', `${path('confirming')}/settle`), { outcome: String })
          const { items: orders } = await root('GET', 'admin/money/payment-orders?size=100')
          const statusOf = (outTradeNo: string) => orders.find((order: Data) => order.outTradeNo === outTradeNo)?.status
          t.equal(statusOf(facts.payments.settled), 'success')
          t.equal(statusOf(facts.payments.ready), 'success')
          t.equal(statusOf(facts.payments.short), 'pending')
        })

        await t.test(
          'stored secrets take effect and are bound to their destination; the earlier version still reads its own form',
          async (t) => {
            const secrets = ['platform.mail.smtp.password', 'platform.sms.twilio.auth-token']
            const rows = await running
              .service(database)
              .query<Data>(
                'select config_key, config_value, master_key_id, destination from sys_config where config_key in (?, ?)',
                secrets,
              )
            t.same(rows.map((row) => row.config_key).sort(), secrets)
            for (const { config_key: key, config_value: text, master_key_id: masterKeyId, destination } of rows) {
              t.equal(running.config.explain(key)?.effective.source, 'database', key)
              if (form === 'combined') {
                t.ok(text.startsWith('bound:'), key)
                continue
              }
              t.ok(destination, key)
              t.equal(readAsFirst(masterKey, key, text, masterKeyId), facts.storedValues[key], key)
            }
          },
        )
      },
    )
