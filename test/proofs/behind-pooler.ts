import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import databasePlugin, { database } from '@plinth/database'
import { createDatabase, startPgbouncer } from '@plinth/database/testing'
import { defineProduct, omitUndefined } from '@plinth/kernel'
import { startForTest } from '@plinth/kernel/testing'
import { type ProductProcess, startProcess } from '../fixtures/product-process.ts'

const product = join(import.meta.dirname, '..', 'fixtures', 'pooler.config.ts')
const password = 'Correct-horse-7'
const accountsOfLedger = ['one', 'two', 'three']
const opening = 1_000_000

interface PoolerProof {
  /** Duration of the load in seconds. */
  readonly seconds: number
  /** Value of `platform.database.prepared-statements`. If omitted, the product uses its default. */
  readonly preparedStatements?: boolean
}

type Kind = 'credit' | 'debit' | 'login' | 'notification' | 'config'

interface PoolerFigures {
  readonly requests: Readonly<Record<Kind, number>>
  readonly succeeded: Readonly<Record<Kind, number>>
  /** Number of failed responses by code or reason. */
  readonly failures: Readonly<Record<string, number>>
  /** Proportion of successful requests, from 0 to 1. */
  readonly share: number
  /** Balances of the accounts: the stored balance, and the balance that the postings should give. */
  readonly balances: readonly { readonly account: string; readonly found: number; readonly expected: number }[]
  /** Number of rows that the successful requests should have written, and number of rows found. */
  readonly rows: readonly {
    readonly kind: Kind
    readonly found: number
    readonly acknowledged: number
    readonly asked: number
  }[]
  /** Number of log lines of both instances that report that statements are not prepared. */
  readonly reports: number
}

interface Call {
  readonly kind: Kind
  /** Sends the request. Throws if the response is not a success. */
  send(url: string): Promise<void>
}

/** Runs two processes of the full product behind one pgbouncer in transaction mode, under mixed load. */
export async function proveBehindPooler({ seconds, preparedStatements }: PoolerProof): Promise<PoolerFigures> {
  const undo: (() => unknown)[] = []
  try {
    const db = await createDatabase('postgresql')
    undo.push(() => db.drop())
    const pooler = await startPgbouncer({ poolSize: 8 })
    undo.push(() => pooler.drop())
    const config = {
      ...db.config,
      'platform.database.port': pooler.port,
      'platform.database.pool-size': 10,
      'platform.storage.root': join(db.directory, 'storage'),
      'platform.system-config.master-key-file': join(db.directory, 'master.key'),
      'platform.install.installed': true,
      // The limits are high, because all requests come from one address and use few accounts.
      'platform.iam.auth.login.rate-limit.password.identifier-max-attempts': 1_000_000,
      'platform.iam.auth.login.rate-limit.password.ip-max-attempts': 1_000_000,
      // The load logs in as one user more often than the default limit of sessions allows.
      'platform.iam.token.max-per-user': 10_000,
      'platform.rate-limit.annotation.enabled': false,
      // The deadline is long, because a busy host is slow.
      'platform.rate-limit.store-deadline': '1m',
      // Password hashes are cheap, because this test is about the database.
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      ...(preparedStatements === undefined ? {} : { 'platform.database.prepared-statements': preparedStatements }),
    }
    const settings = Object.fromEntries(Object.entries(config).map(([key, value]) => [key, String(value)]))
    const t = { teardown: (work: () => unknown) => void undo.push(work) }
    const processes = await Promise.all([startProcess(t, product, settings), startProcess(t, product, settings)])
    const look = await startForTest(
      defineProduct({
        name: 'look',
        plugins: [databasePlugin],
        config: { ...db.config, 'platform.database.migrate-at-start': false },
      }),
      { roles: ['cli'] },
    )
    undo.push(() => look.stop('the proof ended'))
    return await loadBoth(processes, seconds, (sql) => look.service(database).query<{ n: unknown }>(sql))
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

async function loadBoth(
  processes: readonly ProductProcess[],
  seconds: number,
  query: (sql: string) => Promise<readonly { readonly n: unknown }[]>,
): Promise<PoolerFigures> {
  const urls = processes.map(({ url }) => url)
  const [first = ''] = urls
  const users = await Promise.all(
    ['root', 'ada', 'grace', 'linus'].map(async (username) => {
      const { id } = (await request(first, 'POST', 'probe/administrators', { body: { username, password } })) as {
        id: number
      }
      return { username, id, authorization: await logIn(first, username) }
    }),
  )
  const [root] = users
  if (root === undefined) throw new Error('no user')
  const expected = new Map(accountsOfLedger.map((account) => [account, opening]))
  for (const owner of accountsOfLedger) {
    const body = { action: 'credit', owner, key: `opening-${owner}`, amount: opening }
    await request(first, 'POST', 'probe/postings', { body })
  }
  const count = async (sql: string) => Number((await query(sql))[0]?.n)
  const rowsOf = {
    notification: 'select count(*) as n from notification_inbox_item',
    config: `select count(*) as n from sys_config_history where config_key = 'platform.site.name'`,
  } as const
  const before = { notification: await count(rowsOf.notification), config: await count(rowsOf.config) }

  /**
   * For each kind of request, a function that returns the nth call of a client. A posting is sent again until it
   * succeeds, so that the sum of all postings is known.
   */
  const makers: Readonly<Record<Kind, (client: string, n: number) => Call>> = {
    credit: (client, n) => posting('credit', client, n),
    debit: (client, n) => posting('debit', client, n),
    login: (client, n) => {
      const user = users[(client.charCodeAt(0) + n) % users.length] ?? root
      return {
        kind: 'login',
        async send(url) {
          const authorization = await logIn(url, user.username)
          const me = (await request(url, 'GET', 'iam/users/me', { authorization })) as { username: string }
          if (me.username !== user.username) throw new Error(`logged in as ${me.username}`)
        },
      }
    },
    notification: (client, n) => ({
      kind: 'notification',
      async send(url) {
        const body = { channels: ['database'], recipientUserIds: [root.id], content: `${client} ${n}` }
        const [outcome] = (await request(url, 'POST', 'notifications/send', { body, ...root })) as {
          success: boolean
        }[]
        if (outcome?.success !== true) throw new Error(`notification: ${JSON.stringify(outcome)}`)
      },
    }),
    config: (client, n) => ({
      kind: 'config',
      async send(url) {
        const changes = [{ key: 'platform.site.name', action: 'set', value: `Shop ${client} ${n}` }]
        await request(url, 'POST', 'admin/system-config/changes', { body: { changes }, ...root })
      },
    }),
  }
  const posting = (action: 'credit' | 'debit', client: string, n: number): Call => {
    const owner = accountsOfLedger[n % accountsOfLedger.length] ?? ''
    const amount = 1 + (n % 7)
    expected.set(owner, (expected.get(owner) ?? 0) + (action === 'credit' ? amount : -amount))
    const body = { action, owner, key: `${client}-${n}`, amount }
    return { kind: action, send: async (url) => void (await request(url, 'POST', 'probe/postings', { body })) }
  }

  const requests = zeros()
  const succeeded = zeros()
  const failures: Record<string, number> = {}
  const unknown: Call[] = []
  const endsAt = performance.now() + seconds * 1000
  const client = async (url: string, name: string, kind: Kind, restMs: number) => {
    for (let n = 0; performance.now() < endsAt; n++) {
      const call = makers[kind](name, n)
      requests[kind] += 1
      try {
        await call.send(url)
        succeeded[kind] += 1
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        failures[reason] = (failures[reason] ?? 0) + 1
        unknown.push(call)
      }
      if (restMs > 0) await pause(restMs)
    }
  }
  /** Number of clients per instance, and their pause in ms after each request. */
  const clients = [
    ['credit', 3, 0] as const,
    ['debit', 3, 0] as const,
    ['login', 2, 20] as const,
    ['notification', 2, 20] as const,
    ['config', 1, 500] as const,
  ]
  await Promise.all(
    urls.flatMap((url, instance) =>
      clients.flatMap(([kind, many, restMs]) =>
        Array.from({ length: many }, (_, index) => client(url, `${instance}-${kind}-${index}`, kind, restMs)),
      ),
    ),
  )
  for (const call of unknown) {
    if (call.kind === 'credit' || call.kind === 'debit') await repeat(() => call.send(first))
  }

  const balances = await Promise.all(
    accountsOfLedger.map(async (account) => {
      const { available } = (await request(first, 'GET', `probe/balances/${account}`)) as { available: number }
      return { account, found: available, expected: expected.get(account) ?? 0 }
    }),
  )
  const rows = await Promise.all(
    (['notification', 'config'] as const).map(async (kind) => ({
      kind,
      found: (await count(rowsOf[kind])) - before[kind],
      acknowledged: succeeded[kind],
      asked: requests[kind],
    })),
  )
  const total = (counts: Readonly<Record<Kind, number>>) => Object.values(counts).reduce((sum, number) => sum + number)
  const reports = processes
    .flatMap(({ output }) => output().split('\n'))
    .filter((line) => /"msg":"(?:A connection pooler is between|The database server, or a proxy)/.test(line)).length
  return { requests, succeeded, failures, share: total(succeeded) / total(requests), balances, rows, reports }
}

const zeros = (): Record<Kind, number> => ({ credit: 0, debit: 0, login: 0, notification: 0, config: 0 })

async function logIn(url: string, username: string): Promise<string> {
  const data = (await request(url, 'POST', 'auth/login', { body: { username, password } })) as { accessToken: string }
  return `Bearer ${data.accessToken}`
}

/** Returns the data of a successful response. Throws the status, code and reason of any other response. */
async function request(
  url: string,
  method: string,
  path: string,
  { body, authorization }: { readonly body?: object; readonly authorization?: string } = {},
): Promise<unknown> {
  const response = await fetch(
    `${url}/api/v1/${path}`,
    omitUndefined({
      method,
      headers: omitUndefined({
        'content-type': body === undefined ? undefined : 'application/json',
        authorization,
      }),
      body: body === undefined ? undefined : JSON.stringify(body),
    }),
  )
  const { code, data, message } = (await response.json()) as { code: string; data: unknown; message: string }
  if (code !== '200')
    throw new Error(`${path}: ${code} ${message} ${(data as { reason?: string } | null)?.reason ?? ''}`)
  return data
}

async function repeat(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === 20) throw error
      await pause(100)
    }
  }
}
