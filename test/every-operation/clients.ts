import { type ApiClient, createApiClient } from '@plinth/client'

/** Records which operations returned their documented success, as `GET /api/v1/...`. */
export class Successes {
  readonly #seen = new Set<string>()

  get seen(): ReadonlySet<string> {
    return this.#seen
  }

  add(method: string, path: string): void {
    this.#seen.add(`${method} ${path}`)
  }
}

/**
 * Creates a client that records successful operations: code "200" in an envelope, or status 200 of a file or a stream.
 */
export function recordingClient(
  baseUrl: string,
  successes: Successes,
  headers: Readonly<Record<string, string>> = {},
  fetch: (request: Request) => Promise<Response> = globalThis.fetch,
): ApiClient {
  const client = createApiClient({ baseUrl, headers, fetch })
  client.use({
    async onResponse({ request, response, schemaPath }) {
      if (response.status !== 200) return
      const isEnvelope = response.headers.get('content-type')?.startsWith('application/json') === true
      const isFile = response.headers.has('content-disposition')
      const code = isEnvelope && !isFile ? ((await response.clone().json()) as { code?: string }).code : '200'
      if (code === '200') successes.add(request.method, schemaPath)
    },
  })
  return client
}

/** Type of the data of a success in a union of envelopes. */
type SuccessOf<Envelope> = Envelope extends { readonly code: '200'; readonly data: infer Data } ? Data : never

/**
 * Returns the data of a success.
 * @throws Error with the envelope of a failure
 */
export async function assertSuccess<Envelope>(
  call: Promise<{ readonly data?: Envelope; readonly error?: unknown; readonly response: Response }>,
): Promise<SuccessOf<Envelope>> {
  const { data, error, response } = await call
  const envelope = data as { readonly code?: string; readonly data?: unknown } | undefined
  if (envelope?.code !== '200') {
    const { pathname } = new URL(response.url)
    throw new Error(`${pathname}: ${response.status} ${JSON.stringify(data ?? error)}`)
  }
  return envelope.data as SuccessOf<Envelope>
}
