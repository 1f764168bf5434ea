/**
 * Counts the database statements of the idle quickstart on SQLite, per second and by table. Usage: `node
 * bench/idle/run.ts [--seconds 60] [--settle 30]`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startForTest } from '@plinth/dev/testing'
import type { Product } from '@plinth/kernel'
import Database from 'better-sqlite3'
import product from '../../examples/quickstart/plinth.config.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, settle: { type: 'string', default: '30' } },
})
const seconds = Number(values.seconds)

/** Number of executed statements by kind and table. */
const counts = new Map<string, number>()

type Run = (...parameters: unknown[]) => unknown
const { prepare } = Database.prototype
Database.prototype.prepare = function (this: InstanceType<typeof Database>, text: string) {
  const statement = prepare.call(this, text) as unknown as Record<string, Run>
  const words = text.toLowerCase().replaceAll(/["`]/g, '').split(/\s+/)
  const at = words.findIndex((word) => word === 'from' || word === 'into' || word === 'update')
  const name = at < 0 ? (words[0] as string) : `${words[0]} ${words[at + 1]}`
  for (const method of ['run', 'all', 'get', 'iterate']) {
    const run = statement[method] as Run
    statement[method] = (...parameters) => {
      counts.set(name, (counts.get(name) ?? 0) + 1)
      return run.apply(statement, parameters)
    }
  }
  return statement as never
}

const folder = mkdtempSync(join(tmpdir(), 'plinth-idle-'))
const running = await startForTest({ ...product, root: folder } as Product, {
  set: {
    'platform.http.port': '0',
    'platform.database.sqlite.file': join(folder, 'plinth.sqlite'),
    'platform.install.installed': 'true',
  },
})
try {
  await pause(Number(values.settle) * 1000)
  counts.clear()
  const cpu = process.cpuUsage()
  await pause(seconds * 1000)
  const { user, system } = process.cpuUsage(cpu)
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  for (const [name, count] of [...counts].sort(([, a], [, b]) => b - a)) {
    console.log(`${(count / seconds).toFixed(2).padStart(6)}  ${name}`)
  }
  console.log(`${(total / seconds).toFixed(2).padStart(6)}  statements a second, of ${seconds} s`)
  console.log(`${((user + system) / 10_000 / seconds).toFixed(2).padStart(6)}  % of a core`)
} finally {
  await running.stop('measured')
  rmSync(folder, { recursive: true, force: true })
}
