/**
 * Postings of the ledger against SQL written by hand that writes the same rows into the same tables in the same run: single
 * ones and batches, one caller and many, spread over accounts and all on one. `node bench/ledger/run.ts [--database sqlite]
 * [--rounds 7] [--postings 600]`.
 */
import { parseArgs } from 'node:util'
import databasePlugin from '@plinth/database'
import { createDatabase, dialectsUnderTest, type TestDatabase, type TestDialect } from '@plinth/database/testing'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { startForTest } from '@plinth/kernel/testing'
import money, { type Ledger, ledger, ledgerAssets } from '@plinth/money'
import { type Bar, barsText, sectionText } from '../kernel/report.ts'
import { inverse, ratio, rotated, type Spread, spread } from '../kernel/statistics.ts'
import { type HandWritten, openHandWritten } from './hand-written.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    postings: { type: 'string', default: '600' },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgresql', 'mariadb'] },
    synchronous: { type: 'string', default: 'full' },
  },
})
const rounds = Number(values.rounds)
const postings = Number(values.postings)
const accounts = 1_000
const connections = 16
const asset = 'bench'
const kind = 'bench.posting'

const assets = definePlugin({
  id: 'bench.assets',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [ledgerAssets],
  setup({ contribute }) {
    contribute(ledgerAssets, asset, { displayName: { en: 'Bench', 'zh-CN': '基准' }, scale: 0 })
  },
})

/** What both sides post to. */
interface Books {
  readonly ledger: Ledger
  readonly byHand: HandWritten
  readonly ids: readonly number[]
  readonly systemId: number
}

type Pick = (index: number) => number
const spreadOver: Pick = (index) => (index * 7_919) % accounts
const hot: Pick = () => 0

interface Candidate {
  readonly name: string
  run(books: Books): Promise<void>
}

let keys = 0

/** So many callers, each with the next posting when its last one is answered. */
async function byCallers(callers: number, post: (index: number) => Promise<unknown> | unknown): Promise<void> {
  let next = 0
  const caller = async () => {
    for (let index = next++; index < postings; index = next++) await post(index)
  }
  await Promise.all(Array.from({ length: callers }, caller))
}

const product = (callers: number, pick: Pick, name: string): Candidate => ({
  name: `ledger, ${name}`,
  run: ({ ledger }) =>
    byCallers(callers, (index) =>
      ledger.credit({ owner: { type: 'user', id: `${pick(index)}` }, asset, amount: 1, key: `bench:${++keys}`, kind }),
    ),
})

const handWritten = (callers: number, pick: Pick, name: string): Candidate => ({
  name: `by hand, ${name}`,
  run: ({ byHand, ids, systemId }) => byCallers(callers, (index) => byHand.post(ids[pick(index)] ?? 0, systemId, 1)),
})

const perBatch = 100
const batches = (count: number) => Array.from({ length: Math.ceil(count / perBatch) }, (_, index) => index * perBatch)

const productBatch: Candidate = {
  name: `ledger, batches of ${perBatch}`,
  async run({ ledger, ids }) {
    for (const from of batches(postings)) {
      const accountIds = Array.from({ length: perBatch }, (_, index) => ids[spreadOver(from + index)] ?? 0)
      const postings = accountIds.map((accountId) => ({ accountId, amount: 1, key: `bench:${++keys}` }))
      await ledger.batch({ asset, kind, direction: 'credit', accountIds, postings: async () => postings })
    }
  },
}

const byHandBatch: Candidate = {
  name: `by hand, batches of ${perBatch}, row by row`,
  async run({ byHand, ids, systemId }) {
    for (const from of batches(postings)) {
      const accountIds = Array.from({ length: perBatch }, (_, index) => ids[spreadOver(from + index)] ?? 0)
      await byHand.batch(accountIds, systemId, 1)
    }
  },
}

interface Comparison {
  readonly candidate: Candidate
  readonly base: Candidate
  readonly atLeast?: number
}

function comparisonsOn(dialect: TestDialect): readonly Comparison[] {
  const one = handWritten(1, spreadOver, '1 caller')
  const batch = { candidate: productBatch, base: byHandBatch }
  const single = { candidate: product(1, spreadOver, '1 caller'), base: one }
  if (dialect === 'sqlite') {
    return [
      { ...single, atLeast: 0.6 },
      { candidate: product(64, spreadOver, '64 callers'), base: one, atLeast: 2 },
      { candidate: product(64, hot, '64 callers, one account'), base: one },
      batch,
    ]
  }
  const bars = dialect === 'postgresql' ? [0.7, 0.85] : [0.8, 1]
  const many = `${connections} callers`
  return [
    single,
    ...(
      [
        [spreadOver, `${many}, spread`],
        [hot, `${many}, one account`],
      ] as const
    ).map(([pick, name], index) => ({
      candidate: product(connections, pick, name),
      base: handWritten(connections, pick, name),
      atLeast: bars[index] ?? 0,
    })),
    batch,
  ]
}

async function open(at: TestDatabase) {
  const config = {
    ...at.config,
    ...(at.dialect === 'sqlite' ? {} : { 'platform.database.pool-size': connections }),
  }
  const product = defineProduct({ name: 'bench', plugins: [databasePlugin, money, assets], config })
  const running = await startForTest(product)
  const books = running.service(ledger)
  const ids: number[] = []
  for (let account = 0; account < accounts; account++) {
    const owner = { type: 'user', id: `${account}` }
    ids.push((await books.credit({ owner, asset, amount: 1, key: `open:${account}`, kind })).accountId)
  }
  const systemId = (await books.find({ owner: { type: 'system', id: 'issued' }, asset }))?.id ?? 0
  return { running, books: { ledger: books, ids, systemId, byHand: openHandWritten({ ...at, config }, connections) } }
}

async function measure(dialect: TestDialect): Promise<readonly Bar[]> {
  const made = await createDatabase(dialect)
  const at = { ...made, config: { ...made.config, 'platform.database.sqlite.synchronous': values.synchronous } }
  const { running, books } = await open(dialect === 'sqlite' ? at : made)
  const comparisons = comparisonsOn(dialect)
  const candidates = [
    ...new Map(comparisons.flatMap(({ candidate, base }) => [candidate, base]).map((c) => [c.name, c])).values(),
  ]
  const wall = new Map<string, number[]>(candidates.map(({ name }) => [name, []]))
  const cpu = new Map<string, number[]>(candidates.map(({ name }) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const { name, run } of rotated(candidates, round)) {
      const cpuBefore = process.cpuUsage()
      const start = performance.now()
      await run(books)
      // The first round warms up.
      if (round === 0) continue
      wall.get(name)?.push((performance.now() - start) / postings)
      const { user, system } = process.cpuUsage(cpuBefore)
      cpu.get(name)?.push((user + system) / 1000 / postings)
    }
  }
  await books.byHand.close()
  await running.stop('done')
  await made.drop()
  const text = ({ median, min, max }: Spread) => `${median.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`
  const of = (from: Map<string, number[]>, { name }: Candidate) => from.get(name) ?? []
  const table = [
    ['candidate', 'postings/s', 'ms each', 'ms CPU of the process'],
    ...candidates.map((one) => [
      one.name,
      (1000 / spread(of(wall, one)).median).toFixed(0),
      text(spread(of(wall, one))),
      text(spread(of(cpu, one))),
    ]),
  ]
  const ratios = comparisons.map(({ candidate, base }) => [
    `${candidate.name} to ${base.name}`,
    text(inverse(ratio(of(wall, candidate), of(wall, base)))),
    text(inverse(ratio(of(cpu, candidate), of(cpu, base)))),
  ])
  const notes = [`${postings} postings a turn, ${rounds} rounds`]
  if (dialect === 'sqlite') notes.push(`synchronous = ${values.synchronous}`)
  const tables = [table, [['ratio', 'by time', 'by CPU'], ...ratios]]
  console.log(`${sectionText({ title: dialect, tables, notes, bars: [] })}\n`)
  return comparisons.flatMap(({ candidate, base, atLeast }) =>
    atLeast === undefined
      ? []
      : [
          {
            name: `${dialect}: ${candidate.name}, to ${base.name}`,
            measured: inverse(ratio(of(wall, candidate), of(wall, base))),
            bar: { atLeast },
            unit: 'ratio' as const,
          },
        ],
  )
}

const bars: Bar[] = []
for (const { dialect, skip } of dialectsUnderTest) {
  if (!values.database.includes(dialect)) continue
  if (skip) console.log(`## ${dialect}\n\n${skip}\n`)
  else bars.push(...(await measure(dialect)))
}
console.log(barsText(bars))
