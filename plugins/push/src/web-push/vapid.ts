import { createECDH, createPrivateKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { Clock } from '@plinth/kernel'
import { SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import { curve } from './encryption.ts'

/** Order of the group of P-256 (FIPS 186-5). */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
/** Lifetime of a token in seconds. Push services accept at most 24 hours (RFC 8292, section 2). */
const lifetimeSeconds = 12 * 3_600
/** A token is used until this time before its end, so that the clock of a push service may differ. */
const marginSeconds = 3_600
/** Number of push services whose tokens are stored. */
const maxTokens = 200

interface KeyPair {
  readonly seed: Buffer
  readonly privateKey: KeyObject
  /** Uncompressed point in base64url. */
  readonly publicKey: string
}

interface VapidDependencies {
  /** Returns 32 secret bytes, which determine the key pair. */
  readonly seed: () => Promise<Buffer>
  /** Address of the operator: an https URL. */
  readonly subject: () => string
  readonly clock: Pick<Clock, 'now'>
}

/** Identifies the product to push services (RFC 8292). */
export class Vapid {
  readonly #parts: VapidDependencies
  readonly #tokens = new LRUCache<string, { readonly jwt: string; readonly until: number }>({ max: maxTokens })
  #pair: KeyPair | undefined

  constructor(parts: VapidDependencies) {
    this.#parts = parts
  }

  /** Returns the key for `applicationServerKey` of a subscription. @throws the errors of `seed` */
  async publicKey(): Promise<string> {
    return (await this.#keyPair()).publicKey
  }

  /**
   * Returns the value of the header `Authorization`.
   *
   * @param origin origin of the endpoint
   * @throws the errors of `seed`
   */
  async authorization(origin: string): Promise<string> {
    const { subject, clock } = this.#parts
    const { privateKey, publicKey } = await this.#keyPair()
    const now = Math.floor(clock.now() / 1000)
    const name = [origin, subject(), publicKey].join(' ')
    let token = this.#tokens.get(name)
    if (token === undefined || token.until <= now) {
      const claims = { aud: origin, exp: now + lifetimeSeconds, sub: subject() }
      const jwt = await new SignJWT(claims).setProtectedHeader({ typ: 'JWT', alg: 'ES256' }).sign(privateKey)
      token = { jwt, until: claims.exp - marginSeconds }
      this.#tokens.set(name, token)
    }
    return `vapid t=${token.jwt}, k=${publicKey}`
  }

  async #keyPair(): Promise<KeyPair> {
    const seed = await this.#parts.seed()
    if (this.#pair?.seed.equals(seed) !== true) this.#pair = keyPairOf(seed)
    return this.#pair
  }
}

/** Derives a key pair: FIPS 186-5, A.2.1, with random bits from HKDF. */
function keyPairOf(seed: Buffer): KeyPair {
  const bits = Buffer.from(hkdfSync('sha256', seed, '', 'plinth web push key', 48)).toString('hex')
  const scalar = (BigInt(`0x${bits}`) % (order - 1n)) + 1n
  const d = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex')
  const ecdh = createECDH(curve)
  ecdh.setPrivateKey(d)
  const point = ecdh.getPublicKey()
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url')) as [
    string,
    string,
  ]
  const jwk = { kty: 'EC', crv: 'P-256', d: d.toString('base64url'), x, y }
  return {
    seed: Buffer.from(seed),
    privateKey: createPrivateKey({ key: jwk, format: 'jwk' }),
    publicKey: point.toString('base64url'),
  }
}
