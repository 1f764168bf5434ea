// Measures the cold start of the quickstart on an empty database, and its installation: node bench/install/run.ts
// [--rounds 5]
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { root } from '../kernel/javascript-copy.ts'
import { barsText, ratioText, sectionText } from '../kernel/report.ts'
import { timeStart } from '../kernel/start-time.ts'
import { ratio, rotated, type Spread, spread } from '../kernel/statistics.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } })
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError('--rounds takes a whole number from 1')

/** Milliseconds of one round. */
interface Sample {
  /** Milliseconds from starting the process to the first HTTP response. */
  readonly start: number
  /** Milliseconds from sending the form until the product is installed and locked. */
  readonly install: number
}

/** The folder is inside the repository, so that the products find the plugins. */
const place = join(root, 'bench', 'dist')
mkdirSync(place, { recursive: true })
const folder = mkdtempSync(join(place, 'install-'))
const quickstart = join(root, 'examples', 'quickstart')

/** Creates a new directory with a product file for each start. */
function emptyProduct(name: string): string {
  const directory = join(folder, name)
  mkdirSync(directory)
  copyFileSync(join(quickstart, '.env.example'), join(directory, '.env.example'))
  const file = join(directory, 'plinth.config.ts')
  writeFileSync(file, `export { default } from ${JSON.stringify(join(quickstart, 'plinth.config.ts'))}\n`)
  return file
}

const password = 'Winter-2026-garden'
const form = {
  site: { name: 'Northwind', title: '', url: 'http://127.0.0.1', defaultLocale: 'en', timeZone: 'UTC' },
  administrator: { username: 'founder', email: '', mobile: '', password, confirmPassword: password },
  database: { type: 'h2' },
  cache: { enabled: false },
  storage: { publicDisk: 'public', localDisk: 'local' },
}

async function call<T>(url: string, path: string, body?: object): Promise<T> {
  const given = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${url}/api/v1/install/${path}`, {
    ...given,
    headers: { 'content-type': 'application/json' },
  })
  const { code, data } = (await response.json()) as { code: string; data: T }
  assert.equal(code, '200', `${path} was refused`)
  return data
}

const address = /https?:\/\/[^\s"]+:\d+/

/** Runs `plinth start` with its supervisor, then sends the last request of the installer. */
async function sampleProduct(name: string): Promise<Sample> {
  const file = emptyProduct(name)
  const command = ['start', '--product', file, '--set', 'platform.http.port=0', '--set', 'platform.log.format=json']
  const startedAt = performance.now()
  const sample = { start: 0, install: 0 }
  await timeStart(
    [join(root, 'kernel', 'bin', 'plinth.js'), ...command],
    (line) => line.includes('"msg":"listening"') && address.test(line),
    async (line) => {
      const url = address.exec(line)?.[0] ?? ''
      assert.equal((await call<{ installed: boolean }>(url, 'status')).installed, false)
      sample.start = performance.now() - startedAt
      const plan = await call<{ passed: boolean; restartRequired: boolean }>(url, 'config/plan', form)
      assert.deepEqual([plan.passed, plan.restartRequired], [true, false])
      const before = performance.now()
      const { passed, locked } = await call<{ passed: boolean; locked: boolean }>(url, 'execute', form)
      assert.deepEqual([passed, locked], [true, true])
      assert.equal((await call<{ installed: boolean }>(url, 'status')).installed, true)
      sample.install = performance.now() - before
    },
  )
  return sample
}

async function sampleBare(name: string, tables: number): Promise<Sample> {
  const startedAt = performance.now()
  const sample = { start: 0, install: 0 }
  const program = join(import.meta.dirname, 'bare-server.ts')
  await timeStart(
    [program, join(folder, `${name}.sqlite`), String(tables)],
    (line) => line.startsWith('ready'),
    async (line) => {
      const url = address.exec(line)?.[0] ?? ''
      await (await fetch(`${url}/health`)).json()
      sample.start = performance.now() - startedAt
      const before = performance.now()
      await (await fetch(`${url}/install`, { method: 'POST' })).json()
      await (await fetch(`${url}/health`)).json()
      sample.install = performance.now() - before
    },
  )
  return sample
}

function tablesOf(name: string): number {
  const opened = new DatabaseSync(join(folder, name, 'data', 'plinth.sqlite'), { readOnly: true })
  const [row] = opened.prepare(`select count(*) as tables from sqlite_master where type = 'table'`).all()
  opened.close()
  return Number(row?.['tables'])
}

const product = 'quickstart, TypeScript source'
const bare = 'bare Fastify and SQLite, as many tables'

try {
  // A first run fills the compile cache, builds missing browser pages, and creates the tables that are counted.
  await sampleProduct('warm-up')
  const tables = tablesOf('warm-up')
  await sampleBare('warm-up-bare', tables)
  const samples: Record<string, Sample[]> = { [product]: [], [bare]: [] }
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated([product, bare], round)) {
      const sample = name === product ? sampleProduct(`product-${round}`) : sampleBare(`bare-${round}`, tables)
      samples[name]?.push(await sample)
    }
  }
  const times = (name: string, kind: keyof Sample) => (samples[name] ?? []).map((sample) => sample[kind])
  const text = ({ median, min, max }: Spread) => `${median.toFixed(0)} (${min.toFixed(0)}..${max.toFixed(0)})`
  const rows = (kind: keyof Sample) =>
    [product, bare].map((name) => [
      name,
      text(spread(times(name, kind))),
      ratioText(ratio(times(name, kind), times(bare, kind))),
    ])
  const bars = [
    {
      name: 'cold start on an empty database, to the first answer',
      measured: spread(times(product, 'start')),
      bar: { atMost: 3000 },
      unit: 'ms',
    },
    {
      name: 'installation on the embedded database, to the lock',
      measured: spread(times(product, 'install')),
      bar: { atMost: 5000 },
      unit: 'ms',
    },
  ] as const
  const section = {
    title: 'Installation of the quickstart product',
    tables: [
      [['spawn to first answer, empty database', 'ms', 'ratio'], ...rows('start')],
      [['last request of the form to installed and locked', 'ms', 'ratio'], ...rows('install')],
    ],
    notes: [
      `${rounds} interleaved rounds of \`plinth start\` with its supervisor, each in an empty directory, with the compile ` +
        `cache of an earlier start; ${tables} tables`,
      'the installation is `POST execute` and one `GET status`: environment checks, configuration, tasks, the administrator ' +
        'with the hash of a password, the lock; the tables are made at the start, and bare Fastify makes as many once more',
    ],
    bars,
  }
  console.log(`${sectionText(section)}\n\n## Bars\n\n${barsText(bars)}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
