import { createServer, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

/** A verified event. `data` has the members of its type, and `sequence`: a larger number is newer. */
export interface WebhookEvent {
  readonly type: string
  /** Time of the event in ISO 8601. */
  readonly timestamp: string
  readonly data: { readonly sequence: number; readonly [name: string]: unknown }
}

export interface ReceiverOptions {
  /** Secret of the endpoint, with the prefix `whsec_`. */
  readonly secret: string
  /**
   * Stores the event under its id and returns before it is processed. It must ignore an id that it has stored before. If it
   * throws, the event is sent again later.
   *
   * @param id the same for all attempts of an event
   */
  readonly store: (id: string, event: WebhookEvent) => void | Promise<void>
  /** Longest body that is accepted, in bytes. */
  readonly maxBodyBytes?: number
}

/**
 * Returns an HTTP server that accepts webhooks. It verifies the signature over the bytes of the body as they were sent:
 * parsed and serialized JSON has other bytes.
 */
export function createReceiver({ secret, store, maxBodyBytes = 100_000 }: ReceiverOptions): Server {
  const webhook = new Webhook(secret)
  return createServer(async (request, response) => {
    const end = (status: number) => response.writeHead(status).end()
    if (request.method !== 'POST') return end(405)
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) return end(413)
    const body = await buffer(request).catch(() => undefined)
    if (body === undefined) return
    let event: WebhookEvent
    try {
      // Rejects a wrong signature, and a timestamp more than five minutes away from the clock of this host.
      event = webhook.verify(body, request.headers as Record<string, string>) as WebhookEvent
    } catch {
      return end(400)
    }
    try {
      await store(String(request.headers['webhook-id']), event)
      return end(204)
    } catch {
      return end(500)
    }
  })
}

if (import.meta.main) {
  const stored = new Map<string, WebhookEvent>()
  const secret = process.env['WEBHOOK_SECRET'] ?? ''
  const server = createReceiver({
    secret,
    store(id, event) {
      if (stored.has(id)) return
      stored.set(id, event)
      console.log(id, event.type, event.data)
    },
  })
  server.listen(Number(process.env['PORT'] ?? 8088))
}
