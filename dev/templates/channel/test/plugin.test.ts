import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { notificationChannelCases } from '@plinth/dev/conformance'
import { startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct, notificationChannel } from '@plinth/kernel'
import sampleNamePlugin from '../src/plugin.ts'

const owner = definePlugin({ id: 'owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [notificationChannel] })
const token = 'token-4711'

/**
 * Starts a server that represents the external service. The test lets it accept each message, reject it, or not
 * respond.
 */
async function createService() {
  const messages = new Map<string, { subject: string; content: string }>()
  let state: 'open' | 'closed' | 'silent' = 'open'
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    if (state === 'closed') return response.writeHead(503).end()
    if (request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end()
    if (request.method === 'POST') {
      const { once, title, text } = JSON.parse(body)
      if (!messages.has(once)) messages.set(once, { subject: title, content: text })
    }
    if (state === 'open') response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const product = await startForTest(defineProduct({ name: 'test', plugins: [owner, sampleNamePlugin] }), {
    set: { 'platform.sample-name.url': `http://127.0.0.1:${port}/`, 'platform.sample-name.token': token },
  })
  const channel = product.contributions(notificationChannel).get('sample-name')
  if (channel === undefined) throw new Error('the plugin contributed no channel')
  return {
    channel,
    delivered: () => [...messages.values()],
    become: (next: typeof state) => {
      state = next
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await product.stop('test ended')
    },
  }
}

const cases = notificationChannelCases(createService, {
  secrets: [token],
  nextHop: {
    fail: (service) => service.become('closed'),
    hang: (service) => service.become('silent'),
    recover: (service) => service.become('open'),
  },
})
for (const { name, run } of cases) test(name, () => run())
