/**
 * Program of an instance: the quickstart with a plugin that does the measured work. Its argument is the configuration as
 * JSON. It sends `{ url }` when it listens, and responds to each message `{ id, call, ... }` with `{ id, answer }` or `{ id,
 * failure }`. It ends when the parent process disconnects.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { database } from '@plinth/database'
import { event, events } from '@plinth/events'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { definePlugin } from '@plinth/kernel'
import { startProduct } from '@plinth/kernel/host'
import { defineChangeSet } from '@plinth/migrations'
import { ledger, ledgerAssets } from '@plinth/money'
import { notification } from '@plinth/notification'
import { pino } from 'pino'
import { Type } from 'typebox'
import quickstart from '../../examples/quickstart/plinth.config.ts'
import { Meter, type Sample } from './meter.ts'

/** Work that runs in the instances. `http` runs in the callers. */
export type InstanceWork = 'send' | 'posting' | 'hot'

export type Call =
  /** Creates the administrator and the accounts of the ledger. */
  | { readonly call: 'prepare' }
  /** Publishes events, several in one transaction. */
  | { readonly call: 'publish'; readonly count: number }
  /** Counts deliveries for a time. */
  | { readonly call: 'deliver'; readonly seconds: number }
  | { readonly call: 'work'; readonly work: InstanceWork; readonly callers: number; readonly seconds: number }
  | { readonly call: 'open' }
  /** Counts the rows of the send log. */
  | { readonly call: 'recorded' }
  | { readonly call: 'cpu' }

export const administrator = { username: 'root', password: 'Correct-horse-7' }
export const accountCount = 1_000
/** Events with the same key are delivered one after another, so there are many keys. */
const keyCount = 2_000
const asset = 'bench'
const kind = 'bench.posting'
const origin = { name: 'bench', clientIp: '127.0.0.1', traceId: 'bench', userAgent: '' }
const message = { subject: 'Paid', content: 'Order 42 is paid', attributes: { module: 'mall' } }

const delivered = event('bench.scale', Type.Object({ n: Type.Integer() }))
const deliveries = new Meter()

const createTable = defineChangeSet({
  id: '0001-create-bench',
  up: ({ schema, type }) => [
    schema
      .createTable('bench_delivery')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('n', type.integer, (c) => c.notNull()),
  ],
})

const benchPlugin = definePlugin({
  id: 'bench.scale',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { events, database },
  contributes: [ledgerAssets],
  migrations: [createTable],
  setup({ services: { events: bus, database: db }, contribute }) {
    contribute(ledgerAssets, asset, { displayName: { en: 'Bench', 'zh-CN': '基准' }, scale: 0 })
    bus.declarePublished(delivered)
    // As in a product, the handler writes a row in the transaction that also records the delivery.
    bus.on(
      delivered,
      'bench.scale',
      async ({ payload: { n } }) => {
        const begin = performance.now()
        await db.execute('insert into bench_delivery (id, n) values (?, ?)', [db.newId(), n])
        // Several events share a transaction. After a rollback, the handler is called again.
        db.afterCommit(() => deliveries.ended(begin))
      },
      { transaction: true },
    )
  },
})

const root = mkdtempSync(join(tmpdir(), 'plinth-scale-'))
process.env['NODE_ENV'] = 'production'
const running = await startProduct(
  { ...quickstart, plugins: [...quickstart.plugins, benchPlugin], root },
  {
    envFile: false,
    logger: pino({ level: 'silent' }),
    set: {
      'platform.http.port': '0',
      'platform.install.installed': 'true',
      'platform.rate-limit.enabled': 'false',
      'platform.kernel.setup-deadline': '5m',
      ...(JSON.parse(process.argv[2] ?? '{}') as Record<string, string>),
    },
  },
)
const db = running.service(database)
const books = running.service(ledger)
const facade = running.service(notification)
const bus = running.service(events)
let keys = 0

async function prepare(): Promise<{ token: string; path: string }> {
  const { account } = await running.service(accounts).createAdministrator(administrator, origin)
  if (account === undefined) throw new Error('There is an administrator already.')
  for (let account = 0; account < accountCount; account++) await post(account, `open:${account}`)
  const server = running.service(http)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
  const { accessToken } = login.json().data
  return { token: accessToken, path: `/api/v1/admin/iam/users/${account.id}` }
}

const post = (account: number, key: string) =>
  books.credit({ owner: { type: 'user', id: `${account}` }, asset, amount: 1, key, kind })

/** Publishes all events in one transaction, because otherwise most are delivered before the last one is published. */
async function publish(count: number): Promise<void> {
  const work = async () => {
    for (let n = 0; n < count; n++) await bus.publish(delivered, { n }, { key: `order:${n % keyCount}` })
  }
  await db.transactional(work, { timeoutMs: 300_000 })
}

/** Writes the first error of a measurement. All errors are counted. */
let isReported = false
function report(error: Error): void {
  if (!isReported) console.error(error.message)
  isReported = true
}

const works: Readonly<Record<InstanceWork, (n: number) => Promise<unknown>>> = {
  async send() {
    const [result] = await facade.send(message, { channels: ['memory'] })
    if (result?.success !== true) throw new Error(`A send failed: ${result?.errorCode} ${result?.errorMessage}`)
  },
  posting: (n) => post((n * 7_919) % accountCount, `bench:${process.pid}:${keys++}`),
  hot: () => post(0, `bench:${process.pid}:${keys++}`),
}

/** Calls the work again and again from several callers, and measures the calls. */
async function work({ work: name, callers, seconds }: Extract<Call, { call: 'work' }>): Promise<Sample> {
  const meter = new Meter()
  const end = performance.now() + seconds * 1_000
  meter.begin()
  const caller = async (first: number) => {
    for (let n = first; performance.now() < end; n += callers) await meter.measure(() => works[name](n)).catch(report)
  }
  const all = Promise.all(Array.from({ length: callers }, (_, first) => caller(first)))
  await pause(Math.max(0, end - performance.now()))
  const sample = meter.end()
  await all
  return sample
}

async function deliver({ seconds }: Extract<Call, { call: 'deliver' }>): Promise<Sample> {
  deliveries.begin()
  await pause(seconds * 1_000)
  return deliveries.end()
}

async function answer(message: Call): Promise<unknown> {
  switch (message.call) {
    case 'prepare':
      return prepare()
    case 'publish':
      return publish(message.count)
    case 'deliver':
      return deliver(message)
    case 'work':
      return work(message)
    case 'open': {
      const [row] = await db.query<{ n: unknown }>(
        `select count(*) as n from outbox_event where type = 'bench.scale' and status <> 'delivered'`,
      )
      return Number(row?.n)
    }
    case 'recorded': {
      const [row] = await db.query<{ n: unknown }>('select count(*) as n from notification_send_log')
      return Number(row?.n)
    }
    case 'cpu': {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1_000
    }
  }
}

process.on('message', async (message: Call & { id: number }) => {
  const { id } = message
  const answered = await answer(message).then(
    (result) => ({ id, answer: result ?? null }),
    (error: Error) => ({ id, failure: String(error.stack) }),
  )
  // The parent process may have ended meanwhile.
  if (process.connected) process.send?.(answered)
})
process.once('disconnect', async () => {
  await running.stop('measured')
  rmSync(root, { recursive: true, force: true })
  process.exit()
})
process.send?.({ url: running.service(http).url })
