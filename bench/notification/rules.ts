/**
 * Measures rule evaluations per second: the decision alone, and `raise` in a running product on SQLite: node
 * bench/notification/rules.ts [--rounds 9]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { decideAlert, type NotificationRule, notificationRules } from '@plinth/notification-rules'
import product from '../../examples/quickstart/plinth.config.ts'
import { sectionText } from '../kernel/report.ts'
import { ratio, rotated, type Spread, spread } from '../kernel/statistics.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '9' } } })
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError('--rounds takes a whole number from 1')
/** CPU time of one turn in milliseconds. */
const turnMs = 200

const code = 'open-platform.balance-low'
const minute = 60_000
const rule: NotificationRule = {
  code,
  enabled: true,
  thresholdCount: 1,
  thresholdWindowMs: 10 * minute,
  dedupeWindowMs: 10 * minute,
  silenceWindowMs: 30 * minute,
  channels: ['database'],
  recipientUserIds: [1, 2, 3],
  escalation: { enabled: true, afterMs: 60 * minute, channels: ['mail'], recipientUserIds: [4] },
}
const event = { code, dedupeKey: 'app:1', occurredAt: 45 * minute, count: 3, windowMs: minute }

const origin = { name: 'bench', clientIp: '127.0.0.1', traceId: 'bench', userAgent: '' }
const administrator = { username: 'root', password: 'Correct-horse-7' }

const root = await mkdtemp(join(tmpdir(), 'plinth-rules-'))
const running = await startForTest(product, {
  set: {
    'platform.http.port': '0',
    'platform.database.sqlite.file': join(root, 'plinth.sqlite'),
    'platform.storage.root': join(root, 'storage'),
    'platform.install.installed': 'true',
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': '1',
  },
})
try {
  const { account } = await running.service(accounts).createAdministrator(administrator, origin)
  const server = running.service(http)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  const payload = { code, dedupeWindow: 86_400, recipientUserIds: [account?.id] }
  const created = await server.inject({ method: 'POST', url: '/api/v1/notification-rules', headers, payload })
  if (created.json().code !== '200') throw new Error(created.body)
  const rules = running.service(notificationRules)
  let keys = 0
  let sent = 0
  const candidates: Readonly<Record<string, (times: number) => void | Promise<void>>> = {
    'bare decision': (times) => {
      // The result is used, because otherwise the compiler would remove the call.
      for (let time = 0; time < 1000 * times; time++) {
        if (decideAlert(rule, event, { lastSentAt: time * 1000 }).shouldSend) sent += 1
      }
    },
    'raise, no rule': async (times) => {
      for (let time = 0; time < 10 * times; time++) await rules.raise({ code: 'shop.order.lost' })
    },
    'raise, counted and held back': async (times) => {
      for (let time = 0; time < times; time++) await rules.raise({ code, dedupeKey: 'app:1' })
    },
    'raise, another alert that is sent': async (times) => {
      for (let time = 0; time < times; time++) await rules.raise({ code, dedupeKey: `app:${++keys}` })
    },
  }
  const perCall: Readonly<Record<string, number>> = { 'bare decision': 1000, 'raise, no rule': 10 }
  const cpuMs = () => (process.cpuUsage().user + process.cpuUsage().system) / 1000
  const found = new Map<string, number[]>()
  // The first round is the warm-up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const name of rotated(Object.keys(candidates), round)) {
      const startedAt = cpuMs()
      let times = 0
      for (; cpuMs() - startedAt < turnMs; times += 10) await candidates[name]?.(10)
      const perSecond = (1000 * times * (perCall[name] ?? 1)) / (cpuMs() - startedAt)
      if (round > 0) found.set(name, [...(found.get(name) ?? []), perSecond])
    }
  }
  const text = ({ median, min, max }: Spread) => [median, min, max].map((rate) => Math.round(rate).toLocaleString('en'))
  const bare = found.get('bare decision') ?? []
  const table = [
    ['', 'evaluations/s of CPU', 'lowest', 'highest', 'of the bare decision'],
    ...Object.keys(candidates).map((name) => {
      const rates = found.get(name) ?? []
      return [name, ...text(spread(rates)), ratio(rates, bare).median.toExponential(1)]
    }),
  ]
  const notes = [
    `${rounds} rounds of ${turnMs} ms of CPU, SQLite. What is sent is kept for delivery beside it; ${sent} of the bare decisions send.`,
  ]
  console.log(sectionText({ title: 'Rules of notification', tables: [table], notes, bars: [] }))
} finally {
  await running.stop('measured')
  await rm(root, { recursive: true, force: true })
}
