import { envelopeOf } from '../app/answer.ts'
import type {
  CheckResult,
  EntryCheck,
  ExecuteResult,
  ExecutionRecord,
  FormDefaults,
  FormSchema,
  InstallForm,
  InstallStatus,
  PlanResult,
  Step,
} from './wire.ts'

/**
 * Kind of a failed call. `refused`: the caller has no access. `missing`: not found. `unreachable`: the product did not
 * respond.
 */
type FailureKind = 'refused' | 'limited' | 'missing' | 'rejected' | 'unreachable'

const kinds: Readonly<Record<string, FailureKind>> = { '403': 'refused', '404': 'missing', '429': 'limited' }

export class ApiFailure extends Error {
  readonly kind: FailureKind
  /** Id of the request in the server log; empty if the request did not reach the server. */
  readonly traceId: string
  /** For the kind `limited`: seconds until the next attempt is allowed. */
  readonly retryAfterSeconds: number

  constructor(kind: FailureKind, message: string, facts: { traceId?: string; retryAfterSeconds?: number } = {}) {
    super(message)
    this.kind = kind
    this.traceId = facts.traceId ?? ''
    this.retryAfterSeconds = facts.retryAfterSeconds ?? 0
  }
}

interface InstallApiSettings {
  /** Address of the endpoints, relative to the page or absolute. */
  readonly base: string
  readonly language: () => string
  readonly fetch: typeof fetch
}

interface CallOptions {
  readonly method?: 'GET' | 'POST'
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

interface Pages {
  readonly groups: readonly { readonly pages: readonly { readonly id: string }[] }[]
}

/** Maximum number of records to read. The records of the running installation are among them. */
const recordLimit = 100

/** Calls the operations of the installer. The token is stored only in this class. */
export class InstallApi {
  readonly #settings: InstallApiSettings
  #token = ''

  constructor(settings: InstallApiSettings) {
    this.#settings = settings
  }

  /** Stores the token. It is sent with every further call. */
  rememberToken(token: string): void {
    this.#token = token
  }

  status(signal?: AbortSignal): Promise<InstallStatus> {
    return this.#call('status', { signal })
  }

  /** Returns the names of the pages of the installed product, for example `admin` at `../admin/`. */
  async entries(): Promise<readonly string[]> {
    const { entries } = await this.#call<{ entries: readonly string[] }>('entries')
    return entries
  }

  /** Returns the ids of the pages of the back office that the signed-in user may see. */
  async pages(): Promise<readonly string[]> {
    const { groups } = await this.#call<Pages>('../admin/console/pages')
    return groups.flatMap(({ pages }) => pages.map(({ id }) => id))
  }

  /** Checks whether the caller has access, with or without a token. */
  verify(token: string): Promise<EntryCheck> {
    return this.#call('token/verify', { method: 'POST', body: { token } })
  }

  schema(): Promise<FormSchema> {
    return this.#call('config/schema')
  }

  defaults(): Promise<FormDefaults> {
    return this.#call('config/defaults')
  }

  preflight(): Promise<CheckResult> {
    return this.#call('preflight', { method: 'POST' })
  }

  validate(form: InstallForm): Promise<CheckResult> {
    return this.#call('config/validate', { method: 'POST', body: form })
  }

  plan(form: InstallForm, signal: AbortSignal): Promise<PlanResult> {
    return this.#call('config/plan', { method: 'POST', body: form, signal })
  }

  async steps(): Promise<readonly Step[]> {
    const { steps } = await this.#call<{ steps: readonly Step[] }>('steps')
    return steps
  }

  execute(form: InstallForm): Promise<ExecuteResult> {
    return this.#call('execute', { method: 'POST', body: form })
  }

  retry(sessionId: string, form: InstallForm): Promise<ExecuteResult> {
    return this.#call(`sessions/${encodeURIComponent(sessionId)}/retry`, { method: 'POST', body: form })
  }

  /**
   * Signs in the new administrator. The session is a cookie that scripts cannot read. Returns false if the product does
   * not allow the sign-in.
   */
  async signIn(account: { readonly username: unknown; readonly password: unknown }): Promise<boolean> {
    const { username, password } = account
    const body = { username, password, session: 'cookie' }
    return this.#call('../auth/login', { method: 'POST', body }).then(
      () => true,
      () => false,
    )
  }

  /** Returns recent records in the order of the server. */
  async records(): Promise<readonly ExecutionRecord[]> {
    const { records } = await this.#call<{ records: readonly ExecutionRecord[] }>(`execution-logs?limit=${recordLimit}`)
    return records
  }

  async #call<T>(path: string, { method = 'GET', body, signal }: CallOptions = {}): Promise<T> {
    const response = await this.#send(path, { method, body, signal })
    const traceId = response.headers.get('x-trace-id') ?? ''
    const answer = await envelopeOf(response)
    // If the server is unavailable or slow, a proxy may respond without an envelope, or with its own envelope.
    if (answer === undefined || response.status >= 502) throw new ApiFailure('unreachable', '')
    const { code, message, data } = answer
    if (code === '200') {
      if (isUnauthorized(data)) throw new ApiFailure('refused', message, { traceId })
      return data as T
    }
    throw new ApiFailure(kinds[code] ?? 'rejected', message, { traceId, retryAfterSeconds: retryAfterOf(data) })
  }

  async #send(path: string, { method, body, signal }: CallOptions): Promise<Response> {
    const { base, language, fetch: send } = this.#settings
    const headers: Record<string, string> = { accept: 'application/json', 'accept-language': language() }
    if (this.#token !== '') headers['x-install-token'] = this.#token
    if (body !== undefined) headers['content-type'] = 'application/json'
    try {
      return await send(`${base}/${path}`, {
        method: method ?? 'GET',
        headers,
        cache: 'no-store',
        redirect: 'error',
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      })
    } catch {
      throw new ApiFailure('unreachable', '')
    }
  }
}

const retryAfterOf = (data: unknown) =>
  typeof data === 'object' && data !== null && 'retryAfter' in data ? Number(data.retryAfter) : 0

const isUnauthorized = (data: unknown) =>
  typeof data === 'object' && data !== null && 'authorized' in data && data.authorized === false
