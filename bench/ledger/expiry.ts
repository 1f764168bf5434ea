/**
 * Compares how points expire: with the job of the product, with hand-written SQL (for many rows and row by row), and
 * with the entity manager. All of them write the same rows into the same tables in the same run. `node
 * bench/ledger/expiry.ts [--database sqlite] [--lots 1000000] [--due 200000] [--rows 500] [--rounds 5]`: the job and
 * the SQL for many rows expire `due` lots each. The other candidates expire `rows` lots per turn.
 */
import { parseArgs } from 'node:util'
import databasePlugin, { type Database, database, exactInteger } from '@plinth/database'
import { manualClock, startForTest } from '@plinth/dev/testing'
import type { TestDialect } from '@plinth/dev/testing/database'
import events from '@plinth/events'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import iam from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import memberPointsPlugin, { memberPoints } from '@plinth/member-points'
import money, { ledger } from '@plinth/money'
import site from '@plinth/site'
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
import { measureTurns, type TurnCandidate } from '../kernel/turns.ts'
import { openPeer } from '../peer-connection.ts'
import { type Expire, expireWithEntities, expireWithSetStatements, expireWithSql } from './expire-by-hand.ts'
import { asset, fillLedger } from './filled-books.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    lots: { type: 'string', default: '1000000' },
    due: { type: 'string', default: '200000' },
    rows: { type: 'string', default: '500' },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgresql', 'mariadb'] },
  },
})
const rounds = Number(values.rounds)
const rows = Number(values.rows)
const perTurn = Math.ceil(Number(values.due) / rounds)
/** Number of sources in the first turn, which is the warm-up. */
const warmUp = Math.min(perTurn, 5_000)
const lotsOfAccount = 10
const start = Date.UTC(2026, 11, 1)

/** Number of sources per transaction. The job uses the same number. */
const page = 500
/** Minimum ratio of the job's speed to that of SQL for many rows. */
const atLeast = 0.4

/** Measures how long the job waits for its statements, grouped by the beginning of the statement. */
function profileOf(db: Database) {
  const times = new Map<string, { count: number; ms: number }>()
  let isOn = false
  let total = 0
  const watch = <T>(name: 'execute' | 'query', run: (sql: string, ...rest: never[]) => Promise<T>) => {
    const watched = async (sql: string, ...rest: never[]) => {
      const began = performance.now()
      const response = await run.call(db, sql, ...rest)
      if (!isOn) return response
      const [head = ''] = /^\s*\w+.*?(?:points|money)_\w+/s.exec(sql) ?? []
      const text = head.replace(/^(select).*from/s, '$1').replace(/\s+/g, ' ')
      const time = times.get(text) ?? { count: 0, ms: 0 }
      times.set(text, { count: time.count + 1, ms: time.ms + performance.now() - began })
      return response
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

async function startPoints(at: BenchDatabase) {
  const clock = manualClock(start)
  const config = { ...at.config, 'platform.http.port': 0, 'platform.iam.password.hash.memory': '1MiB' }
  const plugins = [databasePlugin, http, site, i18n, iam, events, money, memberPointsPlugin]
  const running = await startForTest(defineProduct({ name: 'bench', plugins, config }), { clock })
  return { running, clock, db: running.service(database), points: running.service(memberPoints) }
}

/** Checks that all expired points have left their accounts once, and that entries and balances match. */
async function assertBalanced(db: Database, expired: number): Promise<void> {
  const one = async (sql: string) => exactInteger((await db.query<{ n: unknown }>(sql))[0]?.n)
  const [balances, lots] = [
    await one(`select sum(available) as n from money_account where role = 'owner'`),
    await one('select sum(remaining) as n from points_source'),
  ]
  const gone = await one(`select count(*) as n from points_source where status = 'expired'`)
  const uses = await one(`select count(*) as n from points_source_use where kind = 'expire'`)
  if (balances !== lots || gone !== expired || uses !== expired) {
    throw new Error(`Balances ${balances}, lots ${lots}; ${expired} expired, of them sources ${gone} and uses ${uses}.`)
  }
  const broken =
    await db.query(`select a.id from money_account a join money_entry e on e.account_id = a.id and e.seq = a.version
    where a.role = 'owner' and e.available_after <> a.available`)
  if (broken.length > 0) throw new Error(`${broken.length} accounts do not agree with their last entries.`)
}

async function measure(dialect: TestDialect, open: OpenDatabase): Promise<Bar> {
  const at = await open()
  const { running, clock, db, points } = await startPoints(at)
  const byJob = warmUp + rounds * perTurn
  const expiring = 2 * byJob + 3 * (rounds + 1) * rows
  const accounts = Math.ceil(Math.max(expiring, Number(values.lots)) / lotsOfAccount)
  const grants = accounts * lotsOfAccount
  const owner = { type: 'user', id: '999999999' }
  await running.service(ledger).credit({ owner, asset, amount: 1, key: 'opens', kind: 'points.task' })
  const systemId = (await running.service(ledger).find({ owner: { type: 'system', id: 'issued' }, asset }))?.id ?? 0
  await db.execute('delete from points_source')
  await db.execute(`delete from money_account where role = 'owner'`)
  const loading = performance.now()
  await fillLedger(db, dialect, systemId, {
    accounts,
    grantsEach: lotsOfAccount,
    order: 'mixed',
    monthKey: '202611',
    createdAt: `(${start - 86_400_000} + i)`,
    expiresAt: `(${start} + i)`,
  })
  console.error(`${dialect}: ${grants} lots loaded in ${((performance.now() - loading) / 1000).toFixed(0)} s`)

  const profile = profileOf(db)
  const lotsOf = (round: number) => (round === 0 ? warmUp : perTurn)
  let due = 0
  let next = byJob
  const peer = await openPeer(db, at)
  const job: TurnCandidate = {
    name: 'the expiry job',
    async turn(round) {
      due += lotsOf(round)
      clock.shiftWallClock(start + due - clock.now())
      await profile.during(() => points.expire())
      return lotsOf(round)
    },
  }
  const expireSet = expireWithSetStatements(peer, dialect, systemId, page)
  const sets: TurnCandidate = {
    name: `by hand, sets of ${page} in a transaction`,
    async turn(round) {
      const first = next + 1
      next += lotsOf(round)
      await expireSet(first, next)
      return lotsOf(round)
    },
  }
  const byRow = (name: string, expire: Expire): TurnCandidate => ({
    name,
    async turn() {
      await expire(Array.from({ length: rows }, () => ++next))
      return rows
    },
  })
  const peers = [
    sets,
    byRow('row by row, by hand, 500 in a transaction', expireWithSql(peer, systemId, 500)),
    byRow('row by row, by hand', expireWithSql(peer, systemId)),
    byRow('row by row, by the entity manager', expireWithEntities(db, systemId)),
  ]
  try {
    const turns = await measureTurns([job, ...peers], rounds, () => checkpointSqlite(db, dialect))
    await assertBalanced(db, expiring)
    const table = [
      ['candidate', 'lots/s', 'ms each', 'ms CPU of the process'],
      ...[job, ...peers].map((candidate) => {
        const { median, min, max } = spread(turns.of(candidate, 'wall'))
        return [
          candidate.name,
          `${(1000 / median).toFixed(0)} (${(1000 / max).toFixed(0)}..${(1000 / min).toFixed(0)})`,
          median.toFixed(3),
          spread(turns.of(candidate, 'cpu')).median.toFixed(3),
        ]
      }),
    ]
    const ratios = [
      ['the expiry job, to', 'lots/s'],
      ...peers.map((base) => [base.name, ratioText(turns.times(job, base, 'wall'))]),
    ]
    const settings = settingsText(await settingsOf(db, dialect))
    const notes = [
      `${byJob} lots by the job, as many by sets, ${rows} a turn by each of the others, ${rounds} rounds; ${grants} lots, ${2 * grants} entries and ${grants} journals were there before`,
    ]
    const tables = [table, ratios, profile.table()]
    console.log(`${sectionText({ title: `Expiry: ${dialect}`, settings, tables, notes, bars: [] })}\n`)
    return {
      name: `${dialect}: lots that expire a second, to sets by hand`,
      measured: turns.times(job, sets, 'wall'),
      bar: { atLeast },
      unit: 'ratio',
    }
  } finally {
    await peer.close()
    await running.stop('done')
  }
}

console.log(`## Bars: expiry\n\n${barsText(await onDatabases(values.database, measure))}`)
