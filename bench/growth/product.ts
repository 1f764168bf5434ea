/**
 * Program of a child process with the quickstart. Its arguments are the configuration as JSON, and the number of
 * additional configuration keys. It sends `{ url, token }` when it listens, and responds to each message `{ id, call,
 * ... }` with `{ id, answer }` or `{ id, failure }`.
 */
import './statements.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import type { Product } from '@plinth/kernel'
import product from '../../examples/quickstart/plinth.config.ts'
import { manyKeysPlugin } from '../console/many-keys.ts'
import { settingsOf, settingsText } from '../databases.ts'
import { fillTables } from './fill.ts'
import type { Sizes } from './sizes.ts'
import { statementCount, takeLongestWriteMs } from './statements.ts'

export type Call =
  | { readonly call: 'fill'; readonly sizes: Sizes }
  | { readonly call: 'purge'; readonly task: string }
  | { readonly call: 'rows'; readonly tables: readonly string[] }
  | { readonly call: 'used' }
  | { readonly call: 'settings' }

/** Resources that the process has used since its start. */
export interface ProductUsage {
  readonly cpuMs: number
  readonly statements: number
}

/** Maximum times in milliseconds for which a purge blocks other work. */
export interface PurgeBlockingTimes {
  /** Longest tick of the event loop, in elapsed time and in CPU time of the thread. */
  readonly turnMs: number
  readonly turnCpuMs: number
  /** Locks of written rows. */
  readonly writeMs: number
}

const purges = [
  'iam',
  'events',
  'async-task',
  'notification.send-log',
  'notification.inbox',
  'notification.rules',
  'open-platform',
  'money',
  'approval',
  'money.web3.settlement',
]
const root = mkdtempSync(join(tmpdir(), 'plinth-growth-'))
const plugins = [...product.plugins, manyKeysPlugin(Number(process.argv[3] ?? 0))]
const running = await startForTest({ ...product, plugins, root } as Product, {
  set: {
    'platform.http.port': '0',
    'platform.install.installed': 'true',
    'platform.log.level': 'error',
    // The statements that fill the tables take longer than any statement of a product.
    'platform.database.query-timeout': '10m',
    // The long delay allows events whose next attempt is in a day.
    'platform.events.retry.max-delay': '7d',
    ...Object.fromEntries(purges.map((plugin) => [`platform.${plugin}.purge.auto-startup`, 'false'])),
    ...JSON.parse(process.argv[2] ?? '{}'),
  },
})
const db = running.service(database)
const server = running.service(http)
const administrator = { username: 'root', password: 'Correct-horse-7' }
const origin = { name: 'bench', clientIp: '127.0.0.1', traceId: 'bench', userAgent: '' }
await running.service(accounts).createAdministrator(administrator, origin)
const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })

async function rowsOf(tables: readonly string[]): Promise<number> {
  let rows = 0
  for (const table of tables) {
    const [counted] = await db.query<{ total: unknown }>(`select count(*) as total from ${table}`, [])
    rows += Number(counted?.total)
  }
  return rows
}

async function purge(name: string): Promise<PurgeBlockingTimes> {
  const task = running.scheduledTasks.find((candidate) => candidate.name === name)
  if (task === undefined) throw new Error(`There is no task ${name}`)
  takeLongestWriteMs()
  const turns = watchTurns()
  await task.run(new AbortController().signal)
  return { ...turns.end(), writeMs: takeLongestWriteMs() }
}

/**
 * Measures the longest interval between two callbacks of a timer. It is less than 2 ms longer than the longest tick.
 */
function watchTurns() {
  const longest = { turnMs: 0, turnCpuMs: 0 }
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  let last = { wall: performance.now(), cpu: cpuMs() }
  const look = () => {
    const now = { wall: performance.now(), cpu: cpuMs() }
    longest.turnMs = Math.max(longest.turnMs, now.wall - last.wall)
    longest.turnCpuMs = Math.max(longest.turnCpuMs, now.cpu - last.cpu)
    last = now
  }
  const timer = setInterval(look, 1)
  return {
    end() {
      clearInterval(timer)
      look()
      return longest
    },
  }
}

async function answer(message: Call): Promise<unknown> {
  switch (message.call) {
    case 'fill':
      return fillTables(db, message.sizes)
    case 'purge':
      return purge(message.task)
    case 'rows':
      return rowsOf(message.tables)
    case 'settings':
      return settingsText(await settingsOf(db, db.dialect === 'postgresql' ? 'postgresql' : 'sqlite'))
    case 'used': {
      const { user, system } = process.cpuUsage()
      return { cpuMs: (user + system) / 1_000, statements: statementCount() } satisfies ProductUsage
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
})
process.send?.({ url: server.url, token: login.json().data.accessToken })
