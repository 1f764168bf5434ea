import { PlinthError } from '@plinth/kernel'

/** Every fault that an operator must mend: what happened, and what to do about it. */
export const schedulerErrors = {
  PLINTH_SCHEDULER_NO_REDIS: {
    text: 'platform.scheduler.engine is "bullmq", but the product has no Redis.',
    fix: 'Load @plinth/shared-store with platform.cache.enabled=true, or use the engine "embedded".',
  },
} as const satisfies Record<string, { readonly text: string; readonly fix: string }>

export type SchedulerErrorCode = keyof typeof schedulerErrors

export const schedulerError = (code: SchedulerErrorCode) =>
  new PlinthError(code, schedulerErrors[code].text, schedulerErrors[code].fix)
