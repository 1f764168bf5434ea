import type { Clock } from '@plinth/kernel'

/** Failures of one address within the window before nothing more is looked at. */
const mostFailures = 5
const windowMs = 60_000
/** Addresses that are remembered; the one that began longest ago goes first. */
const remembered = 10_000

/**
 * Counts wrong tokens by address. It lives in the process: an installation must be closed to guessing also while there is
 * no database to count in.
 */
export class FailedAttempts {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #windows = new Map<string, { readonly startedAt: number; failures: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Milliseconds until the address may try again; 0 when it may. */
  waitMs(clientIp: string): number {
    const window = this.#current(networkOf(clientIp))
    if (window === undefined || window.failures < mostFailures) return 0
    return Math.max(1, Math.ceil(window.startedAt + windowMs - this.#clock.monotonic()))
  }

  record(clientIp: string): void {
    const network = networkOf(clientIp)
    const window = this.#current(network)
    if (window !== undefined) {
      window.failures++
      return
    }
    if (this.#windows.size >= remembered) this.#windows.delete(this.#windows.keys().next().value ?? '')
    this.#windows.set(network, { startedAt: this.#clock.monotonic(), failures: 1 })
  }

  #current(network: string) {
    const window = this.#windows.get(network)
    if (window === undefined || this.#clock.monotonic() - window.startedAt < windowMs) return window
    this.#windows.delete(network)
    return undefined
  }
}

/** Whoever has an IPv6 address has 2^64 of them. */
function networkOf(clientIp: string): string {
  if (!clientIp.includes(':')) return clientIp
  const [head = '', tail = ''] = clientIp.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}
