/** The plugin in README.md obeys the contract that it implements. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { definePlugin, defineProduct, notificationChannel } from '@plinth/kernel'
import { notificationChannelCases } from '@plinth/kernel/conformance'
import { startForTest } from '@plinth/kernel/testing'
import t from 'tap'

const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
const [, source = ''] = /```ts\n(import \{ definePlugin.+?)```/s.exec(readme) ?? []
const folder = t.testdir({ 'pager.ts': source })
const { default: pager } = await import(pathToFileURL(join(folder, 'pager.ts')).href)
const owner = definePlugin({ id: 'owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [notificationChannel] })
const token = 'pager-token-4711'

/** A pager service that accepts each message, or fails, or does not respond. */
async function createPager() {
  const messages: { subject: string; content: string }[] = []
  let state: 'accepts' | 'fails' | 'hangs' = 'accepts'
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    if (state === 'fails') return response.writeHead(503).end()
    if (request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end()
    messages.push(JSON.parse(body))
    if (state === 'accepts') response.end()
  })
  server.unref()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const product = await startForTest(defineProduct({ name: 'acme', plugins: [owner, pager] }), {
    environment: { PLATFORM_ACME_PAGER_URL: `http://127.0.0.1:${port}/`, PLATFORM_ACME_PAGER_TOKEN: token },
  })
  const channel = product.contributions(notificationChannel).get('pager')
  if (channel === undefined) throw new Error('the plugin contributed no channel')
  return {
    channel,
    delivered: () => messages,
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

const cases = notificationChannelCases(createPager, {
  secrets: [token],
  nextHop: {
    fail: (service) => service.become('fails'),
    hang: (service) => service.become('hangs'),
    recover: (service) => service.become('accepts'),
  },
})
for (const { name, run } of cases) t.test(name, run)
