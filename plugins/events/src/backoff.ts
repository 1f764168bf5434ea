export interface BackoffSettings {
  /** Milliseconds before the first retry. */
  readonly initialDelayMs: number
  /** Milliseconds at most before any retry. */
  readonly maxDelayMs: number
}

/**
 * Milliseconds to wait after the given failed attempt (1 is the first): doubled each time up to the maximum, one half of
 * it by chance, so that what failed together does not come back together.
 */
export function retryDelay(attempt: number, settings: BackoffSettings, random: () => number): number {
  const full = Math.min(settings.maxDelayMs, settings.initialDelayMs * 2 ** (attempt - 1))
  return Math.round(full / 2 + (random() * full) / 2)
}
