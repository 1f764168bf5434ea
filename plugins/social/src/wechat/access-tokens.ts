import { createHash } from 'node:crypto'
import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import { type OutgoingHttp, parseJsonOrUndefined, valueAtPath } from '@plinth/outgoing-http'
import type { SharedStore } from '@plinth/shared-store'
import type { PluginEncryption } from '@plinth/system-config'
import type { SocialAccount } from '../config.ts'
import { readResponse, type WechatResponse } from './messages.ts'

interface TokenDependencies {
  readonly http: OutgoingHttp
  readonly store: SharedStore
  readonly box: Pick<PluginEncryption, 'seal' | 'open'>
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Logger
}

/** An account with the endpoint to which its secret may be sent. */
interface AddressedAccount extends SocialAccount {
  /** URL of the API, ending with a slash. */
  readonly endpoint: string
}

/** Thrown if no token could be obtained. */
export class TokenRejected extends Error {
  override readonly name = 'TokenRejected'
  /** Response of WeChat; undefined if it is unreadable. */
  readonly answer: WechatResponse | undefined

  constructor(message: string, answer?: WechatResponse) {
    super(message)
    this.answer = answer
  }
}

/** A token counts as expired this many seconds before its expiry. WeChat renews it 300 s before. */
const earlyExpirySeconds = 200
/** Milliseconds. The constants below are in milliseconds too. */
const deadlineMs = 10_000
const leaseMs = 15_000
const maxWaitMs = 3_000
const pauseMs = 100

/**
 * Access tokens, one per account for all instances (WeChat, "stable_token"). A token is fetched under a lock, after the
 * shared store was checked again. If another instance has the lock, the caller waits for its token. Shared tokens are
 * encrypted.
 */
export class AccessTokens {
  readonly #parts: TokenDependencies
  readonly #fetching = new Map<string, Promise<string>>()

  constructor(parts: TokenDependencies) {
    this.#parts = parts
  }

  /**
   * @param failed a token that WeChat rejected. It is replaced, unless a newer one is already stored.
   * @throws TokenRejected
   */
  async of(account: AddressedAccount, failed?: string): Promise<string> {
    const known = await this.#known(account)
    if (known !== undefined && known !== failed) return known
    const running = this.#fetching.get(keyOf(account))
    if (running !== undefined) return running
    const fetching = this.#underLock(account, failed).finally(() => this.#fetching.delete(keyOf(account)))
    this.#fetching.set(keyOf(account), fetching)
    return fetching
  }

  async #underLock(account: AddressedAccount, failed: string | undefined): Promise<string> {
    const { store, clock } = this.#parts
    for (let waited = 0; waited <= maxWaitMs; waited += pauseMs) {
      const lease = await store.acquire(keyOf(account), leaseMs)
      if (lease !== undefined) {
        try {
          const known = await this.#known(account)
          return known !== undefined && known !== failed ? known : await this.#fetch(account)
        } finally {
          await lease.release()
        }
      }
      await clock.sleep(pauseMs)
      const known = await this.#known(account)
      if (known !== undefined && known !== failed) return known
    }
    throw new TokenRejected('another instance fetches the access token and does not come to an end')
  }

  async #known(account: AddressedAccount): Promise<string | undefined> {
    const { store, box, log } = this.#parts
    const sealed = await store.get(keyOf(account))
    if (sealed === undefined) return undefined
    try {
      return await box.open(purpose, sealed)
    } catch (error) {
      log.warn({ reason: errorReason(error) }, 'the shared access token cannot be read, so a new one is requested')
      return undefined
    }
  }

  /** Sends the secret in the body, so that it is in no URL. */
  async #fetch(account: AddressedAccount): Promise<string> {
    const { appId, secret, endpoint } = account
    const { http, store, box } = this.#parts
    const request = { grant_type: 'client_credential', appid: appId, secret, force_refresh: false }
    const { body } = await http.request({
      method: 'POST',
      url: new URL('cgi-bin/stable_token', endpoint),
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(request),
      deadlineMs,
    })
    const issued = issuedToken(body)
    if (issued === undefined) throw new TokenRejected('WeChat issued no access token', readResponse(body))
    const lifetime = Math.max(issued.expiresIn - earlyExpirySeconds, 1)
    await store.set(keyOf(account), await box.seal(purpose, issued.token), lifetime * 1000)
    return issued.token
  }
}

const purpose = 'social.access-token'
/** The key contains the endpoint, so that a token is never sent to another endpoint. */
const keyOf = ({ appId, endpoint }: AddressedAccount) =>
  `${purpose}:${appId}:${createHash('sha256').update(endpoint).digest('base64url').slice(0, 22)}`

function issuedToken(body: string): { readonly token: string; readonly expiresIn: number } | undefined {
  const answer = parseJsonOrUndefined(body)
  const [token, expiresIn] = [valueAtPath(answer, 'access_token'), valueAtPath(answer, 'expires_in')]
  return typeof token === 'string' && token !== '' && typeof expiresIn === 'number' ? { token, expiresIn } : undefined
}
