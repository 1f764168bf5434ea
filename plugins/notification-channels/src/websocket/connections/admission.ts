import { refusal } from '../failures.ts'

interface AdmissionLimits {
  readonly maxSockets: number
  readonly maxSocketsPerAddress: number
}

/** Part of the connections that guests and users without permissions may have together: anybody can have such an account. */
const publicShare = 0.9

/** Counts connections, handshakes included, in all and by address. */
export class Admission {
  readonly #limits: AdmissionLimits
  readonly #byAddress = new Map<string, number>()
  /** Guests and users without permissions. */
  #public = 0
  #total = 0

  /** @param limits read at every connection */
  constructor(limits: AdmissionLimits) {
    this.#limits = limits
  }

  /**
   * Takes a place; the returned function gives it back, and must be called once.
   *
   * @throws BusinessError "429" `notification-websocket.too-many`
   */
  enter(address: string): () => void {
    const { maxSockets, maxSocketsPerAddress } = this.#limits
    const here = this.#byAddress.get(address) ?? 0
    if (this.#total >= maxSockets) throw refusal('too-many', { data: { limit: 'instance' } })
    if (here >= maxSocketsPerAddress) throw refusal('too-many', { data: { limit: 'address' } })
    this.#total += 1
    this.#byAddress.set(address, here + 1)
    return () => {
      this.#total -= 1
      const left = (this.#byAddress.get(address) ?? 1) - 1
      if (left === 0) this.#byAddress.delete(address)
      else this.#byAddress.set(address, left)
    }
  }

  /**
   * Takes a place of those for guests and users without permissions, in addition to the place of the connection; the returned
   * function gives it back, and must be called once.
   *
   * @throws BusinessError "429" `notification-websocket.too-many`
   */
  enterPublic(): () => void {
    const most = Math.ceil(this.#limits.maxSockets * publicShare)
    if (this.#public >= most) throw refusal('too-many', { data: { limit: 'public' } })
    this.#public += 1
    return () => {
      this.#public -= 1
    }
  }
}
