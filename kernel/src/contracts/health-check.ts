import { extensionPoint } from '../refs.ts'
import { shape } from '../shapes/shape.ts'

/** Result of a health check that passed with something to report. */
export interface HealthReport {
  /**
   * Problems that do not stop the product, one sentence with its fix each. `plinth doctor` and the back office show them,
   * and the log contains them once per change. Use the same text while the state is the same: no counts, no times.
   */
  readonly warnings: readonly string[]
}

/**
 * Checks that the product can do its work. Throws with a reason when it cannot. The reason is logged, and only operators
 * see it. Returns a report when it has warnings. Must end when the signal aborts.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most checks return nothing
export type HealthCheck = (signal: AbortSignal) => void | HealthReport | Promise<void | HealthReport>

/** Readiness checks, contributed under the name of what they check. Owned by the kernel, so any plugin may contribute. */
export const healthCheck = extensionPoint<HealthCheck>('kernel.health-check', {
  live: true,
  names: shape.dotted,
  shape: shape.function,
})

/** The warnings in the result of a health check. A check written in plain JavaScript may return anything. */
export function warningsOf(report: unknown): readonly string[] {
  const warnings = (report as Partial<HealthReport> | null | undefined)?.warnings
  return Array.isArray(warnings) ? warnings.map(String) : []
}
