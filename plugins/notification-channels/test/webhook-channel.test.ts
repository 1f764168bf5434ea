import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type DeliveredMessage, notificationChannelCases } from '@plinth/dev/conformance'
import { startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct, notificationChannel } from '@plinth/kernel'
import webhook, { createResponseJudge, valueAtPath, webhookProviderPlugin } from '@plinth/notification-channels/webhook'
import outgoingHttp from '@plinth/outgoing-http'
import t from 'tap'

const owner = definePlugin({ id: 'owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [notificationChannel] })
const root = 'platform.notification.channels.webhook'
const token = 'endpoint-T0ken-4711'
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** A provider whose service can verify an address. */
const acme = webhookProviderPlugin(
  { id: 'acme.webhook', version: '1.0.0' },
  {
    code: 'acme',
    displayName: 'ACME',
    knownHosts: [],
    secret: { use: 'token', into: { header: 'x-token' } },
    messageTypes: { text: { body: ({ subject, content }) => ({ subject, content }) } },
    verify: {
      address: ({ endpoint }) => ({ url: endpoint, headers: {} }),
      accepts: ({ json }) => valueAtPath(json, 'room') === 'open',
    },
    judge: createResponseJudge({ delivered: ({ status }) => status === 204 }),
  },
)

/** Creates a webhook receiver that can be closed or stop responding, and the channel that posts to it. */
async function createReceiver() {
  const delivered: DeliveredMessage[] = []
  let state: 'open' | 'closed' | 'silent' = 'open'
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    if (state === 'closed') return response.writeHead(503).end()
    if (request.method === 'GET') return state === 'open' ? response.end('{"room":"open"}') : undefined
    const { subject, content } = JSON.parse(body)
    delivered.push({ subject, content })
    if (state === 'open') response.writeHead(204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const product = await startForTest(
    defineProduct({
      name: 'webhook',
      plugins: [owner, webhook, acme, outgoingHttp],
      config: {
        'platform.outgoing-http.allow-http': true,
        'platform.outgoing-http.allowed-hosts': [`127.0.0.1:${port}`],
        [`${root}.enabled`]: true,
        [`${root}.default-provider`]: 'acme',
        [`${root}.providers.acme.endpoint`]: `http://127.0.0.1:${port}/${token}`,
        [`${root}.providers.acme.secret`]: secret,
      },
    }),
  )
  const channel = product.contributions(notificationChannel).get('webhook')
  if (channel === undefined) throw new Error('no channel')
  return {
    channel,
    delivered: () => delivered,
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

t.test('N-011 N-013 the webhook channel obeys its contract', async (t) => {
  const cases = notificationChannelCases(createReceiver, {
    secrets: [token, secret],
    nextHop: {
      fail: (receiver) => receiver.become('closed'),
      hang: (receiver) => receiver.become('silent'),
      recover: (receiver) => receiver.become('open'),
    },
  })
  for (const { name, run } of cases) t.test(name, run)
})
