import type { Clock } from '@plinth/kernel'
import { isJsonObject, type OutgoingHttp, parseJsonOrUndefined } from '@plinth/outgoing-http'
import { type Attempt, accepted, attemptOfFailure, hints, retryAfterMsOf } from '../attempts.ts'
import type { PushText } from '../push-text.ts'
import { encryptMessage } from './encryption.ts'
import { type EndpointRules, endpointProblem } from './endpoint.ts'
import type { Vapid } from './vapid.ts'

/** A subscription as browsers return it; the keys are in base64url. */
export interface Subscription {
  readonly endpoint: string
  readonly p256dh: string
  readonly auth: string
}

interface WebPushDependencies {
  readonly http: Pick<OutgoingHttp, 'request' | 'check'>
  readonly rules: EndpointRules
  readonly vapid: Pick<Vapid, 'authorization'>
  readonly clock: Pick<Clock, 'now'>
}

/** Milliseconds. */
const deadlineMs = 10_000
const defaultWaitMs = 60_000
const maxResponseBytes = 4_096

/** Sends one encrypted message to one browser (RFC 8030, section 5). */
export async function sendWebPush(
  { endpoint, p256dh, auth }: Subscription,
  { ttlSeconds, urgency, topic }: Pick<PushText, 'ttlSeconds' | 'urgency' | 'topic'>,
  plaintext: Uint8Array,
  { http, rules, vapid, clock }: WebPushDependencies,
  signal: AbortSignal,
): Promise<Attempt> {
  // The list of hosts may have changed since the registration.
  const problem = endpointProblem(endpoint, rules)
  if (problem !== undefined) {
    const errorMessage = `The endpoint is not allowed (${problem}); see platform.push.web-push.hosts`
    return { outcome: 'rejected', errorCode: 'push.address-rejected', errorMessage }
  }
  const receiver = { p256dh: Buffer.from(p256dh, 'base64url'), auth: Buffer.from(auth, 'base64url') }
  const headers = {
    authorization: await vapid.authorization(new URL(endpoint).origin),
    'content-encoding': 'aes128gcm',
    'content-type': 'application/octet-stream',
    ttl: String(ttlSeconds),
    urgency,
    ...(topic !== undefined && { topic }),
  }
  try {
    const body = encryptMessage(plaintext, receiver)
    const response = await http.request({ url: endpoint, headers, body, signal, deadlineMs, maxResponseBytes })
    return attemptOf(response.status, response.body, response.headers['retry-after'], clock.now())
  } catch (error) {
    return attemptOfFailure(error)
  }
}

function attemptOf(status: number, body: string, retryAfter: string | undefined, now: number): Attempt {
  const providerCode = [status, reasonOf(body)].filter(Boolean).join(' ')
  if (status >= 200 && status < 300) return accepted(providerCode)
  const failure = (outcome: Attempt['outcome'], name: string, errorMessage: string) => ({
    outcome,
    errorCode: `web-push.${name}`,
    errorMessage,
    providerCode,
  })
  if (status === 404 || status === 410) return failure('gone', 'gone', 'The browser has unsubscribed')
  if (status === 413) return failure('rejected', 'too-large', 'The push service does not accept messages of this size')
  if (status === 429 || status >= 500) {
    const name = status === 429 ? 'throttled' : 'unavailable'
    const retryAfterMs = retryAfterMsOf(retryAfter, now, defaultWaitMs)
    return { ...failure('deferred', name, 'The push service accepts no messages at the moment'), retryAfterMs }
  }
  if (status === 400 || status === 401 || status === 403)
    return {
      ...failure('rejected', 'configuration', 'The push service rejected the request'),
      hint: hints.configuration,
    }
  return failure('rejected', 'rejected', `The push service responded with ${status}`)
}

/** Returns the reason of Apple or the error number of Mozilla. Other text is left out, because it may contain the endpoint. */
function reasonOf(body: string): string | undefined {
  const json = parseJsonOrUndefined(body)
  if (!isJsonObject(json)) return undefined
  const reason = String(json['reason'] ?? json['errno'] ?? '')
  return /^\w{1,40}$/.test(reason) ? reason : undefined
}
