import { PlinthError } from '@plinth/kernel'

/** Every error of this plugin: what happened, and what to do about it. */
export const sharedStoreErrors = {
  PLINTH_SHARED_STORE_UNAVAILABLE: {
    text: 'Redis at {place} does not answer: {reason}.',
    fix: 'Start Redis, or correct platform.cache.host, platform.cache.port and the credentials. It is reconnected by itself.',
  },
  PLINTH_SHARED_STORE_REFUSED: {
    text: 'Redis at {place} refuses a command: {reason}.',
    fix: 'Mend what Redis complains about; it must be 6.2 or newer and hold no foreign keys under platform.cache.key-prefix.',
  },
} as const satisfies Record<string, { readonly text: string; readonly fix: string }>

export type SharedStoreErrorCode = keyof typeof sharedStoreErrors

export function sharedStoreError(
  code: SharedStoreErrorCode,
  details: { readonly place: string; readonly reason: string },
  cause?: unknown,
): PlinthError {
  const { text, fix } = sharedStoreErrors[code]
  const message = text.replace('{place}', () => details.place).replace('{reason}', () => details.reason)
  return new PlinthError(code, message, fix, { cause })
}
