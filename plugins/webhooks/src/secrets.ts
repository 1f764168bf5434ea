import type { Clock, Logger } from '@plinth/kernel'
import { errorReason } from '@plinth/kernel'
import type { PluginEncryption } from '@plinth/system-config'
import { businessError } from './declarations.ts'
import type { Endpoint } from './entities.ts'

const purpose = 'webhook-endpoint'

interface EndpointSecretsDependencies {
  readonly box: Pick<PluginEncryption, 'seal' | 'open'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

/** Encrypts the secrets of endpoints with a key that is not stored as plain text in the database. */
export class EndpointSecrets {
  readonly #parts: EndpointSecretsDependencies

  constructor(parts: EndpointSecretsDependencies) {
    this.#parts = parts
  }

  /** @throws BusinessError "503" `webhooks.secret-key-unusable` */
  async seal(secret: string): Promise<string> {
    const { box, log } = this.#parts
    return box.seal(purpose, secret).catch((cause: unknown) => {
      log.error({ reason: errorReason(cause) }, 'the key of webhook secrets cannot be used')
      throw businessError('secret-key-unusable', { cause })
    })
  }

  /**
   * Returns the secrets that sign now: the current one, and the previous one during its grace period. Returns
   * `undefined` if they cannot be decrypted.
   */
  async activeOf(
    endpoint: Pick<Endpoint, 'secretEnc' | 'previousSecretEnc' | 'previousValidUntil'>,
  ): Promise<string[] | undefined> {
    const { box, clock, log } = this.#parts
    const { secretEnc, previousSecretEnc, previousValidUntil } = endpoint
    const isRotating = previousSecretEnc !== null && (previousValidUntil?.getTime() ?? 0) > clock.now()
    const sealed = isRotating ? [secretEnc, previousSecretEnc] : [secretEnc]
    return Promise.all(sealed.map((text) => box.open(purpose, text))).catch((cause: unknown) => {
      log.error({ reason: errorReason(cause) }, 'the key of webhook secrets cannot be used')
      return undefined
    })
  }
}
