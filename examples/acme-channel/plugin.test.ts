import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { notificationChannelCases } from '@plinth/dev/conformance'
import { startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct, notificationChannel } from '@plinth/kernel'
import t from 'tap'
import acmeChat from './plugin.ts'

const owner = definePlugin({ id: 'owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [notificationChannel] })
const token = 'room-token-4711'

/**
 * Creates a chat server of ACME. The room accepts each idempotency key only once; requests contain the key as `once`.
 * The test can close the room or make it stop responding.
 */
async function createRoom() {
  const posts = new Map<string, { subject: string; content: string }>()
  let state: 'open' | 'closed' | 'silent' = 'open'
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray()
    if (state === 'closed') return response.writeHead(503).end()
    if (request.method === 'POST') {
      const { once, title, text } = JSON.parse(Buffer.concat(chunks).toString())
      if (!posts.has(once)) posts.set(once, { subject: title, content: text })
    }
    if (state === 'open') response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const product = await startForTest(defineProduct({ name: 'acme', plugins: [owner, acmeChat] }), {
    environment: { PLATFORM_ACME_CHAT_ROOM: `http://127.0.0.1:${port}/rooms/${token}` },
  })
  const channel = product.contributions(notificationChannel).get('acme-chat')
  if (channel === undefined) throw new Error('the plugin contributed no channel')
  return {
    channel,
    delivered: () => [...posts.values()],
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

const cases = notificationChannelCases(createRoom, {
  secrets: [token],
  nextHop: {
    fail: (room) => room.become('closed'),
    hang: (room) => room.become('silent'),
    recover: (room) => room.become('open'),
  },
})
for (const { name, run } of cases) t.test(`N-013 ACME chat: ${name}`, run)

t.test('N-013 the plugin has fewer than 40 lines', async (t) => {
  t.ok(
    readFileSync(new URL('plugin.ts', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n').length < 40,
  )
})
