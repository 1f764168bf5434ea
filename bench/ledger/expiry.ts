/**
 * Points that lapse by the expiry job of the product, against one source after another: by the entity manager, and by SQL
 * written by hand, which write the same rows into the same tables in the same run. `node bench/ledger/expiry.ts
 * [--database sqlite] [--lots 1000000] [--due 200000] [--rows 500] [--rounds 5]`: of so many lots that lie there `due` lapse by the
 * job, and `rows` a turn by each of the others.
 */
import { parseArgs } from 'node:util'
import databasePlugin, { type Database, database, exactInteger } from '@plinth/database'
import { createDatabase, dialectsUnderTest, type TestDatabase, type TestDialect } from '@plinth/database/testing'
import events from '@plinth/events'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import iam from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import { manualClock, startForTest } from '@plinth/kernel/testing'
import memberPointsPlugin, { memberPoints } from '@plinth/member-points'
import money, { ledger } from '@plinth/money'
import { type Bar, barsText, ratioText, sectionText } from '../kernel/report.ts'
import { inverse, ratio, rotated, spread } from '../kernel/statistics.ts'
import { asset, fillBooks } from './filled-books.ts'
import { type ByRow, byEntities, byHand } from './lapse-by-row.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    lots: { type: 'string', default: '1000000' },
    due: { type: 'string', default: '200000' },
    rows: { type: 'string', default: '500' },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgresql', 'mariadb'] },
    synchronous: { type: 'string', default: 'full' },
  },
})
const rounds = Number(values.rounds)
const rows = Number(values.rows)
const perTurn = Math.ceil(Number(values.due) / rounds)
/** Of the first turn, which warms up. */
const warmUp = Math.min(perTurn, 5_000)
const lotsOfAccount = 10
const start = Date.UTC(2026, 11, 1)

/** "Great" of each database, to the entity manager row by row. */
const bars: Readonly<Record<TestDialect, number>> = { sqlite: 15, postgresql: 25, mariadb: 60 }

/** Where the time of the job goes: what its statements wait for, by their beginnings. */
function profileOf(db: Database) {
  const times = new Map<string, { count: number; ms: number }>()
  let isOn = false
  let total = 0
  const watch = <T>(name: 'execute' | 'query', run: (sql: string, ...rest: never[]) => Promise<T>) => {
    const watched = async (sql: string, ...rest: never[]) => {
      const began = performance.now()
      const answer = await run.call(db, sql, ...rest)
      if (!isOn) return answer
      const [head = ''] = /^\s*\w+.*?(?:points|money)_\w+/s.exec(sql) ?? []
      const text = head.replace(/^(select).*from/s, '$1').replace(/\s+/g, ' ')
      const time = times.get(text) ?? { count: 0, ms: 0 }
      times.set(text, { count: time.count + 1, ms: time.ms + performance.now() - began })
      return answer
    }
    Object.defineProperty(db, name, { configurable: true, value: watched })
  }
  watch('execute', db.execute)
  watch('query', db.query)
  return {
    async during(work: () => Promise<void>): Promise<void> {
      const began = performance.now()
      isOn = true
      await work().finally(() => {
        isOn = false
      })
      total += performance.now() - began
    },
    table(): readonly (readonly string[])[] {
      const rows = [...times].filter(([, { ms }]) => ms / total >= 0.01).sort(([, a], [, b]) => b.ms - a.ms)
      const rest = total - [...times.values()].reduce((sum, { ms }) => sum + ms, 0)
      const part = (ms: number) => `${((100 * ms) / total).toFixed(0)} %`
      return [
        ['the expiry job waits for', 'times', 'of its time'],
        ...rows.map(([text, { count, ms }]) => [text, String(count), part(ms)]),
        ['commits, and its own work', '', part(rest)],
      ]
    },
  }
}

interface Candidate {
  readonly name: string
  /** Lets lots lapse. @returns how many */
  turn(round: number): Promise<number>
}

async function open(at: TestDatabase) {
  const clock = manualClock(start)
  const config = { ...at.config, 'platform.http.port': 0, 'platform.iam.password.hash.memory': '1MiB' }
  const plugins = [databasePlugin, http, i18n, iam, events, money, memberPointsPlugin]
  const running = await startForTest(defineProduct({ name: 'bench', plugins, config }), { clock })
  return { running, clock, db: running.service(database), points: running.service(memberPoints) }
}

/** Everything that lapsed left its account, once. */
async function assertBalanced(db: Database, lapsed: number): Promise<void> {
  const one = async (sql: string) => exactInteger((await db.query<{ n: unknown }>(sql))[0]?.n)
  const [balances, lots] = [
    await one(`select sum(available) as n from money_account where role = 'owner'`),
    await one('select sum(remaining) as n from points_source'),
  ]
  const gone = await one(`select count(*) as n from points_source where status = 'expired'`)
  const uses = await one(`select count(*) as n from points_source_use where kind = 'expire'`)
  if (balances !== lots || gone !== lapsed || uses !== lapsed) {
    throw new Error(`Balances ${balances}, lots ${lots}; ${lapsed} lapsed, of them sources ${gone} and uses ${uses}.`)
  }
}

async function measure(dialect: TestDialect): Promise<Bar> {
  const made = await createDatabase(dialect)
  const at =
    dialect === 'sqlite'
      ? { ...made, config: { ...made.config, 'platform.database.sqlite.synchronous': values.synchronous } }
      : made
  const { running, clock, db, points } = await open(at)
  const byJob = warmUp + rounds * perTurn
  const lapsing = byJob + 3 * (rounds + 1) * rows
  const accounts = Math.ceil(Math.max(lapsing, Number(values.lots)) / lotsOfAccount)
  const grants = accounts * lotsOfAccount
  const owner = { type: 'user', id: '0' }
  await running.service(ledger).credit({ owner, asset, amount: 1, key: 'opens', kind: 'points.task' })
  const systemId = (await running.service(ledger).find({ owner: { type: 'system', id: 'issued' }, asset }))?.id ?? 0
  await db.execute('delete from points_source')
  await db.execute(`delete from money_account where role = 'owner'`)
  const loading = performance.now()
  await fillBooks(db, dialect, systemId, {
    ...{ accounts, grantsEach: lotsOfAccount, order: 'mixed', monthKey: '202611' },
    ...{ createdAt: `(${start - 86_400_000} + i)`, expiresAt: `(${start} + i)` },
  })
  console.error(`${dialect}: ${grants} lots loaded in ${((performance.now() - loading) / 1000).toFixed(0)} s`)

  const profile = profileOf(db)
  let due = 0
  let next = byJob
  const byRow = (name: string, candidate: ByRow): Candidate => ({
    name,
    async turn() {
      await candidate.lapse(Array.from({ length: rows }, () => ++next))
      return rows
    },
  })
  const single = await byHand(at, systemId)
  const together = await byHand(at, systemId, 500)
  const product: Candidate = {
    name: 'the expiry job',
    async turn(round) {
      const lots = round === 0 ? warmUp : perTurn
      due += lots
      clock.shiftWallClock(start + due - clock.now())
      await profile.during(() => points.expire())
      return lots
    },
  }
  const entities = byRow('row by row, by the entity manager', byEntities(db, systemId))
  const written = byRow('row by row, by hand', single)
  const paged = byRow('row by row, by hand, 500 in a transaction', together)
  const candidates = [product, entities, written, paged]
  const wall = new Map<Candidate, number[]>(candidates.map((candidate) => [candidate, []]))
  const cpu = new Map<Candidate, number[]>(candidates.map((candidate) => [candidate, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const candidate of rotated(candidates, round)) {
      const cpuBefore = process.cpuUsage()
      const began = performance.now()
      const lots = await candidate.turn(round)
      if (round === 0) continue
      wall.get(candidate)?.push((performance.now() - began) / lots)
      const { user, system } = process.cpuUsage(cpuBefore)
      cpu.get(candidate)?.push((user + system) / 1000 / lots)
    }
  }
  await assertBalanced(db, lapsing)
  await single.close()
  await together.close()
  await running.stop('done')
  await made.drop()

  const of = (from: Map<Candidate, number[]>, candidate: Candidate) => from.get(candidate) ?? []
  const table = [
    ['candidate', 'lots/s', 'ms each', 'ms CPU of the process'],
    ...candidates.map((candidate) => {
      const { median, min, max } = spread(of(wall, candidate))
      return [
        candidate.name,
        `${(1000 / median).toFixed(0)} (${(1000 / max).toFixed(0)}..${(1000 / min).toFixed(0)})`,
        median.toFixed(3),
        spread(of(cpu, candidate)).median.toFixed(3),
      ]
    }),
  ]
  const times = (base: Candidate) => inverse(ratio(of(wall, product), of(wall, base)))
  const ratios = [
    ['the expiry job, to', 'lots/s'],
    ...[entities, written, paged].map((base) => [base.name, ratioText(times(base))]),
  ]
  const notes = [
    `${byJob} lots by the job, ${rows} a turn by each of the others, ${rounds} rounds; ${grants} lots, ${2 * grants} entries and ${grants} journals lay there before`,
  ]
  if (dialect === 'sqlite') notes.push(`synchronous = ${values.synchronous}`)
  console.log(`${sectionText({ title: dialect, tables: [table, ratios, profile.table()], notes, bars: [] })}\n`)
  return {
    name: `${dialect}: lots that lapse a second, to the entity manager row by row`,
    measured: times(entities),
    bar: { atLeast: bars[dialect] },
    unit: 'ratio',
  }
}

const results: Bar[] = []
for (const { dialect, skip } of dialectsUnderTest) {
  if (!values.database.includes(dialect)) continue
  if (skip) console.log(`## ${dialect}\n\n${skip}\n`)
  else results.push(await measure(dialect))
}
console.log(barsText(results))
