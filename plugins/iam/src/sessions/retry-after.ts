import { isBusinessError } from '@plinth/kernel'

/** Does the work; when a rate limit denies it, tells the caller in the header how many seconds to wait. */
export async function withRetryAfter<T>(
  setHeader: (name: string, value: string) => unknown,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const seconds = isBusinessError(error) ? error.data?.['retryAfter'] : undefined
    if (typeof seconds === 'number') setHeader('Retry-After', String(seconds))
    throw error
  }
}
