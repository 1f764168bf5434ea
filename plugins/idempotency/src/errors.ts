import { errorTable } from '@plinth/kernel'

/** Every coded error of this plugin. */
export const idempotencyError = errorTable({
  PLINTH_IDEMPOTENCY_ROUTE: `Routes cannot take idempotency keys: {{routes}}.
    Take the annotation off: keys are for POST, PUT and PATCH, and for callers who are known.`,
})
