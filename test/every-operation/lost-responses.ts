import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { Database } from '@plinth/database'
import { http } from '@plinth/http'
import { idempotency, idempotentAnnotation } from '@plinth/idempotency'
import { definePlugin } from '@plinth/kernel'

/** The result of a repeated call with an idempotency key. The first response was lost after the commit. */
interface LostCall {
  readonly operation: string
  /** Number of times that the handler was called. */
  executed: number
  /** Number of transactions that the handler committed. */
  commits: number
  /** Result of the handler. */
  result: unknown
}

const keyHeader = 'idempotency-key'

/**
 * Loses the response of each call with an idempotency key after its handler has committed, as a kill of the process
 * does. The client then repeats the call and continues with the lost response.
 */
export class LostResponses {
  readonly #calls = new Map<string, LostCall>()
  readonly #current = new AsyncLocalStorage<LostCall>()
  /** Codes of repeated calls by operation. */
  readonly #repeated = new Map<string, Set<string>>()

  /** Returns what the repeated calls did, by operation. */
  get summary(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#repeated].map(([operation, texts]) => [operation, [...texts].join('; ')]))
  }

  /** The wrapper of this plugin runs inside the one of the plugin `idempotency`, which is set up before. */
  readonly plugin = () =>
    definePlugin({
      id: 'test.lost-responses',
      version: '1.0.0',
      kernel: '^1.0.0',
      requires: { http, idempotency },
      setup: ({ services }) => {
        services.http.wrap({
          name: 'test.lost-responses',
          forRoute: ({ method, path, annotations }) => {
            if (!annotations.some(({ id }) => id === idempotentAnnotation)) return undefined
            return async (request, _reply, handle) => {
              const key = request.headers[keyHeader]
              if (typeof key !== 'string') return handle()
              const fresh = {
                operation: `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
                executed: 0,
                commits: 0,
                result: undefined,
              }
              const call = this.#calls.get(key) ?? fresh
              this.#calls.set(key, call)
              call.executed++
              const result = await this.#current.run(call, handle)
              if (call.executed > 1) return result
              call.result = result
              throw new Error('The response is lost.')
            }
          },
        })
      },
    })

  /** Counts the transactions of calls. A plugin key that is created on first use is not part of the call. */
  watch(db: Database): void {
    for (const method of ['transactional', 'statements'] as const) {
      const original = db[method].bind(db) as (...parameters: unknown[]) => Promise<unknown>
      const counted = async (...parameters: unknown[]) => {
        const call = db.inTransaction || !db.hasFirstStatement ? undefined : this.#current.getStore()
        const result = await original(...parameters)
        if (call !== undefined) call.commits++
        return result
      }
      Object.assign(db, { [method]: counted })
    }
  }

  /** Sends a request with an idempotency key. If its response was lost, repeats it and returns the lost response. */
  readonly fetch = async (request: Request): Promise<Response> => {
    if (request.method !== 'POST') return fetch(request)
    const key = randomUUID()
    request.headers.set(keyHeader, key)
    const again = request.clone()
    const response = await fetch(request)
    const call = this.#calls.get(key)
    if (call?.result === undefined) return response
    const repeated = await fetch(again)
    const { code, data } = (await repeated.json()) as { code: string; data: { reason?: string } | null }
    const outcome = code === '200' ? code : `${code} ${data?.reason}`
    const texts = this.#repeated.get(call.operation) ?? new Set()
    this.#repeated.set(call.operation, texts.add(`${call.commits} commit, ${call.executed} executed, ${outcome}`))
    return Response.json({ code: '200', message: '', data: call.result })
  }
}
