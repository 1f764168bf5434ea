import type { DeliveryOutcome, OutcomeName } from '@plinth/kernel'
import { isOutgoingHttpError } from '@plinth/outgoing-http'

/** The result of one message for one device. `gone`: the device must be removed. It contains no address and no token. */
export interface Attempt {
  readonly outcome: OutcomeName | 'gone'
  readonly errorCode: string
  readonly errorMessage: string
  /** Status, or code of the push service. */
  readonly providerCode?: string
  readonly retryAfterMs?: number
  readonly hint?: string
}

export type FailedOutcome = Exclude<DeliveryOutcome, { readonly outcome: 'accepted' }>

export const hints = { configuration: 'messages.push.hint.configuration', 'too-large': 'messages.push.hint.too-large' }

export const accepted = (providerCode: string): Attempt => ({
  outcome: 'accepted',
  errorCode: '',
  errorMessage: '',
  providerCode,
})

export const aborted = {
  outcome: 'deferred',
  errorCode: 'push.aborted',
  errorMessage: 'Cancelled before sending',
} as const satisfies Attempt

export const tooLarge = {
  outcome: 'rejected',
  errorCode: 'push.too-large',
  errorMessage: 'The message is too large, even without its content',
  hint: hints['too-large'],
} as const

const blocked: readonly string[] = ['url-refused', 'port-refused', 'address-refused', 'request-refused']

/** Returns the result of a request without a response. @throws every other error */
export function attemptOfFailure(error: unknown): Attempt {
  if (!isOutgoingHttpError(error)) throw error
  const { code, mayHaveArrived } = error
  if (blocked.includes(code))
    return {
      outcome: 'rejected',
      errorCode: 'push.address-rejected',
      errorMessage: `The address is not allowed (${code})`,
    }
  return mayHaveArrived
    ? { outcome: 'unknown', errorCode: 'push.no-response', errorMessage: `The push service did not respond (${code})` }
    : {
        outcome: 'deferred',
        errorCode: 'push.unreachable',
        errorMessage: `The push service is not reachable (${code})`,
      }
}

const maxWaitMs = 86_400_000

/**
 * Returns the wait of the header `Retry-After` (RFC 9110, section 10.2.3), at most one day.
 *
 * @param now milliseconds since the epoch
 * @param defaultMs wait without a valid header
 */
export function retryAfterMsOf(header: string | undefined, now: number, defaultMs: number): number {
  const ms = /^\d{1,9}$/.test(header ?? '') ? Number(header) * 1000 : Date.parse(header ?? '') - now
  return Number.isFinite(ms) ? Math.min(maxWaitMs, Math.max(0, ms)) : defaultMs
}

/**
 * Returns the outcome of a send to all devices of a user: the best result, in this order: accepted, unknown, deferred,
 * rejected. If the outcome is `deferred`, it is the longest wait.
 *
 * @param attempts results of this send
 * @param acceptedBefore number of devices that accepted the message in an earlier attempt
 */
export function combineAttempts(attempts: readonly Attempt[], acceptedBefore: number): DeliveryOutcome {
  const all = [...Array<Attempt>(acceptedBefore).fill(accepted('earlier')), ...attempts]
  const first = (outcome: Attempt['outcome']) => attempts.find((one) => one.outcome === outcome)
  const summary = all.length < 2 ? {} : { providerMessage: summaryOf(all) }
  const best = first('accepted')
  if (best !== undefined || acceptedBefore > 0)
    return { outcome: 'accepted', ...(best?.providerCode && { providerCode: best.providerCode }), ...summary }
  const worst = first('unknown') ?? first('deferred') ?? first('rejected')
  if (worst === undefined) return noDevice
  const { outcome, retryAfterMs: _, ...failure } = worst
  if (outcome !== 'deferred') return { ...failure, ...summary, outcome } as FailedOutcome
  const waits = attempts.flatMap(({ retryAfterMs }) => retryAfterMs ?? [])
  return { ...failure, ...summary, outcome, ...(waits.length > 0 && { retryAfterMs: Math.max(...waits) }) }
}

export const noDevice = {
  outcome: 'rejected',
  errorCode: 'push.device-missing',
  errorMessage: 'The recipient has no device',
} as const

/** Returns the number of devices by outcome and code, such as `2 accepted (201), 1 gone (410)`. */
function summaryOf(attempts: readonly Attempt[]): string {
  const names = attempts.map(({ outcome, providerCode, errorCode }) => `${outcome} (${providerCode ?? errorCode})`)
  const counts = Map.groupBy(names, (name) => name)
  return [...counts].map(([name, { length }]) => `${length} ${name}`).join(', ')
}
