import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@plinth/kernel'
import { omitUndefined } from '@plinth/kernel'
import { businessError } from './declarations.ts'
import type { SigningKeys } from './signing-keys.ts'

interface Signed {
  readonly disk: string
  readonly path: string
  /** Expiry time in seconds since the epoch. */
  readonly expires: number
  readonly name: string | undefined
  /** Guard and subject of the URL. */
  readonly grant: string | undefined
}

/** Signs and verifies file URLs with an HMAC-SHA256 over all values in the URL. */
export class UrlSigner {
  readonly #keys: SigningKeys
  readonly #clock: Clock

  constructor(keys: SigningKeys, clock: Clock) {
    this.#keys = keys
    this.#clock = clock
  }

  /** Returns the query of a URL that expires after `lifetimeMs`. */
  async sign(file: Omit<Signed, 'expires'>, lifetimeMs: number): Promise<URLSearchParams> {
    const expires = Math.ceil((this.#clock.now() + lifetimeMs) / 1000)
    const key = await this.#keys.signing()
    return new URLSearchParams(
      omitUndefined({
        expires: String(expires),
        name: file.name,
        grant: file.grant,
        signature: mac(key, { ...file, expires }).toString('base64url'),
      }),
    )
  }

  /** @throws BusinessError "403" `storage.signature-invalid`, `storage.url-expired` */
  async verify(file: Signed, signature: string): Promise<void> {
    const given = Buffer.from(signature, 'base64url')
    let isGenuine = false
    for (const key of await this.#keys.verifying()) {
      const expected = mac(key, file)
      if (given.length === expected.length && timingSafeEqual(given, expected)) isGenuine = true
    }
    if (!isGenuine) throw businessError('signature-invalid')
    if (this.#clock.now() >= file.expires * 1000) throw businessError('url-expired')
  }
}

/** JSON keeps the boundaries between the values, so that different values never give the same text. */
const mac = (key: string, { disk, path, expires, name, grant }: Signed) =>
  createHmac('sha256', key)
    .update(JSON.stringify(['plinth-file-url-v2', disk, path, expires, name ?? null, grant ?? null]))
    .digest()
