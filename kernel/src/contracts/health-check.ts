import { extensionPoint } from '../refs.ts'

/**
 * Says whether the product can do its work. Throws with a reason when it cannot. The reason is logged, and shown to
 * operators alone. Must give up when the signal aborts.
 */
export type HealthCheck = (signal: AbortSignal) => void | Promise<void>

/** Readiness checks, contributed under the name of what they check. Owned by the kernel, so any plugin may contribute. */
export const healthCheck = extensionPoint<HealthCheck>('kernel.health-check', { live: true })
