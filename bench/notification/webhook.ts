/**
 * Compares webhooks through the notification service (message, channel, provider, signature, outcome) with bare undici
 * that posts the same body to the same server. `node bench/notification/webhook.ts [--rounds 9] [--messages 20000]`.
 * Rounds are long, because short rounds would measure how V8 compiles the longer of the two programs.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { startForTest } from '@plinth/dev/testing'
import { defineProduct } from '@plinth/kernel'
import notificationPlugin, { notification } from '@plinth/notification'
import logChannel from '@plinth/notification-channels/log'
import webhook from '@plinth/notification-channels/webhook'
import outgoingHttp from '@plinth/outgoing-http'
import generic from '@plinth/webhook-providers/generic'
import { barsText, sectionText } from '../kernel/report.ts'
import { inverse, ratio, rotated, type Spread, spread } from '../kernel/statistics.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, messages: { type: 'string', default: '20000' } },
})
const [rounds, messages] = [Number(values.rounds), Number(values.messages)]
const callers = 32

/** The copy of undici that the HTTP client of the product uses. */
const { Agent, request } = createRequire(new URL('../../plugins/outgoing-http/src/', import.meta.url))(
  'undici',
) as typeof import('undici')

const server = `
const { createServer } = require('node:http')
const server = createServer((request, response) => request.resume().on('end', () => response.writeHead(204).end()))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`
const child: ChildProcess = spawn(process.execPath, ['-e', server], { stdio: ['ignore', 'pipe', 'inherit'] })
const port = Number(String((await once(child.stdout as NodeJS.EventEmitter, 'data'))[0]))
const address = `http://127.0.0.1:${port}/hook/bench-token`
const root = 'platform.notification.channels.webhook'
const running = await startForTest(
  defineProduct({
    name: 'webhooks',
    plugins: [notificationPlugin, logChannel, webhook, outgoingHttp, generic],
    config: {
      'platform.outgoing-http.allow-http': true,
      'platform.outgoing-http.allowed-hosts': [`127.0.0.1:${port}`],
      [`${root}.enabled`]: true,
      [`${root}.default-provider`]: 'generic',
      [`${root}.providers.generic.endpoint`]: address,
      [`${root}.providers.generic.secret`]: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    },
  }),
)
const facade = running.service(notification)
const draft = { subject: 'Scheduled maintenance', content: 'We move to new machines on Saturday. '.repeat(8) }
const body = JSON.stringify({ type: 'notification.message', timestamp: new Date().toISOString(), data: draft })
const dispatcher = new Agent({ allowH2: false, connections: 128 })

const candidates = [
  {
    name: 'facade',
    send: async () => {
      const [result] = await facade.send(draft, { channels: ['webhook'] })
      if (result?.success !== true) throw new Error(result?.errorMessage ?? 'no result')
    },
  },
  {
    name: 'bare undici',
    send: async () => {
      const headers = { 'content-type': 'application/json' }
      const response = await request(address, { method: 'POST', headers, body, dispatcher })
      await response.body.text()
      if (response.statusCode !== 204) throw new Error(`HTTP ${response.statusCode}`)
    },
  },
]

/** Returns the elapsed seconds and the CPU seconds of this process, with many concurrent callers. */
async function seconds(send: () => Promise<void>): Promise<{ readonly wall: number; readonly cpu: number }> {
  let left = messages
  const caller = async () => {
    while (left-- > 0) await send()
  }
  const [start, before] = [performance.now(), process.cpuUsage()]
  await Promise.all(Array.from({ length: callers }, caller))
  const { user, system } = process.cpuUsage(before)
  return { wall: (performance.now() - start) / 1000, cpu: (user + system) / 1_000_000 }
}

const taken = new Map<string, { readonly wall: number; readonly cpu: number }[]>(
  candidates.map(({ name }) => [name, []]),
)
for (let round = 0; round <= rounds; round++) {
  for (const { name, send } of rotated(candidates, round)) {
    const time = await seconds(send)
    // The first round is the warm-up and is not counted.
    if (round > 0) taken.get(name)?.push(time)
  }
}
await running.stop('done')
await dispatcher.close()
child.kill()

const of = (name: string, what: 'wall' | 'cpu') => (taken.get(name) ?? []).map((one) => one[what])
const text = ({ median, min, max }: Spread) => `${median.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`
const table = [
  ['candidate', 'seconds', 'messages/s', 'CPU us/message'],
  ...candidates.map(({ name }) => [
    name,
    text(spread(of(name, 'wall'))),
    (messages / spread(of(name, 'wall')).median).toFixed(0),
    ((1_000_000 * spread(of(name, 'cpu')).median) / messages).toFixed(0),
  ]),
]
const notes = [`${messages} messages a round, ${callers} callers, ${rounds} rounds, signed (Standard Webhooks)`]
console.log(`${sectionText({ title: 'webhook', tables: [table], notes, bars: [] })}\n`)
const against = (what: 'wall' | 'cpu', name: string) => ({
  name: `facade, bare undici: ${name}`,
  measured: inverse(ratio(of('facade', what), of('bare undici', what))),
  bar: { atLeast: 0.6 },
  unit: 'ratio' as const,
})
console.log(barsText([against('cpu', 'messages by CPU time'), against('wall', 'messages/s')]))
