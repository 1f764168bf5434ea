/**
 * Compares postings of the ledger with hand-written SQL that writes the same rows into the same tables, with the same
 * settings, in the same run. It measures single postings and batches, one caller and many, with different accounts and
 * with one account. `node bench/ledger/run.ts [--database sqlite] [--rounds 7] [--postings 600]`.
 */
import { parseArgs } from 'node:util'
import databasePlugin, { type Database, database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import type { TestDialect } from '@plinth/dev/testing/database'
import { definePlugin, defineProduct } from '@plinth/kernel'
import money, { type Ledger, ledger, ledgerAssets } from '@plinth/money'
import {
  type BenchDatabase,
  checkpointSqlite,
  type OpenDatabase,
  onDatabases,
  settingsOf,
  settingsText,
} from '../databases.ts'
import { type Bar, barsText, ratioText, sectionText } from '../kernel/report.ts'
import { spread } from '../kernel/statistics.ts'
import { type Measure, measureTurns } from '../kernel/turns.ts'
import { type HandWritten, openHandWritten } from './hand-written.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    postings: { type: 'string', default: '600' },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgresql', 'mariadb'] },
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

/** The ledger, the hand-written SQL, and the accounts that both use. */
interface Books {
  readonly ledger: Ledger
  readonly byHand: HandWritten
  readonly ids: readonly number[]
}

type Pick = (index: number) => number
const spreadOver: Pick = (index) => (index * 7_919) % accounts
const hot: Pick = () => 0

interface Candidate {
  readonly name: string
  run(books: Books): Promise<void>
}

let keys = 0

/** Runs concurrent callers. Each caller posts again when its previous posting has returned. */
async function byCallers(callers: number, post: (index: number) => Promise<unknown>): Promise<void> {
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

/**
 * Returns a candidate with hand-written SQL. `post` means that each caller has its own commit. `grouped` means one
 * transaction for all waiting callers.
 */
const byHand = (how: 'post' | 'grouped', callers: number, pick: Pick, name: string): Candidate => ({
  name: `by hand, ${name}${how === 'grouped' ? ', group commit' : ''}`,
  run: ({ byHand, ids }) => byCallers(callers, (index) => byHand[how]({ accountId: ids[pick(index)] ?? 0, amount: 1 })),
})

const perBatch = 100

/** Writes all postings in batches to different accounts. */
const inBatches = (
  name: string,
  write: (books: Books, accountIds: readonly number[]) => Promise<unknown>,
): Candidate => ({
  name,
  async run(books) {
    for (let from = 0; from < postings; from += perBatch) {
      const accountIds = Array.from({ length: perBatch }, (_, index) => books.ids[spreadOver(from + index)] ?? 0)
      await write(books, accountIds)
    }
  },
})

const productBatch = inBatches(`ledger, batches of ${perBatch}`, ({ ledger }, accountIds) => {
  const postings = accountIds.map((accountId) => ({ accountId, amount: 1, key: `bench:${++keys}` }))
  return ledger.batch({ asset, kind, direction: 'credit', accountIds, postings: async () => postings })
})

const byHandBatch = (how: 'rowByRow' | 'multiRow', name: string): Candidate =>
  inBatches(`by hand, batches of ${perBatch}, ${name}`, ({ byHand }, accountIds) =>
    byHand[how](accountIds.map((accountId) => ({ accountId, amount: 1 }))),
  )

interface Comparison {
  readonly candidate: Candidate
  readonly base: Candidate
  readonly atLeast?: number
}

/** Minimum ratio of the speed of the ledger to the speed of hand-written SQL, by elapsed time. */
interface Bars {
  readonly single: number
  /** Ratios for postings to many accounts: compared with one commit per posting, and with group commit. */
  readonly many: readonly [alone: number, grouped: number]
  /** Ratios for postings to one account: compared with one commit per posting, and with group commit. */
  readonly hot: readonly [alone: number, grouped: number]
  readonly batch: number
}

const bars: Readonly<Record<TestDialect, Bars>> = {
  sqlite: { single: 0.5, many: [1.5, 0.4], hot: [1.5, 0.4], batch: 0.5 },
  postgresql: { single: 0.5, many: [0.6, 0.4], hot: [0.85, 0.4], batch: 0.5 },
  mariadb: { single: 0.6, many: [0.6, 0.4], hot: [1, 0.4], batch: 0.5 },
}

function comparisonsOn(dialect: TestDialect): readonly Comparison[] {
  const expected = bars[dialect]
  const callers = dialect === 'sqlite' ? 64 : connections
  // On SQLite only one connection can write at a time, so single commits have one caller.
  const alone = dialect === 'sqlite' ? 1 : connections
  const single = byHand('post', 1, spreadOver, '1 caller')
  const against = (pick: Pick, suffix: string, [aloneAtLeast, groupedAtLeast]: Bars['many']): Comparison[] => {
    const name = `${callers} callers${suffix}`
    const candidate = product(callers, pick, name)
    const base = alone === 1 ? single : byHand('post', alone, pick, name)
    return [
      { candidate, base, atLeast: aloneAtLeast },
      { candidate, base: byHand('grouped', callers, pick, name), atLeast: groupedAtLeast },
    ]
  }
  return [
    { candidate: product(1, spreadOver, '1 caller'), base: single, atLeast: expected.single },
    ...against(spreadOver, '', expected.many),
    ...against(hot, ', one account', expected.hot),
    { candidate: productBatch, base: byHandBatch('multiRow', 'multi-row'), atLeast: expected.batch },
    { candidate: productBatch, base: byHandBatch('rowByRow', 'row by row') },
  ]
}

async function startLedger(at: BenchDatabase) {
  const config = { ...at.config, ...(at.dialect === 'sqlite' ? {} : { 'platform.database.pool-size': connections }) }
  const running = await startForTest(defineProduct({ name: 'bench', plugins: [databasePlugin, money, assets], config }))
  const books = running.service(ledger)
  const ids: number[] = []
  for (let account = 0; account < accounts; account++) {
    const owner = { type: 'user', id: `${account}` }
    ids.push((await books.credit({ owner, asset, amount: 1, key: `open:${account}`, kind })).accountId)
  }
  const systemId = (await books.find({ owner: { type: 'system', id: 'issued' }, asset }))?.id ?? 0
  const db = running.service(database)
  const byHand = await openHandWritten(db, at, systemId, at.dialect === 'sqlite' ? 1 : connections)
  return { running, db, books: { ledger: books, ids, byHand } }
}

/** Checks that every entry matches a change of a balance, whether the ledger or the hand-written SQL wrote it. */
async function assertBalanced(db: Database): Promise<void> {
  const broken = await db.query(`select account_id from money_entry e join money_account a on a.id = e.account_id
    where a.role = 'owner' group by account_id, a.available, a.version
    having sum(d_available) <> a.available or max(seq) <> a.version or count(*) <> a.version`)
  if (broken.length > 0) throw new Error(`${broken.length} accounts do not agree with their entries`)
}

async function measure(dialect: TestDialect, open: OpenDatabase): Promise<readonly Bar[]> {
  const { running, db, books } = await startLedger(await open())
  try {
    const comparisons = comparisonsOn(dialect)
    const all = comparisons.flatMap(({ candidate, base }) => [candidate, base])
    const candidates = [...new Map(all.map((one) => [one.name, one])).values()].map(({ name, run }) => ({
      name,
      turn: async () => {
        await run(books)
        return postings
      },
    }))
    const turns = await measureTurns(candidates, rounds, () => checkpointSqlite(db, dialect))
    await assertBalanced(db)
    const named = ({ name }: Candidate) => ({ name, turn: async () => 0 })
    const times = ({ candidate, base }: Comparison, measure: Measure) =>
      turns.times(named(candidate), named(base), measure)
    const table = [
      ['candidate', 'postings/s', 'ms each', 'ms CPU of the process'],
      ...candidates.map((one) => [
        one.name,
        (1000 / spread(turns.of(one, 'wall')).median).toFixed(0),
        ratioText(spread(turns.of(one, 'wall'))),
        ratioText(spread(turns.of(one, 'cpu'))),
      ]),
    ]
    const ratios = comparisons.map((one) => [
      `${one.candidate.name} to ${one.base.name}`,
      ratioText(times(one, 'wall')),
      ratioText(times(one, 'cpu')),
    ])
    const settings = settingsText(await settingsOf(db, dialect))
    const notes = [
      `${postings} postings a turn, ${rounds} rounds; the peers have the settings of the product, and as many connections`,
    ]
    const tables = [table, [['ratio', 'by time', 'by CPU'], ...ratios]]
    console.log(`${sectionText({ title: `Ledger: ${dialect}`, settings, tables, notes, bars: [] })}\n`)
    return comparisons.flatMap((one): Bar[] =>
      one.atLeast === undefined
        ? []
        : [
            {
              name: `${dialect}: ${one.candidate.name}, to ${one.base.name}`,
              measured: times(one, 'wall'),
              bar: { atLeast: one.atLeast },
              unit: 'ratio',
            },
          ],
    )
  } finally {
    await books.byHand.close()
    await running.stop('done')
  }
}

console.log(`## Bars: ledger\n\n${barsText((await onDatabases(values.database, measure)).flat())}`)
