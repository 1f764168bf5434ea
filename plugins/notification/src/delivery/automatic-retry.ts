import type { NotificationChannel } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import type { Verdict } from '../send-log/entries.ts'
import type { SendLogRow } from '../send-log/row.ts'

export interface RetrySettings {
  readonly enabled: boolean
  /** Sends in all, the first one included. */
  readonly maxAttempts: number
  /** Milliseconds. */
  readonly firstDelayMs: number
  readonly factor: number
  /** Milliseconds. */
  readonly longestDelayMs: number
}

/**
 * What the row of a send becomes. Only what was not sent is sent again by itself, or what may have been sent on an idempotent
 * channel; never before the provider wants it.
 *
 * @param random answers a number from 0 to below 1: half of the delay is left to chance, so that what failed together does not come
 *   back together
 */
export function verdictOn(
  { success, outcome, retryAfterMs = 0 }: SendResult,
  { restorable, attempt }: Pick<SendLogRow, 'restorable' | 'attempt'>,
  channel: Pick<NotificationChannel, 'traits'> | undefined,
  settings: RetrySettings,
  random: () => number,
): Verdict {
  if (success) return { status: 'success' }
  const status = outcome === 'unknown' ? 'unknown' : 'failed'
  const mayRepeat = outcome === 'deferred' || (outcome === 'unknown' && channel?.traits.idempotent === true)
  if (!settings.enabled || !mayRepeat || !restorable) return { status }
  if (attempt >= settings.maxAttempts) return { status: 'dead' }
  const full = Math.min(settings.longestDelayMs, settings.firstDelayMs * settings.factor ** (attempt - 1))
  return { status, retryInMs: Math.max(Math.round(full / 2 + (random() * full) / 2), retryAfterMs) }
}
