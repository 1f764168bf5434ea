import { envelopeOf } from '../../app/answer.ts'
import { Store } from '../../app/store.ts'
import type { Callable, Value } from './operations.ts'
import type { Proofs } from './proofs.ts'

/**
 * Time since which the server has been unreachable, in milliseconds since the epoch; `undefined` while the server can
 * be reached. Every call reports whether it reached the server.
 */
export class Connection extends Store<number | undefined> {
  readonly #now: () => number

  /** @param now returns the time in milliseconds since the epoch */
  constructor(now: () => number = Date.now) {
    super(undefined)
    this.#now = now
  }

  /** Reports that a call did not reach the server. Only the first report sets the time. */
  readonly lose = (): void => {
    if (this.current() === undefined) this.set(this.#now())
  }

  /** Reports that the server responded. */
  readonly regain = (): void => {
    if (this.current() !== undefined) this.set(undefined)
  }
}

/** Kind of an error. The page handles each kind differently. */
type FailureKind =
  | 'invalid'
  | 'signed-out'
  | 'unproven'
  | 'forbidden'
  | 'missing'
  | 'conflict'
  | 'limited'
  | 'away'
  | 'failed'

const kinds: Readonly<Record<string, FailureKind>> = {
  '400': 'invalid',
  '401': 'signed-out',
  '403': 'forbidden',
  '404': 'missing',
  '409': 'conflict',
  '422': 'invalid',
  '429': 'limited',
}

/** A rule of the schema that a field of the request violates. */
interface FieldProblem {
  readonly field: string
  readonly message: string
}

/** Error of a call to the server. */
export class CallFailure extends Error {
  readonly kind: FailureKind
  /** Stable code of the error; may be empty. */
  readonly reason: string
  /** Violated rules of the schema, or the single field that the error specifies. */
  readonly faults: readonly FieldProblem[]
  /** Id of the request in the server log; empty if the request did not reach the server. */
  readonly traceId: string
  /** `data` of the error envelope. */
  readonly data: Readonly<Record<string, unknown>>

  constructor(
    kind: FailureKind,
    message: string,
    facts: { traceId?: string; data?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message)
    const { traceId = '', data = {} } = facts
    this.kind = kind
    this.traceId = traceId
    this.data = data
    this.reason = typeof data['reason'] === 'string' ? data['reason'] : ''
    const { errors, field } = data
    const named = typeof field === 'string' ? [{ field, message }] : []
    this.faults = Array.isArray(errors) ? (errors as readonly FieldProblem[]) : named
  }
}

/**
 * Idempotency keys of writes whose outcome is unknown, by the content of the write. If the user repeats such a write, it
 * is sent with the same key, so that the server does not execute it again.
 */
export type PendingKeys = Record<string, string>

interface CallInput {
  readonly params?: Readonly<Record<string, Value>>
  readonly query?: Readonly<Record<string, Value | readonly string[]>>
  readonly body?: unknown
  /** Reason to record in the audit. */
  readonly reason?: string
  /** Keys of the form to which the write belongs. A read has none. */
  readonly keys?: PendingKeys
  /** True if the call proves the identity of the user. It is never repeated. */
  readonly isProof?: boolean
  /** Cancels the call. The signal is required, so that every request ends when its part of the page is closed. */
  readonly signal: AbortSignal
}

/** Envelope of a response. */
interface Reply {
  readonly code: string
  readonly message: string
  readonly data: unknown
  /** `data` if it is an object. */
  readonly facts: Readonly<Record<string, unknown>>
  /** Kind of the error; without meaning for a success. */
  readonly kind: FailureKind
  readonly traceId: string
}

/** Time limit of a call in milliseconds. After this time the server counts as unreachable. */
const deadlineMs = 30_000

/** Base URL of the product. The page is one level below this URL. */
const root = new URL('..', document.baseURI).href.replace(/\/$/, '')

/** Sends calls to the server. `onSignedOut` is called when the session has ended. */
export class Api {
  readonly #language: () => string
  readonly #onSignedOut: () => void
  readonly #connection: Pick<Connection, 'lose' | 'regain'>
  readonly proofs: Proofs

  constructor(
    language: () => string,
    onSignedOut: () => void,
    connection: Pick<Connection, 'lose' | 'regain'>,
    proofs: Proofs,
  ) {
    this.#language = language
    this.#onSignedOut = onSignedOut
    this.#connection = connection
    this.proofs = proofs
  }

  /**
   * Calls an operation and returns the payload of the envelope. If the operation needs a fresh proof of identity, asks
   * the user for it and then repeats the call.
   * @throws CallFailure; the reason of the signal if it was aborted
   */
  async call<T>(operation: Callable, input: CallInput): Promise<T> {
    const { keys = {} } = input
    const content = JSON.stringify([operation.method, this.addressOf(operation, input), input.body])
    if (input.keys !== undefined) keys[content] ??= newKey()
    const { code, message, data, facts, kind, traceId } = await this.#responseTo(operation, input, keys[content])
    // A server that is unavailable, or still executes the first call with this key, has not reported the outcome.
    if (code === '200' || (kind !== 'away' && facts['reason'] !== 'idempotency.in-progress')) delete keys[content]
    if (code === '200') return data as T
    // A rejected proof or code of another plugin can have the same code, and does not end the session.
    const reason = String(facts['reason'] ?? '')
    if (kind === 'signed-out' && (reason === '' || reason.startsWith('iam.'))) this.#onSignedOut()
    throw new CallFailure(kind, message, { traceId, data: facts })
  }

  /**
   * Sends a call. Repeats it, with the same content and key, after a proof of identity: if the operation needs one, and
   * once if a proof has replaced the token of the session while the call was on its way. In both cases the server has
   * rejected the call before it executed anything.
   */
  async #responseTo(operation: Callable, input: CallInput, key: string | undefined): Promise<Reply> {
    let isRepeated = false
    for (;;) {
      const { renewals } = this.proofs
      const reply = await this.#exchange(operation, input, key)
      const { reason, methods } = reply.facts
      if (input.isProof) return reply
      if (reason === 'iam.proof-required') {
        const question = { methods: Array.isArray(methods) ? methods.map(String) : [], message: reply.message }
        const problem = await this.proofs.ask(question, input.signal)
        if (problem !== undefined) return { ...reply, message: problem || reply.message }
      } else if (reason === 'iam.token-invalid' && !isRepeated && (await this.proofs.hasRenewedSince(renewals))) {
        isRepeated = true
      } else return reply
    }
  }

  async #exchange(operation: Callable, input: CallInput, key: string | undefined): Promise<Reply> {
    const response = await this.#send(operation, input, key)
    const traceId = response.headers.get('x-trace-id') ?? ''
    const answer = await envelopeOf(response)
    input.signal.throwIfAborted()
    // If the server is unavailable, a proxy may respond without an envelope, or with its own envelope.
    const isOfProxy = response.status >= 502 && answer?.code !== '503'
    if (isOfProxy) this.#connection.lose()
    else this.#connection.regain()
    if (answer === undefined || isOfProxy) throw new CallFailure('away', '')
    const { code, message, data } = answer
    const facts = typeof data === 'object' && data !== null ? (data as Readonly<Record<string, unknown>>) : {}
    const isUnproven = facts['reason'] === 'iam.proof-required'
    const kind = isUnproven ? 'unproven' : (kinds[code] ?? (code === '503' ? 'away' : 'failed'))
    return { code, message, data, facts, kind, traceId }
  }

  /** Returns the URL from which a browser downloads the response of an operation. */
  addressOf({ path }: Callable, { params = {}, query = {} }: Pick<CallInput, 'params' | 'query'>): string {
    return root + filled(path, params) + searchOf(query)
  }

  async #send(
    { method, path }: Callable,
    { params = {}, query = {}, body, reason, signal }: CallInput,
    key: string | undefined,
  ): Promise<Response> {
    const headers: Record<string, string> = { accept: 'application/json', 'accept-language': this.#language() }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const why = reason?.trim() ?? ''
    if (why !== '') headers['x-reason'] = encodeURIComponent(why)
    if (key !== undefined) headers['idempotency-key'] = key
    const timeout = AbortSignal.timeout(deadlineMs)
    try {
      return await fetch(this.addressOf({ method, path }, { params, query }), {
        method,
        headers,
        cache: 'no-store',
        redirect: 'error',
        credentials: 'same-origin',
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, timeout]),
      })
    } catch {
      signal.throwIfAborted()
      this.#connection.lose()
      throw new CallFailure('away', '')
    }
  }
}

/** Returns a random key. `randomUUID` is missing on pages that are not served with HTTPS. */
const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join('-')

const filled = (path: string, params: Readonly<Record<string, Value>>) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name] ?? '')))

function searchOf(query: NonNullable<CallInput['query']>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) {
      if (one !== undefined && one !== null && one !== '') search.append(name, String(one))
    }
  }
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}
