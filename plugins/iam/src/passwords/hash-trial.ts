import type { Clock } from '@plinth/kernel'
import { iamError } from '../errors.ts'
import { type HashSettings, PasswordHasher } from './password-hash.ts'

/** Milliseconds that one password hash may take: each login waits for one, or more where several come at once. */
const maxHashMs = 3_000

interface HashTrialParts {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Bytes that this process can still get. */
  readonly availableMemory: () => number
  /** Computes one hash; the real one when absent. */
  readonly hash?: (settings: HashSettings) => Promise<unknown>
}

/**
 * Proves that logins work with these parameters: computes a hash with one pass, then one with all passes unless the first
 * already shows that it takes too long. A hash cannot be interrupted.
 *
 * @throws PlinthError `PLINTH_IAM_PASSWORD_HASH`
 */
export async function assertHashInTime(settings: HashSettings, parts: HashTrialParts): Promise<void> {
  const { clock, availableMemory, hash = computeOne } = parts
  const { memoryBytes, passes, concurrency } = settings
  const needed = memoryBytes * concurrency
  if (needed > availableMemory()) {
    throw iamError('PLINTH_IAM_PASSWORD_HASH', {
      reason: `${concurrency} at a time need ${inMebibytes(needed)} of memory`,
    })
  }
  const measured = async (tried: number) => {
    const begin = clock.monotonic()
    await hash({ memoryBytes, passes: tried, concurrency: 1 })
    return clock.monotonic() - begin
  }
  let ms = (await measured(1)) * passes
  if (ms <= maxHashMs && passes > 1) ms = await measured(passes)
  if (ms <= maxHashMs) return
  const reason = `one takes ${Math.ceil(ms / 1_000)} s here, more than ${maxHashMs / 1_000} s`
  throw iamError('PLINTH_IAM_PASSWORD_HASH', { reason })
}

const computeOne = (settings: HashSettings) => new PasswordHasher(settings).hash('trial')

const inMebibytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`
