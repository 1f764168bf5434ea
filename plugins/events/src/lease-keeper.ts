import { type Clock, type Logger, reasonOf } from '@plinth/kernel'
import { type Claim, LeaseLost, type OutboxStore } from './outbox-store.ts'

/** Renews the lease of an event until `end` is called. The signal aborts with `LeaseLost` when it is lost. */
export function keepLease(
  { store, clock, log }: { readonly store: OutboxStore; readonly clock: Clock; readonly log: Logger },
  claim: Claim,
  leaseMs: number,
): { readonly lost: AbortSignal; end(): void } {
  const ended = new AbortController()
  const lost = new AbortController()
  const keep = async () => {
    let until = clock.monotonic() + leaseMs
    while (true) {
      await clock.sleep(leaseMs / 3, ended.signal)
      if (ended.signal.aborted) return
      const renewedAt = clock.monotonic()
      try {
        await store.renew(claim, leaseMs)
        until = renewedAt + leaseMs
      } catch (error) {
        if (ended.signal.aborted) return
        if (error instanceof LeaseLost || clock.monotonic() >= until) return lost.abort(new LeaseLost())
        log.warn({ event: claim.id, reason: reasonOf(error) }, 'the lease of an event could not be renewed')
      }
    }
  }
  void keep()
  return { lost: lost.signal, end: () => ended.abort() }
}
