import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { createReceiver, type WebhookEvent } from './receiver.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const body = JSON.stringify({ type: 'order.paid', timestamp: '2026-01-01T00:00:00.000Z', data: { sequence: 1 } })

async function startReceiver(t: Test, store: (id: string, event: WebhookEvent) => void) {
  const server = createReceiver({ secret, store })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return async (text: string, headers: Record<string, string>) => {
    const response = await fetch(url, { method: 'POST', body: text, headers })
    return response.status
  }
}

const headersAt = (time: Date, signed = body, by = secret) => ({
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
  'webhook-signature': new Webhook(by).sign('msg_1', time, signed),
})

t.test('a receiver accepts exact bytes with a valid signature and rejects everything else', async (t) => {
  const stored: (readonly [string, string])[] = []
  const send = await startReceiver(t, (id, event) => void stored.push([id, event.type]))
  const now = new Date()
  t.equal(await send(body, headersAt(now)), 204)
  t.same(stored, [['msg_1', 'order.paid']])
  const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
  const rejected: readonly (readonly [string, Record<string, string>])[] = [
    [`${body} `, headersAt(now)],
    [body, headersAt(now, body, other)],
    [body, headersAt(new Date(now.getTime() - 6 * 60_000))],
    [body, headersAt(new Date(now.getTime() + 6 * 60_000))],
    [body, { 'webhook-id': 'msg_1' }],
  ]
  for (const [text, headers] of rejected) t.equal(await send(text, headers), 400)
  const both = headersAt(now, body, other)
  both['webhook-signature'] += ` ${headersAt(now)['webhook-signature']}`
  t.equal(await send(body, both), 204, 'one of two signatures is enough')
  t.equal(stored.length, 2)
})

t.test('an event that cannot be stored is sent again', async (t) => {
  const send = await startReceiver(t, () => {
    throw new Error('the disk is full')
  })
  t.equal(await send(body, headersAt(new Date())), 500)
})
