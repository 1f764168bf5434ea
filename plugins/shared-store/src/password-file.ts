import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { type Clock, errorReason, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import type { SharedStoreConfig } from './config.ts'
import { sharedStoreError } from './redis-errors.ts'

/** How often a password file is read, in milliseconds. */
const pollMs = 5000

export type PasswordSource = { readonly password: string } | { readonly path: string }

/**
 * @param root directory of the product file, to which the path of the password file is relative
 * @throws PlinthError `PLINTH_SHARED_STORE_SETTINGS`
 */
export function passwordSource(config: SharedStoreConfig, root: string): PasswordSource {
  const password = config.get('platform.cache.password')
  const file = config.get('platform.cache.password-file')
  if (file === '') return { password }
  if (password === '') return { path: resolve(root, file) }
  throw sharedStoreError('PLINTH_SHARED_STORE_SETTINGS', {
    key: 'platform.cache.password',
    rule: 'be empty',
    other: 'platform.cache.password-file',
    value: 'set',
  })
}

/**
 * Returns the password. A line break at the end of its file is ignored.
 *
 * @throws PlinthError `PLINTH_SHARED_STORE_PASSWORD_FILE`
 */
export function readPassword(source: PasswordSource): string {
  if ('password' in source) return source.password
  const { path } = source
  const reject = (reason: string) => sharedStoreError('PLINTH_SHARED_STORE_PASSWORD_FILE', { file: path, reason })
  let text: string
  try {
    text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw reject(errorReason(error))
  }
  if (text === '') throw reject('it is empty')
  return text
}

export interface PasswordFileOptions {
  readonly path: string
  readonly password: string
  /** Connects with the password. Throws if Redis rejects it. */
  readonly verify: (password: string) => Promise<unknown>
  /** Uses the password for all later connections. */
  readonly adopt: (password: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Follows the password in a file until the signal aborts. A new password is used after a test connection has accepted
 * it. Until then, the current password stays in use: Redis accepts several passwords of a user at the same time.
 */
export async function followPasswordFile(options: PasswordFileOptions, signal: AbortSignal): Promise<void> {
  const { path, verify, adopt, clock, log } = options
  const file = basename(path)
  const failures = new RepeatedFailureLog(log, {
    failing: `the Redis password in ${file} cannot be used; the current password stays in use`,
    over: `the Redis password in ${file} can be used again`,
  })
  let current = options.password
  while (!signal.aborted) {
    await clock.sleep(pollMs, signal)
    if (signal.aborted) return
    try {
      const password = readPassword({ path })
      if (password !== current) {
        await verify(password)
        adopt(password)
        current = password
        log.info(`connections to Redis use the new password in ${file}`)
      }
      failures.succeeded()
    } catch (error) {
      failures.failed(error)
    }
  }
}
