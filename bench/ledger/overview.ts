/**
 * Measures the most frequent queries of members and operators with ten million and with ten thousand entries in the
 * ledger: the points overview, the first page of the member's ledger, and the explanation of a balance. An account has
 * the same number of entries in both cases. `node bench/ledger/overview.ts [--database sqlite] [--entries 10000000]
 * [--calls 300] [--rounds 5]`.
 */
import { parseArgs } from 'node:util'
import databasePlugin, { database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import type { TestDialect } from '@plinth/dev/testing/database'
import events from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18n from '@plinth/i18n'
import iam, { accounts as userAccounts } from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import memberPoints from '@plinth/member-points'
import money, { ledger } from '@plinth/money'
import sitePlugin from '@plinth/site'
import { type OpenDatabase, onDatabases, settingsOf, settingsText } from '../databases.ts'
import { type Bar, barsText, ratioText, sectionText } from '../kernel/report.ts'
import { quantile, ratio, rotated, spread } from '../kernel/statistics.ts'
import { asset, fillLedger } from './filled-books.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    entries: { type: 'string', default: '10000000' },
    calls: { type: 'string', default: '300' },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgresql', 'mariadb'] },
  },
})
const rounds = Number(values.rounds)
const calls = Number(values.calls)
const grantsEach = 100
/** Number of entries of an account in the current month. */
const thisMonth = 10
const fewEntries = 10_000
const users = 20
const day = 86_400_000
const password = 'correct horse battery staple'
const origin = { name: 'bench', clientIp: '127.0.0.1', traceId: 'bench', userAgent: 'bench' }
const longer = { atMost: 2 }

type Ask = 'points overview' | 'first page of the ledger' | 'where a balance comes from'
const asks: readonly Ask[] = ['points overview', 'first page of the ledger', 'where a balance comes from']

/** True if the response belongs to an account with entries. */
// biome-ignore lint/suspicious/noExplicitAny: answers of any shape
const isFilled: Readonly<Record<Ask, (data: any) => boolean>> = {
  'points overview': ({ monthEarned, expiringSoon }) => monthEarned > 0 && expiringSoon > 0,
  'first page of the ledger': ({ items }) => items.length === 20,
  'where a balance comes from': ({ lots }) => lots.items.length === 20,
}

async function startFilled(dialect: TestDialect, openDatabase: OpenDatabase, entries: number) {
  const made = await openDatabase()
  const config = {
    ...made.config,
    'platform.http.port': 0,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
  }
  const plugins = [databasePlugin, httpPlugin, sitePlugin, i18n, iam, events, money, memberPoints]
  const running = await startForTest(defineProduct({ name: 'bench', plugins, config }))
  const [db, books, server] = [running.service(database), running.service(ledger), running.service(http)]
  // Two entries per grant.
  const accounts = Math.ceil(entries / 2 / grantsEach)
  const now = Date.now()
  const opener = { owner: { type: 'user', id: '999999999' }, asset }
  await books.credit({ ...opener, amount: 1, key: 'opens', kind: 'points.task' })
  const systemId = (await books.find({ owner: { type: 'system', id: 'issued' }, asset }))?.id ?? 0
  const began = performance.now()
  await fillLedger(db, dialect, systemId, {
    accounts,
    grantsEach,
    order: 'by account',
    createdAt: `(${now} - ${day} + i % 1000)`,
    expiresAt: `(${now + day} + (i % ${grantsEach}) * ${3 * day})`,
    monthKey: `case when i % ${grantsEach} < ${thisMonth} then ${books.monthKeyOf(asset, now)} else 202401 end`,
  })
  console.error(`${dialect}: ${entries} entries loaded in ${((performance.now() - began) / 1000).toFixed(0)} s`)
  await running.service(userAccounts).createAdministrator({ username: 'root', password }, origin)
  const tokenOf = async (username: string) => {
    const payload = { username, password }
    return String((await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })).json().data.accessToken)
  }
  const root = await tokenOf('root')
  const members: { readonly token: string; readonly accountId: number }[] = []
  for (let user = 0; user < users; user++) {
    const { id } = await running.service(userAccounts).create({ username: `member-${user}`, password }, origin)
    const accountId = 1 + Math.floor((user * accounts) / users)
    await db.execute('update money_account set owner_id = ? where id = ?', [String(id), accountId])
    members.push({ token: await tokenOf(`member-${user}`), accountId })
  }
  const urls = {
    'points overview': () => '/api/v1/member-points/users/me/overview',
    'first page of the ledger': () => '/api/v1/member-points/users/me/ledgers?count=none',
    'where a balance comes from': (accountId: number) => `/api/v1/admin/money/accounts/${accountId}/explain`,
  }
  return {
    /**
     * Calls the API as the next member.
     * @returns milliseconds that the call took
     */
    async call(ask: Ask, index: number): Promise<number> {
      const { token, accountId } = members[index % users] as (typeof members)[number]
      const authorization = `Bearer ${ask === 'where a balance comes from' ? root : token}`
      const began = performance.now()
      const response = (await server.inject({ url: urls[ask](accountId), headers: { authorization } })).json()
      const time = performance.now() - began
      if (response.code !== '200' || !isFilled[ask](response.data))
        throw new Error(`${ask}: ${JSON.stringify(response)}`)
      return time
    },
    settings: settingsText(await settingsOf(db, dialect)),
    close: () => running.stop('done'),
  }
}

async function measure(dialect: TestDialect, open: OpenDatabase): Promise<readonly Bar[]> {
  const sizes = [fewEntries, Number(values.entries)] as const
  const few = await startFilled(dialect, open, sizes[0])
  const many = await startFilled(dialect, open, sizes[1])
  const bars: Bar[] = []
  const table = [['asked for', 'entries', 'p50 ms', 'p95 ms']]
  const ratios = [['asked for', `p50 with ${sizes[1]} entries / with ${sizes[0]}`]]
  for (const ask of asks) {
    const medians = new Map([few, many].map((product) => [product, [] as number[]]))
    const tails = new Map([few, many].map((product) => [product, [] as number[]]))
    for (let round = 0; round <= rounds; round++) {
      const times = new Map([few, many].map((product) => [product, [] as number[]]))
      // The two products are called alternately, so that a disturbance of the host affects both.
      for (let index = 0; index < calls; index++) {
        for (const product of rotated([few, many], index)) times.get(product)?.push(await product.call(ask, index))
      }
      if (round === 0) continue
      for (const [product, all] of times) {
        medians.get(product)?.push(quantile(all, 0.5))
        tails.get(product)?.push(quantile(all, 0.95))
      }
    }
    const text = (times: readonly number[] = []) => ratioText(spread(times))
    for (const [index, product] of [few, many].entries()) {
      table.push([ask, String(sizes[index]), text(medians.get(product)), text(tails.get(product))])
    }
    const grown = ratio(medians.get(many) ?? [], medians.get(few) ?? [])
    ratios.push([ask, ratioText(grown)])
    bars.push({ name: `${dialect}: ${ask}, many entries to few`, measured: grown, bar: longer, unit: 'ratio' })
  }
  await few.close()
  await many.close()
  const notes = [
    `${grantsEach} grants of each account, ${thisMonth} of them this month; ${calls} calls a turn by ${users} members, ${rounds} rounds`,
  ]
  console.log(
    `${sectionText({ title: `Overview: ${dialect}`, settings: many.settings, tables: [table, ratios], notes, bars: [] })}\n`,
  )
  return bars
}

console.log(`## Bars: overview\n\n${barsText((await onDatabases(values.database, measure)).flat())}`)
