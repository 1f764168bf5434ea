import type { NotificationChannel } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import type { SendLogState } from '../entities.ts'
import type { NewSendLog } from './row.ts'

/** State of a row after its send. */
interface Verdict {
  readonly status: SendLogState
  /** Milliseconds until the automatic retry. */
  readonly retryInMs?: number | undefined
}

interface RetrySettings {
  readonly enabled: boolean
  /** Maximum number of sends, including the first. */
  readonly maxAttempts: number
  /** Milliseconds. */
  readonly firstDelayMs: number
  readonly factor: number
  /** Milliseconds. */
  readonly maxDelayMs: number
}

/**
 * Decides the state of a row after its send. A message is sent again automatically if it was not sent, or if it may
 * have been sent on an idempotent channel. The retry is never earlier than the provider specified.
 *
 * @param random returns a number from 0 to below 1; half of the delay is random, so that messages that failed together
 *   are not retried together
 */
export function judge(
  { success, outcome, retryAfterMs = 0 }: SendResult,
  { restorable, attempt }: Pick<NewSendLog, 'restorable' | 'attempt'>,
  channel: Pick<NotificationChannel, 'traits'> | undefined,
  settings: RetrySettings,
  random: () => number,
): Verdict {
  if (success) return { status: 'success' }
  const status = outcome === 'unknown' ? 'unknown' : 'failed'
  const mayRepeat = outcome === 'deferred' || (outcome === 'unknown' && channel?.traits.idempotent === true)
  if (!settings.enabled || !mayRepeat || !restorable) return { status }
  if (attempt >= settings.maxAttempts) return { status: 'dead' }
  const full = Math.min(settings.maxDelayMs, settings.firstDelayMs * settings.factor ** (attempt - 1))
  return { status, retryInMs: Math.max(Math.round(full / 2 + (random() * full) / 2), retryAfterMs) }
}
