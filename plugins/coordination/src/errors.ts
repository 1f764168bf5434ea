import { errorTable } from '@plinth/kernel'

/** Every fault that an operator must mend. */
export const coordinationError = errorTable({
  PLINTH_COORDINATION_NO_REDIS: `platform.{{name}}.engine is "bullmq", but the product has no Redis.
    Load @plinth/shared-store with platform.cache.enabled=true, or use the engine "embedded".`,
})
