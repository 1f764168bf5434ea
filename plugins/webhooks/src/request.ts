import type { Clock } from '@plinth/kernel'
import { isOutgoingHttpError, type OutgoingHttp } from '@plinth/outgoing-http'
import { retryAfterMsOf } from './schedule.ts'
import { signedHeaders } from './signature.ts'

/** Time limit of a request in milliseconds. */
const deadlineMs = 15_000
/** The body of a response is not used, so only its beginning is read. It is never stored or shown. */
const maxResponseBytes = 1_024
/** Statuses with which a receiver asks for fewer requests. */
const throttled: readonly number[] = [429, 502, 503, 504]

export interface Outcome {
  readonly isSuccess: boolean
  /** HTTP status, or null without a response. */
  readonly status: number | null
  /** Stable code: `redirect`, `gone`, `throttled`, `status`, `secret-unusable`, or a code of `OutgoingHttpError`. */
  readonly reason: string | null
  /** Minimum pause that the receiver asked for, in milliseconds; 0 if none. */
  readonly retryAfterMs: number
  readonly tookMs: number
}

export interface WebhookRequest {
  readonly url: string
  readonly id: string
  readonly body: string
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}

/** Sends one attempt. Only a status from 200 to 299 is a success; redirects are failures. */
export async function sendWebhook(
  { url, id, body, secrets, signal }: WebhookRequest,
  { http, clock }: { readonly http: Pick<OutgoingHttp, 'request'>; readonly clock: Pick<Clock, 'now' | 'monotonic'> },
): Promise<Outcome> {
  const now = clock.now()
  const startedAt = clock.monotonic()
  const outcome = (result: Omit<Outcome, 'tookMs'>) => ({
    ...result,
    tookMs: Math.round(clock.monotonic() - startedAt),
  })
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'plinth-webhooks/1',
    ...signedHeaders({ id, now, body }, secrets),
  }
  try {
    const { status, headers: response } = await http.request({
      url,
      headers,
      body,
      deadlineMs,
      maxResponseBytes,
      signal,
      showsTrace: true,
    })
    const retryAfterMs = throttled.includes(status) ? retryAfterMsOf(response['retry-after'], now) : 0
    const isSuccess = status >= 200 && status < 300
    return outcome({ isSuccess, status, reason: isSuccess ? null : reasonOf(status), retryAfterMs })
  } catch (error) {
    if (!isOutgoingHttpError(error)) throw error
    return outcome({ isSuccess: false, status: null, reason: error.code, retryAfterMs: 0 })
  }
}

function reasonOf(status: number): string {
  if (status === 410) return 'gone'
  if (throttled.includes(status)) return 'throttled'
  return status >= 300 && status < 400 ? 'redirect' : 'status'
}
