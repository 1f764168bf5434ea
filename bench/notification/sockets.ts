/**
 * Measures the memory of one instance with many open realtime connections: heap and resident set before, with all
 * connections open, after a push to each, and after closing them. The clients run in a separate process. `node
 * --expose-gc bench/notification/sockets.ts [--sockets 5000]`.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import databasePlugin from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import eventsPlugin from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import iamPlugin from '@plinth/iam'
import inboxPlugin from '@plinth/inbox'
import { defineProduct } from '@plinth/kernel'
import notificationPlugin, { notification } from '@plinth/notification'
import logChannel from '@plinth/notification-channels/log'
import websocketPlugin, { presence } from '@plinth/notification-channels/websocket'
import { WebSocket } from 'ws'

const { values } = parseArgs({ options: { sockets: { type: 'string', default: '5000' }, url: { type: 'string' } } })
const sockets = Number(values.sockets)
const key = 'platform.notification.channels.websocket'

/** Opens connections, 100 at a time, and counts the messages that they receive. */
async function beClients(url: string): Promise<void> {
  const open: WebSocket[] = []
  let received = 0
  for (let opened = 0; opened < sockets; opened += 100) {
    const some = Array.from({ length: Math.min(100, sockets - opened) }, () => new WebSocket(url))
    for (const socket of some) socket.on('message', () => received++)
    await Promise.all(some.map((socket) => once(socket, 'open')))
    open.push(...some)
  }
  process.on('message', async (order) => {
    if (order === 'count') process.send?.({ received })
    else {
      for (const socket of open) socket.close()
      await Promise.all(open.map((socket) => once(socket, 'close')))
      process.send?.('closed')
      process.disconnect()
    }
  })
  process.send?.('open')
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-sockets-'))
  const product = defineProduct({
    name: 'sockets',
    plugins: [
      databasePlugin,
      httpPlugin,
      iamPlugin,
      eventsPlugin,
      notificationPlugin,
      inboxPlugin,
      logChannel,
      websocketPlugin,
    ],
    config: {
      'platform.database.sqlite.file': join(folder, 'bench.sqlite'),
      'platform.http.port': 0,
      [`${key}.guests.enabled`]: true,
      [`${key}.max-sockets`]: sockets,
      [`${key}.max-sockets-per-address`]: sockets,
    },
  })
  const running = await startForTest(product)
  const at = async (moment: string) => {
    for (let round = 0; round < 5; round++) {
      await pause(100)
      globalThis.gc?.()
    }
    const { heapUsed, external, rss } = process.memoryUsage()
    const mebibytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`
    console.log(
      `${moment}: heap ${mebibytes(heapUsed)}, external ${mebibytes(external)}, resident ${mebibytes(rss)}, connections ${running.service(presence).sockets}`,
    )
  }
  await at('before')
  const url = `${(running.service(http).url ?? '').replace('http', 'ws')}/api/v1/ws`
  const clients = fork(import.meta.filename, ['--sockets', String(sockets), '--url', url])
  await once(clients, 'message')
  await at('open')
  const started = performance.now()
  for (let push = 0; push < 10; push++) {
    const draft = { subject: 's', content: `push ${push}`, recipients: [{ kind: 'websocket-guest' } as const] }
    await running.service(notification).send(draft, { channels: ['websocket'] })
  }
  console.log(`10 pushes to each were handed over in ${Math.round(performance.now() - started)} ms`)
  await at('after pushes')
  clients.send('count')
  const [counted] = await once(clients, 'message')
  console.log('received by clients, the greetings included:', counted)
  clients.send('close')
  await once(clients, 'message')
  await at('closed')
  await running.stop('measured')
  rmSync(folder, { recursive: true, force: true })
}

await (values.url === undefined ? measure() : beClients(values.url))
