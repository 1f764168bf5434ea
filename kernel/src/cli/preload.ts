import { keepProcessAlive } from './process-end.ts'
import type { SupervisorLink } from './supervisor-link.ts'

/** Loads modules until the supervisor tells this process to start the product. */
export function preloadUntilStart({ begun, preloaded, signal }: SupervisorLink): Promise<void> {
  let isWaiting = true
  const started = begun.then(() => {
    isWaiting = false
  })
  const preload = async () => {
    for (const url of await preloaded) {
      if (!isWaiting || signal.aborted) return
      // If the import of a module fails, it fails again in the product, which then reports the error.
      await import(url).catch(() => {})
    }
  }
  void preload()
  return keepProcessAlive(started)
}
