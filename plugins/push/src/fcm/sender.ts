import type { Clock } from '@plinth/kernel'
import { isJsonObject, type OutgoingHttp, parseJsonOrUndefined, valueAtPath } from '@plinth/outgoing-http'
import { type Attempt, accepted, attemptOfFailure, hints, retryAfterMsOf } from '../attempts.ts'
import type { ServiceAccount } from '../config.ts'
import type { PushText } from '../push-text.ts'
import { type AccessTokens, TokenError } from './access-tokens.ts'

/** Largest notification and data of a message for one device in bytes (FCM, "About FCM messages"). */
export const maxPayloadBytes = 4_096

/** The parts of a message that count for its size. */
export interface FcmPayload {
  readonly notification: { readonly title: string; readonly body: string }
  readonly data: Readonly<Record<string, string>>
}

export const fcmPayload = ({ id, title, route, data }: PushText, body: string): FcmPayload => ({
  notification: { title, body },
  data: { ...data, messageId: id, ...(route !== null && { targetRoute: route }) },
})

/** Returns the request body (FCM HTTP v1, REST resource "projects.messages"). */
export const fcmRequest = (token: string, { ttlSeconds, urgency, topic }: PushText, payload: FcmPayload) => ({
  message: {
    token,
    ...payload,
    android: {
      ttl: `${ttlSeconds}s`,
      priority: urgency === 'high' ? 'HIGH' : 'NORMAL',
      ...(topic !== undefined && { collapse_key: topic }),
    },
    apns: {
      headers: {
        'apns-priority': urgency === 'high' ? '10' : '5',
        ...(topic !== undefined && { 'apns-collapse-id': topic }),
      },
    },
  },
})

interface FcmDependencies {
  readonly http: Pick<OutgoingHttp, 'request'>
  readonly account: ServiceAccount
  /** Base address, ending with a slash. */
  readonly endpoint: string
  readonly tokens: Pick<AccessTokens, 'get'>
  readonly clock: Pick<Clock, 'now'>
}

/** Milliseconds. */
const deadlineMs = 10_000
const defaultWaitMs = 60_000

/** Sends a message to one app. */
export async function sendFcm(
  body: ReturnType<typeof fcmRequest>,
  { http, account, endpoint, tokens, clock }: FcmDependencies,
  signal: AbortSignal,
): Promise<Attempt> {
  try {
    const accessToken = await untilAborted(tokens.get(account), signal)
    const {
      status,
      headers,
      body: text,
    } = await http.request({
      url: new URL(`v1/projects/${account.project_id}/messages:send`, endpoint),
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
      deadlineMs,
    })
    if (status === 200) return accepted('200')
    const attempt = attemptOf(status, parseJsonOrUndefined(text), headers['retry-after'], clock.now())
    // The token was revoked early. The next attempt uses a new one, unless the service account is rejected.
    if (attempt.errorCode === 'fcm.unauthenticated') tokens.get(account, accessToken).catch(() => {})
    return attempt
  } catch (error) {
    return error instanceof TokenError ? error.attempt : attemptOfFailure(error)
  }
}

/** Returns the result of the work, or fails when the signal aborts. The work continues, because other sends wait for it. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const attempt: Attempt = { outcome: 'deferred', errorCode: 'push.aborted', errorMessage: 'Cancelled before sending' }
  const giveUp = () => reject(new TokenError(attempt))
  signal.addEventListener('abort', giveUp)
  if (signal.aborted) giveUp()
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  return promise
}

const fcmError = 'type.googleapis.com/google.firebase.fcm.v1.FcmError'
const badRequest = 'type.googleapis.com/google.rpc.BadRequest'

type Meaning = Pick<Attempt, 'outcome' | 'errorCode' | 'errorMessage' | 'hint'>

const configuration: Meaning = {
  outcome: 'rejected',
  errorCode: 'fcm.configuration',
  errorMessage: 'FCM rejected the service account or its project',
  hint: hints.configuration,
}
const gone: Meaning = { outcome: 'gone', errorCode: 'fcm.gone', errorMessage: 'The app is no longer registered' }
const busy = (name: string): Meaning => ({
  outcome: 'deferred',
  errorCode: `fcm.${name}`,
  errorMessage: 'FCM accepts no messages at the moment',
})
const invalidMessage: Meaning = {
  outcome: 'rejected',
  errorCode: 'fcm.message-invalid',
  errorMessage: 'FCM rejected the message',
}

/** Meanings by `errorCode` of `FcmError`. `INVALID_ARGUMENT` is about the token or about the message. */
const meanings: Readonly<Record<string, Meaning>> = {
  UNREGISTERED: gone,
  SENDER_ID_MISMATCH: configuration,
  THIRD_PARTY_AUTH_ERROR: configuration,
  QUOTA_EXCEEDED: busy('throttled'),
  UNAVAILABLE: busy('unavailable'),
  INTERNAL: busy('unavailable'),
}

function meaningOf(status: number, code: string | undefined, isAboutMessage: boolean): Meaning {
  if (code === 'INVALID_ARGUMENT') return isAboutMessage ? invalidMessage : gone
  const known = code === undefined ? undefined : meanings[code]
  if (known !== undefined) return known
  if (status === 401) return { ...busy('unauthenticated'), errorMessage: 'FCM rejected the access token' }
  if (status === 429) return busy('throttled')
  if (status >= 500) return busy('unavailable')
  // 404 without a code: the address of the project is wrong, and the token may be valid.
  return status === 403 || status === 404 ? configuration : invalidMessage
}

function attemptOf(status: number, json: unknown, retryAfter: string | undefined, now: number): Attempt {
  const listed = valueAtPath(json, 'error.details')
  const details = (Array.isArray(listed) ? listed : []).filter(isJsonObject)
  const code = details.find((detail) => detail['@type'] === fcmError)?.['errorCode']
  const known = typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? code : undefined
  const meaning = meaningOf(status, known, details.some(isViolationOfMessage))
  const providerCode = known === undefined ? String(status) : `${status} ${known}`
  if (meaning.outcome !== 'deferred') return { ...meaning, providerCode }
  return { ...meaning, providerCode, retryAfterMs: retryAfterMsOf(retryAfter, now, defaultWaitMs) }
}

/** True if a request was rejected because of a member other than the token. */
function isViolationOfMessage(detail: Readonly<Record<string, unknown>>): boolean {
  if (detail['@type'] !== badRequest) return false
  const violations = detail['fieldViolations']
  return !Array.isArray(violations) || !violations.some((one) => valueAtPath(one, 'field') === 'message.token')
}
