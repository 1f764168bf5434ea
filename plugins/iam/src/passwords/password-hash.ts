import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@plinth/kernel'
import { businessError, iamError } from '../declarations.ts'

/** Maximum duration of one password hash in milliseconds. Each login waits for at least one hash. */
const maxHashMs = 3_000

interface HashTrialOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Returns the number of bytes that this process can still allocate. */
  readonly availableMemory: () => number
  /** Computes one hash. Tests replace this function. */
  readonly hash?: (settings: HashSettings) => Promise<unknown>
}

/**
 * Checks that the host has enough memory for the concurrent hashes, and that one hash is fast enough. First measures a
 * hash with a single pass, because a running hash cannot be interrupted. Measures a hash with all passes only if the
 * first measurement suggests that it is fast enough.
 *
 * @throws PlinthError `PLINTH_IAM_PASSWORD_HASH`
 */
export async function assertHashIsFast(settings: HashSettings, parts: HashTrialOptions): Promise<void> {
  const { clock, availableMemory, hash = computeOne } = parts
  const { memoryBytes, passes, concurrency } = settings
  const needed = memoryBytes * concurrency
  if (needed > availableMemory()) {
    throw iamError('PLINTH_IAM_PASSWORD_HASH', {
      reason: `${concurrency} concurrent hashes need ${inMebibytes(needed)} of memory, which is more than the host has available`,
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
  const reason = `one hash takes ${Math.ceil(ms / 1_000)} s on this host, and the limit is ${maxHashMs / 1_000} s`
  throw iamError('PLINTH_IAM_PASSWORD_HASH', { reason })
}

const computeOne = (settings: HashSettings) => new PasswordHasher(settings).hash('trial')

const inMebibytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`

export interface HashSettings {
  readonly memoryBytes: number
  readonly passes: number
  /** Maximum number of hashes at the same time. Further hashes wait. */
  readonly concurrency: number
}

interface Parameters {
  /** Memory of one hash in KiB. */
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

/** Maximum number of logins that wait for a hash. With more, the last ones would wait too long. */
const maxQueueLength = 100
const saltBytes = 16
const tagBytes = 32
const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

/** Hashes passwords with argon2id. A hash is a PHC string that contains its parameters. */
export class PasswordHasher {
  readonly #parameters: Parameters
  readonly #concurrency: number
  readonly #waiting: (() => void)[] = []
  readonly #decoySalt = randomBytes(saltBytes)
  #running = 0
  #computed = 0

  constructor({ memoryBytes, passes, concurrency }: HashSettings) {
    this.#parameters = { memory: Math.ceil(memoryBytes / 1024), passes, parallelism: 1 }
    this.#concurrency = concurrency
  }

  get computed(): number {
    return this.#computed
  }

  /** @throws BusinessError "503" `iam.busy` */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(saltBytes)
    const tag = await this.#derive(password, salt, this.#parameters, tagBytes)
    const { memory, passes, parallelism } = this.#parameters
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`
  }

  /**
   * Returns whether the password matches the hash, and whether the hash was computed with outdated parameters. If
   * `stored` is null, a hash is computed anyway, so that an unknown user name takes as long as a wrong password.
   *
   * @throws BusinessError "503" `iam.busy`
   */
  async verify(
    stored: string | null,
    password: string,
  ): Promise<{ readonly matches: boolean; readonly outdated: boolean }> {
    const parts = stored === null ? null : phc.exec(stored)
    if (parts === null) {
      await this.#derive(password, this.#decoySalt, this.#parameters, tagBytes)
      return { matches: false, outdated: false }
    }
    const [, memory = '', passes = '', parallelism = '', salt = '', tag = ''] = parts
    const parameters = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
    const expected = Buffer.from(tag, 'base64')
    const actual = await this.#derive(password, Buffer.from(salt, 'base64'), parameters, expected.length)
    const outdated =
      parameters.memory !== this.#parameters.memory ||
      parameters.passes !== this.#parameters.passes ||
      parameters.parallelism !== this.#parameters.parallelism
    return { matches: timingSafeEqual(actual, expected), outdated }
  }

  async #derive(password: string, nonce: Buffer, parameters: Parameters, tagLength: number): Promise<Buffer> {
    if (this.#running >= this.#concurrency) {
      if (this.#waiting.length >= maxQueueLength) throw businessError('busy')
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else {
      this.#running++
    }
    try {
      this.#computed++
      const message = password.normalize('NFC')
      return await new Promise<Buffer>((resolve, reject) =>
        argon2('argon2id', { message, nonce, tagLength, ...parameters }, (error, tag) =>
          error === null ? resolve(tag) : reject(error),
        ),
      )
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
