/** Tests the files for browsers: how they are served, and the service worker in a simulated browser. */
import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { startPush } from './fixtures/product.ts'
import { startPushService } from './fixtures/push-service.ts'

t.test('the files are served to everybody, under a policy that lets them load nothing', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const { server } = await startPush(t, at, { service: await startPushService(t) })
  for (const file of ['push.js', 'service-worker.js']) {
    const { statusCode, headers, body } = await server.inject(`/api/v1/push/browser/${file}`)
    t.equal(statusCode, 200)
    t.equal(headers['content-type'], 'text/javascript; charset=utf-8')
    t.equal(headers['content-security-policy'], "default-src 'none'; connect-src 'self'")
    t.equal(body, readFileSync(new URL(`../browser/${file}`, import.meta.url), 'utf8'))
  }
})

/** Starts the service worker with open pages. Returns its calls. */
function startWorker(pages: readonly string[] = []) {
  const listeners = new Map<string, (event: object) => void>()
  const calls: unknown[] = []
  const self = {
    location: { origin: 'https://shop.example.com' },
    addEventListener: (type: string, listener: (event: object) => void) => void listeners.set(type, listener),
    registration: { showNotification: async (...shown: unknown[]) => void calls.push(['show', ...shown]) },
    clients: {
      matchAll: async () => pages.map((url) => ({ url, focus: async () => void calls.push(['focus', url]) })),
      openWindow: async (url: string) => void calls.push(['open', url]),
    },
  }
  const source = readFileSync(new URL('../browser/service-worker.js', import.meta.url), 'utf8')
  runInNewContext(source, { self, URL })
  const dispatch = async (type: string, event: object) => {
    const work: unknown[] = []
    listeners.get(type)?.({ ...event, waitUntil: (promise: unknown) => work.push(promise) })
    await Promise.all(work)
    return JSON.parse(JSON.stringify(calls.splice(0)))
  }
  return { dispatch }
}

t.test('the service worker shows messages of the product, and nothing else', async (t) => {
  const { dispatch } = startWorker()
  const navigate = 'https://shop.example.com/orders/1'
  const push = (value: unknown) => dispatch('push', { data: { json: () => value } })
  const notification = { title: 'Order', body: 'Paid', navigate, tag: 'order-1', data: { messageId: 'm1' } }
  t.same(await push({ web_push: 8030, notification }), [
    ['show', 'Order', { body: 'Paid', tag: 'order-1', data: { messageId: 'm1', navigate } }],
  ])
  const invalid = { data: { json: () => JSON.parse('no JSON') } }
  const found = [await push({ web_push: 1, notification }), await push({ web_push: 8030 }), await push(null)]
  t.same([...found, await dispatch('push', invalid), await dispatch('push', { data: null })], [[], [], [], [], []])
})

t.test('a click opens the address of the message, on this site only', async (t) => {
  const order = 'https://shop.example.com/orders/1'
  const click = (worker: ReturnType<typeof startWorker>, navigate: string | undefined) =>
    worker.dispatch('notificationclick', { notification: { data: { navigate }, close: () => undefined } })
  t.same(await click(startWorker(['https://shop.example.com/']), order), [['open', order]])
  t.same(await click(startWorker([order]), order), [['focus', order]])
  t.same(await click(startWorker(), undefined), [['open', 'https://shop.example.com/']])
  t.same(await click(startWorker(), 'https://evil.example/'), [])
})
